/* SPDX-License-Identifier: MIT */
/* Orders and kinds of promotions. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "user/base/cleanup.h"
#include "writeback/order.h"

#define HASH "0123456789abcdef0123456789abcdef01234567"

static const struct order revert = { .kind = KIND_REVERT,
				     .ref = (char *)"refs/heads/m\xff",
				     .nonce = "000102030405060708090a0b0c0d0e0f",
				     .repository = "ffeeddccbbaa99887766554433221100",
				     .base = HASH,
				     .object = HASH,
				     .caller = 4294967294u };

static void test_round(void **state)
{
	cleanup_buf struct buf text = { 0 };
	cleanup_order struct order o = { 0 };
	struct weir_err e = { 0 };

	(void)state;
	assert_int_equal(order_format(&revert, &text), 0);
	assert_int_equal(order_parse(buf_str(&text), text.len, &o, &e), 0);
	assert_int_equal(o.kind, KIND_REVERT);
	assert_string_equal(o.id, "revert-000102030405");
	assert_string_equal(o.ref, "refs/heads/m\xff");
	assert_string_equal(o.base, HASH);
	assert_int_equal(o.caller, 4294967294u);
	assert_int_equal(strlen(o.sha256), 64);
}

/* Each byte of it matters. */
static void test_refused(void **state)
{
	cleanup_buf struct buf text = { 0 };
	struct weir_err e = { 0 };
	struct order o;

	(void)state;
	assert_int_equal(order_format(&revert, &text), 0);
	for (size_t i = 0; i < text.len; i++)
		assert_int_equal(order_parse(buf_str(&text), i, &o, &e), -EPERM);
	buf_add(&text, "\n", 1);
	assert_int_equal(order_parse(buf_str(&text), text.len, &o, &e), -EPERM);
	assert_string_equal(e.code, "order-text");
	text.len = 0;
	buf_addf(&text, "{\"kind\":\"run\"}\n");
	assert_int_equal(order_parse(buf_str(&text), text.len, &o, &e), -EPERM);
}

/* What a promotion text says it is; a text of the first days says nothing. */
static void test_kinds(void **state)
{
	(void)state;
	assert_int_equal(kind_of_text("weir-promotion/1\nrepository x\n"), KIND_RUN);
	assert_int_equal(kind_of_text("weir-promotion/1\nkind revert\n"), KIND_REVERT);
	assert_int_equal(kind_of_text("weir-promotion/1\nkind other\n"), KIND_COUNT);
	for (unsigned int i = 0; i < KIND_COUNT; i++) {
		const struct kind *k = kind_of((enum promotion_kind)i);

		assert_int_equal(kind_find(k->name), i);
		assert_non_null(k->trailers[0].trailer);
		assert_true(k->nonce && k->open && k->crosscheck && k->inspect && k->quarantine);
		/* the first trailer tells kinds apart */
		for (unsigned int j = 0; j < i; j++)
			assert_string_not_equal(
				k->trailers[0].trailer,
				kind_of((enum promotion_kind)j)->trailers[0].trailer);
	}
	assert_true(kind_attests(KIND_RUN, ATTEST_TRACE));
	assert_false(kind_attests(KIND_REVERT, ATTEST_TRACE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
