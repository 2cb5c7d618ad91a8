/* SPDX-License-Identifier: MIT */
/*
 * Policies as hostile bytes. Beyond not crashing: an error is one safe line with its place;
 * what is accepted expands, and its suggestion-like parts keep the rules of their types.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "user/base/glob.h"
#include "user/policy/compile.h"
#include "user/policy/suggest.h"

static void check_error(const struct weir_err *e)
{
	bool placed = strncmp(e->text, "p:", 2) == 0 && e->text[2] >= '1' && e->text[2] <= '9';

	if (!placed || e->exit_code != 2 || strcmp(e->code, "policy") != 0 || !e->err)
		abort();
	for (const char *c = e->text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			abort();
}

static void check_paths(const struct policy *p, const struct policy_text *t)
{
	static const struct policy_env env = { "/ws", "/home/u", "/tmp" };
	struct policy_path path;
	struct weir_err e = { 0 };

	if (policy_expand_path(p, t, &env, &path, &e) < 0) {
		check_error(&e);
		return;
	}
	if (path.path[0] != '/' || strstr(path.path, "//") || strlen(path.path) > POLICY_PATH_MAX)
		abort();
	policy_path_is_broad(path.path, &env);
	policy_path_is_control(path.path + 1, true);
	free(path.path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct policy *p = NULL;
	struct weir_err e = { 0 };

	if (policy_load("p", data, size, &p, &e) < 0) {
		check_error(&e);
		return 0;
	}
	if (p->owners.count == 0 || !p->name.text)
		abort();
	for (size_t i = 0; i < p->files.count; i++) {
		check_paths(p, &p->files.items[i].path);
		if (!p->files.items[i].allow.value && !p->files.items[i].deny.value)
			abort();
	}
	for (size_t i = 0; i < p->credentials.count; i++)
		check_paths(p, &p->credentials.items[i]);
	for (size_t i = 0; i < p->writeback_paths.count; i++) {
		const char *glob = p->writeback_paths.items[i].text;

		if (glob_check(glob, NULL) < 0)
			abort();
		glob_match(glob, glob, strlen(glob));
	}
	policy_free(p);
	return 0;
}
