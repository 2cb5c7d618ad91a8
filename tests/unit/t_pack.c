/* SPDX-License-Identifier: MIT */
/* Packs and indexes against git index-pack and git fsck; object ids against git. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/lab.h"
#include "user/base/fsio.h"
#include "writeback/pack.h"
#include "writeback/packindex.h"
#include "writeback/repo.h"

static const unsigned char none[DIGEST_SIZE];

static int open_file(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	return fd;
}

static int setup(void **state)
{
	struct weir_err e = { 0 };

	(void)state;
	return !mkdtemp(dir) || repo_start(&e) < 0 || sh("git init -q --bare r.git") ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	return lab_remove();
}

static void add_blob(struct pack *p, const void *data, size_t len)
{
	unsigned char sha256[DIGEST_SIZE];
	git_oid oid;

	assert_int_equal(repo_hash(GIT_OBJECT_BLOB, data, len, &oid), 0);
	assert_int_equal(digest_bytes(data, len, sha256), 0);
	assert_int_equal(pack_add(p, PACK_BLOB, data, len, oid.id, sha256), 0);
	assert_memory_equal(pack_find(p, oid.id), sha256, DIGEST_SIZE);
}

static void finish(struct pack *p, int fd, struct pack_result *result)
{
	struct buf index = { 0 };
	int idx = open_file("p.idx");

	assert_int_equal(pack_finish(p, result, &index), 0);
	assert_int_equal(fsio_write_all(idx, index.data, index.len), 0);
	buf_done(&index);
	close(idx);
	close(fd);
	pack_free(p);
}

/* Sizes around every border of the head's size groups, and random bytes. */
static void test_git_accepts_it(void **state)
{
	static const size_t sizes[] = { 0,    1,    15,	   16,	   17,	   2047,    2048,
					2049, 9999, 65536, 262143, 262144, 1 << 20, 3 << 20 };
	struct pack_result result;
	struct pack *p = NULL;
	int fd = open_file("p.pack");

	(void)state;
	assert_int_equal(pack_new(fd, 1, &p), 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		unsigned char *data = malloc(sizes[i] + 1);

		assert_int_equal(digest_random(data, sizes[i]), 0);
		add_blob(p, data, sizes[i]);
		memset(data, 'a', sizes[i]);
		add_blob(p, data, sizes[i]);
		add_blob(p, data, sizes[i]); /* once only */
		free(data);
	}
	finish(p, fd, &result);
	assert_int_equal(result.objects, 27); /* the empty one once */
	assert_int_equal(
		sh("git index-pack --strict -o ours.idx p.pack >name && cmp ours.idx p.idx"), 0);
	assert_int_equal(sh("git verify-pack p.idx"), 0);
	assert_int_equal(
		sh("git -C r.git unpack-objects -q --strict <p.pack && git -C r.git fsck --full"
		   " >/dev/null 2>&1"),
		0);
}

static void test_large_and_abandoned(void **state)
{
	struct pack_result result;
	struct repo_stream *id = NULL;
	unsigned char piece[70000], sha256[DIGEST_SIZE], hash[DIGEST_SIZE];
	struct pack *p = NULL;
	int fd = open_file("p.pack"), again;
	char path[256];
	git_oid oid;

	(void)state;
	memset(sha256, 7, sizeof(sha256));
	assert_int_equal(pack_new(fd, 1, &p), 0);
	add_blob(p, "first", 5);
	/* an object that turns out to be known is taken back without a trace */
	assert_int_equal(pack_begin(p, PACK_BLOB, 50 * sizeof(piece)), 0);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(digest_random(piece, sizeof(piece)), 0);
		assert_int_equal(pack_write(p, piece, sizeof(piece)), 0);
	}
	assert_int_equal(pack_abandon(p), 0);
	assert_int_equal(repo_stream_new(GIT_OBJECT_BLOB, 40 * sizeof(piece), &id), 0);
	assert_int_equal(pack_begin(p, PACK_BLOB, 40 * sizeof(piece)), 0);
	for (int i = 0; i < 40; i++) {
		memset(piece, i, sizeof(piece));
		assert_int_equal(pack_write(p, piece, sizeof(piece)), 0);
		assert_int_equal(repo_stream_add(id, piece, sizeof(piece)), 0);
	}
	assert_int_equal(pack_write(p, piece, 1), -EMSGSIZE);
	assert_int_equal(repo_stream_end(id, &oid), 0);
	repo_stream_free(id);
	assert_int_equal(pack_end(p, oid.id, sha256), 0);
	add_blob(p, "last", 4);
	finish(p, fd, &result);
	assert_int_equal(result.objects, 3);
	assert_int_equal(
		sh("git index-pack --strict -o ours.idx p.pack >name && cmp ours.idx p.idx"), 0);
	snprintf(path, sizeof(path), "%s/p.pack", dir);
	again = open(path, O_RDONLY);
	assert_int_equal(pack_hash_file(again, hash), 0);
	assert_memory_equal(hash, result.sha256, DIGEST_SIZE);
	close(again);
}

static void test_short_object_is_refused(void **state)
{
	struct pack *p = NULL;
	int fd = open_file("p.pack");
	unsigned char id[PACK_ID] = { 1 };

	(void)state;
	assert_int_equal(pack_new(fd, 1, &p), 0);
	assert_int_equal(pack_begin(p, PACK_BLOB, 10), 0);
	assert_int_equal(pack_write(p, "abc", 3), 0);
	assert_int_equal(pack_end(p, id, none), -EMSGSIZE);
	pack_free(p);
	close(fd);
}

static void test_stream_must_meet_its_size(void **state)
{
	struct repo_stream *id = NULL;
	git_oid oid;

	(void)state;
	assert_int_equal(repo_stream_new(GIT_OBJECT_BLOB, 4, &id), 0);
	assert_int_equal(repo_stream_add(id, "abc", 3), 0);
	assert_int_equal(repo_stream_end(id, &oid), -EBADMSG);
	repo_stream_free(id);
	assert_int_equal(repo_stream_new(GIT_OBJECT_BLOB, 2, &id), 0);
	assert_true(repo_stream_add(id, "abc", 3) < 0 || repo_stream_end(id, &oid) < 0);
	repo_stream_free(id);
}

/* Offsets past 2 GiB go to the table of 64-bit ones. */
static void test_index_of_large_offsets(void **state)
{
	struct pack_table t = { 0 };
	struct buf index = { 0 };
	unsigned char name[PACK_ID] = { 9 };
	const unsigned char *offsets;

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct pack_entry entry = { .offset = i * 0x60000000ull, .crc = i };

		entry.id[0] = (unsigned char)(3 - i);
		assert_int_equal(pack_table_add(&t, &entry), 0);
	}
	assert_int_equal(pack_table_index(&t, name, &index), 0);
	assert_int_equal(index.len, 8 + 1024 + 3 * 20 + 3 * 4 + 3 * 4 + 8 + 40);
	offsets = (const unsigned char *)index.data + 8 + 1024 + 3 * 24;
	assert_memory_equal(offsets, "\x80\0\0\0\x60\0\0\0\0\0\0\0\0\0\0\0\xc0\0\0\0", 20);
	pack_table_done(&t);
	buf_done(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_git_accepts_it),
		cmocka_unit_test(test_large_and_abandoned),
		cmocka_unit_test(test_short_object_is_refused),
		cmocka_unit_test(test_stream_must_meet_its_size),
		cmocka_unit_test(test_index_of_large_offsets),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
