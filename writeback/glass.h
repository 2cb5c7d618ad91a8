/* SPDX-License-Identifier: MIT */
/*
 * Break-glass: commits that two people let in without the gate, for the hour in which that is
 * needed. gate.yaml's `break_glass` names those who may, as an allowed_signers file (namespace
 * git). Each of two pushes the same commits to the same branch with
 *
 *   git push --signed -o reason=TEXT
 *
 * The first push is refused and its certificate kept for GLASS_WINDOW_S (REPOSITORY/weir/glass);
 * the second, by another person with another key, gets in: first the ledger has an entry of kind
 * `break-glass`, then each of the commits has a record (writeback/record.h):
 *
 *   AA/COMMIT/break-glass             both certificates (writeback/pushcert.h), one after the
 *                                     other; the entry has their SHA-256
 *   AA/COMMIT/break-glass.entry       the ledger's entry: branch, old and new tip, by whom, why
 *   AA/COMMIT/break-glass.tlog-proof  that it is in the ledger
 *
 * A commit belongs to it that new reaches and old does not. Such commits are not attested. What is
 * promoted on top of them says so: one line `break-glass COMMIT` in its promotion text for each
 * that is in its history.
 */
#ifndef WEIR_WRITEBACK_GLASS_H
#define WEIR_WRITEBACK_GLASS_H

#include "writeback/config.h"
#include "writeback/ledgerentry.h"
#include "writeback/repo.h"
#include "writeback/tlog.h"

#define GLASS_FILE "break-glass"
#define GLASS_ENTRY "break-glass.entry"
#define GLASS_PROOF "break-glass.tlog-proof"
#define GLASS_WINDOW_S 3600
#define GLASS_COMMITS_MAX 64u

/* One signed certificate. */
struct glass_voice {
	struct buf text;
	struct buf blob; /* that signed: a key or a certificate */
	struct buf key;	 /* the key of it */
	char *ref;
	char *reason;
	char *nonce;
	git_oid old;
	git_oid new_id;
};

void glass_voice_done(struct glass_voice *v);

/* Reads a certificate and checks its signature. Returns: 0; -EBADMSG, -ENOTSUP, -EKEYREJECTED,
 * -ENOMEM with e. Borrows: text. Gives: ret_voice. */
int glass_hear(const char *text, size_t len, struct glass_voice *ret_voice, struct weir_err *e);

/* Whether two certificates are about one update, by two keys. Returns: 0 or -EBADMSG with e.
 * Borrows: both. */
int glass_agree(const struct glass_voice *a, const struct glass_voice *b, struct weir_err *e);

/* What is on record of one commit. */
struct glass {
	struct buf bundle;
	struct buf entry_text;
	struct buf proof_text;
	struct ledger_entry entry;
	struct tlog_proof proof;
};

void glass_done(struct glass *g);
#define cleanup_glass __attribute__((__cleanup__(glass_done)))

/* Whether a commit has such a record. Returns: 1, 0, or a negative errno with e. */
int glass_has(const struct repo *r, const git_oid *commit, struct weir_err *e);

/* Reads the record of a commit and checks it: certificates and signatures, that the ledger of
 * this key has the entry, and that the commit belongs to it. Who may sign is the ledger's word.
 * Returns: 0; -ENOENT when there is none; another negative errno with e. Borrows: all. Gives:
 * ret_glass. */
int glass_check(const struct repo *r, const git_oid *commit, const struct note_key *key,
		struct glass *ret_glass, struct weir_err *e);

/* Finds the break-glass commits in the history of a tip, the tip included, as far back as the
 * last promoted commit, whose text lists those before it. Returns: 0 or a negative errno with
 * e. Gives: their ids in order. Borrows: all. */
int glass_collect(const struct repo *r, const git_oid *tip, struct gate_texts *ret_commits,
		  struct weir_err *e);

/* Adds the ids that a promotion text lists. Returns: 0 or -ENOMEM. Borrows: text. */
int glass_listed(const char *text, struct gate_texts *ret_commits);

#endif
