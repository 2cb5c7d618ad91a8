/* SPDX-License-Identifier: MIT */
/* Blobs in pieces: what real git packed, loose, deltas; damaged indexes and packs. */
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
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/lab.h"
#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/blob.h"

static struct repo repo;

/* "big" is 20 MiB that do not deflate; "near" is big and a byte, for a delta. */
static int setup(void **state)
{
	char path[64];
	struct weir_err e = { 0 };

	(void)state;
	if (!mkdtemp(dir) || repo_start(&e) < 0)
		return -1;
	if (sh("git init -q --bare r.git; head -c 20971520 /dev/urandom >big; cp big near; echo x "
	       ">>near;"
	       "head -c 40000000 /dev/zero >zeros; : >empty; echo small >small;"
	       "for f in big near zeros empty small; do git -C r.git hash-object -w ../$f >$f.id; "
	       "done") != 0)
		return -1;
	snprintf(path, sizeof(path), "%s/r.git", dir);
	return repo_open(path, false, &repo, &e);
}

static int teardown(void **state)
{
	(void)state;
	repo_close(&repo);
	return lab_remove();
}

static void read_file(const char *name, const char *end, struct buf *out)
{
	char path[64];
	struct weir_err e = { 0 };

	snprintf(path, sizeof(path), "%s/%s%s", dir, name, end);
	assert_int_equal(fsio_read_file(AT_FDCWD, path, 1 << 27, out, &e), 0);
}

static size_t pieces;

static int count_piece(const void *data, size_t len, void *arg)
{
	pieces++;
	return buf_add(arg, data, len);
}

static void same(const char *name)
{
	struct buf want = { 0 }, got = { 0 }, id = { 0 };
	unsigned char sha256[DIGEST_SIZE], expected[DIGEST_SIZE];
	struct weir_err e = { 0 };
	git_oid oid;

	read_file(name, "", &want);
	read_file(name, ".id", &id);
	assert_int_equal(git_oid_fromstrn(&oid, buf_str(&id), 40), 0);
	pieces = 0;
	assert_int_equal(blob_read(&repo, &oid, count_piece, &got, &e), 0);
	assert_int_equal(got.len, want.len);
	assert_true(want.len == 0 || memcmp(got.data, want.data, want.len) == 0);
	assert_int_equal(blob_sha256(&repo, &oid, sha256, &e), 0);
	assert_int_equal(digest_bytes(buf_str(&want), want.len, expected), 0);
	assert_memory_equal(sha256, expected, DIGEST_SIZE);
	buf_done(&want);
	buf_done(&got);
	buf_done(&id);
}

static void loose_blobs_come_whole(void **state)
{
	(void)state;
	same("empty");
	assert_int_equal(pieces, 0);
	same("small");
	assert_int_equal(pieces, 1);
	same("big");
	assert_int_equal(pieces, 1);
}

static void packed_blobs_come_in_pieces(void **state)
{
	(void)state;
	assert_int_equal(sh("cd r.git; cat ../big.id ../zeros.id ../small.id ../empty.id |"
			    "git pack-objects -q --depth=0 objects/pack/pack; git prune-packed -q"),
			 0);
	git_odb_refresh(repo.odb);
	same("big");
	assert_true(pieces > 100);
	same("zeros");
	assert_true(pieces > 100);
	same("small");
	same("empty");
}

static void deltas_are_left_to_libgit2(void **state)
{
	(void)state;
	assert_int_equal(sh("cd r.git; rm -f objects/pack/*; for f in big near; do git hash-object "
			    "-w ../$f; done |"
			    "git pack-objects -q objects/pack/pack; git prune-packed -q;"
			    "git verify-pack -v objects/pack/*.idx | grep -q 'chain length = 1'"),
			 0);
	git_odb_refresh(repo.odb);
	same("big");
	same("near");
}

static int stop(const void *data, size_t len, void *arg)
{
	(void)data;
	(void)len;
	(void)arg;
	return -ECANCELED;
}

