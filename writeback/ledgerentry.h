/* SPDX-License-Identifier: MIT */
/*
 * Entries of the gate's ledger: canonical JSON and a newline, schema "weir.ledger/1".
 *
 *   intent   kind, time, repository (id of gate.yaml), ref, base, tree, commit, promotion,
 *            statement, run, nonce, attestations: this is about to be published
 *   done     kind, time, intent (index), ref, commit, promotion, attestations: it was
 *   aborted  kind, time, intent (index or null), ref, run, nonce, commit, promotion (null
 *            where not known), reason (code of writeback/reason.h), why: it was not
 *   break-glass  kind, time, ref, base, commit, statement, by, why: two people let this in without
 *            the gate (writeback/glass.h); statement is the SHA-256 of their push certificates
 *
 *   key      kind, time, role, old, new, since, why: a key ends, another begins
 *            (writeback/keyhist.h); what does not apply is null
 *
 * time: seconds since 1970 by the gate's clock, a label: order is the index. A refusal before
 * anything was begun is an `aborted` without intent. promotion, statement and attestations
 * are SHA-256 of the promotion text, the host's statement, and the bundle of attestations.
 */
#ifndef WEIR_WRITEBACK_LEDGERENTRY_H
#define WEIR_WRITEBACK_LEDGERENTRY_H

#include "user/base/buf.h"
#include "user/base/digest.h"
#include "user/base/err.h"

#define LEDGER_SCHEMA "weir.ledger/1"

/* X(ID, name) */
#define LEDGER_KINDS(X) \
	X(INTENT, "intent") \
	X(DONE, "done") \
	X(ABORTED, "aborted") \
	X(GLASS, "break-glass") \
	X(KEY, "key")

enum ledger_kind {
#define WEIR_X(id, name) LEDGER_##id,
	LEDGER_KINDS(WEIR_X)
#undef WEIR_X
	LEDGER_KIND_COUNT,
};

/* Texts are borrowed when written, and owned when read (ledger_entry_done); "" or NULL: not
 * known. */
struct ledger_entry {
	enum ledger_kind kind;
	int64_t time;
	int64_t intent; /* -1: none */
	char *repository;
	char *ref;
	char *base;
	char *tree;
	char *commit;
	char *promotion;
	char *statement;
	char *run;
	char *nonce;
	char *attestations;
	char *reason;
	char *why;
	char *by;
	char *role;
	char *old_key;
	char *new_key;
	char *since; /* decimal */
};

void ledger_entry_done(struct ledger_entry *n);
#define cleanup_ledger_entry __attribute__((__cleanup__(ledger_entry_done)))

/* Appends the text of an entry; time is set to now when it is 0. Returns: 0 or -ENOMEM.
 * Borrows: n. */
int ledger_entry_format(const struct ledger_entry *n, struct buf *ret_text);

/* Reads one. Returns: 0, -EBADMSG with e. Borrows: text. Gives: ret_entry. */
int ledger_entry_parse(const char *text, size_t len, struct ledger_entry *ret_entry,
		       struct weir_err *e);

/* Returns: the name of a kind; static. */
const char *ledger_kind_name(enum ledger_kind kind);

#endif
