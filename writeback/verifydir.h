/* SPDX-License-Identifier: MIT */
/*
 * Verification of a directory of artefacts (writeback/dirs.h), offline: which promotion it is, is
 * told by the one NAME.intoto.jsonl in it and by refs/weir/dirs/NAME of the repository; that
 * promotion is verified as a commit is (writeback/verify.h), and then every file of the directory
 * against it. A copy of the directory will do as well.
 */
#ifndef WEIR_WRITEBACK_VERIFYDIR_H
#define WEIR_WRITEBACK_VERIFYDIR_H

#include "writeback/verify.h"

/* The link behind those of verify.h. */
#define VERIFYDIR_LINK "directory"
#define VERIFYDIR_WHAT "its files are those that were promoted, all of them, and no others"

/* Whether an argument names a directory, not a commit: it begins with / or . or ends with /.
 * Returns: truth. Borrows: arg. */
bool verifydir_is_path(const char *arg);

/* Finds the promotion that an open directory should be of. name: which directory of gate.yaml it has
 * to be, NULL: whichever it says, which anybody can copy to any place. Returns: 0; refused with code
 * "verify"; or a negative errno with e. Borrows: r, name. Gives: ret_commit. */
int verifydir_find(const struct repo *r, int dir, const char *name, git_oid *ret_commit,
		   struct weir_err *e);

/* Appends the name of the directory of gate.yaml that a promotion is of. Returns: 0 or a negative
 * errno. Borrows: v. */
int verifydir_name(const struct verify *v, struct buf *ret_name);

/* Checks the files, once verify_run accepted the promotion. Returns: as verifydir_find.
 * Borrows: v. */
int verifydir_files(const struct verify *v, int dir, struct weir_err *e);

#endif