static int no_piece(const void *data, size_t len, void *arg)
{
	(void)data;
	(void)len;
	(void)arg;
	return 0;
}

static int memory_file(const void *data, size_t len)
{
	int fd = memfd_create("t", 0);

	assert_int_equal(fsio_write_all(fd, data, len), 0);
	return fd;
}

/* An index of one object, and a pack with "hello" stored. */
static void damage_is_found(void **state)
{
	static const unsigned char stored[] = { 'P', 'A', 'C',	'K',  0,    0,	  0,   2,
						0,   0,	  0,	1,    0x35, 0x78, 1,   1,
						5,   0,	  0xfa, 0xff, 'h',  'e',  'l', 'l',
						'o', 6,	  0x2c, 0x02, 0x15 };
	unsigned char idx[8 + 1024 + 20 + 4 + 4 + 40] = { 0xff, 't', 'O', 'c', 0, 0, 0, 2 };
	unsigned char id[PACK_ID] = { 0x42, 1, 2 }, other[PACK_ID] = { 0x42, 1, 3 };
	unsigned char pack[sizeof(stored)];
	uint64_t offset;
	int fd;

	(void)state;
	for (unsigned int i = 0x42; i < 256; i++)
		idx[8 + 4 * i + 3] = 1;
	memcpy(idx + 1032, id, PACK_ID);
	idx[1032 + 20 + 4 + 3] = 12;
	fd = memory_file(idx, sizeof(idx));
	assert_int_equal(packread_find(fd, id, &offset), 0);
	assert_int_equal(offset, 12);
	assert_int_equal(packread_find(fd, other, &offset), -ENOENT);
	id[0] = 0;
	assert_int_equal(packread_find(fd, id, &offset), -ENOENT);
	close(fd);
	id[0] = 0x42;
	idx[1032 + 20 + 4] = 0x80; /* says that a table of large offsets follows */
	fd = memory_file(idx, sizeof(idx) - 40);
	assert_int_equal(packread_find(fd, id, &offset), -EBADMSG);
	close(fd);
	idx[8 + 3] = 9; /* counts that fall */
	fd = memory_file(idx, sizeof(idx));
	assert_int_equal(packread_find(fd, id, &offset), -EBADMSG);
	close(fd);

	fd = memory_file(stored, sizeof(stored));
	assert_int_equal(packread_stream(fd, 12, 5, no_piece, NULL), 0);
	assert_int_equal(packread_stream(fd, 12, 5, stop, NULL), -ECANCELED);
	assert_int_equal(packread_stream(fd, 12, 6, no_piece, NULL), -EBADMSG);
	assert_int_equal(packread_stream(fd, 11, 5, no_piece, NULL), -EBADMSG);
	assert_int_equal(packread_stream(fd, sizeof(stored), 5, no_piece, NULL), -EBADMSG);
	assert_int_equal(packread_stream(fd, UINT64_MAX, 5, no_piece, NULL), -EBADMSG);
	close(fd);
	for (size_t at = 12; at < sizeof(stored); at++) {
		memcpy(pack, stored, sizeof(pack));
		pack[at] ^= 1;
		fd = memory_file(pack, sizeof(pack));
		assert_true(packread_stream(fd, 12, 5, no_piece, NULL) < 0);
		close(fd);
		fd = memory_file(stored, at);
		assert_true(packread_stream(fd, 12, 5, no_piece, NULL) < 0);
		close(fd);
	}
	memcpy(pack, stored, sizeof(pack));
	pack[12] = 0x75; /* a delta */
	fd = memory_file(pack, sizeof(pack));
	assert_int_equal(packread_stream(fd, 12, 5, no_piece, NULL), -EMEDIUMTYPE);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loose_blobs_come_whole),
		cmocka_unit_test(packed_blobs_come_in_pieces),
		cmocka_unit_test(deltas_are_left_to_libgit2),
		cmocka_unit_test(damage_is_found),
	};

	return cmocka_run_group_tests_name("packread", tests, setup, teardown);
}
