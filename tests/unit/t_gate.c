/* SPDX-License-Identifier: MIT */
/* Order of the gate's steps, its configuration, and the statement's shape. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/digest.h"
#include "writeback/config.h"
#include "writeback/gate.h"
#include "writeback/ledgerentry.h"
#include "writeback/reason.h"
#include "writeback/statement.h"

static int ran;

static int quiet(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	(void)p;
	(void)ret_answer;
	(void)e;
	ran++;
	return 0;
}

static int says_yes(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	*ret_answer = GATE_YES;
	return quiet(p, NULL, e);
}

static int fails(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	(void)p;
	(void)ret_answer;
	return err_set(e, -EIO, "broken");
}

/* The real table with other functions: order and permissions stay. */
static void copy_rows(struct gate_row rows[GATE_STEP_COUNT])
{
	for (unsigned int i = 0; i < GATE_STEP_COUNT; i++) {
		rows[i] = gate_rows()[i];
		rows[i].run = rows[i].decides ? says_yes : quiet;
	}
}

static int run_order(const struct gate_row *rows, const unsigned int *order, size_t count,
		     struct weir_err *e)
{
	struct gate_order o;
	int err = 0;

	gate_order_init(&o);
	ran = 0;
	for (size_t i = 0; err == 0 && i < count; i++)
		err = gate_step_run(rows, (enum gate_step)order[i], &o, NULL, e);
	return err;
}

static void test_table(void **state)
{
	static const char *const names[] = { "nonce",	   "open",   "crosscheck", "inspect",
					     "quarantine", "digest", "approve",	   "commit",
					     "attest",	   "publish" };
	unsigned int deciders = 0;

	(void)state;
	assert_int_equal(GATE_STEP_COUNT, ARRAY_SIZE(names));
	for (unsigned int i = 0; i < GATE_STEP_COUNT; i++) {
		assert_string_equal(gate_rows()[i].name, names[i]);
		/* each step permits exactly the next one, the last none */
		assert_int_equal(gate_rows()[i].next, i + 1 < GATE_STEP_COUNT ? 1u << (i + 1) : 0);
		deciders += gate_rows()[i].decides;
	}
	assert_int_equal(deciders, 1);
	assert_true(gate_rows()[GATE_APPROVE].decides);
}

static void test_only_the_one_order(void **state)
{
	struct gate_row rows[GATE_STEP_COUNT];
	unsigned int order[GATE_STEP_COUNT];
	struct weir_err e = { 0 };

	(void)state;
	copy_rows(rows);
	for (unsigned int i = 0; i < GATE_STEP_COUNT; i++)
		order[i] = i;
	assert_int_equal(run_order(rows, order, GATE_STEP_COUNT, &e), 0);
	assert_int_equal(ran, GATE_STEP_COUNT);
	/* every exchange, repetition and omission of two steps is refused */
	for (unsigned int a = 0; a < GATE_STEP_COUNT; a++) {
		for (unsigned int b = 0; b < GATE_STEP_COUNT; b++) {
			unsigned int other[GATE_STEP_COUNT];

			if (a == b)
				continue;
			memcpy(other, order, sizeof(other));
			other[a] = b;
			e = (struct weir_err){ 0 };
			assert_true(run_order(rows, other, GATE_STEP_COUNT, &e) < 0);
			assert_string_equal(e.code, "order");
			assert_true((unsigned int)ran <= a);
		}
	}
}

static void test_nothing_goes_on_after_a_failure(void **state)
{
	struct gate_row rows[GATE_STEP_COUNT];
	struct weir_err e = { 0 };

	(void)state;
	for (unsigned int bad = 0; bad < GATE_STEP_COUNT; bad++) {
		struct gate_order o;

		copy_rows(rows);
		rows[bad].run = fails;
		gate_order_init(&o);
		for (unsigned int i = 0; i < bad; i++)
			assert_int_equal(gate_step_run(rows, (enum gate_step)i, &o, NULL, &e), 0);
		assert_int_equal(gate_step_run(rows, (enum gate_step)bad, &o, NULL, &e), -EIO);
		for (unsigned int i = 0; i < GATE_STEP_COUNT; i++)
			assert_true(gate_step_run(rows, (enum gate_step)i, &o, NULL, &e) < 0);
	}
}

