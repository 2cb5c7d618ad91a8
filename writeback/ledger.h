/* SPDX-License-Identifier: MIT */
/*
 * The ledger on disk: an append-only transparency log in the layout of c2sp.org/tlog-tiles
 * (writeback/tlog.h), which any web server can serve and anybody can check.
 *
 *   LEDGER/checkpoint           the signed head; replaced by rename, last
 *   LEDGER/tile/LEVEL/N[.p/W]   hashes
 *   LEDGER/tile/entries/N[.p/W] entries (writeback/ledgerentry.h)
 *
 * A partial tile stays until its full one is there, so that each checkpoint that was ever
 * given out can be checked.
 *
 * Before an append the log must be what its checkpoint says: signature, root of its tiles,
 * the entries of the last bundle. It must also go on from the copy of the last checkpoint
 * that is kept elsewhere (REPOSITORY/weir/checkpoint): a ledger that was set back is refused.
 *
 * Order of an append: tiles and bundle, each written beside, synced, renamed; new root
 * computed from them, consistency with the old root proved; checkpoint; the copy. A crash before
 * the checkpoint leaves the old log and tiles that nothing names, which the next append
 * overwrites. One writer at a time: the caller holds the gate's lock (publish_lock).
 */
#ifndef WEIR_WRITEBACK_LEDGER_H
#define WEIR_WRITEBACK_LEDGER_H

#include "writeback/sshkey.h"
#include "writeback/tlog.h"

#define LEDGER_CHECKPOINT "checkpoint"

struct ledger_cache;

struct ledger {
	int dir;
	char *path;
	struct note_key key;
	struct tlog_checkpoint checkpoint;
	struct buf note; /* the signed checkpoint */
	struct ledger_cache *cache;
};

/* Closes it. */
void ledger_close(struct ledger *l);
#define cleanup_ledger __attribute__((__cleanup__(ledger_close)))

/* Makes an empty ledger in an existing empty directory. Returns: 0 or a negative errno with
 * e. Borrows: all. */
int ledger_create(const char *path, const struct note_key *k,
		  const unsigned char seed[ED25519_SEED], struct weir_err *e);

/* Opens a ledger and checks it against its checkpoint. Returns: 0; refused with code
 * "ledger" when it is damaged, forged or missing; or a negative errno. Gives: ret_ledger.
 * Borrows: path, k. */
int ledger_open(const char *path, const struct note_key *k, struct ledger *ret_ledger,
		struct weir_err *e);

/* Checks that the ledger goes on from an earlier checkpoint of it, a signed note.
 * Returns: 0, refused with code "ledger-rolled-back" or "ledger". Borrows: all. */
int ledger_check_follows(struct ledger *l, const char *note, size_t len, struct weir_err *e);

/* The same for a size and root that are known otherwise. Returns: as above. Borrows: all. */
int ledger_check_prefix(struct ledger *l, const struct tlog_checkpoint *old, struct weir_err *e);

/* Adds a signature of one more key to the last checkpoint, unless it has one. Returns: 0 or a negative
 * errno with e. Borrows: k, seed. */
int ledger_cosign(struct ledger *l, const struct note_key *k,
		  const unsigned char seed[ED25519_SEED], struct weir_err *e);

/* Appends an entry. Gives: its index. Returns: 0, refused with code "ledger", or a negative
 * errno; then the log on disk is the old one. Borrows: all. */
int ledger_append(struct ledger *l, const unsigned char seed[ED25519_SEED], const void *entry,
		  size_t len, uint64_t *ret_index, struct weir_err *e);

/* Reads an entry, checked against the tree. Returns: 0, -ENOENT at or past the end, refused
 * with code "ledger". Borrows: l. */
int ledger_read(struct ledger *l, uint64_t index, struct buf *ret_entry, struct weir_err *e);

/* Calls fn (may be NULL) for each entry, in order, until it returns other than 0; checks all
 * entries, the hashes of each, and that together they have the checkpoint's root, without any
 * tile above. Returns: 0, what fn returned, or refused with code "ledger". Borrows: l. */
typedef int ledger_walk_fn(uint64_t index, const struct tlog_entry *entry, void *arg,
			   struct weir_err *e);
int ledger_walk(struct ledger *l, ledger_walk_fn *fn, void *arg, struct weir_err *e);

/* Appends a proof (tlog.h) that an entry is in the log of the present checkpoint, or that the
 * log of an earlier size is a prefix of it. Returns: 0, refused with code "ledger", or a
 * negative errno. Borrows: l. */
int ledger_prove(struct ledger *l, uint64_t index, struct buf *ret_proof, struct weir_err *e);
int ledger_prove_prefix(struct ledger *l, uint64_t old, struct buf *ret_proof, struct weir_err *e);

#endif
