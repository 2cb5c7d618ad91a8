/* SPDX-License-Identifier: MIT */
/*
 * When keys were valid: by index of the ledger, never by a date. `weir-gate key` writes each change
 * as an entry of kind `key` (writeback/ledgerentry.h), so that the ledger itself is the history:
 *
 *   old and new   rotation: from this entry on the one, until it the other
 *   new           a host's key is taken on: it is valid from this entry on
 *   old           it ends with this entry, or with `since`, an earlier one, from which on it is
 *                 not to be trusted (it was lost, or stolen)
 *
 * A key that no entry takes on is valid from the beginning: gate.yaml and the signers file list it.
 * What was signed for the entry with index N counts when the key was valid at N.
 *
 * Keys: "TYPE BASE64" of the gate, 64 hex digits of a host, NAME+ID+BASE64 (writeback/note.h) of the
 * ledger itself. That one can't be judged by what it has signed: its entry tells when it was, and the
 * file with the public key says until which size the one before it counts.
 *
 * So that a clone can judge: file `keys` of each record (writeback/record.h), where there are such
 * entries, canonical JSON {"keys":[{"entry":TEXT,"proof":TEXT}, ...],"schema":"weir.keys/1"}: all
 * entries before this promotion, each with its proof (writeback/tlog.h). That none is missing, the
 * line `keys COUNT SHA256` of the promotion text says, SHA256 being that of all entry texts together.
 * Later ones come with the record of the branch's tip.
 */
#ifndef WEIR_WRITEBACK_KEYHIST_H
#define WEIR_WRITEBACK_KEYHIST_H

#include "writeback/ledger.h"
#include "writeback/ledgerentry.h"
#include "writeback/repo.h"

#define KEYHIST_FILE "keys" /* of a record, and the key of the promotion text */
#define KEYHIST_SCHEMA "weir.keys/1"
#define KEYHIST_CACHE \
	"weir/keys" /* below the repository: "SIZE INDEX ...", what a ledger of SIZE has */
#define KEYHIST_MAX 10000u

#define KEYHIST_GATE "gate"
#define KEYHIST_HOST "host"
#define KEYHIST_LEDGER "ledger"

struct keyhist_item {
	uint64_t index;
	struct ledger_entry entry;
	struct buf text;
};

struct keyhist {
	struct keyhist_item *items; /* by index */
	size_t count;
};

void keyhist_done(struct keyhist *h);
#define cleanup_keyhist __attribute__((__cleanup__(keyhist_done)))

/* Reads all of it from a ledger. Returns: 0, refused with code "ledger", or a negative errno with
 * e. Borrows: l. Gives: ret_history. */
int keyhist_load(struct ledger *l, struct keyhist *ret_history, struct weir_err *e);

/* The same for the gate, under its lock, without reading entries that are in the repository's
 * cache; writes that. Returns: as above. Borrows: all. */
int keyhist_load_cached(struct ledger *l, const struct repo *r, struct keyhist *ret_history,
			struct weir_err *e);

/* Appends the value of the promotion text's line. Returns: 0 or -ENOMEM. Borrows: h. */
int keyhist_line(const struct keyhist *h, struct buf *ret_value);

/* Appends the record's file, with proofs of the ledger as it is now. Returns: 0, refused with code
 * "ledger", or a negative errno with e. Borrows: all. */
int keyhist_format(const struct keyhist *h, struct ledger *l, struct buf *ret_text,
		   struct weir_err *e);

/* Reads it; each entry must be in a ledger that this key signed. Returns: 0, -EBADMSG with why in
 * e, -ENOMEM. Borrows: all. Gives: ret_history. */
int keyhist_parse(const struct note_key *k, const char *text, size_t len,
		  struct keyhist *ret_history, struct weir_err *e);

/* Whether a key was valid for the entry with this index. Returns: 0, or -EPERM with why in e.
 * Borrows: all. */
int keyhist_judge(const struct keyhist *h, const char *role, const char *key, uint64_t index,
		  struct weir_err *e);

/* Whether the last that is said about a key is that it begins. Returns: truth. Borrows: all. */
bool keyhist_begun(const struct keyhist *h, const char *role, const char *key);

/* Appends "TYPE BASE64" of a public blob. Returns: 0, -EBADMSG, -ENOMEM. Borrows: blob. */
int keyhist_name(const struct buf *blob, struct buf *ret_key);

#endif
