/* SPDX-License-Identifier: MIT */
/* Signed notes, checkpoints, tiles and proofs against published texts, and broken ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/tlog.h"

/* golang.org/x/mod/sumdb/note's own example */
static const char neumann_key[] =
	"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
static const char neumann_note[] =
	"If you think cryptography is the answer to your problem,\n"
	"then you don't know what your problem is.\n\n"
	"\xe2\x80\x94 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXg"
	"KvqfqdngotpRZb6KE6RyyBwJnAM=\n";

static const unsigned char seed[ED25519_SEED] = { 1, 2, 3 };

static struct note_key our_key(const char *name)
{
	unsigned char public_key[ED25519_PUBLIC];
	struct note_key k;

	assert_int_equal(digest_public(seed, public_key), 0);
	assert_int_equal(note_key_set(&k, name, public_key), 0);
	return k;
}

static int open_note(const struct note_key *k, const char *text, size_t len)
{
	struct weir_err e = { 0 };
	size_t text_len = 0;
	int err = note_open(k, text, len, &text_len, &e);

	assert_true(err == 0 || e.text[0]);
	return err;
}

static void published_keys(void **state)
{
	static const char *const bad[] = {
		"PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"PeterNeumann+c74f20a3+AhpcZQcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"Peter Neumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"PeterNeumann+c74f20a3",
		"PeterNeumann+c74f20a3+",
		"+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10T",
		"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW x",
		"",
	};
	cleanup_buf struct buf text = { 0 };
	struct note_key k;

	(void)state;
	assert_int_equal(note_key_parse("sum.golang.org+033de0ae+"
					"Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8",
					&k),
			 0);
	assert_string_equal(k.name, "sum.golang.org");
	assert_int_equal(note_key_parse(neumann_key, &k), 0);
	assert_int_equal(note_key_format(&k, &text), 0);
	assert_int_equal(text.len, sizeof(neumann_key));
	assert_memory_equal(text.data, neumann_key, text.len - 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(note_key_parse(bad[i], &k), -EBADMSG);
}

static void published_note(void **state)
{
	struct note_key k;
	struct weir_err e = { 0 };
	size_t len = 0;
	char copy[sizeof(neumann_note)];

	(void)state;
	assert_int_equal(note_key_parse(neumann_key, &k), 0);
	assert_int_equal(note_open(&k, neumann_note, sizeof(neumann_note) - 1, &len, &e), 0);
	assert_int_equal(len, strstr(neumann_note, "\n\n") + 1 - neumann_note);
	/* no bit of it may change: text, name, key id, signature, line ends */
	for (size_t i = 0; i < sizeof(copy) - 1; i++) {
		memcpy(copy, neumann_note, sizeof(copy));
		copy[i] ^= 1;
		assert_true(open_note(&k, copy, sizeof(copy) - 1) < 0);
	}
	for (size_t i = 0; i < sizeof(copy) - 1; i++)
		assert_int_equal(open_note(&k, neumann_note, i), -EBADMSG);
}

static void notes_of_several_keys(void **state)
{
	struct note_key k = our_key("example.com/log"), other = our_key("example.com/other");
	cleanup_buf struct buf note = { 0 };
	cleanup_buf struct buf second = { 0 };
	const char *line;

	(void)state;
	assert_int_equal(note_sign(&k, seed, "a\n\nb\n", 5, &note), 0);
	assert_int_equal(note_sign(&other, seed, "a\n\nb\n", 5, &second), 0);
	assert_int_equal(open_note(&k, note.data, note.len), 0);
	assert_int_equal(open_note(&other, note.data, note.len), -ENOKEY);
	line = strstr(second.data, "\n\n\xe2") + 2;
	buf_addf(&note, "%s", line);
	assert_int_equal(open_note(&k, note.data, note.len), 0);
	assert_int_equal(open_note(&other, note.data, note.len), 0);
	/* a bad signature by our key beside a good one */
	buf_addf(&note, "\xe2\x80\x94 %s ", k.name);
	line = strstr(note.data, k.name) + strlen(k.name) + 1;
	buf_addf(&note, "%.10sAAAA%.*s\n", line, (int)strcspn(line, "\n") - 14, line + 14);
	assert_int_equal(open_note(&k, note.data, note.len), -EBADMSG);
	assert_int_equal(note_sign(&k, seed, "no newline", 10, &second), -EINVAL);
	assert_int_equal(note_sign(&k, seed, "\x1b\n", 2, &second), -EINVAL);
	assert_int_equal(note_sign(&k, seed, "\xff\n", 2, &second), -EINVAL);
	assert_int_equal(note_key_set(&k, "with space", k.public_key), -EINVAL);
	assert_int_equal(note_key_set(&k, "a+b", k.public_key), -EINVAL);
	assert_int_equal(note_key_set(&k, "", k.public_key), -EINVAL);
}

static void keys_before(void **state)
{
	static const char *const bad[] = {
		"until 5 ",
		"until 5 x",
		"until x example.com/log+",
		"until -1 example.com/log+",
		"until 99999999999999999999 example.com/log+",
		"since 5 example.com/log+",
	};
	struct note_key k = our_key("example.com/log"), old = k, again;
	unsigned char next_seed[ED25519_SEED] = { 7 }, next[ED25519_PUBLIC];
	struct tlog_checkpoint five = { .size = 5 }, six = { .size = 6 }, got;
	cleanup_buf struct buf text = { 0 };
	cleanup_buf struct buf note = { 0 };
	cleanup_buf struct buf late = { 0 };
	struct weir_err e = { 0 };

	(void)state;
	assert_int_equal(digest_public(next_seed, next), 0);
	assert_int_equal(note_key_change(&k, next, 5), 0);
	assert_int_equal(note_key_format(&k, &text), 0);
	assert_int_equal(note_key_parse(text.data, &again), 0);
	assert_int_equal(again.old_count, 1);
	assert_memory_equal(again.old[0].public_key, old.public_key, ED25519_PUBLIC);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cleanup_buf struct buf wrong = { 0 };

		buf_addf(&wrong, "%.*s%s", (int)strcspn(text.data, "\n") + 1, text.data, bad[i]);
		assert_int_equal(note_key_parse(wrong.data, &again), -EBADMSG);
	}
	/* what the old one signed counts up to five entries, and beside the new one's */
	assert_int_equal(tlog_checkpoint_sign(&five, &old, seed, &note), 0);
	assert_int_equal(tlog_checkpoint_open(&k, note.data, note.len, &got, &e), 0);
	assert_int_equal(tlog_checkpoint_sign(&six, &old, seed, &late), 0);
	assert_int_equal(tlog_checkpoint_open(&k, late.data, late.len, &got, &e), -EBADMSG);
	assert_int_equal(note_cosign(&k, next_seed, &note), 0);
	assert_int_equal(note_cosign(&k, next_seed, &late), 0);
	assert_int_equal(tlog_checkpoint_open(&k, late.data, late.len, &got, &e), 0);
	assert_int_equal(tlog_checkpoint_open(&old, note.data, note.len, &got, &e), 0);
	for (unsigned int i = 1; i < NOTE_OLD_MAX; i++)
		assert_int_equal(note_key_change(&k, next, 5), 0);
	assert_int_equal(note_key_change(&k, next, 5), -E2BIG);
}

