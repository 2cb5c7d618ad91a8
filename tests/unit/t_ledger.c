/* SPDX-License-Identifier: MIT */
/* The ledger's files: growth over the edges of tiles, crashes, edits, set-backs. */
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
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/ledger.h"

static const unsigned char seed[ED25519_SEED] = { 9 };
static char top[] = "/tmp/t_ledger.XXXXXX";
static struct note_key key;

static int setup(void **state)
{
	unsigned char public_key[ED25519_PUBLIC];

	(void)state;
	return !mkdtemp(top) || digest_public(seed, public_key) < 0
		       ? -1
		       : note_key_set(&key, "example.com/log", public_key);
}

static int teardown(void **state)
{
	(void)state;
	return fsio_remove_tree(AT_FDCWD, top, NULL);
}

static const char *at(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static void fresh(struct ledger *l)
{
	struct weir_err e = { 0 };

	fsio_remove_tree(AT_FDCWD, at("log"), NULL);
	assert_int_equal(mkdir(at("log"), 0755), 0);
	assert_int_equal(ledger_create(at("log"), &key, seed, &e), 0);
	assert_int_equal(ledger_open(at("log"), &key, l, &e), 0);
}

static void grow(struct ledger *l, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		struct weir_err e = { 0 };
		char text[32];
		uint64_t index;

		snprintf(text, sizeof(text), "entry %llu", (unsigned long long)l->checkpoint.size);
		if (ledger_append(l, seed, text, strlen(text), &index, &e) < 0)
			fail_msg("%s", e.text);
		assert_int_equal(index + 1, l->checkpoint.size);
	}
}

static int reopen(char *ret_code)
{
	cleanup_ledger struct ledger l = { .dir = -1 };
	struct weir_err e = { 0 };
	int err = ledger_open(at("log"), &key, &l, &e);

	snprintf(ret_code, 32, "%s", e.code);
	return err;
}

static void assert_refused(const char *code)
{
	char got[32];

	assert_int_equal(reopen(got), -EPERM);
	assert_string_equal(got, code);
}

static bool there(const char *name)
{
	struct stat st;

	return stat(at(name), &st) == 0;
}

/* Every entry can be read and proved; every earlier root is that of a prefix. */
static void grows_over_tiles(void **state)
{
	cleanup_ledger struct ledger l = { .dir = -1 };
	static struct tlog_checkpoint old[600];
	struct weir_err e = { 0 };

	(void)state;
	fresh(&l);
	for (unsigned int i = 0; i < ARRAY_SIZE(old); i++) {
		old[i] = l.checkpoint;
		grow(&l, 1);
	}
	ledger_close(&l);
	assert_int_equal(ledger_open(at("log"), &key, &l, &e), 0);
	assert_int_equal(l.checkpoint.size, ARRAY_SIZE(old));
	for (unsigned int i = 0; i < ARRAY_SIZE(old); i += 13) {
		cleanup_buf struct buf entry = { 0 };
		cleanup_buf struct buf proof = { 0 };
		cleanup_buf struct buf prefix = { 0 };
		struct tlog_proof p;
		struct merkle_path path;
		struct merkle_hash leaf;
		char text[32];
		uint64_t from = 0;

		snprintf(text, sizeof(text), "entry %u", i);
		assert_int_equal(ledger_read(&l, i, &entry, &e), 0);
		assert_string_equal(buf_str(&entry), text);
		assert_int_equal(ledger_prove(&l, i, &proof, &e), 0);
		assert_int_equal(tlog_proof_parse(&key, proof.data, proof.len, &p, &e), 0);
		assert_int_equal(merkle_leaf(text, strlen(text), &leaf), 0);
		assert_int_equal(merkle_check_inclusion(&leaf, i, p.checkpoint.size, &p.path,
							&p.checkpoint.root),
				 0);
		assert_int_equal(ledger_prove_prefix(&l, i, &prefix, &e), 0);
		assert_int_equal(tlog_consistency_parse(prefix.data, prefix.len, &from, &path), 0);
		assert_int_equal(merkle_check_consistency(from, &old[i].root, l.checkpoint.size,
							  &l.checkpoint.root, &path),
				 0);
		assert_int_equal(ledger_check_prefix(&l, &old[i], &e), 0);
	}
	assert_int_equal(ledger_read(&l, ARRAY_SIZE(old), &(struct buf){ 0 }, &e), -ENOENT);
	/* partial tiles are kept until the full one is there */
	assert_true(there("log/tile/0/000") && there("log/tile/entries/001"));
	assert_false(there("log/tile/0/000.p") || there("log/tile/entries/001.p"));
	assert_true(there("log/tile/0/002.p/1") && there("log/tile/1/000.p/1"));
	assert_true(there("log/tile/0/002.p/88") && there("log/tile/1/000.p/2"));
}

