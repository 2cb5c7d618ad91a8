/* SPDX-License-Identifier: MIT */
/*
 * Paths in a policy: variables, then one normal form.
 *
 * ${WORKSPACE}, ${HOME}, ${TMPDIR} are replaced anywhere in a text; a "~" that starts a
 * path and is followed by nothing or "/" is ${HOME}. There are no other variables; "$" not
 * followed by "{" is an ordinary character. `dir`, `dir/` and `dir/` + "**" all mean the
 * directory and everything below it; the last two demand that it is a directory. Other
 * wildcards are refused in paths (a rule names one real object).
 */
#ifndef WEIR_POLICY_PATH_H
#define WEIR_POLICY_PATH_H

#include "user/policy/policy.h"

/* What the variables stand for: absolute paths, NULL when there is none. home is that of
 * the user the command runs as. */
struct policy_env {
	const char *workspace;
	const char *home;
	const char *tmpdir;
};

struct policy_path {
	char *path;    /* absolute, no "//", "." or "..", no "/" at the end but for "/" */
	bool must_dir; /* written as a directory */
};

/* Checks the variables' names in a text. Borrows: all. Returns: 0 or -EINVAL. */
int policy_check_variables(const struct policy *p, const struct policy_text *t, bool is_path,
			   struct weir_err *e);

/* Expands and normalises a path. Gives: ret_path->path for free. Borrows: p, t, env.
 * Returns: 0, -EINVAL with the position, -ENOMEM. */
int policy_expand_path(const struct policy *p, const struct policy_text *t,
		       const struct policy_env *env, struct policy_path *ret_path,
		       struct weir_err *e);

/* Expands the variables of a value of environment.set. Gives: ret_value for free.
 * Borrows: p, t, env. Returns: 0, -EINVAL with the position, -ENOMEM. */
int policy_expand_value(const struct policy *p, const struct policy_text *t,
			const struct policy_env *env, char **ret_value, struct weir_err *e);

/* Whether writing to all of path is too much for a rule without `broad: true`.
 * Borrows: path, env. Returns: truth. */
bool policy_path_is_broad(const char *path, const struct policy_env *env);

/* Order of paths in images: like strcmp with "/" before every other byte, so that what is
 * below a directory follows it directly. Borrows: a, b. Returns: <0, 0, >0. */
int policy_path_compare(const char *a, const char *b);

/* Whether path is dir or below it, by whole components ("/a/bc" is not below "/a/b").
 * Borrows: both. Returns: truth. */
bool policy_path_is_below(const char *path, const char *dir);

#endif
