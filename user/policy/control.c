/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <strings.h>

#include "bpf/abi/control.h"
#include "user/base/cleanup.h"
#include "user/policy/compile.h"

static const char *const control_names[] = {
#define WEIR_X(name) name,
	WEIR_CONTROL_NAMES(WEIR_X)
#undef WEIR_X
};

static const char *const git_control[][3] = {
#define WEIR_X(a, b, c) { a, b, c },
	WEIR_GIT_CONTROL(WEIR_X)
#undef WEIR_X
};

/* Whether the component at `at` is name, but for case; gives the rest after it. */
static bool is_component(const char *at, const char *name, const char **ret_rest)
{
	size_t len = strcspn(at, "/");

	*ret_rest = at + len + (at[len] == '/');
	return strlen(name) == len && strncasecmp(at, name, len) == 0;
}

static bool git_row_matches(const char *const row[3], const char *at)
{
	for (size_t i = 0; i < 3 && row[i][0]; i++) {
		bool any = strcmp(row[i], "*") == 0;

		if (*at == '\0')
			return false;
		if (!is_component(at, row[i], &at) && !any)
			return false;
	}
	return true;
}

static bool is_git_control(const char *below_git)
{
	for (size_t i = 0; i < ARRAY_SIZE(git_control); i++)
		if (git_row_matches(git_control[i], below_git))
			return true;
	return false;
}

bool policy_path_is_control(const char *path, bool own_git)
{
	const char *at = path, *rest;

	while (*at) {
		for (size_t i = 0; i < ARRAY_SIZE(control_names); i++)
			if (is_component(at, control_names[i], &rest))
				return true;
		if (is_component(at, ".git", &rest)) {
			/* .git itself counts: whoever replaces it brings a configuration */
			if (!own_git || at != path || *rest == '\0' || is_git_control(rest))
				return true;
		}
		at = rest;
	}
	return false;
}
