/* SPDX-License-Identifier: MIT */
/* Ancestry in the repository's own commits: each is looked at once, commit graphs never. */
#ifndef WEIR_WRITEBACK_HISTORY_H
#define WEIR_WRITEBACK_HISTORY_H

#include "writeback/repo.h"

#define HISTORY_COMMITS_MAX 1000000u

/* What is done with a commit, before its parents are. Returns: 1 to go on with its parents, 0 to
 * leave them out, -ECANCELED to end the walk, or another negative errno. */
typedef int history_fn(const git_oid *id, const git_commit *commit, void *arg, struct weir_err *e);

/* Calls fn once for tip and each ancestor, nearest first. Returns: 0 at the end; what fn returned
 * when it ended the walk; -E2BIG past HISTORY_COMMITS_MAX; or a negative errno with e.
 * Borrows: all. */
int history_walk(const struct repo *r, const git_oid *tip, history_fn *fn, void *arg,
		 struct weir_err *e);

/* Whether `old` is `tip` or an ancestor of it. Returns: 1, 0, or a negative errno with e. */
int history_reaches(const struct repo *r, const git_oid *tip, const git_oid *old,
		    struct weir_err *e);

#endif
