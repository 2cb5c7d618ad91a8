/* SPDX-License-Identifier: MIT */
/*
 * A pack of our own, written front to back without deltas (gitformat-pack(5)).
 *
 * Pack v2: "PACK", u32 2, u32 count; per object a head (3 bits type, size in groups of
 * 4+7+7... bits, low first) and its content as a zlib stream; SHA-1 of all before.
 * Index v2: ff 't' 'O' 'c', u32 2; 256 u32 of how many ids have at most this first byte;
 * sorted ids; CRC-32 of each packed object; u32 offsets (bit 31: index into the table of
 * u64 offsets that follows); SHA-1 of the pack, SHA-1 of the index. All big endian.
 *
 * Content is compressed by zlib, or, in builds with WEIR_LIBDEFLATE, by libdeflate where it
 * is held whole (it takes half the time); both make zlib streams.
 *
 * The object count stands in the head and is known at the end: the head is then written
 * again, and the file read back once for its SHA-1 (the trailer) and SHA-256 (ours).
 */
#ifndef WEIR_WRITEBACK_PACK_H
#define WEIR_WRITEBACK_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/buf.h"
#include "user/base/digest.h"
#include "user/base/err.h"

#define PACK_ID 20 /* bytes of an object id */

enum pack_type {
	PACK_COMMIT = 1,
	PACK_TREE = 2,
	PACK_BLOB = 3,
	PACK_TAG = 4,
};

struct pack;

/* fd: an empty file, open for reading and writing. level: of zlib, 0 to 9.
 * Returns: 0, -ENOMEM, or the errno of writing. Borrows: fd. Gives: ret_pack. */
int pack_new(int fd, int level, struct pack **ret_pack);
void pack_free(struct pack *p);
static inline void cleanup_pack_fn(struct pack **p)
{
	pack_free(*p);
}
#define cleanup_pack __attribute__((__cleanup__(cleanup_pack_fn)))

/* Looks an object up that was added. Returns: its SHA-256 (of the content, zeros for trees
 * and commits), borrowed until the next addition, or NULL. Borrows: id. */
const unsigned char *pack_find(const struct pack *p, const unsigned char id[PACK_ID]);

/* Adds an object whose id is known. One that is there already is not added again.
 * Returns: 0 or a negative errno, after which the pack can't be used. Borrows: all. */
int pack_add(struct pack *p, enum pack_type type, const void *data, size_t len,
	     const unsigned char id[PACK_ID], const unsigned char sha256[DIGEST_SIZE]);

/* Adds a large object in pieces; size is met exactly. pack_end names it; pack_abandon takes
 * it back. Returns: 0, -EMSGSIZE for another size than was said, or a negative errno. */
int pack_begin(struct pack *p, enum pack_type type, uint64_t size);
int pack_write(struct pack *p, const void *data, size_t len);
int pack_end(struct pack *p, const unsigned char id[PACK_ID],
	     const unsigned char sha256[DIGEST_SIZE]);
int pack_abandon(struct pack *p);

struct pack_result {
	unsigned char name[PACK_ID]; /* the pack's trailer, as git names files */
	unsigned char sha256[DIGEST_SIZE];
	uint64_t bytes;
	uint32_t objects;
};

/* Ends the pack and syncs it. Gives: facts, and the index's bytes. Returns: 0 or a
 * negative errno. */
int pack_finish(struct pack *p, struct pack_result *ret_result, struct buf *ret_index);

/* Hashes a file from its start. Returns: 0 or a negative errno. Borrows: fd. */
int pack_hash_file(int fd, unsigned char ret_sha256[DIGEST_SIZE]);

/* Returns: how many objects were added. */
uint32_t pack_count(const struct pack *p);

#endif
