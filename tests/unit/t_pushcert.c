/* SPDX-License-Identifier: MIT */
/* Push certificates: what is read, what is not, and that two people are two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/digest.h"
#include "writeback/glass.h"
#include "writeback/pushcert.h"
#include "writeback/sshsig.h"

#define OLD "1111111111111111111111111111111111111111"
#define NEW "2222222222222222222222222222222222222222"
#define OTHER "3333333333333333333333333333333333333333"
#define HEAD "certificate version 0.1\npusher key::x 1 +0000\npushee /srv/x.git\nnonce 1-abc\n"
#define WHY "push-option reason=it burns\npush-option other\n"
#define BODY HEAD WHY "\n" OLD " " NEW " refs/heads/main\n"

static void sign(unsigned char who, const char *text, struct buf *ret_cert)
{
	struct sshkey key = { 0 };
	cleanup_buf struct buf armor = { 0 };

	memset(key.seed, who, sizeof(key.seed));
	assert_int_equal(digest_public(key.seed, key.public_key), 0);
	assert_int_equal(sshsig_sign(&key, "git", text, strlen(text), &armor), 0);
	buf_add(ret_cert, text, strlen(text));
	buf_add(ret_cert, armor.data, armor.len);
	assert_false(ret_cert->failed);
}

static void test_reads_all(void **state)
{
	cleanup_pushcert struct pushcert c = { 0 };
	cleanup_buf struct buf cert = { 0 };
	cleanup_buf struct buf blob = { 0 };
	struct weir_err e = { 0 };
	char hex[41] = "";

	(void)state;
	sign(1, BODY, &cert);
	buf_addf(&cert, "what follows is another one");
	assert_int_equal(pushcert_parse(cert.data, cert.len, &c, &e), 0);
	assert_string_equal(c.nonce, "1-abc");
	assert_string_equal(c.reason, "it burns");
	assert_string_equal(c.ref, "refs/heads/main");
	git_oid_tostr(hex, sizeof(hex), &c.old);
	assert_string_equal(hex, OLD);
	git_oid_tostr(hex, sizeof(hex), &c.new_id);
	assert_string_equal(hex, NEW);
	assert_int_equal(c.signed_len, strlen(BODY));
	assert_int_equal(c.len, cert.len - strlen("what follows is another one"));
	assert_int_equal(pushcert_verify(&c, cert.data, &blob, &e), 0);
	cert.data[strlen(BODY) - 2] ^= 1;
	assert_int_equal(pushcert_verify(&c, cert.data, &blob, &e), -EBADMSG);
}

static void test_refuses(void **state)
{
	static const struct {
		const char *text;
		const char *why;
	} bad[] = {
		{ "", "can't be read" },
		{ "certificate version 0.2\n", "can't be read" },
		{ HEAD WHY, "can't be read" },
		{ HEAD WHY "\n", "can't be read" },
		{ HEAD WHY "surprise x\n\n" OLD " " NEW " r\n", "can't be read" },
		{ HEAD "nonce 2\n" WHY "\n" OLD " " NEW " r\n", "can't be read" },
		{ HEAD WHY "push-option reason=two\n\n" OLD " " NEW " r\n", "can't be read" },
		{ HEAD WHY "\n" OLD " " NEW " \n", "can't be read" },
		{ HEAD WHY "\n" OLD " x" NEW " r\n", "can't be read" },
		{ HEAD WHY "\n" OLD " " NEW " a\n" OLD " " NEW " b\n", "more than one ref" },
		{ HEAD "\n" OLD " " NEW " r\n", "does not say why" },
		{ HEAD "push-option reason=\n\n" OLD " " NEW " r\n", "does not say why" },
		{ "certificate version 0.1\npusher x\n" WHY "\n" OLD " " NEW " r\n", "no nonce" },
		{ "certificate version 0.1\nnonce \n" WHY "\n" OLD " " NEW " r\n", "no nonce" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cleanup_pushcert struct pushcert c = { 0 };
		cleanup_buf struct buf cert = { 0 };
		struct weir_err e = { 0 };

		sign(1, bad[i].text, &cert);
		assert_int_equal(pushcert_parse(cert.data, cert.len, &c, &e), -EBADMSG);
		assert_non_null(strstr(e.text, bad[i].why));
	}
}

/* Each way to cut a good one short. */
static void test_cut(void **state)
{
	cleanup_buf struct buf cert = { 0 };

	(void)state;
	sign(1, BODY, &cert);
	for (size_t len = 0; len < cert.len; len++) {
		cleanup_pushcert struct pushcert c = { 0 };
		struct weir_err e = { 0 };

		assert_int_equal(pushcert_parse(cert.data, len, &c, &e), -EBADMSG);
	}
}

static int agree(unsigned char first, const char *one, unsigned char second, const char *two)
{
	cleanup_with(glass_voice_done) struct glass_voice a = { 0 };
	cleanup_with(glass_voice_done) struct glass_voice b = { 0 };
	cleanup_buf struct buf x = { 0 };
	cleanup_buf struct buf y = { 0 };
	struct weir_err e = { 0 };

	sign(first, one, &x);
	sign(second, two, &y);
	assert_int_equal(glass_hear(x.data, x.len, &a, &e), 0);
	assert_int_equal(glass_hear(y.data, y.len, &b, &e), 0);
	return glass_agree(&a, &b, &e);
}

static void test_two_people(void **state)
{
	(void)state;
	assert_int_equal(agree(1, BODY, 2, BODY), 0);
	assert_int_equal(agree(1, BODY, 1, BODY), -EBADMSG);
	assert_int_equal(agree(1, BODY, 2, HEAD WHY "\n" OLD " " OTHER " refs/heads/main\n"),
			 -EBADMSG);
	assert_int_equal(agree(1, BODY, 2, HEAD WHY "\n" OTHER " " NEW " refs/heads/main\n"),
			 -EBADMSG);
	assert_int_equal(agree(1, BODY, 2, HEAD WHY "\n" OLD " " NEW " refs/heads/next\n"),
			 -EBADMSG);
}

static void test_listed(void **state)
{
	struct gate_texts list = { 0 };

	(void)state;
	assert_int_equal(glass_listed("weir-promotion/1\nbase x\nbreak-glass " OLD
				      "\nbreak-glass " NEW "\nrun break-glass\n",
				      &list),
			 0);
	assert_int_equal(glass_listed("x\nbreak-glass " OLD "\n", &list), 0);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.items[1], NEW);
	gate_texts_done(&list);
}

static int start(void **state)
{
	(void)state;
	return git_libgit2_init() > 0 ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_all), cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_cut),	  cmocka_unit_test(test_two_people),
		cmocka_unit_test(test_listed),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
