/* SPDX-License-Identifier: MIT */
/* Merkle trees against the published vectors of RFC 6962, and against the RFC's own recursion,
 * written here once more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "writeback/merkle.h"

#define LEAVES 600u

/* Vectors of certificate-transparency's merkle_tree tests. */
static const struct {
	const char *entry;
	size_t len;
	const char *root; /* of the tree up to here */
} vectors[] = {
	{ "", 0, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d" },
	{ "\x00", 1, "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125" },
	{ "\x10", 1, "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77" },
	{ "\x20\x21", 2, "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7" },
	{ "\x30\x31", 2, "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4" },
	{ "\x40\x41\x42\x43", 4,
	  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef" },
	{ "\x50\x51\x52\x53\x54\x55\x56\x57", 8,
	  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c" },
	{ "\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f", 16,
	  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328" },
};
#define VECTORS (sizeof(vectors) / sizeof(vectors[0]))

struct leaves {
	struct merkle_hash hashes[LEAVES];
	uint64_t count;
	unsigned int reads;
};

static struct leaves leaves;

/* MTH of RFC 6962 in the words of the RFC. */
static struct merkle_hash mth(const struct merkle_hash *d, uint64_t n)
{
	struct merkle_hash left, right, out;
	uint64_t k = 1;

	if (n == 0) {
		assert_int_equal(digest_bytes("", 0, out.bytes), 0);
		return out;
	}
	if (n == 1)
		return d[0];
	while (2 * k < n)
		k *= 2;
	left = mth(d, k);
	right = mth(d + k, n - k);
	assert_int_equal(merkle_node(&left, &right, &out), 0);
	return out;
}

/* What tiles hold: hashes of height 0 and 8. */
static int read_hash(void *arg, unsigned int level, uint64_t index, struct merkle_hash *ret_hash)
{
	struct leaves *l = arg;

	l->reads++;
	if (level == 0 && index < l->count) {
		*ret_hash = l->hashes[index];
		return 0;
	}
	if (level == 1 && (index + 1) * 256 <= l->count) {
		*ret_hash = mth(l->hashes + index * 256, 256);
		return 0;
	}
	return -ENOENT;
}

static const struct merkle_source source = { read_hash, &leaves };

static void use_vectors(void)
{
	leaves.count = VECTORS;
	for (unsigned int i = 0; i < VECTORS; i++)
		assert_int_equal(merkle_leaf(vectors[i].entry, vectors[i].len, &leaves.hashes[i]),
				 0);
}

static void use_many(void)
{
	leaves.count = LEAVES;
	for (unsigned int i = 0; i < LEAVES; i++)
		assert_int_equal(merkle_leaf(&i, sizeof(i), &leaves.hashes[i]), 0);
}

static void assert_root(uint64_t size, const char *want)
{
	struct merkle_hash root;
	char hex[DIGEST_HEX];

	assert_int_equal(merkle_root(&source, size, &root), 0);
	digest_hex(root.bytes, DIGEST_SIZE, hex);
	assert_string_equal(hex, want);
}

static void published_roots(void **state)
{
	(void)state;
	use_vectors();
	assert_root(0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	for (unsigned int i = 0; i < VECTORS; i++)
		assert_root(i + 1, vectors[i].root);
}

static void roots_are_those_of_the_recursion(void **state)
{
	struct merkle_hash root, want;

	(void)state;
	use_many();
	for (uint64_t size = 0; size <= LEAVES; size++) {
		want = mth(leaves.hashes, size);
		assert_int_equal(merkle_root(&source, size, &root), 0);
		assert_true(merkle_equal(&root, &want));
	}
	assert_int_equal(merkle_root(&source, LEAVES + 1, &root), -ENOENT);
	assert_int_equal(merkle_root(&source, UINT64_MAX, &root), -EINVAL);
}

/* Each proof of inclusion holds, and no longer for another index, size, leaf or bit. */
static void inclusion(void **state)
{
	static const uint64_t sizes[] = { 1, 2, 3, 7, 8, 255, 256, 257, 511, 512, 513, LEAVES };
	struct merkle_path path;
	struct merkle_hash root;

	(void)state;
	use_many();
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t size = sizes[i];

		root = mth(leaves.hashes, size);
		for (uint64_t k = 0; k<size; k += size> 20 ? 7 : 1) {
			const struct merkle_hash *leaf = &leaves.hashes[k];

			assert_int_equal(merkle_prove_inclusion(&source, k, size, &path), 0);
			assert_int_equal(merkle_check_inclusion(leaf, k, size, &path, &root), 0);
			assert_int_equal(merkle_check_inclusion(leaf, k ^ 1, size, &path, &root),
					 -EBADMSG);
			assert_int_equal(merkle_check_inclusion(&leaves.hashes[(k + 1) % LEAVES], k,
								size, &path, &root),
					 -EBADMSG);
			for (unsigned int n = 0; n < path.count; n++) {
				path.hashes[n].bytes[n % 32] ^= 1;
				assert_int_equal(
					merkle_check_inclusion(leaf, k, size, &path, &root),
					-EBADMSG);
				path.hashes[n].bytes[n % 32] ^= 1;
			}
			path.hashes[path.count++] = root;
			assert_int_equal(merkle_check_inclusion(leaf, k, size, &path, &root),
					 -EBADMSG);
		}
		assert_int_equal(merkle_prove_inclusion(&source, size, size, &path), -EINVAL);
	}
}

static void consistency(void **state)
{
	static const uint64_t sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 100, 255, 256, 257, 512, 599 };
	const unsigned int n = sizeof(sizes) / sizeof(sizes[0]);
	struct merkle_hash old_root, root, other;
	struct merkle_path path;

	(void)state;
	use_many();
	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int k = i; k < n; k++) {
			uint64_t old = sizes[i], size = sizes[k];

			old_root = mth(leaves.hashes, old);
			root = mth(leaves.hashes, size);
			other = root;
			other.bytes[0] ^= 1;
			assert_int_equal(merkle_prove_consistency(&source, old, size, &path), 0);
			assert_int_equal(
				merkle_check_consistency(old, &old_root, size, &root, &path), 0);
			assert_int_equal(merkle_check_consistency(old, &other, size, &root, &path),
					 -EBADMSG);
			assert_int_equal(
				merkle_check_consistency(old, &old_root, size, &other, &path),
				-EBADMSG);
			for (unsigned int m = 0; m < path.count; m++) {
				path.hashes[m].bytes[m % 32] ^= 0x80;
				assert_int_equal(merkle_check_consistency(old, &old_root, size,
									  &root, &path),
						 -EBADMSG);
				path.hashes[m].bytes[m % 32] ^= 0x80;
			}
		}
	}
	assert_int_equal(merkle_prove_consistency(&source, 9, 8, &path), -EINVAL);
	path.count = 0;
	root = mth(leaves.hashes, 5);
	old_root = mth(leaves.hashes, 0);
	assert_int_equal(merkle_check_consistency(0, &old_root, 5, &root, &path), 0);
	assert_int_equal(merkle_check_consistency(0, &root, 5, &root, &path), -EBADMSG);
	assert_int_equal(merkle_check_consistency(6, &root, 5, &root, &path), -EBADMSG);
	assert_int_equal(merkle_check_consistency(3, &root, 5, &root, &path), -EBADMSG);
}

/* The proof of 3 in 7 of RFC 6962, 2.1.3: [c, d, g, l]. */
static void the_example_of_the_rfc(void **state)
{
	struct merkle_hash want[4];
	struct merkle_path path;

	(void)state;
	use_vectors();
	want[0] = leaves.hashes[2];
	want[1] = leaves.hashes[3];
	want[2] = mth(leaves.hashes, 2);
	want[3] = mth(leaves.hashes + 4, 3);
	assert_int_equal(merkle_prove_consistency(&source, 3, 7, &path), 0);
	assert_int_equal(path.count, 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_true(merkle_equal(&path.hashes[i], &want[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_roots),
		cmocka_unit_test(roots_are_those_of_the_recursion),
		cmocka_unit_test(inclusion),
		cmocka_unit_test(consistency),
		cmocka_unit_test(the_example_of_the_rfc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
