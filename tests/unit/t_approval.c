/* SPDX-License-Identifier: MIT */
/* Texts that people sign: one form for one content, and nothing else is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/approval.h"
#include "writeback/gittuf.h"

#define HEAD "weir-approval/1\ndecision approve\npromotion "
#define TREE "0123456789012345678901234567890123456789"

static const char promotion[] = "weir-promotion/1\nrepository 00\nref refs/heads/main\nbase " TREE
				"\ntree " TREE "\nrun 2026-a\nfinding b-2 warn - 1 x\n"
				"finding a-1 warn 1:2 1 y\nfinding b-2 warn - 1 z\n";

static void make(struct approval *a, enum approval_decision decision)
{
	*a = (struct approval){ .decision = decision, .role = ROLE_SECURITY, .from = 1780000000 };
	a->until = decision == APPROVAL_APPROVE ? a->from + 3600 : 0;
	assert_int_equal(approval_fill(a, promotion, strlen(promotion)), 0);
}

static void test_text(void **state)
{
	cleanup_approval struct approval a;
	cleanup_buf struct buf text = { 0 };

	(void)state;
	make(&a, APPROVAL_APPROVE);
	a.reason = strdup("two\nlines \\ and \xe2\x80\xae");
	assert_int_equal(approval_format(&a, &text), 0);
	assert_int_equal(strncmp(buf_str(&text), HEAD, strlen(HEAD)), 0);
	assert_int_equal(strspn(text.data + strlen(HEAD), "0123456789abcdef"), 64);
	assert_non_null(strstr(text.data, "\nref refs/heads/main\nbase " TREE "\ntree " TREE
					  "\nrun 2026-a\nrole security\n"
					  "from 2026-05-28T20:26:40Z\nuntil 2026-05-28T21:26:40Z\n"
					  "reason two\\x0alines \\\\ and \\xe2\\x80\\xae\n"
					  "acknowledge a-1\nacknowledge b-2\n"));
}

static void test_round_trip(void **state)
{
	(void)state;
	for (unsigned int d = 0; d < APPROVAL_DECISION_COUNT; d++) {
		cleanup_approval struct approval a, again;
		cleanup_buf struct buf text = { 0 };
		cleanup_buf struct buf second = { 0 };

		make(&a, (enum approval_decision)d);
		a.reason = d ? strdup("-") : NULL;
		assert_int_equal(approval_format(&a, &text), 0);
		assert_int_equal(approval_parse(text.data, text.len, &again), 0);
		assert_int_equal(again.decision, d);
		assert_int_equal(again.role, ROLE_SECURITY);
		assert_int_equal(again.until, a.until);
		assert_int_equal(again.acknowledged.count, 2);
		assert_int_equal(approval_format(&again, &second), 0);
		assert_string_equal(second.data, text.data);
	}
}

/* Whatever is changed, added or left out: another text is never read as this one. */
static void test_every_byte_counts(void **state)
{
	cleanup_approval struct approval a;
	cleanup_buf struct buf text = { 0 };

	(void)state;
	make(&a, APPROVAL_APPROVE);
	assert_int_equal(approval_format(&a, &text), 0);
	for (size_t i = 0; i < text.len; i++) {
		cleanup_approval struct approval again = { 0 };
		cleanup_buf struct buf second = { 0 };

		/* only whole acknowledgements can be cut off: that is another text, about less */
		if (approval_parse(text.data, i, &again) == 0)
			assert_true(strncmp(text.data + i, "acknowledge", 11) == 0);
		approval_done(&again);
		text.data[i] ^= 1;
		if (approval_parse(text.data, text.len, &again) == 0) {
			assert_int_equal(approval_format(&again, &second), 0);
			assert_int_equal(second.len, text.len);
			assert_memory_equal(second.data, text.data, text.len);
		}
		text.data[i] ^= 1;
	}
}

static void test_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"weir-approval/1",
		"weir-approval/1\n",
		"weir-approval/2\ndecision approve\n",
		"weir-approval/1\ndecision\n",
		"weir-approval/1\ndecision perhaps\n",
		"weir-approval/1\n\n",
	};
	cleanup_approval struct approval a = { .decision = APPROVAL_APPROVE };
	cleanup_buf struct buf text = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct approval got;

		assert_int_equal(approval_parse(bad[i], strlen(bad[i]), &got), -EBADMSG);
	}
	assert_int_equal(approval_format(&a, &text), -EINVAL);
	assert_int_equal(approval_fill(&a, "x\n", 2), -EBADMSG);
}

static void test_times(void **state)
{
	static const char *const bad[] = { "",
					   "-",
					   "2026-01-01",
					   "2026-02-30T00:00:00Z",
					   "2026-01-01T24:00:00Z",
					   "2026-01-01T00:00:00",
					   "2026-1-01T00:00:00Z",
					   "2026-01-01T00:00:00Zx",
					   "1969-01-01T00:00:00Z" };
	char text[SIGNED_TIME];
	int64_t when;

	(void)state;
	signed_time_format(0, text);
	assert_string_equal(text, "1970-01-01T00:00:00Z");
	assert_int_equal(signed_time_parse("2026-05-28T20:26:40Z", &when), 0);
	assert_int_equal(when, 1780000000);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(signed_time_parse(bad[i], &when), -EINVAL);
	assert_int_equal(signed_span_parse("30m"), 1800);
	assert_int_equal(signed_span_parse("7d"), 604800);
	assert_int_equal(signed_span_parse("7"), -EINVAL);
	assert_int_equal(signed_span_parse("-7d"), -EINVAL);
	assert_int_equal(signed_span_parse("0s"), -EINVAL);
}

static void test_gittuf(void **state)
{
	cleanup_approval struct approval a;
	cleanup_buf struct buf text = { 0 };

	(void)state;
	make(&a, APPROVAL_APPROVE);
	assert_int_equal(gittuf_statement(&a, &text), 0);
	assert_string_equal(buf_str(&text),
			    "{\"_type\":\"https://in-toto.io/Statement/v1\",\"predicate\":{"
			    "\"fromID\":\"" TREE "\",\"targetID\":\"" TREE
			    "\",\"targetRef\":\"refs/heads/main\"},\"predicateType\":"
			    "\"https://gittuf.dev/reference-authorization/v0.2\",\"subject\":[{"
			    "\"digest\":{\"gitTree\":\"" TREE "\"}}]}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_every_byte_counts),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_gittuf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
