/* SPDX-License-Identifier: MIT */
/* The service's requests: one table says what each may hold; its answers say no more than they may. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "writeback/reason.h"
#include "writeback/serve.h"

#define HEAD "{\"schema\":\"weir.request/1\",\"op\":"
#define NONCE "0123456789abcdef0123456789abcdef"

static void refused(const char *text, const char *code)
{
	struct serve_request r;
	struct weir_err e = { 0 };

	assert_true(serve_request_parse(text, strlen(text), &r, &e) < 0);
	assert_string_equal(e.code, code);
	assert_int_equal(e.exit_code, GATE_EXIT_REFUSED);
}

static void test_tables(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < SERVE_OP_COUNT; i++) {
		const struct serve_row *row = serve_op((enum serve_op)i);

		assert_int_equal(serve_op_find(row->name), i);
		assert_int_equal(row->needed & row->allowed, 0);
		assert_true(row->request_kib << 10 <= SERVE_FRAME_MAX);
		assert_true((row->result_kib << 10) + 1024 <= SERVE_ANSWER_MAX);
		assert_true(row->seconds > 0 && row->seconds <= 600);
		/* only the judge lists what a caller may see */
		assert_int_equal((row->needed | row->allowed) & SERVE_BIT(ONLY), 0);
		assert_true(row->command || (row->needed & SERVE_BIT(DECISION)));
		for (unsigned int m = 0; m < SERVE_MEMBER_COUNT; m++)
			if ((row->needed | row->allowed) & (1u << m))
				assert_true(serve_member((enum serve_member)m)->max <
					    row->request_kib << 10);
	}
	assert_int_equal(serve_op_find("shell"), SERVE_OP_COUNT);
	assert_int_equal(serve_member_find("approved"), SERVE_MEMBER_COUNT);
}

static void test_read(void **state)
{
	static const char text[] =
		HEAD "\"statement\",\"nonce\":\"" NONCE
		     "\",\"decision\":\"approve\",\"acknowledge\":[\"a-1\",\"b-2\"],"
		     "\"reason\":\"-x\\ny\"}";
	cleanup_serve_request struct serve_request r;
	cleanup_buf struct buf again = { 0 };
	struct weir_err e = { 0 };

	(void)state;
	assert_int_equal(serve_request_parse(text, strlen(text), &r, &e), 0);
	assert_int_equal(r.op, SERVE_OP_STATEMENT);
	assert_string_equal(r.values[SERVE_M_ACKNOWLEDGE], "a-1\nb-2\n");
	assert_string_equal(r.values[SERVE_M_REASON], "-x\ny");
	assert_null(r.values[SERVE_M_ROLE]);
	assert_int_equal(serve_request_format(&r, &again), 0);
	assert_non_null(strstr(buf_str(&again), "\"acknowledge\":[\"a-1\",\"b-2\"]"));
}

static void test_refused(void **state)
{
	(void)state;
	refused("", "request");
	refused("[]", "request");
	refused("{\"op\":\"status\"}", "request");
	refused("{\"schema\":\"weir.request/2\",\"op\":\"status\"}", "request");
	refused(HEAD "\"shell\"}", "request");
	refused(HEAD "\"status\"}x", "request");
	refused(HEAD "\"review\"}", "request");
	refused(HEAD "\"review\",\"nonce\":\"" NONCE "0\"}", "request");
	refused(HEAD "\"review\",\"nonce\":\"" NONCE "\",\"deep\":true}", "request");
	refused(HEAD "\"review\",\"nonce\":\"" NONCE "\",\"text\":false}", "request");
	refused(HEAD "\"review\",\"nonce\":[\"" NONCE "\"]}", "request");
	refused(HEAD "\"pending\",\"only\":[\"" NONCE "\"]}", "request");
	refused(HEAD "\"verify\",\"commit\":\"--repo=/\"}", "request");
	refused(HEAD "\"verify\",\"commit\":\"a b\"}", "request");
	refused(HEAD "\"commit\",\"run\":\"../0101-000000-abcdef\"}", "request");
}

