/* SPDX-License-Identifier: MIT */
/* What reports say: one entry for each kind, operation, outcome and path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>

#include "tests/unit/records.h"
#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/event/finding.h"

struct world {
	struct mounts *mounts;
	struct lineage *lineage;
	struct findings *findings;
	uint64_t seq;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct event event;
	struct rec r;

	w->mounts = mounts_new();
	mounts_add(w->mounts, REC_DEV, "/", "/");
	w->lineage = lineage_new(w->mounts);
	w->findings = findings_new(w->mounts, w->lineage);
	rec_exec(&r, 1, 10, "/bin/sh", "sh\0-c\0x", 8);
	event = rec_event(&r);
	lineage_add(w->lineage, &event, NULL);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	findings_free(w->findings);
	lineage_free(w->lineage);
	mounts_free(w->mounts);
	free(w);
	return 0;
}

static int add(struct world *w, struct weir_opev op, const char *first, const char *second)
{
	struct lineage_proc *proc = NULL;
	struct event event;
	struct rec r;

	rec_op(&r, op, first, second);
	event = rec_event(&r);
	lineage_add(w->lineage, &event, &proc);
	return findings_add_event(w->findings, &event, proc);
}

static struct weir_opev outside(struct world *w, unsigned int op)
{
	return rec_plain(++w->seq, 10, op, WEIR_KIND_FILE_OUTSIDE);
}

static void equal_events_are_one_finding(void **state)
{
	struct world *w = *state;
	struct weir_opev op = outside(w, WEIR_OP_WRITE);
	const struct finding *f;

	assert_int_equal(add(w, op, "/lab/out/a", NULL), 1);
	for (int i = 0; i < 999; i++)
		assert_int_equal(add(w, outside(w, WEIR_OP_WRITE), "/lab/out/a", NULL), 0);
	assert_int_equal(add(w, outside(w, WEIR_OP_WRITE), "/lab/out/b", NULL), 1);
	assert_int_equal(add(w, outside(w, WEIR_OP_UNLINK), "/lab/out/a", NULL), 1);
	op.outcome = WEIR_OUTCOME_DENIED;
	assert_int_equal(add(w, op, "/lab/out/a", NULL), 1);
	op.kind = WEIR_KIND_FILE_CONTROL;
	assert_int_equal(add(w, op, "/lab/out/a", NULL), 1);
	assert_int_equal(findings_count(w->findings), 5);
	f = findings_at(w->findings, 0);
	assert_int_equal(f->count, 1000);
	assert_int_equal(f->first_seq, 1);
	assert_string_equal(f->path, "/lab/out/a");
	assert_int_equal(findings_at(w->findings, 1)->count, 1);
}

static void what_is_no_finding_adds_none(void **state)
{
	struct world *w = *state;
	struct weir_opev op = outside(w, WEIR_OP_WRITE);

	assert_int_equal(add(w, rec_plain(1, 10, WEIR_OP_WRITE, 0), "/lab/ws/a", NULL), 0);
	op.flags |= WEIR_EV_CANARY;
	assert_int_equal(add(w, op, "/lab/out/a", NULL), 0);
	assert_int_equal(findings_count(w->findings), 0);
}

/* What was aimed at makes the difference, but not which process of a program it was. */
static void what_is_aimed_at_is_told_apart(void **state)
{
	struct world *w = *state;
	struct weir_opev op = rec_plain(1, 10, WEIR_OP_PTRACE, WEIR_KIND_MEMORY_ACCESS);
	json_t *json, *peer;

	op.powers = WEIR_POWER(MEMORY_OUTSIDERS);
	op.peer.tgid = 1234;
	op.peer.start_ns = 99;
	assert_int_equal(add(w, op, "/bin/victim", NULL), 1);
	op.peer.tgid = 1235;
	assert_int_equal(add(w, op, "/bin/victim", NULL), 0);
	op.powers = WEIR_POWER(MEMORY_MEMBERS);
	assert_int_equal(add(w, op, "/bin/victim", NULL), 1);
	op.powers = 0;
	op.peer = (struct weir_peer){ .family = 2, .type = 1, .port = 80, .address = { 10 } };
	assert_int_equal(add(w, op, "", NULL), 1);
	op.peer.port = 81;
	assert_int_equal(add(w, op, "", NULL), 1);
	json = finding_json(findings_at(w->findings, 0));
	peer = json_object_get(json, "peer");
	assert_int_equal(json_integer_value(json_object_get(peer, "pid")), 1234);
	assert_string_equal(json_string_value(json_object_get(json, "target")),
			    "memory: outsiders");
	assert_string_equal(json_string_value(json_array_get(json_object_get(json, "powers"), 0)),
			    "memory: outsiders");
	json_decref(json);
	json = finding_json(findings_at(w->findings, 3));
	peer = json_object_get(json, "peer");
	assert_string_equal(json_string_value(json_object_get(peer, "address")), "10.0.0.0");
	assert_int_equal(json_integer_value(json_object_get(peer, "port")), 81);
	assert_null(json_object_get(peer, "pid"));
	json_decref(json);
}

