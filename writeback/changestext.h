/* SPDX-License-Identifier: MIT */
/* Reading the changes text; its format is at the head of writeback/digest.h. */
#ifndef WEIR_WRITEBACK_CHANGESTEXT_H
#define WEIR_WRITEBACK_CHANGESTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "user/base/err.h"

/* One line; the texts are good until the next one. "-" stands for what does not apply. */
struct changes_line {
	const char *old_mode, *new_mode, *sha256, *old_id, *new_id;
	const char *path; /* raw bytes below the root, NUL-terminated */
	size_t len;	  /* of path */
};

typedef int changes_line_fn(const struct changes_line *l, void *arg, struct weir_err *e);

/* Calls fn for each line, in order. Returns: 0, what fn returned when that is negative, -EBADMSG
 * for a damaged text, -ENOMEM; with e. Borrows: text, arg. */
int changestext_each(const char *text, changes_line_fn *fn, void *arg, struct weir_err *e);

#endif
