/* SPDX-License-Identifier: MIT */
#include "writeback/packindex.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

void pack_table_done(struct pack_table *t)
{
	free(t->entries);
	free(t->slots);
	*t = (struct pack_table){ 0 };
}

/* Ids are hashes: their first bytes are as good as any hash of them. */
static uint32_t first_slot(const struct pack_table *t, const unsigned char *id)
{
	uint32_t word;

	memcpy(&word, id, sizeof(word));
	return word & (t->slot_count - 1);
}

static void insert(struct pack_table *t, uint32_t number)
{
	uint32_t slot = first_slot(t, t->entries[number].id);

	while (t->slots[slot] != 0)
		slot = (slot + 1) & (t->slot_count - 1);
	t->slots[slot] = number + 1;
}

static int grow(struct pack_table *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : 1024;
	struct pack_entry *entries;
	uint32_t *slots;

	if (t->cap > UINT32_MAX / 8)
		return -E2BIG;
	entries = reallocarray(t->entries, cap, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	t->entries = entries;
	slots = calloc(2 * (size_t)cap, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(t->slots);
	t->slots = slots;
	t->slot_count = 2 * cap;
	t->cap = cap;
	for (uint32_t i = 0; i < t->count; i++)
		insert(t, i);
	return 0;
}

int pack_table_add(struct pack_table *t, const struct pack_entry *entry)
{
	int err = t->count == t->cap ? grow(t) : 0;

	if (err < 0)
		return err;
	t->entries[t->count] = *entry;
	insert(t, t->count++);
	return 0;
}

const unsigned char *pack_table_find(const struct pack_table *t, const unsigned char id[PACK_ID])
{
	uint32_t slot;

	if (t->slot_count == 0)
		return NULL;
	for (slot = first_slot(t, id); t->slots[slot] != 0;
	     slot = (slot + 1) & (t->slot_count - 1)) {
		const struct pack_entry *entry = &t->entries[t->slots[slot] - 1];

		if (memcmp(entry->id, id, PACK_ID) == 0)
			return entry->sha256;
	}
	return NULL;
}

static int by_id(const void *a, const void *b)
{
	return memcmp(((const struct pack_entry *)a)->id, ((const struct pack_entry *)b)->id,
		      PACK_ID);
}

static void add_fanout(const struct pack_table *t, struct buf *b)
{
	uint32_t at = 0;

	for (unsigned int first = 0; first < 256; first++) {
		while (at < t->count && t->entries[at].id[0] <= first)
			at++;
		buf_add_u32be(b, at);
	}
}

static void add_offsets(const struct pack_table *t, struct buf *b)
{
	uint32_t large = 0;

	for (uint32_t i = 0; i < t->count; i++)
		buf_add_u32be(b, t->entries[i].offset < 0x80000000u ? (uint32_t)t->entries[i].offset
								    : 0x80000000u | large++);
	for (uint32_t i = 0; i < t->count; i++)
		if (t->entries[i].offset >= 0x80000000u)
			buf_add_u64be(b, t->entries[i].offset);
}

int pack_table_index(struct pack_table *t, const unsigned char name[PACK_ID], struct buf *ret_index)
{
	static const unsigned char head[8] = { 0xff, 't', 'O', 'c', 0, 0, 0, 2 };
	unsigned char sha1[PACK_ID];
	struct buf *b = ret_index;

	free(t->slots);
	t->slots = NULL;
	t->slot_count = 0;
	t->cap = t->count;
	if (t->count > 0)
		qsort(t->entries, t->count, sizeof(*t->entries), by_id);
	buf_add(b, head, sizeof(head));
	add_fanout(t, b);
	for (uint32_t i = 0; i < t->count; i++)
		buf_add(b, t->entries[i].id, PACK_ID);
	for (uint32_t i = 0; i < t->count; i++)
		buf_add_u32be(b, t->entries[i].crc);
	add_offsets(t, b);
	buf_add(b, name, PACK_ID);
	if (b->failed || EVP_Digest(b->data, b->len, sha1, NULL, EVP_sha1(), NULL) != 1)
		return b->failed ? -ENOMEM : -EIO;
	return buf_add(b, sha1, PACK_ID);
}