/* D03: what was overwritten by a rename is named, with its size. */
static void the_target_of_a_rename_is_the_object(void **state)
{
	struct world *w = *state;
	struct weir_opev op = outside(w, WEIR_OP_RENAME);
	const struct finding *f;

	op.hook = WEIR_HOOK_PATH_RENAME;
	op.flags = WEIR_EV_FINDING | WEIR_EV_BAD_SECOND;
	op.second = (struct weir_object){
		.ino = 99, .dev = REC_DEV, .mode = S_IFREG | 0600, .size = 1234, .nlink = 1
	};
	assert_int_equal(add(w, op, "/tmp/n", "/lab/out/b"), 1);
	f = findings_at(w->findings, 0);
	assert_string_equal(f->path, "/lab/out/b");
	assert_string_equal(f->other, "/tmp/n");
	assert_int_equal(f->object.ino, 99);
	assert_int_equal(f->object.size, 1234);
	assert_string_equal(f->family, "name");
}

static void a_rename_with_two_bad_objects_gives_two_findings(void **state)
{
	struct world *w = *state;
	struct weir_opev op = outside(w, WEIR_OP_RENAME);

	op.flags |= WEIR_EV_BAD_SECOND;
	op.second.dev = REC_DEV;
	assert_int_equal(add(w, op, "/lab/out/a", "/lab/out/b"), 2);
	assert_string_equal(findings_at(w->findings, 0)->path, "/lab/out/a");
	assert_string_equal(findings_at(w->findings, 1)->path, "/lab/out/b");
}

static void json_of_a_finding(void **state)
{
	struct world *w = *state;
	struct weir_opev op = outside(w, WEIR_OP_WRITE);
	json_t *json;
	char *text;

	op.rule = 3;
	op.have = WEIR_RIGHT_READ;
	op.hook = WEIR_HOOK_FILE_OPEN;
	op.outcome = WEIR_OUTCOME_DENIED;
	op.head.ns_tgid = 2;
	add(w, op, "/lab/out/a", NULL);
	json = finding_json(findings_at(w->findings, 0));
	text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(
		text,
		"{\"actor\":{\"ancestors\":[],\"args\":[\"sh\",\"-c\",\"x\"],\"exe\":\"/bin/sh\","
		"\"ns_pid\":2,\"pid\":10,\"uid\":1000},\"aux\":0,\"class\":\"file\",\"count\":1,"
		"\"flags\":[\"finding\",\"bad-first\"],\"have\":\"read\",\"kind\":\"file-outside\","
		"\"object\":{\"dev\":\"8:1\",\"ino\":12,\"path\":\"/lab/out/a\",\"size\":5,"
		"\"type\":\"file\"},\"op\":\"write\",\"outcome\":\"denied\",\"rule\":3,"
		"\"severity\":\"error\",\"want\":\"write\"}");
	free(text);
	json_decref(json);
}

