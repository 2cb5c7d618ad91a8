/* SPDX-License-Identifier: MIT */
/*
 * Ignore rules of the base commit (gitignore(5)), read from its tree, never from the
 * workspace. They decide which *untracked* files belong to the project. Global and
 * per-clone excludes do not exist here.
 */
#ifndef WEIR_WRITEBACK_IGNORE_H
#define WEIR_WRITEBACK_IGNORE_H

#include <stdbool.h>

#include "writeback/changes.h"

#define IGNORE_FILE_MAX ((size_t)1 << 20) /* bytes of one .gitignore */

struct ignore;

/* Reads every .gitignore of the base. Returns: 0 or a negative errno with e. Gives:
 * ret_ignore for ignore_free. Borrows: r, b. */
int ignore_load(const struct repo *r, const struct base *b, struct ignore **ret_ignore,
		struct weir_err *e);
void ignore_free(struct ignore *i);
static inline void cleanup_ignore_fn(struct ignore **i)
{
	ignore_free(*i);
}
#define cleanup_ignore __attribute__((__cleanup__(cleanup_ignore_fn)))

/* Adds the rules of one file's text, which stands in directory dir ("" for the root).
 * Returns: 0 or -ENOMEM. Borrows: all. */
int ignore_add(struct ignore *i, const char *dir, const char *text, size_t len);
struct ignore *ignore_new(void);

/* Whether an untracked file at path is ignored, by itself or through a directory above.
 * Returns: truth. Borrows: path. */
bool ignore_match(const struct ignore *i, const char *path);

/* Matches one component pattern or a path pattern as fnmatch with "**" (wildmatch of git).
 * pathname: "*" and "?" do not match "/". Returns: truth. Borrows: both. */
bool ignore_wildmatch(const char *pattern, const char *text, bool pathname);

#endif
