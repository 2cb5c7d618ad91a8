/* SPDX-License-Identifier: MIT */
/* The verdict, from the records of a trace alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "tests/unit/records.h"
#include "user/base/cleanup.h"
#include "user/event/names.h"
#include "user/event/verdict.h"
#include "user/trace/format.h"

/* Holds a run's verdict so far, and what END will say. */
struct run {
	struct verdict v;
	json_t *end;
	uint64_t written;
};

static json_t *stat_json(uint64_t seen, uint64_t emitted, uint64_t aggregated, uint64_t dropped)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "seen", (json_int_t)seen, "emitted",
			 (json_int_t)emitted, "aggregated", (json_int_t)aggregated, "dropped",
			 (json_int_t)dropped);
}

static void add_json(struct run *run, unsigned int type, json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);

	verdict_add(&run->v, type, text, strlen(text));
	free(text);
	json_decref(json);
}

static void start(struct run *run, const char *mode)
{
	memset(run, 0, sizeof(*run));
	run->end = json_pack("{s:{}, s:{}, s:i, s:i, s:i}", "hooks", "latch", "trouble", 0,
			     "last_seq", 0, "live", 0);
	add_json(run, VERDICT_START, json_pack("{s:s, s:i}", "mode", mode, "slot", 1));
}

static json_t *coverage(const char *without)
{
	json_t *hooks = json_object();

	for (unsigned int i = 0; i < WEIR_HOOK_COUNT; i++)
		if (!without || strcmp(names_hook(i), without) != 0)
			json_object_set_new(hooks, names_hook(i),
					    json_pack("{s:s}", "source", "lsm"));
	return json_pack("{s:o}", "hooks", hooks);
}

static void add_event(struct run *run, uint64_t seq, unsigned int kind)
{
	struct rec r;

	rec_op(&r, rec_plain(seq, 10, WEIR_OP_WRITE, kind), "/lab/ws/a", NULL);
	verdict_add(&run->v, VERDICT_EVENT, r.bytes, r.len);
	run->written++;
}

/* END as an honest collector writes it for what add_event() did. */
static void finish_end(struct run *run, uint64_t last_seq)
{
	json_object_set_new(json_object_get(run->end, "hooks"), names_hook(0),
			    stat_json(run->written + 5, run->written, 5, 0));
	json_object_set_new(run->end, "last_seq", json_integer((json_int_t)last_seq));
}

static void add_end(struct run *run)
{
	add_json(run, VERDICT_END, run->end);
	run->end = NULL;
}

static void latch(struct run *run, unsigned int kind, int count)
{
	json_object_set_new(json_object_get(run->end, "latch"), names_kind(kind),
			    json_integer(count));
}

static void expect(struct run *run, enum verdict_value value)
{
	json_decref(run->end);
	if (verdict_finish(&run->v) != value)
		fail_msg("verdict is %s, because %s", verdict_name(run->v.value),
			 run->v.text_count ? run->v.texts[0].text : "of nothing");
}

static void expect_only(struct run *run, enum verdict_reason reason)
{
	expect(run, VERDICT_INDETERMINATE);
	for (unsigned int i = 0; i < VERDICT_REASON_COUNT; i++)
		if ((run->v.reasons[i] > 0) != (i == (unsigned int)reason))
			fail_msg("reason %s: %s", verdict_reason_name((enum verdict_reason)i),
				 run->v.texts[0].text);
	assert_int_equal(run->v.texts[0].reason, reason);
	assert_true(strlen(run->v.texts[0].text) > 5);
}

static void a_whole_run_without_findings_is_clean(void **state)
{
	struct run run;

	(void)state;
	start(&run, "enforce");
	add_json(&run, VERDICT_COVERAGE, coverage(NULL));
	for (uint64_t seq = 1; seq <= 1000; seq++)
		add_event(&run, seq, 0);
	finish_end(&run, 1000);
	add_end(&run);
	expect(&run, VERDICT_CLEAN);
	assert_int_equal(run.v.text_count, 0);
}