/* D09: valid JSON, no raw escape, exact bytes recoverable. */
static void hostile_names_are_escaped_and_kept(void **state)
{
	struct world *w = *state;
	const char *name = "/o/a\x80z\033[31m\n\"}";
	json_t *json, *object, *again;
	char *text, *copy;

	add(w, outside(w, WEIR_OP_CREATE), name, NULL);
	json = findings_json(w->findings);
	text = json_dumps(json, JSON_COMPACT);
	for (const char *c = text; *c; c++)
		assert_true(*c >= ' ' && *c <= '~');
	again = json_loads(text, 0, NULL);
	assert_non_null(again);
	object = json_object_get(json_array_get(again, 0), "object");
	assert_string_equal(json_string_value(json_object_get(object, "path")),
			    "/o/a\\x80z\\x1b[31m\\x0a\"}");
	assert_string_equal(json_string_value(json_object_get(object, "path_bytes")),
			    "L28vYYB6G1szMW0KIn0=");
	copy = strdup(json_string_value(json_object_get(object, "path")));
	assert_int_equal(escape_undo(copy), strlen(name));
	assert_string_equal(copy, name);
	free(copy);
	free(text);
	json_decref(again);
	json_decref(json);
}

static void plain_names_have_no_second_form(void **state)
{
	struct world *w = *state;
	json_t *json;

	add(w, outside(w, WEIR_OP_CREATE), "/o/\xc3\xbcmlaut", NULL);
	json = finding_json(findings_at(w->findings, 0));
	assert_null(json_object_get(json_object_get(json, "object"), "path_bytes"));
	json_decref(json);
}

/* D10: longer than PATH_MAX, whole. */
static void paths_of_6000_bytes_are_whole(void **state)
{
	struct world *w = *state;
	char path[6100] = "";

	for (int i = 0; i < 30; i++) {
		size_t at = strlen(path);

		path[at] = '/';
		memset(path + at + 1, 'd', 200);
	}
	strcat(path, "/f");
	add(w, outside(w, WEIR_OP_CREATE), path, NULL);
	assert_string_equal(findings_at(w->findings, 0)->path, path);
}

static void truncated_paths_match_no_mount(void **state)
{
	struct world *w = *state;
	struct weir_opev op = outside(w, WEIR_OP_CREATE);
	const struct finding *f;
	json_t *json;

	op.flags |= WEIR_EV_TRUNCATED;
	add(w, op, "/lab/ws/f", NULL);
	f = findings_at(w->findings, 0);
	assert_string_equal(f->path, "8:1:.../lab/ws/f");
	json = finding_json(f);
	assert_string_equal(json_string_value(json_array_get(json_object_get(json, "flags"), 2)),
			    "truncated");
	json_decref(json);
}

static void no_object_no_path(void **state)
{
	struct world *w = *state;
	struct weir_opev op = rec_plain(1, 10, WEIR_OP_BPF, WEIR_KIND_BPF);
	json_t *json;

	memset(&op.first, 0, sizeof(op.first));
	op.hook = WEIR_HOOK_BPF;
	assert_int_equal(add(w, op, NULL, NULL), 1);
	assert_string_equal(findings_at(w->findings, 0)->path, "");
	json = finding_json(findings_at(w->findings, 0));
	assert_true(json_is_null(json_object_get(json_object_get(json, "object"), "type")));
	assert_true(json_is_null(json_object_get(json, "rule")));
	json_decref(json);
}

