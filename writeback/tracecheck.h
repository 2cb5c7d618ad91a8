/* SPDX-License-Identifier: MIT */
/*
 * Cross-check of strength `trace`: only what the trace or the manifests say has changed is looked
 * at again, so that the look at the workspace costs what the change costs and not what the tree
 * does. It believes the kernel that nothing else was written, and is allowed only where that
 * is known: the collector watched files, names and attributes; every event has its whole
 * path; none was lost; the gate itself filled the workspace; and it lies on a file system that no
 * server and no other machine changes.
 *
 * A path is compared by type, mode, inode, size and times. What is promoted is hashed besides, as
 * in every strength, when it is taken into quarantine.
 */
#ifndef WEIR_WRITEBACK_TRACECHECK_H
#define WEIR_WRITEBACK_TRACECHECK_H

#include "writeback/promotion.h"

/* Whether this run may be checked by its trace. Returns: 0 or refused with code "crosscheck".
 * Borrows: p's parts. */
int tracecheck_allow(const struct promotion *p, struct weir_err *e);

/* Looks at the workspace. changes: differences of the two manifests. Returns: 0; refused with code
 * "changed-after" or "limit"; or a negative errno. Borrows: changes. Gives: p->skipped. */
int tracecheck_workspace(struct promotion *p, const struct tree_changes *changes,
			 struct weir_err *e);

#endif