static void test_fits(void **state)
{
	(void)state;
	assert_true(serve_value_fits(SERVE_M_RUN, "20260101-000000-abcdef"));
	assert_false(serve_value_fits(SERVE_M_RUN, "last"));
	assert_true(serve_value_fits(SERVE_M_COMMIT, "refs/heads/main~1"));
	assert_false(serve_value_fits(SERVE_M_COMMIT, ""));
	assert_false(serve_value_fits(SERVE_M_COMMIT, "/etc/weir"));
	assert_false(serve_value_fits(SERVE_M_COMMIT, "../x"));
	assert_false(serve_value_fits(SERVE_M_COMMIT, "x/"));
	assert_true(serve_value_fits(SERVE_M_AUTHOR, "\xc3\x89 <a@b>"));
	assert_false(serve_value_fits(SERVE_M_AUTHOR, "a\nb"));
	assert_false(serve_value_fits(SERVE_M_AUTHOR, "\xff"));
	assert_true(serve_value_fits(SERVE_M_MESSAGE, "a\n\tb"));
	assert_false(serve_value_fits(SERVE_M_MESSAGE, "\x1b[31m"));
	assert_true(serve_value_fits(SERVE_M_ONLY, ""));
	assert_false(serve_value_fits(SERVE_M_ONLY, NONCE));
	assert_true(serve_value_fits(SERVE_M_ONLY, NONCE "\n"));
	assert_false(serve_value_fits(SERVE_M_ONLY, "\n"));
}

static void test_hello(void **state)
{
	static const char good[] = "{\"schema\":\"weir.hello/1\",\"principal\":\"a@x\"}";
	static const char more[] = "{\"schema\":\"weir.hello/1\",\"principal\":\"a@x\",\"uid\":0}";
	static const char other[] = HEAD "\"status\"}";
	char *principal = NULL;
	struct weir_err e = { 0 };

	(void)state;
	assert_int_equal(serve_hello_parse(other, strlen(other), &principal, &e), 0);
	assert_true(serve_hello_parse(more, strlen(more), &principal, &e) < 0);
	assert_null(principal);
	assert_int_equal(serve_hello_parse(good, strlen(good), &principal, &e), 1);
	assert_string_equal(principal, "a@x");
	free(principal);
}

/* Refusals have a code and a text; what failed inside is for the log. */
static void test_answers(void **state)
{
	cleanup_buf struct buf answer = { 0 };
	cleanup_buf struct buf result = { 0 };
	struct weir_err e = { 0 }, back = { 0 };

	(void)state;
	err_set(&e, -EIO, "/etc/weir/keys/gate: Input/output error");
	assert_int_equal(serve_answer_error(&e, &answer), 0);
	assert_null(strstr(buf_str(&answer), "/etc"));
	assert_true(serve_answer_parse(answer.data, answer.len, &result, &back) < 0);
	assert_int_equal(back.exit_code, GATE_EXIT_FAILED);
	buf_done(&answer);
	refuse(&e, REASON_DENIED, "no\x1b");
	assert_int_equal(serve_answer_error(&e, &answer), 0);
	assert_true(serve_answer_parse(answer.data, answer.len, &result, &back) < 0);
	assert_string_equal(back.code, "denied");
	assert_non_null(strstr(back.text, "no\\x1b"));
	buf_done(&answer);
	assert_int_equal(serve_answer_text("a\n\"b\"\n", 6, &answer), 0);
	assert_int_equal(serve_answer_parse(answer.data, answer.len, &result, &back), 0);
	assert_string_equal(buf_str(&result), "a\n\"b\"\n");
	assert_int_equal(serve_answer_text("\xff", 1, &answer), -EBADMSG);
}

static void test_frames(void **state)
{
	cleanup_buf struct buf frame = { 0 };
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(serve_frame_write(ends[0], "abc", 3, 1), 0);
	assert_int_equal(serve_frame_read(ends[1], 3, 1, &frame), 0);
	assert_string_equal(buf_str(&frame), "abc");
	assert_int_equal(serve_frame_write(ends[0], "abc", 3, 1), 0);
	assert_int_equal(serve_frame_read(ends[1], 2, 1, &frame), -EMSGSIZE);
	assert_int_equal(serve_frame_write(ends[0], "", 0, 1), -EMSGSIZE);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(serve_frame_read(ends[1], 2, 0, &frame), -ETIMEDOUT);
	close(ends[0]);
	assert_int_equal(serve_frame_read(ends[1], 2, 1, &frame), -EPIPE);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),	cmocka_unit_test(test_read),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_fits),
		cmocka_unit_test(test_hello),	cmocka_unit_test(test_answers),
		cmocka_unit_test(test_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
