/* SPDX-License-Identifier: MIT */
/* Envelopes against the published vector, every flipped bit; and the list of what a run read. */
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

#include "bpf/abi/policy.h"
#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/dsse.h"
#include "writeback/reads.h"

static const unsigned char seed[ED25519_SEED] = { 7 };

/* The vector of DSSE's protocol.md. */
static void published_pae(void **state)
{
	cleanup_buf struct buf b = { 0 };

	(void)state;
	assert_int_equal(dsse_pae("http://example.com/HelloWorld", "hello world", 11, &b), 0);
	assert_string_equal(buf_str(&b), "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
}

static void make(const char *type, const char *payload, struct buf *text)
{
	unsigned char signature[ED25519_SIGNATURE];
	cleanup_buf struct buf pae = { 0 };

	assert_int_equal(dsse_pae(type, payload, strlen(payload), &pae), 0);
	assert_int_equal(digest_sign(seed, pae.data, pae.len, signature), 0);
	assert_int_equal(dsse_format(type, payload, strlen(payload), "k", signature, text), 0);
}

static int open_text(const char *text, size_t len, struct buf *payload)
{
	unsigned char key[ED25519_PUBLIC];
	struct weir_err e = { 0 };
	int err;

	assert_int_equal(digest_public(seed, key), 0);
	err = dsse_open(DSSE_IN_TOTO, key, text, len, payload, &e);
	assert_true(err == 0 || e.text[0]);
	return err;
}

static void envelopes(void **state)
{
	static const char payload[] = "{\"a\":\"?>?>~~\xff\"}";
	cleanup_buf struct buf text = { 0 };
	cleanup_buf struct buf back = { 0 };
	const char *keyid;

	(void)state;
	make(DSSE_IN_TOTO, payload, &text);
	assert_int_equal(open_text(text.data, text.len, &back), 0);
	assert_string_equal(buf_str(&back), payload);
	keyid = strstr(text.data, "\"keyid\":\"") + 9;
	for (size_t i = 0; i < text.len; i++) {
		for (unsigned int bit = 1; bit < 256; bit <<= 1) {
			char was = text.data[i];

			text.data[i] = (char)(was ^ (char)bit);
			back.len = 0;
			/* nobody signed the hint, nor white space and names around it */
			if (open_text(text.data, text.len, &back) == 0) {
				assert_string_equal(buf_str(&back), payload);
				assert_true(&text.data[i] == keyid || i + 1 == text.len ||
					    (text.data + i > keyid - 9 && text.data + i < keyid));
			}
			text.data[i] = was;
		}
	}
	/* URL-safe base64, several signatures */
	for (char *at = text.data; *at; at++)
		*at = *at == '+' && at > strstr(text.data, "\"sig\"") ? '-' : *at;
	back.len = 0;
	assert_int_equal(open_text(text.data, text.len, &back), 0);
	text.len = 0;
	make("text/plain", payload, &text);
	assert_int_equal(open_text(text.data, text.len, &back), -EBADMSG);
	assert_int_equal(open_text("", 0, &back), -EBADMSG);
}

static struct event read_event(struct weir_opev *op, const char *path, size_t len, uint64_t ino)
{
	struct event e = { .first = path, .first_len = (uint32_t)len };

	op->head.type = WEIR_RECORD_OP;
	op->outcome = WEIR_OUTCOME_PASSED;
	op->want = WEIR_RIGHT_READ;
	op->first.dev = 8u << 20 | 1;
	op->first.ino = ino;
	op->first.mode = S_IFREG | 0644;
	e.op = *op;
	return e;
}

static void add(struct reads *r, const char *path, size_t len, uint64_t ino)
{
	struct weir_opev op = { 0 };
	struct event e = read_event(&op, path, len, ino);

	reads_add(r, &e);
}

#define ADD(r, path, ino) add(r, path, sizeof(path), ino)

static struct manifest *manifest(const char *text)
{
	char name[] = "/tmp/t_attest.XXXXXX";
	int fd = mkstemp(name);
	struct manifest *m = NULL;
	struct weir_err e = { 0 };

	assert_true(fd >= 0);
	unlink(name);
	assert_int_equal(fsio_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	if (manifest_load(fd, "m", &m, &e) < 0)
		fail_msg("%s", e.text);
	close(fd);
	return m;
}

#define H1 "1111111111111111111111111111111111111111111111111111111111111111"
#define H2 "2222222222222222222222222222222222222222222222222222222222222222"
#define HEAD "weir.manifest/1\ntaken 1000 1\nd 0755 0 - 1 5 5 .\n"

/* A hash holds for what was read only where nothing changed. */
static void reads_are_hashed_only_where_that_is_known(void **state)
{
	struct manifest *before = manifest(HEAD "f 0644 1 " H1 " 10 5 5 a\nf 0644 1 " H1
						" 11 5 5 b\nf 0644 1 " H1 " 12 5 5 c\nend 4\n");
	struct manifest *after = manifest(HEAD "f 0644 1 " H1 " 10 5 5 a\nf 0644 1 " H2
					       " 11 6 6 b\nf 0644 1 " H1 " 12 5 5 c\nend 4\n");
	struct mutations *m = mutations_new(8u << 20 | 1, "/lab/ws");
	struct reads r = { 0 };
	cleanup_buf struct buf text = { 0 };
	uint64_t counts[READS_HOW_COUNT];

	(void)state;
	assert_int_equal(reads_start(&r, 8u << 20 | 1, "/lab/ws"), 0);
	ADD(&r, "b\0ws\0lab", 11);
	ADD(&r, "a\0ws\0lab", 10);
	ADD(&r, "a\0ws\0lab", 10);
	ADD(&r, "c\0ws\0lab", 99); /* another inode by that name */
	ADD(&r, "x\n\0bin\0usr", 5);
	ADD(&r, "a\0wsx\0lab", 10);
	assert_int_equal(reads_format(&r, before, after, m, &text, counts), 0);
	assert_string_equal(buf_str(&text), "weir-reads/1\n"
					    "after " H1 " read 8:1 10 a\n"
					    "unhashed - read 8:1 10 /lab/wsx/a\n"
					    "unhashed - read 8:1 5 /usr/bin/x\\x0a\n"
					    "unhashed - read 8:1 11 b\n"
					    "unhashed - read 8:1 99 c\n");
	assert_int_equal(counts[READS_AT_OPEN], 0);
	assert_int_equal(counts[READS_AFTER], 1);
	assert_int_equal(counts[READS_UNHASHED], 4);
	reads_done(&r);
	mutations_free(m);
	manifest_free(before);
	manifest_free(after);
}

static void reads_of_others_do_not_count(void **state)
{
	struct reads r = { 0 };
	struct weir_opev op = { 0 };
	struct event e = read_event(&op, "a", 2, 1);
	cleanup_buf struct buf text = { 0 };
	uint64_t counts[READS_HOW_COUNT];

	(void)state;
	e.op.outcome = WEIR_OUTCOME_DENIED;
	reads_add(&r, &e);
	e.op.outcome = WEIR_OUTCOME_PASSED;
	e.op.flags = WEIR_EV_OUTSIDER;
	reads_add(&r, &e);
	e.op.flags = WEIR_EV_CANARY;
	reads_add(&r, &e);
	e.op.flags = 0;
	e.op.want = WEIR_RIGHT_WRITE;
	reads_add(&r, &e);
	e.op.want = WEIR_RIGHT_READ;
	e.op.first.mode = S_IFDIR | 0755;
	reads_add(&r, &e);
	assert_int_equal(reads_format(&r, NULL, NULL, NULL, &text, counts), 0);
	assert_string_equal(buf_str(&text), "weir-reads/1\n");
	reads_done(&r);
}

static void many_reads_are_kept_once(void **state)
{
	struct reads r = { 0 };
	cleanup_buf struct buf text = { 0 };
	uint64_t counts[READS_HOW_COUNT];

	(void)state;
	for (unsigned int i = 0; i < 5000; i++)
		ADD(&r, "same", 1 + i % 3);
	assert_int_equal(reads_format(&r, NULL, NULL, NULL, &text, counts), 0);
	assert_int_equal(counts[READS_UNHASHED], 3);
	assert_true(r.room <= 512);
	reads_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_pae),
		cmocka_unit_test(envelopes),
		cmocka_unit_test(reads_are_hashed_only_where_that_is_known),
		cmocka_unit_test(reads_of_others_do_not_count),
		cmocka_unit_test(many_reads_are_kept_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
