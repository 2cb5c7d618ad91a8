/* SPDX-License-Identifier: MIT */
/*
 * What a pack holds: a table by object id, and from it the index file (format in pack.h).
 */
#ifndef WEIR_WRITEBACK_PACKINDEX_H
#define WEIR_WRITEBACK_PACKINDEX_H

#include <stdint.h>

#include "user/base/buf.h"
#include "writeback/pack.h"

struct pack_entry {
	uint64_t offset;
	uint32_t crc;
	unsigned char id[PACK_ID];
	unsigned char sha256[DIGEST_SIZE];
};

/* Starts with {0}. */
struct pack_table {
	struct pack_entry *entries;
	uint32_t count;
	uint32_t cap;
	uint32_t *slots; /* hash table: entry number + 1, 0 is free */
	uint32_t slot_count;
};

void pack_table_done(struct pack_table *t);

/* Adds an entry with a new id. Returns: 0, -ENOMEM, -E2BIG. Borrows: entry. */
int pack_table_add(struct pack_table *t, const struct pack_entry *entry);

/* Returns: SHA-256 of the object with this id, borrowed, or NULL. Borrows: id. */
const unsigned char *pack_table_find(const struct pack_table *t, const unsigned char id[PACK_ID]);

/* Appends the index file; sorts the entries, after which nothing can be added or found.
 * Returns: 0, -ENOMEM, -EIO. Borrows: name (the pack's trailer). */
int pack_table_index(struct pack_table *t, const unsigned char name[PACK_ID],
		     struct buf *ret_index);

#endif