static void set_source(json_t *cover, const char *hook, const char *source)
{
	json_object_set_new(json_object_get(json_object_get(cover, "hooks"), hook), "source",
			    json_string(source));
}

static enum verdict_value with_coverage(json_t *cover)
{
	struct run run;

	start(&run, "observe");
	add_json(&run, VERDICT_COVERAGE, cover);
	finish_end(&run, 0);
	add_end(&run);
	json_decref(run.end);
	return verdict_finish(&run.v);
}

static void optional_hooks_may_be_absent_but_not_left_out(void **state)
{
	static const char *const optional[] = { "file_truncate", "inode_set_acl",
						"inode_remove_acl", "file_ioctl_compat" };
	json_t *cover = coverage(NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(optional); i++)
		set_source(cover, optional[i], "absent");
	assert_int_equal(with_coverage(cover), VERDICT_CLEAN);
	for (size_t i = 0; i < ARRAY_SIZE(optional); i++) {
		assert_int_equal(with_coverage(coverage(optional[i])), VERDICT_INDETERMINATE);
		cover = coverage(NULL);
		set_source(cover, optional[i], "none");
		assert_int_equal(with_coverage(cover), VERDICT_INDETERMINATE);
	}
	cover = coverage(NULL);
	set_source(cover, "file_open", "absent");
	assert_int_equal(with_coverage(cover), VERDICT_INDETERMINATE);
}

static json_t *coverage_of(const char *source)
{
	json_t *cover = coverage(NULL);

	json_object_set_new(cover, "source", json_string(source));
	return cover;
}

static void only_source_syscall_leaves_hooks_unseen(void **state)
{
	json_t *cover;

	(void)state;
	for (unsigned int i = 0; i < WEIR_HOOK_COUNT; i++) {
		cover = coverage_of("syscall");
		set_source(cover, names_hook(i), "unseen");
		assert_int_equal(with_coverage(cover),
				 verdict_hook_seen(i) ? VERDICT_INDETERMINATE : VERDICT_CLEAN);
		cover = coverage_of("fmod_ret");
		set_source(cover, names_hook(i), "unseen");
		assert_int_equal(with_coverage(cover), VERDICT_INDETERMINATE);
	}
	assert_true(verdict_hook_seen(WEIR_HOOK_FILE_OPEN));
	assert_false(verdict_hook_seen(WEIR_HOOK_SYSCTL));
}

static void a_source_is_known_or_a_reason(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < VERDICT_SOURCE_COUNT; i++) {
		struct verdict v = { 0 };
		json_t *cover = coverage_of(verdict_source_name((enum verdict_source)i));

		verdict_add_json(&v, VERDICT_COVERAGE, cover);
		json_decref(cover);
		assert_int_equal(v.source, i);
		assert_int_equal(v.reasons[VERDICT_REASON_COVERAGE], 0);
	}
	assert_int_equal(with_coverage(coverage_of("guesswork")), VERDICT_INDETERMINATE);
	assert_int_equal(with_coverage(coverage_of("")), VERDICT_INDETERMINATE);
}

/* A run that would be clean but for what `spoil` does before END. */
static void spoiled(struct run *run, void (*spoil)(struct run *))
{
	start(run, "enforce");
	add_json(run, VERDICT_COVERAGE, coverage(NULL));
	add_event(run, 1, 0);
	add_event(run, 2, 0);
	finish_end(run, 2);
	spoil(run);
	if (run->end)
		add_end(run);
}

static void a_finding_event_violates(void **state)
{
	struct run run;

	(void)state;
	start(&run, "enforce");
	add_json(&run, VERDICT_COVERAGE, coverage(NULL));
	add_event(&run, 1, WEIR_KIND_FILE_OUTSIDE);
	add_event(&run, 2, WEIR_KIND_FILE_OUTSIDE);
	latch(&run, WEIR_KIND_FILE_OUTSIDE, 2);
	finish_end(&run, 2);
	add_end(&run);
	expect(&run, VERDICT_VIOLATED);
	assert_int_equal(run.v.text_count, 0);
	assert_int_equal(verdict_kind_count(&run.v, WEIR_KIND_FILE_OUTSIDE), 2);
	assert_int_equal(verdict_kind_count(&run.v, WEIR_KIND_TAMPER), 0);
	assert_int_equal(verdict_kind_count(&run.v, WEIR_KIND_COUNT), 0);
}

