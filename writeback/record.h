/* SPDX-License-Identifier: MIT */
/*
 * Promotion records: what a verifier needs beside the commit, in the repository itself, so
 * that it travels with clones that ask for it.
 *
 *   refs/weir/promotions: commits, each with one parent, whose tree holds for each promotion
 *     AA/COMMIT/promotion        the digest's text      (writeback/digest.h)
 *     AA/COMMIT/changes          the changes text
 *     AA/COMMIT/statement.json   the collector's statement
 *     AA/COMMIT/statement.sig    and its signature
 *   AA: the first two digits of COMMIT.
 *
 * The records need no signature of their own: the promoted commit is signed and names the
 * digest of `promotion`, which names those of the others.
 */
#ifndef WEIR_WRITEBACK_RECORD_H
#define WEIR_WRITEBACK_RECORD_H

#include "writeback/promotion.h"

#define RECORD_REF "refs/weir/promotions"

struct record {
	struct buf promotion;
	struct buf changes;
	struct buf statement;
	struct buf signature;
};

void record_done(struct record *r);
#define cleanup_record __attribute__((__cleanup__(record_done)))

/* Writes the objects of a promotion's record on top of the record ref's tip (zero: none).
 * Gives: the new tip. Returns: 0 or a negative errno with e. Borrows: p. */
int record_write(const struct promotion *p, const git_oid *tip, git_oid *ret_tip,
		 struct weir_err *e);

/* Reads the record of a commit. Returns: 0, -ENOENT, or a negative errno with e. */
int record_read(const struct repo *r, const git_oid *commit, struct record *ret_record,
		struct weir_err *e);

#endif
