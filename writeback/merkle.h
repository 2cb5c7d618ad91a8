/* SPDX-License-Identifier: MIT */
/*
 * Merkle trees of RFC 6962, section 2.1, over SHA-256:
 *
 *   leaf   SHA-256(0x00 || entry)        node   SHA-256(0x01 || left || right)
 *   empty  SHA-256("")                   split  at the largest power of two below n
 *
 * Hashes come from a source that knows those of complete subtrees of height 8 * level, as
 * tiles store them (writeback/tlog.h); all between is computed. Pure: no file is touched.
 */
#ifndef WEIR_WRITEBACK_MERKLE_H
#define WEIR_WRITEBACK_MERKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/digest.h"

#define MERKLE_TILE 256u /* hashes of a full tile */
#define MERKLE_LEVELS 8	 /* levels of tiles that 64-bit sizes can have */
#define MERKLE_PATH_MAX 64u
#define MERKLE_SIZE_MAX ((uint64_t)1 << 56)

struct merkle_hash {
	unsigned char bytes[DIGEST_SIZE];
};

/* Hashes of a proof, in RFC 6962's order: from the leaf's sibling up. */
struct merkle_path {
	struct merkle_hash hashes[MERKLE_PATH_MAX];
	unsigned int count;
};

/* Gives the hash of entries [index * 256^level, (index + 1) * 256^level).
 * Returns: 0 or a negative errno. */
typedef int merkle_read_fn(void *arg, unsigned int level, uint64_t index,
			   struct merkle_hash *ret_hash);

struct merkle_source {
	merkle_read_fn *read;
	void *arg;
};

/* Hashes of an entry and of two subtrees. Returns: 0 or a negative errno. Borrows: all. */
int merkle_leaf(const void *entry, size_t len, struct merkle_hash *ret_hash);
int merkle_node(const struct merkle_hash *left, const struct merkle_hash *right,
		struct merkle_hash *ret_hash);

/* Root of the first `size` entries. Returns: 0, -EINVAL past MERKLE_SIZE_MAX, or what the
 * source returned. Borrows: s. */
int merkle_root(const struct merkle_source *s, uint64_t size, struct merkle_hash *ret_root);

/* Proof that entry `index` is in the tree of `size`. Returns: 0, -EINVAL when index is not
 * below size, or what the source returned. Borrows: s. */
int merkle_prove_inclusion(const struct merkle_source *s, uint64_t index, uint64_t size,
			   struct merkle_path *ret_path);

/* Proof that the tree of `old` is a prefix of the tree of `size`; empty for old 0 or size.
 * Returns: 0, -EINVAL when old is above size, or what the source returned. Borrows: s. */
int merkle_prove_consistency(const struct merkle_source *s, uint64_t old, uint64_t size,
			     struct merkle_path *ret_path);

/* Checks a proof of inclusion. Returns: 0, -EBADMSG when it does not show it, -EIO.
 * Borrows: all. */
int merkle_check_inclusion(const struct merkle_hash *leaf, uint64_t index, uint64_t size,
			   const struct merkle_path *path, const struct merkle_hash *root);

/* Checks a proof of consistency; a tree of 0 is a prefix of each, with an empty proof.
 * Returns: 0, -EBADMSG when it does not show it, -EIO. Borrows: all. */
int merkle_check_consistency(uint64_t old, const struct merkle_hash *old_root, uint64_t size,
			     const struct merkle_hash *root, const struct merkle_path *path);

/* Returns: whether two hashes are the same. Borrows: both. */
bool merkle_equal(const struct merkle_hash *a, const struct merkle_hash *b);

#endif