static void a_finding_without_end_violates_too(void **state)
{
	struct run run;

	(void)state;
	start(&run, "enforce");
	add_event(&run, 1, WEIR_KIND_FILE_OUTSIDE);
	expect(&run, VERDICT_VIOLATED);
	assert_int_equal(run.v.reasons[VERDICT_REASON_END], 1);
}

static void spoil_latch(struct run *run)
{
	latch(run, WEIR_KIND_TAMPER, 1);
}

/* No loss of records can lose a violation. */
static void a_latch_without_its_record_violates(void **state)
{
	struct run run;

	(void)state;
	spoiled(&run, spoil_latch);
	expect(&run, VERDICT_VIOLATED);
	assert_int_equal(run.v.reasons[VERDICT_REASON_LATCH], 1);
	assert_int_equal(verdict_kind_count(&run.v, WEIR_KIND_TAMPER), 1);
}

static void add_note(struct run *run, const char *severity)
{
	add_json(run, VERDICT_NOTE,
		 json_pack("{s:s, s:s, s:i}", "kind", "membership", "severity", severity, "count",
			   3));
}

static void spoil_note_error(struct run *run)
{
	add_note(run, "error");
}

static void spoil_note_notice(struct run *run)
{
	add_note(run, "notice");
	add_note(run, "warning");
}

static void grave_notes_violate_and_others_do_not(void **state)
{
	struct run run;

	(void)state;
	spoiled(&run, spoil_note_error);
	expect(&run, VERDICT_VIOLATED);
	assert_int_equal(verdict_kind_count(&run.v, WEIR_KIND_MEMBERSHIP), 3);
	spoiled(&run, spoil_note_notice);
	expect(&run, VERDICT_CLEAN);
}

static void spoil_canary(struct run *run)
{
	struct weir_opev op = rec_plain(3, 10, WEIR_OP_WRITE, WEIR_KIND_FILE_OUTSIDE);
	struct rec r;

	op.flags |= WEIR_EV_CANARY;
	rec_op(&r, op, "/x", NULL);
	verdict_add(&run->v, VERDICT_EVENT, r.bytes, r.len);
	run->written++;
	finish_end(run, 3);
}

static void proofs_of_life_violate_nothing(void **state)
{
	struct run run;

	(void)state;
	spoiled(&run, spoil_canary);
	expect(&run, VERDICT_CLEAN);
}

static void without_policy_nothing_is_judged(void **state)
{
	struct run run;

	(void)state;
	start(&run, "trace");
	add_json(&run, VERDICT_COVERAGE, coverage(NULL));
	add_event(&run, 1, 0);
	finish_end(&run, 1);
	add_end(&run);
	expect(&run, VERDICT_UNJUDGED);
	start(&run, "trace");
	expect(&run, VERDICT_UNJUDGED);
	assert_true(run.v.text_count > 0);
	start(&run, "trace");
	add_event(&run, 1, WEIR_KIND_TAMPER);
	expect(&run, VERDICT_VIOLATED);
}

static void records_may_come_out_of_order(void **state)
{
	static const uint64_t order[] = { 3, 1, 2, 9, 8, 5, 7, 6, 4, 10, 12, 11 };
	struct run run;

	(void)state;
	start(&run, "enforce");
	add_json(&run, VERDICT_COVERAGE, coverage(NULL));
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		add_event(&run, order[i], 0);
	finish_end(&run, 12);
	add_end(&run);
	expect(&run, VERDICT_CLEAN);
}

static void spoil_gap(struct run *run)
{
	add_event(run, 4, 0);
	finish_end(run, 4);
}

static void spoil_last(struct run *run)
{
	finish_end(run, 3);
}