/* What a crash before the checkpoint leaves is neither seen nor in the way. */
static void crash_before_the_checkpoint(void **state)
{
	static const unsigned int sizes[] = { 0, 1, 254, 255, 256, 257 };
	struct weir_err e = { 0 };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		cleanup_ledger struct ledger l = { .dir = -1 };
		cleanup_buf struct buf note = { 0 };
		cleanup_buf struct buf entry = { 0 };
		struct tlog_checkpoint before;
		uint64_t index;
		char code[32];

		fresh(&l);
		grow(&l, sizes[i]);
		before = l.checkpoint;
		buf_add(&note, l.note.data, l.note.len);
		assert_int_equal(ledger_append(&l, seed, "lost", 4, &index, &e), 0);
		assert_int_equal(
			fsio_replace(AT_FDCWD, at("log/checkpoint"), note.data, note.len, 0644, &e),
			0);
		assert_int_equal(reopen(code), 0);
		ledger_close(&l);
		assert_int_equal(ledger_open(at("log"), &key, &l, &e), 0);
		assert_int_equal(ledger_append(&l, seed, "kept", 4, &index, &e), 0);
		assert_int_equal(index, sizes[i]);
		assert_int_equal(ledger_read(&l, index, &entry, &e), 0);
		assert_string_equal(buf_str(&entry), "kept");
		assert_int_equal(ledger_check_prefix(&l, &before, &e), 0);
		grow(&l, 3);
		assert_int_equal(reopen(code), 0);
	}
}

static void flip(const char *name, off_t offset)
{
	int fd = open(at(name), O_RDWR);
	char c;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &c, 1, offset), 1);
	c ^= 1;
	assert_int_equal(pwrite(fd, &c, 1, offset), 1);
	close(fd);
}

static void edits_are_refused(void **state)
{
	static const char *const tiles[] = { "log/tile/0/001.p/44", "log/tile/1/000.p/1" };
	cleanup_ledger struct ledger l = { .dir = -1 };
	cleanup_buf struct buf entry = { 0 };
	struct weir_err e = { 0 };
	uint64_t index;
	char code[32];

	(void)state;
	fresh(&l);
	grow(&l, 300);
	for (unsigned int i = 0; i < ARRAY_SIZE(tiles); i++) {
		flip(tiles[i], 5);
		assert_refused("ledger");
		flip(tiles[i], 5);
		assert_int_equal(reopen(code), 0);
	}
	flip("log/checkpoint", 17);
	assert_refused("ledger");
	flip("log/checkpoint", 17);
	/* a full tile below the right edge: found when something in it is asked for */
	flip("log/tile/0/000", 7 * DIGEST_SIZE);
	assert_int_equal(reopen(code), 0);
	ledger_close(&l);
	assert_int_equal(ledger_open(at("log"), &key, &l, &e), 0);
	assert_int_equal(ledger_read(&l, 6, &entry, &e), -EPERM);
	assert_int_equal(ledger_prove(&l, 7, &entry, &e), -EPERM);
	flip("log/tile/0/000", 7 * DIGEST_SIZE);
	/* an entry of the last bundle */
	flip("log/tile/entries/001.p/44", 4);
	assert_int_equal(ledger_append(&l, seed, "x", 1, &index, &e), -EPERM);
	assert_string_equal(e.code, "ledger");
	flip("log/tile/entries/001.p/44", 4);
	/* an entry elsewhere */
	flip("log/tile/entries/000", 4);
	assert_int_equal(ledger_read(&l, 0, &entry, &e), -EPERM);
	flip("log/tile/entries/000", 4);
	assert_int_equal(truncate(at("log/tile/0/001.p/44"), 43 * DIGEST_SIZE), 0);
	assert_refused("ledger");
	assert_int_equal(unlink(at("log/tile/0/001.p/44")), 0);
	assert_refused("ledger");
	assert_int_equal(unlink(at("log/checkpoint")), 0);
	assert_refused("ledger");
}

static void other_keys_and_logs(void **state)
{
	cleanup_ledger struct ledger l = { .dir = -1 };
	struct note_key other = key;
	struct weir_err e = { 0 };

	(void)state;
	fresh(&l);
	ledger_close(&l);
	other.public_key[0] ^= 1;
	assert_int_equal(ledger_open(at("log"), &other, &l, &e), -EPERM);
	assert_int_equal(note_key_set(&other, "example.com/other", key.public_key), 0);
	assert_int_equal(ledger_open(at("log"), &other, &l, &e), -EPERM);
	assert_int_equal(ledger_open(at("nowhere"), &key, &l, &e), -EPERM);
	assert_string_equal(e.code, "ledger");
}

static void set_back(void **state)
{
	cleanup_ledger struct ledger l = { .dir = -1 };
	cleanup_buf struct buf note = { 0 };
	struct weir_err e = { 0 };

	(void)state;
	fresh(&l);
	grow(&l, 5);
	buf_add(&note, l.note.data, l.note.len);
	assert_int_equal(ledger_check_follows(&l, note.data, note.len, &e), 0);
	grow(&l, 5);
	assert_int_equal(ledger_check_follows(&l, note.data, note.len, &e), 0);
	ledger_close(&l);
	fresh(&l);
	grow(&l, 4);
	assert_int_equal(ledger_check_follows(&l, note.data, note.len, &e), -EPERM);
	assert_string_equal(e.code, "ledger-rolled-back");
	/* as long again, with another entry */
	assert_int_equal(ledger_append(&l, seed, "other", 5, &(uint64_t){ 0 }, &e), 0);
	assert_int_equal(ledger_check_follows(&l, note.data, note.len, &e), -EPERM);
	assert_string_equal(e.code, "ledger-rolled-back");
	note.data[20] ^= 1;
	assert_int_equal(ledger_check_follows(&l, note.data, note.len, &e), -EPERM);
	assert_string_equal(e.code, "ledger");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows_over_tiles),  cmocka_unit_test(crash_before_the_checkpoint),
		cmocka_unit_test(edits_are_refused), cmocka_unit_test(other_keys_and_logs),
		cmocka_unit_test(set_back),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
