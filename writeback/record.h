/* SPDX-License-Identifier: MIT */
/*
 * What a verifier needs beside a promoted commit, in the repository itself, so that it travels
 * with clones that ask for it.
 *
 *   refs/weir/attestations: commits, each with one parent, whose tree holds for each promotion
 *     AA/COMMIT/promotion          the digest's text      (writeback/digest.h)
 *     AA/COMMIT/changes            the changes text
 *     AA/COMMIT/statement.json     the collector's statement, or an order (writeback/order.h)
 *     AA/COMMIT/statement.sig      and the statement's signature
 *     AA/COMMIT/approvals          what people signed and what counted, where they were asked:
 *                                  each text (writeback/approval.h) and its armored signature
 *     AA/COMMIT/exceptions         those that were used, in the same way: each text
 *                                  (writeback/exception.h) and its armored signatures
 *     AA/COMMIT/keys               changes of keys, where there are some (writeback/keyhist.h)
 *     AA/COMMIT/intent, intent.tlog-proof, intent.consistency
 *                                  as the next three, of what goes to a remote (writeback/remote.h)
 *     AA/COMMIT/done               the ledger's entry of that name (writeback/ledgerentry.h)
 *     AA/COMMIT/done.tlog-proof    that it is in the ledger         (writeback/tlog.h)
 *     AA/COMMIT/done.consistency   that this ledger goes on from the one that the commit names
 *   Commits that people pushed past the gate have records of their own (writeback/glass.h).
 *   AA: the first two digits of COMMIT.
 *
 * The first four need no signature of their own: the promoted commit is signed and names the
 * digest of `promotion`, which names those of the others. The last three come with a
 * commit of their own, after the branch was moved.
 *
 * Objects are written as one pack; nothing reaches them until the ref does.
 */
#ifndef WEIR_WRITEBACK_RECORD_H
#define WEIR_WRITEBACK_RECORD_H

#include "writeback/repo.h"

#define RECORD_REF "refs/weir/attestations"
#define RECORD_FILES_MAX 24

struct record {
	struct buf promotion;
	struct buf changes;
	struct buf statement;
	struct buf signature;
	/* empty until the ledger says done */
	struct buf done;
	struct buf proof;
	struct buf consistency;
	/* of what was pushed elsewhere */
	struct buf intent;
	struct buf intent_proof;
	struct buf intent_consistency;
};

void record_done(struct record *r);
#define cleanup_record __attribute__((__cleanup__(record_done)))

/* A file of a record, its bytes borrowed. */
struct record_file {
	const char *name;
	const struct buf *data;
};

struct record_write {
	git_oid commit; /* whose record */
	git_oid tip;	/* of the ref now; zero: none */
	const char *name;
	const char *email;
	const char *subject;	  /* of the ref's commit */
	const struct buf *object; /* the promoted object's bytes, written with it; NULL: none */
	bool is_tag;		  /* it is a tag, else a commit */
	struct record_file files[RECORD_FILES_MAX];
	unsigned int count;
};

/* Adds a file to what is to be written. Borrows: data. */
void record_add(struct record_write *w, const char *name, const struct buf *data);

/* Writes the objects of a record on top of the ref's tip, durably; files that the record has
 * already are replaced. Gives: the new tip. Returns: 0 or a negative errno with e. Borrows: w. */
int record_write(const struct repo *r, const struct record_write *w, git_oid *ret_tip,
		 struct weir_err *e);

/* Removes what a crash may have left of it. Borrows: r. */
void record_clean(const struct repo *r);

/* Reads the record of a commit. Returns: 0, -ENOENT, or a negative errno with e. */
int record_read(const struct repo *r, const git_oid *commit, struct record *ret_record,
		struct weir_err *e);

/* Returns: whether files of this name may stand in a record. Borrows: name. */
bool record_knows(const char *name);

/* Reads one file of it. Returns: 0, -ENOENT, or a negative errno with e. Borrows: name. */
int record_read_file(const struct repo *r, const git_oid *commit, const char *name,
		     struct buf *ret_data, struct weir_err *e);

#endif
