/* SPDX-License-Identifier: MIT */
/*
 * What the run left in the workspace that git has no place for: empty directories, and
 * permissions other than "executable". It stays behind, and that is said. (Owners, times and
 * extended attributes are no part of a manifest; the trace has them.)
 */
#ifndef WEIR_WRITEBACK_LOST_H
#define WEIR_WRITEBACK_LOST_H

#include "user/tree/manifest.h"
#include "writeback/hazard.h"

/* Whether a path is none of the project's concern: not listed for writeback, or ignored.
 * Returns: truth. Borrows: path, arg. */
typedef bool lost_skip_fn(const char *path, size_t len, void *arg);

/* Adds a finding for each. Of a path that is new, only permissions are told that keep its owner
 * out; of an old one, any change. Returns: 0 or -ENOMEM. Borrows: all. */
int lost_inspect(struct hazards *h, const struct manifest *before, const struct manifest *after,
		 lost_skip_fn *skip, void *arg);

#endif