static void an_attempt_says_why_it_was_refused(void **state)
{
	static const struct {
		uint32_t error;
		unsigned int outcome;
		const char *name; /* NULL: none is told */
	} rows[] = {
		{ EACCES, WEIR_OUTCOME_REFUSED, "EACCES" },
		{ EPERM, WEIR_OUTCOME_REFUSED, "EPERM" },
		{ ENOSPC, WEIR_OUTCOME_REFUSED, "unknown" },
		{ 0, WEIR_OUTCOME_REFUSED, NULL },
		{ EPERM, WEIR_OUTCOME_DENIED, NULL }, /* not an errno then */
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct weir_opev op = rec_plain(1, 10, WEIR_OP_READ, WEIR_KIND_CREDENTIAL_READ);
		char path[16];
		json_t *json;

		op.outcome = (uint16_t)rows[i].outcome;
		op.error = rows[i].error;
		snprintf(path, sizeof(path), "/k%zu", i);
		assert_int_equal(add(w, op, path, NULL), 1);
		json = finding_json(findings_at(w->findings, i));
		if (rows[i].name)
			assert_string_equal(json_string_value(json_object_get(json, "errno")),
					    rows[i].name);
		else
			assert_null(json_object_get(json, "errno"));
		json_decref(json);
	}
}

static void outsiders_are_shown_by_their_numbers(void **state)
{
	struct world *w = *state;
	struct weir_opev op = rec_plain(1, 77, WEIR_OP_WRITE, WEIR_KIND_GATE_RACE);
	json_t *json, *actor;

	op.flags |= WEIR_EV_OUTSIDER;
	assert_int_equal(add(w, op, "/lab/ws/a", NULL), 1);
	json = finding_json(findings_at(w->findings, 0));
	actor = json_object_get(json, "actor");
	assert_int_equal(json_integer_value(json_object_get(actor, "pid")), 77);
	assert_string_equal(json_string_value(json_object_get(actor, "exe")), "");
	json_decref(json);
}

static void notes_are_findings(void **state)
{
	struct world *w = *state;
	struct note note = {
		.kind = WEIR_KIND_MEMBERSHIP,
		.severity = SEVERITY_WARNING,
		.path = "/lab/a\\x0ab",
		.text = "sleep was still alive",
		.count = 2,
	};
	const struct finding *f;
	json_t *json;

	assert_int_equal(findings_add_note(w->findings, &note), 1);
	assert_int_equal(findings_add_note(w->findings, &note), 0);
	note.text = "another";
	assert_int_equal(findings_add_note(w->findings, &note), 1);
	f = findings_at(w->findings, 0);
	assert_int_equal(f->count, 4);
	assert_string_equal(f->path, "/lab/a\nb");
	json = finding_json(f);
	assert_string_equal(json_string_value(json_object_get(json, "class")), "run");
	assert_string_equal(json_string_value(json_object_get(json, "severity")), "warning");
	assert_string_equal(json_string_value(json_object_get(json, "text")),
			    "sleep was still alive");
	assert_true(json_is_null(json_object_get(json, "actor")));
	json_decref(json);
}

static void past_the_bound_everything_is_counted(void **state)
{
	struct world *w = *state;
	const struct finding *f;
	json_t *json;
	char path[64];

	for (int i = 0; i < FINDINGS_MAX + 500; i++) {
		snprintf(path, sizeof(path), "/lab/out/%d", i);
		add(w, outside(w, WEIR_OP_CREATE), path, NULL);
	}
	assert_int_equal(add(w, outside(w, WEIR_OP_CREATE), "/lab/out/1", NULL), 0);
	assert_int_equal(findings_at(w->findings, 1)->count, 2);
	assert_int_equal(
		add(w, rec_plain(1, 10, WEIR_OP_READ, WEIR_KIND_CREDENTIAL_READ), "/k", NULL), 1);
	assert_int_equal(findings_count(w->findings), FINDINGS_MAX + 2);
	f = findings_at(w->findings, FINDINGS_MAX);
	assert_true(f->overflow);
	assert_int_equal(f->kind, WEIR_KIND_FILE_OUTSIDE);
	assert_int_equal(f->count, 500);
	json = finding_json(f);
	assert_true(json_is_true(json_object_get(json, "overflow")));
	assert_non_null(json_object_get(json, "text"));
	json_decref(json);
	assert_int_equal(findings_at(w->findings, FINDINGS_MAX + 1)->kind,
			 WEIR_KIND_CREDENTIAL_READ);
}

