/* SPDX-License-Identifier: MIT */
/*
 * A run whose branch has moved meanwhile: `weir rebase RUN` puts what it changed on top of the
 * branch as it is now. The cross-check is still against the commit that the run began with; what is
 * promoted is another thing, with a text, a digest and approvals of its own. Nothing is merged:
 *
 *   the branch has gone forward, from where the run began;
 *   .weir/ is the same at both ends, so that the run was judged by what holds now;
 *   no path that the run changed, and none above or below it, has changed on the branch.
 *
 * What people have signed about the run before is void. It could stand only where nothing that has
 * changed on the branch was read or looked up by the run, and collectors record neither all that
 * passed: nobody could show it. What is known to have been read, and has changed, is a finding
 * (rebase-read, writeback/hazard.h).
 */
#ifndef WEIR_WRITEBACK_REBASE_H
#define WEIR_WRITEBACK_REBASE_H

#include "writeback/changes.h"
#include "writeback/repo.h"

#define REBASE_KEY "rebased" /* of the promotion text: the commit that the run began with */

/* Whether a run that began with one commit may be put on another: the first and second of the
 * rules above. Returns: 0; refused with code "base-moved" or "rebase-policy"; or a negative errno.
 * Borrows: all. */
int rebase_check_commits(const struct repo *r, const git_oid *began, const git_oid *onto,
			 struct weir_err *e);

/* The third rule, for one path: it, and what is above and below it, are the same in both trees.
 * Returns: 0 or refused with code "rebase-conflict". Borrows: all. */
int rebase_check_path(const struct base *began, const struct base *onto, const char *path,
		      size_t len, struct weir_err *e);

struct promotion; /* writeback/promotion.h */

/* For step nonce: finds what the run is put on, the branch's tip or what a proposal says. Sets
 * base_commit, and rebased when that is another commit. Returns: as rebase_check_commits. */
int rebase_find_base(struct promotion *p, struct weir_err *e);

/* For step inspect: checks p->changes by path, notes findings, and makes p->base the tree that the
 * changes are put on. Returns: 0; refused with code "rebase-conflict"; or a negative errno. */
int rebase_inspect(struct promotion *p, struct weir_err *e);

#endif
