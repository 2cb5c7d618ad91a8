/* SPDX-License-Identifier: MIT */
/* The two links of verify that look into trees. */
#ifndef WEIR_WRITEBACK_VERIFYTREE_H
#define WEIR_WRITEBACK_VERIFYTREE_H

#include "writeback/verify.h"

/* The recorded changes turn the parent's tree into the commit's tree, and nothing else
 * differs. Returns: 0 or a negative errno with e. */
int verifytree_changes(const struct verify *v, struct weir_err *e);

/* Where the promotion was rebased (writeback/rebase.h): all of its rules hold between the commit that
 * the run began with and the parent. Returns: 0 or a negative errno with e. */
int verifytree_rebased(const struct verify *v, struct weir_err *e);

/* Each added or changed blob has the recorded SHA-256. Returns: 0 or a negative errno. */
int verifytree_content(const struct verify *v, struct weir_err *e);

/* Every object that the commit's tree has is there and has its id.
 * Returns: 0 or a negative errno with e. */
int verifytree_whole(const struct verify *v, struct weir_err *e);

#endif