static void test_only_approve_decides(void **state)
{
	struct gate_row rows[GATE_STEP_COUNT];
	unsigned int order[GATE_STEP_COUNT];
	struct weir_err e = { 0 };

	(void)state;
	for (unsigned int i = 0; i < GATE_STEP_COUNT; i++)
		order[i] = i;
	for (unsigned int i = 0; i < GATE_STEP_COUNT; i++) {
		copy_rows(rows);
		rows[i].run = rows[i].decides ? quiet : says_yes;
		e = (struct weir_err){ 0 };
		assert_true(run_order(rows, order, GATE_STEP_COUNT, &e) < 0);
		assert_string_equal(e.code, "order");
		assert_int_equal(e.exit_code, GATE_EXIT_REFUSED);
	}
}

static void test_reasons_are_distinct(void **state)
{
	(void)state;
	for (unsigned int a = 0; a < REASON_COUNT; a++) {
		assert_true(strlen(reason_code((enum gate_reason)a)) < 32);
		for (unsigned int b = 0; b < a; b++)
			assert_string_not_equal(reason_code((enum gate_reason)a),
						reason_code((enum gate_reason)b));
	}
}

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define LEDGER "ledger: /l\nledger_key: /lk\n"
#define CONFIG \
	"schema: weir.gate/1\nid: 00000000000000000000000000000000\nrepository: /r\n" \
	"refs: [refs/heads/main]\nuser: weir\nkey: /k\nsigners: /s\nname: n\nemail: e\n" \
	"hosts: [" ZEROS "]\n" LEDGER

static void config_says(const char *text, const char *what)
{
	cleanup_config struct gate_config c = { 0 };
	struct weir_err e = { 0 };

	assert_int_equal(config_parse("g", text, strlen(text), &c, &e), -EINVAL);
	if (!strstr(e.text, what))
		fail_msg("'%s' is not in '%s'", what, e.text);
}

static void test_config(void **state)
{
	cleanup_config struct gate_config c = { 0 };
	cleanup_config struct gate_config again = { 0 };
	cleanup_buf struct buf text = { 0 };
	struct weir_err e = { 0 };

	(void)state;
	assert_int_equal(config_parse("g", CONFIG, strlen(CONFIG), &c, &e), 0);
	assert_int_equal(config_format(&c, &text), 0);
	assert_int_equal(config_parse("g", text.data, text.len, &again, &e), 0);
	assert_string_equal(again.repository, "/r");
	assert_true(gate_texts_have(&again.hosts, ZEROS));
	config_says("", "g:1:1: ");
	config_says("[a]", "g:1:1: a map");
	config_says(CONFIG "extra: 1\n", "g:13:1: unknown key");
	config_says(CONFIG "name: m\n", "g:13:1: this key stands here twice");
	config_says(CONFIG "policies: [abc]\n", "g:13:12: 64 lower-case");
	config_says(CONFIG "policies: abc\n", "g:13:11: a list");
	config_says(CONFIG "crosscheck: no\n", "full, stat or trace");
	config_says(CONFIG "agent: relative\n", "absolute");
	config_says("schema: weir.gate/1\n", "`id` is missing");
	config_says("a: [", "g:");
	text.len = 0;
	buf_add(&text, CONFIG, strlen(CONFIG) - strlen(LEDGER));
	config_says(buf_str(&text), "run `weir-gate init --add-ledger`");
	buf_addf(&text, "ledger: /l\n");
	config_says(buf_str(&text), "`ledger_key` is missing");
	buf_addf(&text, "ledger_key: /k\n");
	config_says(buf_str(&text), "another key than key");
}

