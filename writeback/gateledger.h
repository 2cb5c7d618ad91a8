/* SPDX-License-Identifier: MIT */
/*
 * The ledger in the gate's hands: opened with the ledger's key under the gate's lock, checked
 * against the copy of its last checkpoint that stands in the repository (weir/checkpoint),
 * and written to around each publication.
 */
#ifndef WEIR_WRITEBACK_GATELEDGER_H
#define WEIR_WRITEBACK_GATELEDGER_H

#include "writeback/config.h"
#include "writeback/ledger.h"
#include "writeback/ledgerentry.h"
#include "writeback/repo.h"

#define GATELEDGER_COPY "weir/checkpoint" /* below the repository */

struct gateledger {
	struct ledger log;
	struct sshkey key;
	const struct repo *repo;
};

/* Closes it and wipes the key. */
void gateledger_close(struct gateledger *g);
#define cleanup_gateledger __attribute__((__cleanup__(gateledger_close)))

/* The name under which a gate's ledger signs. Returns: 0 or -EINVAL. Borrows: c. */
int gateledger_origin(const struct gate_config *c, char ret_name[NOTE_NAME_MAX]);

/* Loads the key that signs, and those before it. rotating: a rotation may have been left half done,
 * with another key in GATE_LEDGER_PUBLIC than the one that signs. Returns: 0; refused with code "key";
 * or a negative errno. Gives: ret_seed (wipe it), ret_key. Borrows: c. */
int gateledger_key(const struct gate_config *c, bool rotating, struct sshkey *ret_seed,
		   struct note_key *ret_key, struct weir_err *e);

/* Opens and checks it, for appending. Returns: 0; refused with code "key", "ledger" or
 * "ledger-rolled-back"; or a negative errno. Borrows: c, r, until it is closed. */
int gateledger_open(const struct gate_config *c, const struct repo *r,
		    struct gateledger *ret_ledger, struct weir_err *e);

/* The same for who rotates its key. Returns: as gateledger_open. Borrows: c, r. Gives: ret_ledger. */
int gateledger_open_rotating(const struct gate_config *c, const struct repo *r,
			     struct gateledger *ret_ledger, struct weir_err *e);

/* Lets another key sign the last checkpoint as well, which is the hand-over. Returns: 0 or a negative
 * errno with e. Borrows: seed. */
int gateledger_hand_over(struct gateledger *g, const unsigned char seed[ED25519_SEED],
			 const unsigned char public_key[ED25519_PUBLIC], struct weir_err *e);

/* Says that the copy is not there although the ledger has entries. Returns: refused with code
 * "ledger". Borrows: r. */
int gateledger_no_copy(const struct repo *r, struct weir_err *e);

/* Appends an entry. Gives: its index (may be NULL). Returns: as ledger_append. Borrows: n. */
int gateledger_add(struct gateledger *g, const struct ledger_entry *n, uint64_t *ret_index,
		   struct weir_err *e);

/* Reads an entry. Returns: 0, -ENOENT past the end, refused with code "ledger".
 * Gives: ret_entry. */
int gateledger_read(struct gateledger *g, uint64_t index, struct ledger_entry *ret_entry,
		    struct weir_err *e);

/* Ends an intent: `done`, or `aborted` with reason and why, of the intent at this index. An
 * intent that was never written, or that is ended that way already, stays as it is; one
 * that is ended the other way is a refusal. Returns: 0, refused with code "ledger", or a negative
 * errno. Borrows: all. */
int gateledger_end(struct gateledger *g, uint64_t intent, const char *commit, enum ledger_kind kind,
		   const char *reason, const char *why, struct weir_err *e);

#endif
