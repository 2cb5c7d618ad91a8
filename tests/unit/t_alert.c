/* SPDX-License-Identifier: MIT */
/* Alerts as JSON lines, compared with what their schema says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <string.h>

#include "tests/unit/records.h"
#include "user/report/alert.h"

static const struct timespec noon = { .tv_sec = 1769860800, .tv_nsec = 7999 };

/* The one line in b, parsed; b is empty afterwards. */
static json_t *take_line(struct buf *b)
{
	json_t *o;

	assert_non_null(b->data);
	assert_ptr_equal(strchr(b->data, '\n'), b->data + b->len - 1);
	o = json_loadb(b->data, b->len, JSON_REJECT_DUPLICATES, NULL);
	assert_true(json_is_object(o));
	buf_done(b);
	return o;
}

static void assert_member(const json_t *o, const char *name, const char *value)
{
	assert_string_equal(json_string_value(json_object_get(o, name)), value);
}

static void assert_head(const json_t *o, const char *kind, const char *severity, const char *text)
{
	assert_member(o, "schema", "weir.alert/1");
	assert_member(o, "time", "2026-01-31T12:00:00.000007Z");
	assert_member(o, "run", "20260131-120000-abcdef");
	assert_member(o, "kind", kind);
	assert_member(o, "severity", severity);
	assert_member(o, "text", text);
}

static void start_and_end(void **state)
{
	static const struct {
		enum verdict_value verdict;
		const char *name, *severity, *text;
	} ends[] = {
		{ VERDICT_CLEAN, "clean", "informational", "the run has ended: clean" },
		{ VERDICT_UNJUDGED, "unjudged", "notice", "the run has ended: unjudged" },
		{ VERDICT_INDETERMINATE, "indeterminate", "error",
		  "the run has ended: indeterminate" },
		{ VERDICT_VIOLATED, "violated", "critical", "the run has ended: violated" },
	};
	struct buf b = { 0 };
	json_t *o;

	(void)state;
	assert_int_equal(report_alert_start("20260131-120000-abcdef", &noon, &b), 0);
	o = take_line(&b);
	assert_head(o, "start", "debug", "the run begins");
	json_decref(o);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		assert_int_equal(
			report_alert_end(ends[i].verdict, i, "20260131-120000-abcdef", &noon, &b),
			0);
		o = take_line(&b);
		assert_head(o, "end", ends[i].severity, ends[i].text);
		assert_member(o, "verdict", ends[i].name);
		assert_int_equal(json_integer_value(json_object_get(o, "findings")), i);
		json_decref(o);
	}
}

/* Takes an operation, gives the line of the finding that it is. */
static json_t *alert_of(unsigned int kind, unsigned int outcome, const char *path)
{
	struct lineage *lineage = lineage_new(NULL);
	struct findings *findings = findings_new(NULL, lineage);
	struct weir_opev op = rec_plain(1, 11, WEIR_OP_WRITE, kind);
	struct buf b = { 0 };
	struct event event;
	struct rec r;

	op.outcome = (uint8_t)outcome;
	rec_op(&r, op, path, NULL);
	event = rec_event(&r);
	assert_int_equal(findings_add_event(findings, &event, NULL), 1);
	assert_int_equal(
		report_alert_finding(findings_at(findings, 0), "20260131-120000-abcdef", &noon, &b),
		0);
	findings_free(findings);
	lineage_free(lineage);
	return take_line(&b);
}

static void severities(void **state)
{
	static const struct {
		unsigned int kind, outcome;
		const char *severity;
	} cases[] = {
		{ WEIR_KIND_FILE_OUTSIDE, WEIR_OUTCOME_DENIED, "error" },
		{ WEIR_KIND_CREDENTIAL_READ, WEIR_OUTCOME_PASSED, "critical" },
		{ WEIR_KIND_ATTEMPT, WEIR_OUTCOME_REFUSED, "notice" },
		{ WEIR_KIND_TAMPER, WEIR_OUTCOME_DENIED, "alert" },
		{ WEIR_KIND_TAMPER, WEIR_OUTCOME_PASSED, "emergency" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *o = alert_of(cases[i].kind, cases[i].outcome, "/lab/a");

		assert_member(o, "severity", cases[i].severity);
		assert_member(json_object_get(o, "finding"), "severity", cases[i].severity);
		assert_member(o, "kind", names_kind(cases[i].kind));
		json_decref(o);
	}
}

/* What a member makes up stays inside its line. */
static void hostile_paths(void **state)
{
	json_t *o = alert_of(WEIR_KIND_FILE_OUTSIDE, WEIR_OUTCOME_DENIED, "/a\n{\"x\": 1}\xff\033");
	const char *text = json_string_value(json_object_get(o, "text"));

	(void)state;
	assert_non_null(text);
	assert_null(strpbrk(text, "\n\033\xff"));
	assert_member(json_object_get(json_object_get(o, "finding"), "object"), "path",
		      "8:1:/a\\x0a{\"x\": 1}\\xff\\x1b");
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_and_end),
		cmocka_unit_test(severities),
		cmocka_unit_test(hostile_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
