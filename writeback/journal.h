/* SPDX-License-Identifier: MIT */
/* The journal of a publication under way; see publish.h. */
#ifndef WEIR_WRITEBACK_JOURNAL_H
#define WEIR_WRITEBACK_JOURNAL_H

#include "writeback/dirsdisk.h"
#include "writeback/nonce.h"
#include "writeback/reflock.h"

#define JOURNAL_REFS 2

struct journal {
	bool ready;			   /* all objects are durable */
	struct nonce nonce;		   /* id, run, statement, promoted */
	uint64_t intent;		   /* where the ledger has, or would have, it */
	struct reflock refs[JOURNAL_REFS]; /* the branch last */
	char *dir;			   /* NULL: it is about no directory (writeback/dirs.h) */
	struct dirs_swap swap;
};

void journal_done(struct journal *j);
#define cleanup_journal __attribute__((__cleanup__(journal_done)))

/* Writes it durably. Returns: 0 or a negative errno with e. Borrows: j. */
int journal_write(const struct repo *r, const struct journal *j, struct weir_err *e);

/* Reads it. Returns: 0, -ENOENT when there is none, or a negative errno with e. */
int journal_read(const struct repo *r, struct journal *ret_journal, struct weir_err *e);

/* Removes it durably. Returns: 0 or a negative errno with e. */
int journal_remove(const struct repo *r, struct weir_err *e);

#endif