static void a_gap_is_seen(void **state)
{
	struct run run;

	(void)state;
	spoiled(&run, spoil_gap);
	expect_only(&run, VERDICT_REASON_GAP);
	assert_string_equal(run.v.texts[0].text, "records 3 to 3 are missing");
	spoiled(&run, spoil_last);
	expect_only(&run, VERDICT_REASON_GAP);
}

static void spoil_many_holes(struct run *run)
{
	for (uint64_t seq = 4; seq < 2000; seq += 2)
		add_event(run, seq, 0);
	for (uint64_t seq = 3; seq < 2000; seq += 2)
		add_event(run, seq, 0);
	finish_end(run, 1999);
}

static void holes_are_bounded(void **state)
{
	struct run run;

	(void)state;
	spoiled(&run, spoil_many_holes);
	expect(&run, VERDICT_INDETERMINATE);
	assert_true(run.v.reasons[VERDICT_REASON_GAP] > 0);
}

static void spoil_repeat(struct run *run)
{
	add_event(run, 2, 0);
	finish_end(run, 2);
}

static void a_repeated_record_is_seen(void **state)
{
	struct run run;

	(void)state;
	spoiled(&run, spoil_repeat);
	expect_only(&run, VERDICT_REASON_REPEAT);
}

static void spoil_stat(struct run *run)
{
	json_object_set_new(json_object_get(run->end, "hooks"), "bpf", stat_json(4, 0, 3, 0));
}

static void spoil_sum(struct run *run)
{
	json_object_set_new(json_object_get(run->end, "hooks"), "bpf", stat_json(4, 1, 3, 0));
}

static void spoil_other_hook(struct run *run)
{
	json_object_set_new(json_object_get(run->end, "hooks"), names_hook(0),
			    stat_json(1, 1, 0, 0));
	json_object_set_new(json_object_get(run->end, "hooks"), "bpf", stat_json(1, 1, 0, 0));
}

static void spoil_high_seq(struct run *run)
{
	finish_end(run, 1);
}

static void counters_that_do_not_reconcile_are_seen(void **state)
{
	void (*const spoils[])(struct run *) = { spoil_stat, spoil_sum, spoil_other_hook,
						 spoil_high_seq };
	struct run run;

	(void)state;
	for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
		spoiled(&run, spoils[i]);
		expect_only(&run, VERDICT_REASON_COUNTERS);
	}
}

static void spoil_drop(struct run *run)
{
	json_object_set_new(json_object_get(run->end, "hooks"), "bpf", stat_json(4, 0, 3, 1));
}

static void spoil_trouble(struct run *run)
{
	json_object_set_new(run->end, "trouble", json_integer(WEIR_TROUBLE_DEAD | 1 << 20));
}

static void spoil_live(struct run *run)
{
	json_object_set_new(run->end, "live", json_integer(2));
}

static void spoil_reason(struct run *run)
{
	json_object_set_new(run->end, "reasons",
			    json_pack("[s, s]", "disk full", "inter\033rupted"));
}

static void spoil_no_end(struct run *run)
{
	json_decref(run->end);
	run->end = NULL;
}

static void spoil_slot(struct run *run)
{
	struct weir_opev op = rec_plain(3, 10, WEIR_OP_WRITE, 0);
	struct rec r;

	op.head.slot = 2;
	rec_op(&r, op, "/x", NULL);
	verdict_add(&run->v, VERDICT_EVENT, r.bytes, r.len);
	run->written++;
	finish_end(run, 3);
}

static void what_makes_a_run_indeterminate(void **state)
{
	const struct {
		void (*spoil)(struct run *);
		enum verdict_reason reason;
	} spoils[] = {
		{ spoil_drop, VERDICT_REASON_DROPPED }, { spoil_trouble, VERDICT_REASON_TROUBLE },
		{ spoil_live, VERDICT_REASON_LIVE },	{ spoil_reason, VERDICT_REASON_COLLECTOR },
		{ spoil_no_end, VERDICT_REASON_END },	{ spoil_slot, VERDICT_REASON_SLOT },
	};
	struct run run;

	(void)state;
	for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
		spoiled(&run, spoils[i].spoil);
		expect_only(&run, spoils[i].reason);
	}
}

