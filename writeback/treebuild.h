/* SPDX-License-Identifier: MIT */
/*
 * New trees from a base tree and changes. Source of the format: gitformat objects,
 * "<octal mode> SP name NUL id" for each entry, sorted bytewise with directories compared as
 * "name/". Only directories with changes are built; empty ones vanish but for the root.
 */
#ifndef WEIR_WRITEBACK_TREEBUILD_H
#define WEIR_WRITEBACK_TREEBUILD_H

#include "writeback/changes.h"
#include "writeback/pack.h"

/* Applies changes to a base tree and adds the new trees to the pack. A tree whose id exists
 * in the repository is compared with it. Returns: 0, refused with code "object-collision" or
 * "tree-unsafe" (a path that is file and directory at once), or a negative errno.
 * Borrows: all. */
int treebuild_apply(const struct repo *r, const git_oid *base_tree, const struct changes *changes,
		    struct pack *pack, git_oid *ret_tree, struct weir_err *e);

#endif
