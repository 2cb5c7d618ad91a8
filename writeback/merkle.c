/* SPDX-License-Identifier: MIT */
#include "writeback/merkle.h"

#include <errno.h>
#include <string.h>

#define TILE_HEIGHT 8u

static int hash_two(unsigned char prefix, const void *a, size_t a_len, const void *b, size_t b_len,
		    struct merkle_hash *ret_hash)
{
	cleanup_digest struct digest *d = digest_new();
	int err;

	if (!d)
		return -ENOMEM;
	err = digest_add(d, &prefix, 1);
	if (err == 0)
		err = digest_add(d, a, a_len);
	if (err == 0 && b_len > 0)
		err = digest_add(d, b, b_len);
	return err < 0 ? err : digest_end(d, ret_hash->bytes);
}

int merkle_leaf(const void *entry, size_t len, struct merkle_hash *ret_hash)
{
	return hash_two(0, entry, len, NULL, 0, ret_hash);
}

int merkle_node(const struct merkle_hash *left, const struct merkle_hash *right,
		struct merkle_hash *ret_hash)
{
	return hash_two(1, left->bytes, DIGEST_SIZE, right->bytes, DIGEST_SIZE, ret_hash);
}

bool merkle_equal(const struct merkle_hash *a, const struct merkle_hash *b)
{
	return memcmp(a->bytes, b->bytes, DIGEST_SIZE) == 0;
}