static void the_collectors_reasons_are_quoted_safely(void **state)
{
	struct run run;

	(void)state;
	spoiled(&run, spoil_reason);
	expect_only(&run, VERDICT_REASON_COLLECTOR);
	assert_int_equal(run.v.text_count, 2);
	assert_string_equal(run.v.texts[0].text, "disk full");
	assert_string_equal(run.v.texts[1].text, "inter\\x1brupted");
}

static void coverage_must_hold_every_required_hook(void **state)
{
	struct run run;
	json_t *cover = coverage(NULL);

	(void)state;
	start(&run, "enforce");
	add_json(&run, VERDICT_COVERAGE, coverage("path_rename"));
	finish_end(&run, 0);
	add_end(&run);
	expect_only(&run, VERDICT_REASON_COVERAGE);
	assert_string_equal(run.v.texts[0].text, "hook path_rename was not attached");

	json_object_set_new(json_object_get(cover, "hooks"), "bpf",
			    json_pack("{s:s}", "source", "none"));
	start(&run, "enforce");
	add_json(&run, VERDICT_COVERAGE, cover);
	finish_end(&run, 0);
	add_end(&run);
	expect_only(&run, VERDICT_REASON_COVERAGE);

	start(&run, "enforce");
	finish_end(&run, 0);
	add_end(&run);
	expect_only(&run, VERDICT_REASON_COVERAGE);
}

static void records_of_an_unknown_version_are_no_records(void **state)
{
	struct run run;
	struct rec r;

	(void)state;
	start(&run, "enforce");
	add_json(&run, VERDICT_COVERAGE, coverage(NULL));
	rec_exit(&r, 1, 10);
	r.bytes[0] = 9;
	verdict_add(&run.v, VERDICT_EVENT, r.bytes, r.len);
	expect(&run, VERDICT_INDETERMINATE);
	assert_int_equal(run.v.reasons[VERDICT_REASON_VERSION], 1);
	assert_int_equal(run.v.reasons[VERDICT_REASON_RECORD], 0);
}

static void order_of_records(void **state)
{
	struct run run = { 0 };

	(void)state;
	add_event(&run, 1, 0);
	expect(&run, VERDICT_INDETERMINATE);
	assert_int_equal(run.v.reasons[VERDICT_REASON_ORDER], 1);
	assert_int_equal(run.v.reasons[VERDICT_REASON_START], 1);

	start(&run, "enforce");
	finish_end(&run, 0);
	add_end(&run);
	add_event(&run, 1, 0);
	add_json(&run, VERDICT_START, json_pack("{s:s, s:i}", "mode", "trace", "slot", 1));
	expect(&run, VERDICT_INDETERMINATE);
	assert_true(run.v.reasons[VERDICT_REASON_ORDER] >= 3);
	assert_int_equal(run.v.mode, WEIR_MODE_ENFORCE);
}

