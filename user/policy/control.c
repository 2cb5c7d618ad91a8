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

static const char *const git_keeps[][3] = {
#define WEIR_X(a, b, c) { a, b, c },
	WEIR_GIT_KEEPS(WEIR_X)
#undef WEIR_X
};

static const char *const git_nested[] = {
#define WEIR_X(name) name,
	WEIR_GIT_NESTED(WEIR_X)
#undef WEIR_X
};

/* Whether the component at `at` is name, but for case; gives the rest after it. */
static bool is_component(const char *at, const char *name, const char **ret_rest)
{
	size_t len = strcspn(at, "/");

	*ret_rest = at + len + (at[len] == '/');
	return strlen(name) == len && strncasecmp(at, name, len) == 0;
}

/* Whether the path begins with the row's components; then *ret_rest is what follows. */
static bool git_row_matches(const char *const row[3], const char *at, const char **ret_rest)
{
	for (size_t i = 0; i < 3 && row[i][0]; i++) {
		bool any = strcmp(row[i], "*") == 0;

		if (*at == '\0')
			return false;
		if (!is_component(at, row[i], &at) && !any)
			return false;
	}
	*ret_rest = at;
	return true;
}

/* at: what follows a keep. Its first component is the name of the other git, or begins it. */
static bool is_nested_control(const char *at)
{
	for (bool first = true; *at; first = false) {
		const char *rest = at + strlen(at);

		for (size_t i = 0; i < ARRAY_SIZE(git_nested); i++)
			if (is_component(at, git_nested[i], &rest) && !first)
				return true;
		at = rest;
	}
	return false;
}

static bool is_git_control(const char *below_git)
{
	const char *rest;

	for (size_t i = 0; i < ARRAY_SIZE(git_control); i++)
		if (git_row_matches(git_control[i], below_git, &rest))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(git_keeps); i++)
		if (git_row_matches(git_keeps[i], below_git, &rest) && is_nested_control(rest))
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
