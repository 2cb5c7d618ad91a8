/* SPDX-License-Identifier: MIT */
/* Tiles and bundles of a ledger as files; see ledger.h. For ledger.c alone. */
#ifndef WEIR_WRITEBACK_LEDGERTILE_H
#define WEIR_WRITEBACK_LEDGERTILE_H

#include "writeback/ledger.h"

/* The ledger as it is, or will be, at a size. */
struct ledger_view {
	const struct ledger *ledger;
	uint64_t size;
};

/* A few tiles kept in memory. Returns: NULL when out of memory; for free(). */
struct ledger_cache *ledgertile_cache_new(void);

/* A merkle_read_fn over a struct ledger_view. Returns: 0, -ENOENT, -EBADMSG for a file of
 * another size, or the errno of reading. */
int ledgertile_read(void *arg, unsigned int level, uint64_t index, struct merkle_hash *ret_hash);

/* Reads the bundle that has an entry. Gives: its bytes, and entries that point into them.
 * Returns: 0, -ENOENT, -EBADMSG, or the errno of reading. Borrows: v. */
int ledgertile_bundle(const struct ledger_view *v, uint64_t index, struct buf *ret_bytes,
		      struct tlog_entry ret_entries[MERKLE_TILE]);

/* Writes bundle and tiles of the log with one entry more, durably; nothing that the log of now
 * needs is touched. Returns: 0, -EBADMSG when what is there contradicts itself, or another
 * negative errno. Borrows: entry. */
int ledgertile_add(const struct ledger *l, const void *entry, size_t len);

/* Removes partial tiles of full ones, in as far as it can. Borrows: l. */
void ledgertile_drop_partials(const struct ledger *l);

#endif