static void long_paths_have_a_bound_of_their_own(void **state)
{
	struct world *w = *state;
	static char path[WEIR_PATH_MAX];

	for (size_t i = 0; i < sizeof(path) - 1; i++)
		path[i] = i % 128 == 0 ? '/' : 'd';
	for (unsigned int i = 0; i < 2000; i++) {
		path[1] = (char)('a' + i % 26);
		path[2] = (char)('a' + i / 26 % 26);
		path[3] = (char)('a' + i / 676);
		add(w, outside(w, WEIR_OP_CREATE), path, NULL);
	}
	assert_true(findings_count(w->findings) < 1100);
	assert_true(findings_at(w->findings, findings_count(w->findings) - 1)->overflow);
}

static void a_note_survives_json(void **state)
{
	struct note note = {
		.kind = WEIR_KIND_COVERAGE,
		.op = WEIR_OP_WRITE,
		.outcome = WEIR_OUTCOME_DENIED,
		.severity = SEVERITY_ERROR,
		.dev = REC_DEV,
		.ino = 5,
		.count = 3,
		.path = "/a",
		.text = "t",
	};
	json_t *json = note_to_json(&note);
	struct note again;

	(void)state;
	assert_int_equal(note_from_json(json, &again, NULL), 0);
	assert_int_equal(again.kind, note.kind);
	assert_int_equal(again.op, note.op);
	assert_int_equal(again.outcome, note.outcome);
	assert_int_equal(again.severity, note.severity);
	assert_int_equal(again.dev, note.dev);
	assert_int_equal(again.ino, 5);
	assert_int_equal(again.count, 3);
	assert_string_equal(again.path, "/a");
	assert_string_equal(again.text, "t");
	json_decref(json);
}

static void malformed_notes_are_refused(void **state)
{
	static const char *const bad[] = {
		"[]",
		"{}",
		"{\"kind\": \"tamper\"}",
		"{\"kind\": \"nonsense\", \"severity\": \"error\"}",
		"{\"kind\": \"tamper\", \"severity\": \"dreadful\"}",
		"{\"kind\": \"tamper\", \"severity\": 3}",
		"{\"kind\": \"tamper\", \"severity\": \"error\", \"op\": \"fly\"}",
		"{\"kind\": \"tamper\", \"severity\": \"error\", \"count\": -1}",
		"{\"kind\": \"tamper\", \"severity\": \"error\", \"count\": 9223372036854775807}",
		"{\"kind\": \"tamper\", \"severity\": \"error\", \"path\": 1}",
		"{\"kind\": \"tamper\", \"severity\": \"error\", \"dev\": \"x\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *json = json_loads(bad[i], 0, NULL);
		struct weir_err e = { 0 };
		struct note note;

		assert_non_null(json);
		assert_int_equal(note_from_json(json, &note, &e), -EINVAL);
		assert_true(e.text[0] != '\0');
		json_decref(json);
	}
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(equal_events_are_one_finding),
		WORLD_TEST(what_is_no_finding_adds_none),
		WORLD_TEST(what_is_aimed_at_is_told_apart),
		WORLD_TEST(the_target_of_a_rename_is_the_object),
		WORLD_TEST(a_rename_with_two_bad_objects_gives_two_findings),
		WORLD_TEST(json_of_a_finding),
		WORLD_TEST(hostile_names_are_escaped_and_kept),
		WORLD_TEST(plain_names_have_no_second_form),
		WORLD_TEST(paths_of_6000_bytes_are_whole),
		WORLD_TEST(truncated_paths_match_no_mount),
		WORLD_TEST(no_object_no_path),
		WORLD_TEST(an_attempt_says_why_it_was_refused),
		WORLD_TEST(outsiders_are_shown_by_their_numbers),
		WORLD_TEST(notes_are_findings),
		WORLD_TEST(past_the_bound_everything_is_counted),
		WORLD_TEST(long_paths_have_a_bound_of_their_own),
		cmocka_unit_test(a_note_survives_json),
		cmocka_unit_test(malformed_notes_are_refused),
	};

	return cmocka_run_group_tests_name("finding", tests, NULL, NULL);
}
