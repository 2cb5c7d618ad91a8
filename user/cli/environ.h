/* SPDX-License-Identifier: MIT */
/* Who the command runs as, and the environment that it gets: an allow-list. */
#ifndef WEIR_CLI_ENVIRON_H
#define WEIR_CLI_ENVIRON_H

#include <sys/stat.h>

#include "user/base/err.h"
#include "user/cli/session.h"
#include "user/policy/path.h"

/* --user NAME, else the user who called sudo, else the owner in st (may be NULL: root).
 * Gives: ret_user, with home to be freed. Returns: 0 or -EINVAL. */
int environ_user(const char *name, const struct stat *st, struct run_user *ret_user,
		 struct weir_err *e);

/* TMPDIR as the policy sets it, NULL if it does not. Gives: a string to be freed. */
char *environ_tmpdir(const struct policy *p);

/* The command's environment. Gives: a NULL-terminated array of strings, all to be freed.
 * Returns: 0, -EINVAL with the policy's position, -ENOMEM. */
int environ_build(const struct policy *p, const struct policy_env *env, const struct run_user *user,
		  char ***ret_env, struct weir_err *e);

/* First line of a small file, "" if unreadable. */
void environ_read_id(const char *path, char *out, size_t size);

#endif