static void test_ledger_entries(void **state)
{
	static const char done[] = "{\"attestations\":\"a\",\"commit\":\"c\",\"intent\":4,\"kind\":"
				   "\"done\",\"promotion\":\"p\","
				   "\"ref\":\"r\",\"schema\":\"weir.ledger/1\",\"time\":5}\n";
	static const char *const bad[] = {
		"",
		"{}",
		"[]",
		"{\"attestations\":\"a\",\"commit\":\"c\",\"intent\":null,\"kind\":\"done\","
		"\"promotion\":\"p\",\"ref\":"
		"\"r\","
		"\"schema\":\"weir.ledger/1\",\"time\":5}",
		"{\"attestations\":\"a\",\"commit\":\"c\",\"intent\":-4,\"kind\":\"done\","
		"\"promotion\":\"p\",\"ref\":"
		"\"r\","
		"\"schema\":\"weir.ledger/1\",\"time\":5}",
		"{\"attestations\":\"a\",\"commit\":\"c\",\"intent\":4,\"kind\":\"done\","
		"\"promotion\":null,\"ref\":\"r\","
		"\"schema\":\"weir.ledger/1\",\"time\":5}",
		"{\"attestations\":\"a\",\"commit\":\"c\",\"intent\":4,\"kind\":\"done\","
		"\"promotion\":\"p\",\"ref\":"
		"\"r\","
		"\"schema\":\"weir.ledger/2\",\"time\":5}",
		"{\"attestations\":\"a\",\"commit\":\"c\",\"intent\":4,\"kind\":\"done\","
		"\"promotion\":\"p\",\"ref\":"
		"\"r\","
		"\"schema\":\"weir.ledger/1\",\"time\":5,\"x\":1}",
		"{\"attestations\":\"a\",\"commit\":\"c\",\"intent\":4,\"kind\":\"gone\","
		"\"promotion\":\"p\",\"ref\":"
		"\"r\","
		"\"schema\":\"weir.ledger/1\",\"time\":5}",
	};
	cleanup_ledger_entry struct ledger_entry n = { 0 };
	struct ledger_entry aborted = { .kind = LEDGER_ABORTED,
					.intent = -1,
					.reason = (char *)(uintptr_t) "limit",
					.why = (char *)(uintptr_t) "a\n\x1b" };
	cleanup_buf struct buf text = { 0 };
	struct weir_err e = { 0 };

	(void)state;
	assert_int_equal(ledger_entry_parse(done, strlen(done), &n, &e), 0);
	assert_int_equal(n.kind, LEDGER_DONE);
	assert_int_equal(n.intent, 4);
	assert_int_equal(ledger_entry_format(&n, &text), 0);
	assert_string_equal(buf_str(&text), done);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct ledger_entry other;

		assert_int_equal(ledger_entry_parse(bad[i], strlen(bad[i]), &other, &e), -EBADMSG);
	}
	ledger_entry_done(&n);
	text.len = 0;
	assert_int_equal(ledger_entry_format(&aborted, &text), 0);
	assert_int_equal(ledger_entry_parse(buf_str(&text), text.len, &n, &e), 0);
	assert_int_equal(n.intent, -1);
	assert_null(n.commit);
	assert_string_equal(n.why, "a\n\x1b");
}

static void test_statement_shape(void **state)
{
	static const char *const bad[] = { "", "{}", "[]", "{\"schema\":\"weir.statement/1\"}\n",
					   "x" };
	struct weir_err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct statement s;

		assert_true(statement_parse(bad[i], strlen(bad[i]), &s, &e) < 0);
		assert_string_equal(e.code, "statement");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_only_the_one_order),
		cmocka_unit_test(test_nothing_goes_on_after_a_failure),
		cmocka_unit_test(test_only_approve_decides),
		cmocka_unit_test(test_reasons_are_distinct),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_ledger_entries),
		cmocka_unit_test(test_statement_shape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
