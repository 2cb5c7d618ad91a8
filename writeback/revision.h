/* SPDX-License-Identifier: MIT */
/*
 * Names of commits, as git users write them: HEAD, branches, tags, ids and beginnings of ids
 * (four digits at least), each with steps behind it (~N, ^N, ^{}, ^{commit}).
 *
 * Source: gitrevisions(7), without what reads more than objects and refs: no reflog (@{...}),
 * no paths (:), no search (:/). Unlike git, a name that means two things is refused instead of
 * taking the first.
 */
#ifndef WEIR_WRITEBACK_REVISION_H
#define WEIR_WRITEBACK_REVISION_H

#include "writeback/repo.h"

/* Finds the commit; a tag is followed to it. Refs are read beneath the repository only: a
 * symbolic link among them is refused. Returns: 0; -ENOENT, -EINVAL, -EEXIST (ambiguous) with
 * exit status 2; refused; another negative errno. Borrows: name. */
int revision_find(const struct repo *r, const char *name, git_oid *ret_oid, struct weir_err *e);

/* Whether the name, without steps, means an annotated tag. Returns: 1 with its id, 0, or as
 * revision_find. Borrows: name. */
int revision_find_tag(const struct repo *r, const char *name, git_oid *ret_oid, struct weir_err *e);

#endif