static void hostile_json_is_a_reason(void **state)
{
	static const struct {
		unsigned int type;
		const char *text;
	} bad[] = {
		{ VERDICT_START, "{" },
		{ VERDICT_START, "[]" },
		{ VERDICT_START, "{\"mode\": \"off\", \"slot\": 1}" },
		{ VERDICT_START, "{\"mode\": \"enforce\"}" },
		{ VERDICT_START, "{\"mode\": \"enforce\", \"slot\": 1, \"slot\": 2}" },
		{ VERDICT_START, "{\"mode\": \"enforce\", \"slot\": 256}" },
		{ VERDICT_NOTE, "{\"kind\": \"x\"}" },
		{ VERDICT_END, "null" },
		{ VERDICT_END, "{\"hooks\": {\"nonsense\": {}}}" },
		{ VERDICT_END, "{\"hooks\": {\"bpf\": {\"seen\": -1}}}" },
		{ VERDICT_END, "{\"hooks\": {\"bpf\": 3}, \"latch\": {\"tamper\": \"x\"}}" },
		{ VERDICT_END, "{\"hooks\": {}, \"latch\": {}, \"trouble\": 0, \"last_seq\": 0,"
			       " \"reasons\": \"x\"}" },
		{ 99, "{}" },
		{ 0, "{}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct verdict v = { 0 };

		verdict_add(&v, bad[i].type, bad[i].text, strlen(bad[i].text));
		assert_true(v.reasons[VERDICT_REASON_RECORD] > 0);
		assert_int_equal(verdict_finish(&v), VERDICT_INDETERMINATE);
	}
}

static void nothing_at_all_is_indeterminate(void **state)
{
	struct verdict v = { 0 };

	(void)state;
	assert_int_equal(verdict_finish(&v), VERDICT_INDETERMINATE);
	assert_int_equal(verdict_finish(&v), VERDICT_INDETERMINATE);
	assert_int_equal(v.reasons[VERDICT_REASON_END], 1);
}

static void json_of_a_verdict(void **state)
{
	struct verdict v = { 0 };
	json_t *json;
	char *text;

	(void)state;
	v.started = v.covered = v.ended = true;
	v.mode = WEIR_MODE_ENFORCE;
	v.latch[WEIR_KIND_FILE_OUTSIDE] = 2;
	verdict_add_reason(&v, VERDICT_REASON_GAP, "records %d to %d are missing", 3, 4);
	verdict_finish(&v);
	json = verdict_json(&v);
	text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, "{\"kinds\":{\"file-outside\":2},\"reasons\":[{\"code\":"
				  "\"sequence-gap\",\"text\":\"records 3 to 4 are missing\"}],"
				  "\"verdict\":\"violated\"}");
	free(text);
	json_decref(json);
}

static void reasons_are_bounded(void **state)
{
	struct verdict v = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++)
		verdict_add_reason(&v, VERDICT_REASON_COLLECTOR, "%d", i);
	assert_int_equal(v.text_count, VERDICT_TEXTS);
	assert_int_equal(v.reasons[VERDICT_REASON_COLLECTOR], 1000);
}

/* user/event and user/trace do not know each other; their numbers must agree. */
static void types_are_those_of_the_trace(void **state)
{
	(void)state;
	assert_int_equal(VERDICT_START, TRACE_START);
	assert_int_equal(VERDICT_EVENT, TRACE_EVENT);
	assert_int_equal(VERDICT_COVERAGE, TRACE_COVERAGE);
	assert_int_equal(VERDICT_NOTE, TRACE_NOTE);
	assert_int_equal(VERDICT_END, TRACE_END);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_run_without_findings_is_clean),
		cmocka_unit_test(optional_hooks_may_be_absent_but_not_left_out),
		cmocka_unit_test(only_source_syscall_leaves_hooks_unseen),
		cmocka_unit_test(a_source_is_known_or_a_reason),
		cmocka_unit_test(a_finding_event_violates),
		cmocka_unit_test(a_finding_without_end_violates_too),
		cmocka_unit_test(a_latch_without_its_record_violates),
		cmocka_unit_test(grave_notes_violate_and_others_do_not),
		cmocka_unit_test(proofs_of_life_violate_nothing),
		cmocka_unit_test(without_policy_nothing_is_judged),
		cmocka_unit_test(records_may_come_out_of_order),
		cmocka_unit_test(a_gap_is_seen),
		cmocka_unit_test(holes_are_bounded),
		cmocka_unit_test(a_repeated_record_is_seen),
		cmocka_unit_test(counters_that_do_not_reconcile_are_seen),
		cmocka_unit_test(what_makes_a_run_indeterminate),
		cmocka_unit_test(the_collectors_reasons_are_quoted_safely),
		cmocka_unit_test(coverage_must_hold_every_required_hook),
		cmocka_unit_test(records_of_an_unknown_version_are_no_records),
		cmocka_unit_test(order_of_records),
		cmocka_unit_test(hostile_json_is_a_reason),
		cmocka_unit_test(nothing_at_all_is_indeterminate),
		cmocka_unit_test(json_of_a_verdict),
		cmocka_unit_test(reasons_are_bounded),
		cmocka_unit_test(types_are_those_of_the_trace),
	};

	return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