static int open_text(const char *text)
{
	struct note_key k = our_key("example.com/log");
	cleanup_buf struct buf note = { 0 };
	struct tlog_checkpoint c;
	struct weir_err e = { 0 };

	assert_int_equal(note_sign(&k, seed, text, strlen(text), &note), 0);
	return tlog_checkpoint_open(&k, note.data, note.len, &c, &e);
}

#define ROOT "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"

static void checkpoints(void **state)
{
	static const char *const good[] = {
		"example.com/log\n20852163\n" ROOT,
		"example.com/log\n0\n" ROOT,
		"example.com/log\n1\n" ROOT "extension\n",
	};
	static const char *const bad[] = {
		"example.com/other\n1\n" ROOT,
		"example.com/log\n01\n" ROOT,
		"example.com/log\n-1\n" ROOT,
		"example.com/log\n\n" ROOT,
		"example.com/log\n1 \n" ROOT,
		"example.com/log\n18446744073709551616\n" ROOT,
		"example.com/log\n18446744073709551615\n" ROOT,
		"example.com/log\n1\n",
		"example.com/log\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I\n",
		"example.com/log\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2J=\n",
		"example.com/log\n1\n" ROOT "\nx\n",
		"example.com/logger\n1\n" ROOT,
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(open_text(good[i]), 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(open_text(bad[i]), -EBADMSG);
}

static void paths(void **state)
{
	static const struct {
		int level;
		uint64_t index;
		unsigned int width;
		const char *path;
	} cases[] = {
		{ 0, 1234067, 256, "tile/0/x001/x234/067" },
		{ 0, 0, 256, "tile/0/000" },
		{ 0, 273, 112, "tile/0/273.p/112" },
		{ 1, 1, 17, "tile/1/001.p/17" },
		{ 2, 0, 1, "tile/2/000.p/1" },
		{ TLOG_ENTRIES, 999, 256, "tile/entries/999" },
		{ TLOG_ENTRIES, 1000, 5, "tile/entries/x001/000.p/5" },
	};
	char path[TLOG_PATH_MAX];

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(tlog_path(cases[i].level, cases[i].index, cases[i].width, path),
				 0);
		assert_string_equal(path, cases[i].path);
	}
	assert_int_equal(tlog_path(7, UINT64_MAX, 255, path), 0);
}

static void bundles(void **state)
{
	static struct tlog_entry entries[MERKLE_TILE];
	static char big[TLOG_ENTRY_MAX + 1];
	cleanup_buf struct buf b = { 0 };

	(void)state;
	assert_int_equal(tlog_bundle_add(&b, "", 0), 0);
	assert_int_equal(tlog_bundle_add(&b, big, TLOG_ENTRY_MAX), 0);
	assert_int_equal(tlog_bundle_add(&b, "xy", 2), 0);
	assert_int_equal(tlog_bundle_add(&b, big, sizeof(big)), -EFBIG);
	assert_int_equal(tlog_bundle_parse(b.data, b.len, 3, entries), 0);
	assert_int_equal(entries[0].len, 0);
	assert_int_equal(entries[1].len, TLOG_ENTRY_MAX);
	assert_memory_equal(entries[2].data, "xy", 2);
	assert_int_equal(tlog_bundle_parse(b.data, b.len, 2, entries), -EBADMSG);
	assert_int_equal(tlog_bundle_parse(b.data, b.len, 4, entries), -EBADMSG);
	assert_int_equal(tlog_bundle_parse(b.data, b.len - 1, 3, entries), -EBADMSG);
	assert_int_equal(tlog_bundle_parse(b.data, 1, 1, entries), -EBADMSG);
	assert_int_equal(tlog_bundle_parse(b.data, 0, 0, entries), 0);
	assert_int_equal(tlog_bundle_parse(b.data, b.len, 257, entries), -EBADMSG);
}

static void proofs(void **state)
{
	struct note_key k = our_key("example.com/log");
	struct tlog_checkpoint c = { .size = 9 };
	struct merkle_path path = { .count = 2 }, again;
	cleanup_buf struct buf note = { 0 };
	cleanup_buf struct buf text = { 0 };
	cleanup_buf struct buf extra = { 0 };
	struct tlog_proof p;
	struct weir_err e = { 0 };
	uint64_t old = 0;

	(void)state;
	path.hashes[1].bytes[3] = 7;
	assert_int_equal(tlog_checkpoint_sign(&c, &k, seed, &note), 0);
	assert_int_equal(tlog_proof_format(8, &path, &note, &text), 0);
	assert_int_equal(tlog_proof_parse(&k, text.data, text.len, &p, &e), 0);
	assert_int_equal(p.index, 8);
	assert_int_equal(p.path.count, 2);
	assert_int_equal(p.checkpoint.size, 9);
	assert_memory_equal(p.path.hashes, path.hashes, 2 * DIGEST_SIZE);
	buf_addf(&extra, "c2sp.org/tlog-proof@v1\nextra AAAA\n%s", strchr(text.data, '\n') + 1);
	assert_int_equal(tlog_proof_parse(&k, extra.data, extra.len, &p, &e), 0);
	for (size_t i = 0; i < text.len; i++)
		assert_int_equal(tlog_proof_parse(&k, text.data, i, &p, &e), -EBADMSG);
	text.data[0] = 'C';
	assert_int_equal(tlog_proof_parse(&k, text.data, text.len, &p, &e), -EBADMSG);
	text.len = 0;
	assert_int_equal(tlog_consistency_format(3, &path, &text), 0);
	assert_int_equal(tlog_consistency_parse(text.data, text.len, &old, &again), 0);
	assert_int_equal(old, 3);
	assert_memory_equal(again.hashes, path.hashes, 2 * DIGEST_SIZE);
	for (size_t i = 0; i < text.len; i++)
		if (i != 6 && i != 6 + 45)
			assert_int_equal(tlog_consistency_parse(text.data, i, &old, &again),
					 -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_keys),
		cmocka_unit_test(published_note),
		cmocka_unit_test(notes_of_several_keys),
		cmocka_unit_test(keys_before),
		cmocka_unit_test(checkpoints),
		cmocka_unit_test(paths),
		cmocka_unit_test(bundles),
		cmocka_unit_test(proofs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