static bool is_power(uint64_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

/* The largest power of two below n, which is at least 2. */
static uint64_t split(uint64_t n)
{
	return (uint64_t)1 << (63 - __builtin_clzll(n - 1));
}

/* Hash of a complete subtree of 2^height entries: its halves, down to what the source has. */
static int subtree(const struct merkle_source *s, unsigned int height, uint64_t index,
		   struct merkle_hash *ret_hash)
{
	struct merkle_hash left, right;
	int err;

	if (height % TILE_HEIGHT == 0)
		return s->read(s->arg, height / TILE_HEIGHT, index, ret_hash);
	err = subtree(s, height - 1, 2 * index, &left);
	if (err == 0)
		err = subtree(s, height - 1, 2 * index + 1, &right);
	return err < 0 ? err : merkle_node(&left, &right, ret_hash);
}

/* MTH(D[from:to]) of RFC 6962. */
static int range(const struct merkle_source *s, uint64_t from, uint64_t to,
		 struct merkle_hash *ret_hash)
{
	struct merkle_hash left, right;
	uint64_t n = to - from, k;
	int err;

	if (is_power(n)) {
		unsigned int height = (unsigned int)__builtin_ctzll(n);

		return subtree(s, height, from >> height, ret_hash);
	}
	k = split(n);
	err = range(s, from, from + k, &left);
	if (err == 0)
		err = range(s, from + k, to, &right);
	return err < 0 ? err : merkle_node(&left, &right, ret_hash);
}

int merkle_root(const struct merkle_source *s, uint64_t size, struct merkle_hash *ret_root)
{
	if (size > MERKLE_SIZE_MAX)
		return -EINVAL;
	return size == 0 ? digest_bytes("", 0, ret_root->bytes) : range(s, 0, size, ret_root);
}

/* Appends the hash of a range. */
static int push(const struct merkle_source *s, uint64_t from, uint64_t to, struct merkle_path *path)
{
	if (path->count >= MERKLE_PATH_MAX)
		return -EINVAL;
	return range(s, from, to, &path->hashes[path->count++]);
}

/* PATH(index, D[from:to]) */
static int prove_inclusion(const struct merkle_source *s, uint64_t index, uint64_t from,
			   uint64_t to, struct merkle_path *path)
{
	uint64_t k;
	int err;

	if (to - from == 1)
		return 0;
	k = split(to - from);
	if (index < from + k) {
		err = prove_inclusion(s, index, from, from + k, path);
		return err < 0 ? err : push(s, from + k, to, path);
	}
	err = prove_inclusion(s, index, from + k, to, path);
	return err < 0 ? err : push(s, from, from + k, path);
}

int merkle_prove_inclusion(const struct merkle_source *s, uint64_t index, uint64_t size,
			   struct merkle_path *ret_path)
{
	ret_path->count = 0;
	if (index >= size || size > MERKLE_SIZE_MAX)
		return -EINVAL;
	return prove_inclusion(s, index, 0, size, ret_path);
}

/* SUBPROOF(old, D[from:to], whole): whole while the old tree is a complete subtree here */
static int prove_consistency(const struct merkle_source *s, uint64_t old, uint64_t from,
			     uint64_t to, bool whole, struct merkle_path *path)
{
	uint64_t n = to - from, k;
	int err;

	if (old == n)
		return whole ? 0 : push(s, from, to, path);
	k = split(n);
	if (old <= k) {
		err = prove_consistency(s, old, from, from + k, whole, path);
		return err < 0 ? err : push(s, from + k, to, path);
	}
	err = prove_consistency(s, old - k, from + k, to, false, path);
	return err < 0 ? err : push(s, from, from + k, path);
}

int merkle_prove_consistency(const struct merkle_source *s, uint64_t old, uint64_t size,
			     struct merkle_path *ret_path)
{
	ret_path->count = 0;
	if (old > size || size > MERKLE_SIZE_MAX)
		return -EINVAL;
	if (old == 0 || old == size)
		return 0;
	return prove_consistency(s, old, 0, size, true, ret_path);
}

/* Folds a path into the root that it claims: which side each hash stands on follows from the
 * index of the leaf and of the last leaf (RFC 9162, 2.1.3.2). */
static int fold(const struct merkle_path *path, uint64_t index, uint64_t last,
		struct merkle_hash *hash)
{
	for (unsigned int i = 0; i < path->count; i++) {
		const struct merkle_hash *other = &path->hashes[i];
		int err;

		if (last == 0)
			return -EBADMSG;
		if ((index & 1) || index == last) {
			err = merkle_node(other, hash, hash);
			while (!(index & 1) && index != 0) {
				index >>= 1;
				last >>= 1;
			}
		} else {
			err = merkle_node(hash, other, hash);
		}
		if (err < 0)
			return err;
		index >>= 1;
		last >>= 1;
	}
	return last == 0 ? 0 : -EBADMSG;
}

int merkle_check_inclusion(const struct merkle_hash *leaf, uint64_t index, uint64_t size,
			   const struct merkle_path *path, const struct merkle_hash *root)
{
	struct merkle_hash hash = *leaf;
	int err;

	if (index >= size || size > MERKLE_SIZE_MAX || path->count > MERKLE_PATH_MAX)
		return -EBADMSG;
	err = fold(path, index, size - 1, &hash);
	if (err < 0)
		return err;
	return merkle_equal(&hash, root) ? 0 : -EBADMSG;
}

/* RFC 9162, 2.1.4.2: both roots are folded from one path at once. */
static int fold_both(const struct merkle_path *path, unsigned int from, uint64_t index,
		     uint64_t last, struct merkle_hash *old, struct merkle_hash *new)
{
	for (unsigned int i = from; i < path->count; i++) {
		const struct merkle_hash *other = &path->hashes[i];
		int err;

		if (last == 0)
			return -EBADMSG;
		if ((index & 1) || index == last) {
			err = merkle_node(other, old, old);
			if (err == 0)
				err = merkle_node(other, new, new);
			while (!(index & 1) && index != 0) {
				index >>= 1;
				last >>= 1;
			}
		} else {
			err = merkle_node(new, other, new);
		}
		if (err < 0)
			return err;
		index >>= 1;
		last >>= 1;
	}
	return last == 0 ? 0 : -EBADMSG;
}

int merkle_check_consistency(uint64_t old, const struct merkle_hash *old_root, uint64_t size,
			     const struct merkle_hash *root, const struct merkle_path *path)
{
	struct merkle_hash a, b, empty;
	uint64_t index = old - 1, last = size - 1;
	unsigned int from = 0;
	int err;

	if (old > size || size > MERKLE_SIZE_MAX || path->count > MERKLE_PATH_MAX)
		return -EBADMSG;
	if (old == 0) {
		err = digest_bytes("", 0, empty.bytes);
		if (err < 0)
			return err;
		return path->count == 0 && merkle_equal(&empty, old_root) ? 0 : -EBADMSG;
	}
	if (old == size)
		return path->count == 0 && merkle_equal(old_root, root) ? 0 : -EBADMSG;
	if (is_power(old))
		a = *old_root;
	else if (path->count > 0)
		a = path->hashes[from++];
	else
		return -EBADMSG;
	b = a;
	while (index & 1) {
		index >>= 1;
		last >>= 1;
	}
	err = fold_both(path, from, index, last, &a, &b);
	if (err < 0)
		return err;
	return merkle_equal(&a, old_root) && merkle_equal(&b, root) ? 0 : -EBADMSG;
}
