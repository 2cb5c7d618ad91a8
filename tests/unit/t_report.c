/* SPDX-License-Identifier: MIT */
/* What a run is told as: whole texts, compared with what they should be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>

#include "tests/unit/records.h"
#include "user/report/report.h"

struct world {
	struct mounts *mounts;
	struct lineage *lineage;
	struct findings *findings;
	struct verdict verdict;
	struct policy_source sources[2];
	struct policy_object objects[2];
	struct policy_image image;
	struct report report;
	struct buf out;
	uint64_t seq;
};

static void add_record(struct world *w, const struct rec *r)
{
	struct lineage_proc *proc = NULL;
	struct event event = rec_event(r);

	lineage_add(w->lineage, &event, &proc);
	if (event.head.type == WEIR_RECORD_OP)
		findings_add_event(w->findings, &event, proc);
}

static void set_up_report(struct world *w)
{
	static char *const argv[] = { (char *)"sh", (char *)"-c", (char *)"cp a b; rm x", NULL };

	w->sources[0] = (struct policy_source){ (char *)"${WORKSPACE}", { 12, 5 }, false };
	w->sources[1] = (struct policy_source){ (char *)"~/.ssh", { 4, 3 }, true };
	w->objects[0] = (struct policy_object){ .path = (char *)"/home/u/.ssh",
						.flags = WEIR_RULE_ROOT | WEIR_RULE_CREDENTIAL,
						.id = 2 };
	w->objects[1] = (struct policy_object){ .path = (char *)"/lab/ws",
						.flags = WEIR_RULE_ROOT | WEIR_RULE_WORKSPACE,
						.rights = WEIR_RIGHT_READ | WEIR_RIGHTS_MUTATE,
						.id = 1 };
	w->image = (struct policy_image){
		.file = (char *)"p0.yaml",
		.workspace = (char *)"/lab/ws",
		.rights = WEIR_RIGHT_READ,
		.objects = w->objects,
		.object_count = 2,
		.sources = w->sources,
		.source_count = 2,
	};
	w->report = (struct report){
		.id = "20261130-175600-a1b2c3",
		.verdict = &w->verdict,
		.findings = w->findings,
		.image = &w->image,
		.policy_file = "p0.yaml",
		.workspace = "/lab/ws",
		.user = "nobody-at-all",
		.mode = "observe",
		.argv = argv,
		.wait_status = 3 << 8,
		.exit_status = 120,
		.started = 1796061360,
		.ended = 1796061372,
		.duration_ms = 12345,
		.members = 53,
		.mutations = 1234,
		.changed_files = 14,
	};
	w->verdict.value = VERDICT_VIOLATED;
}

/* A run of sh(10), which has started cp(11): the actor of what follows. */
static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct rec r;

	w->mounts = mounts_new();
	mounts_add(w->mounts, REC_DEV, "/", "/");
	w->lineage = lineage_new(w->mounts);
	w->findings = findings_new(w->mounts, w->lineage);
	rec_exec(&r, 1, 10, "/usr/bin/dash", "sh\0-c\0cp a b; rm x", 19);
	add_record(w, &r);
	rec_fork(&r, 2, 10, 11);
	add_record(w, &r);
	rec_exec(&r, 3, 11, "/usr/bin/cp", "cp\0a\0b", 7);
	add_record(w, &r);
	w->seq = 3;
	set_up_report(w);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	findings_free(w->findings);
	lineage_free(w->lineage);
	mounts_free(w->mounts);
	buf_done(&w->out);
	free(w);
	return 0;
}

static struct weir_opev bad(struct world *w, unsigned int op, unsigned int kind, uint32_t want)
{
	struct weir_opev ev = rec_plain(++w->seq, 11, op, kind);

	ev.want = want;
	ev.have = WEIR_RIGHT_READ;
	return ev;
}

static void add_op(struct world *w, struct weir_opev op, const char *first, const char *second)
{
	struct rec r;

	rec_op(&r, op, first, second);
	add_record(w, &r);
}

static const char *summary(struct world *w)
{
	buf_done(&w->out);
	assert_int_equal(report_summary(&w->report, false, &w->out), 0);
	return buf_str(&w->out);
}

static void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		print_error("\"%s\" is not in:\n%s\n", part, text);
	assert_non_null(strstr(text, part));
}

static void assert_no_control_bytes(const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		assert_true(*c == '\n' || (*c >= ' ' && *c < 0x7f));
}

static size_t count_lines(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

#define HEAD \
	"   run        20261130-175600-a1b2c3, weir's exit status 120\n" \
	"   command    sh -c 'cp a b; rm x'\n" \
	"              exit status 3, 12.3 s, as nobody-at-all\n" \
	"   workspace  /lab/ws\n" \
	"   policy     p0.yaml, observe\n" \
	"   seen       53 tasks, 1,234 changes, 14 changed files in the workspace\n"

static void one_finding(void **state)
{
	struct world *w = *state;
	struct weir_opev op = bad(w, WEIR_OP_UNLINK, WEIR_KIND_FILE_OUTSIDE, WEIR_RIGHT_DELETE);

	op.outcome = WEIR_OUTCOME_DENIED;
	op.first.size = 1234;
	add_op(w, op, "/lab/out/victim.txt", NULL);
	w->report.next = "look at it";
	assert_string_equal(summary(w),
			    "weir: VIOLATED: 1 finding: denied\n" HEAD "\n"
			    "  1. denied: remove file of 1,234 bytes  [file-outside, error]\n"
			    "     /lab/out/victim.txt\n"
			    "     by dash(10) > cp(11): cp a b\n"
			    "     no rule; would need:\n"
			    "       - path: /lab/out\n"
			    "         allow: [delete]\n"
			    "\n"
			    "   next: look at it\n");
}

static void no_finding(void **state)
{
	struct world *w = *state;

	w->verdict.value = VERDICT_CLEAN;
	assert_string_equal(
		summary(w),
		"weir: clean: no findings; 1,234 changes, all allowed by the policy\n" HEAD);
}

/* D09: nothing of a name reaches the terminal as it is. */
static void hostile_names(void **state)
{
	struct world *w = *state;
	const char *text;

	add_op(w, bad(w, WEIR_OP_CREATE, WEIR_KIND_FILE_OUTSIDE, WEIR_RIGHT_CREATE),
	       "/lab/out/a\x80z\033[31m\n\"}", NULL);
	w->report.workspace = "/lab/w\033]0;x\007s";
	w->report.argv = (char *[]){ (char *)"s\nh", (char *)"it's \"\033", NULL };
	text = summary(w);
	assert_no_control_bytes(text);
	assert_contains(text, "     /lab/out/a\\x80z\\x1b[31m\\x0a\"}\n");
	assert_contains(text, "   workspace  /lab/w\\x1b]0;x\\x07s\n");
	assert_contains(text, "   command    's\\x0ah' \"it's \\x22\\x1b\"\n");
	buf_done(&w->out);
	assert_int_equal(report_alert_line(findings_at(w->findings, 0), false, &w->out), 0);
	assert_string_equal(buf_str(&w->out),
			    "weir: file-outside, let through: dash(10) > cp(11): create file "
			    "/lab/out/a\\x80z\\x1b[31m\\x0a\"}\n");
}

/* A name can't play another process, nor hide one. */
static void hostile_program_names(void **state)
{
	struct world *w = *state;
	struct rec r;

	rec_exec(&r, ++w->seq, 11, "/tmp/good(1) > e'v\"il", "x\0", 2);
	add_record(w, &r);
	add_op(w, bad(w, WEIR_OP_CREATE, WEIR_KIND_FILE_OUTSIDE, WEIR_RIGHT_CREATE), "/lab/a",
	       NULL);
	assert_contains(summary(w), "     by dash(10) > \"good(1) > e'v\\x22il\"(11): x\n");
}

static void kinds_of_findings(void **state)
{
	struct world *w = *state;
	struct weir_opev op;
	const char *text;

	op = bad(w, WEIR_OP_READ, WEIR_KIND_CREDENTIAL_READ, WEIR_RIGHT_READ);
	op.have = 0;
	op.rule = 2;
	add_op(w, op, "/home/u/.ssh/id", NULL);
	add_op(w, op, "/home/u/.ssh/id", NULL);
	op = bad(w, WEIR_OP_WRITE, WEIR_KIND_FILE_CONTROL, WEIR_RIGHT_WRITE | WEIR_RIGHT_CONTROL);
	op.have = WEIR_RIGHT_READ | WEIR_RIGHTS_MUTATE;
	op.rule = 1;
	op.aux = O_APPEND;
	add_op(w, op, "/lab/ws/.git/hooks/x", NULL);
	op = bad(w, WEIR_OP_WRITE, WEIR_KIND_FILE_OUTSIDE, WEIR_RIGHT_WRITE);
	op.flags |= WEIR_EV_HARDLINK;
	op.rule = 1;
	op.aux = O_TRUNC;
	add_op(w, op, "/lab/ws/link", NULL);
	op = bad(w, WEIR_OP_RENAME, WEIR_KIND_FILE_OUTSIDE, WEIR_RIGHT_CREATE);
	op.flags = WEIR_EV_FINDING | WEIR_EV_BAD_SECOND;
	op.second = (struct weir_object){
		.ino = 9, .dev = REC_DEV, .mode = S_IFREG | 0600, .size = 1, .nlink = 1
	};
	add_op(w, op, "/tmp/n", "/lab/out/b");
	op = bad(w, WEIR_OP_WRITE, WEIR_KIND_GATE_RACE, 0);
	op.head.tgid = 77;
	op.flags |= WEIR_EV_OUTSIDER;
	add_op(w, op, "/lab/ws/a", NULL);
	text = summary(w);
	assert_contains(text, "weir: VIOLATED: 5 findings from 6 operations: all let through\n");
	assert_contains(text,
			"  1. let through: read file, 2 times  [credential-read, critical]\n"
			"     /home/u/.ssh/id\n"
			"     by dash(10) > cp(11): cp a b\n"
			"     credential store '~/.ssh' at p0.yaml:4 gives no right; would need:\n"
			"       - path: /home/u/.ssh/id\n"
			"         allow: [read]\n"
			"     the command could hand on what it read\n");
	assert_contains(
		text,
		"  2. let through: append to file  [file-control, critical]\n"
		"     /lab/ws/.git/hooks/x\n"
		"     by dash(10) > cp(11): cp a b\n"
		"     rule '${WORKSPACE}' at p0.yaml:12 gives read, write, but not for control "
		"files; would need:\n");
	assert_contains(text, "       - path: ${WORKSPACE}/.git/hooks/x\n");
	assert_contains(text, "  3. let through: overwrite file  [file-outside, error]\n");
	assert_contains(text, "the file has other names, which the run did not make");
	assert_contains(text, "  4. let through: rename file of 1 byte  [file-outside, error]\n"
			      "     /lab/out/b\n"
			      "     other name: /tmp/n\n");
	assert_contains(text, "     by ?(77), which is no part of the run\n");
}

static void notes(void **state)
{
	struct world *w = *state;
	struct note note = {
		.kind = WEIR_KIND_MEMBERSHIP,
		.severity = SEVERITY_ERROR,
		.path = "/usr/bin/sleep",
		.text = "process 12 was still running",
		.count = 1,
	};
	const char *text;

	findings_add_note(w->findings, &note);
	note.severity = SEVERITY_NOTICE;
	note.text = "process 13 was still running";
	findings_add_note(w->findings, &note);
	text = summary(w);
	assert_contains(text, "weir: VIOLATED: 1 finding\n");
	assert_contains(text, "  1. membership, error\n"
			      "     /usr/bin/sleep\n"
			      "     process 12 was still running\n");
	assert_contains(text, "   notice: process 13 was still running: /usr/bin/sleep\n");
}

static void add_deletions(struct world *w, unsigned int count, unsigned int each)
{
	for (unsigned int i = 0; i < count; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/home/u/proj%u/d/f%u", i / each, i % each);
		add_op(w, bad(w, WEIR_OP_UNLINK, WEIR_KIND_FILE_OUTSIDE, WEIR_RIGHT_DELETE), path,
		       NULL);
	}
}

/* Each in two lines; the rules together. */
static void twenty_findings(void **state)
{
	struct world *w = *state;
	const char *text;

	add_deletions(w, 20, 10);
	text = summary(w);
	assert_contains(text, " 20. let through: remove file of 5 bytes /home/u/proj1/d/f9\n"
			      "     file-outside, by dash(10) > cp(11), no rule\n");
	assert_contains(text, "   Rules that would allow this, if it is meant:\n"
			      "     - path: /home/u/proj0/d\n"
			      "       allow: [delete]\n"
			      "     - path: /home/u/proj1/d\n"
			      "       allow: [delete]\n");
	assert_null(strstr(text, "full list"));
}

/* B01: exact counts, the top directories, first names, on one screen. */
static void two_thousand_deletions(void **state)
{
	struct world *w = *state;
	const char *text;

	add_deletions(w, 2000, 50);
	add_deletions(w, 1, 50);
	text = summary(w);
	assert_contains(
		text,
		"weir: VIOLATED: 2,000 findings from 2,001 operations: all let through\n" HEAD "\n"
		"   2,000 findings in 40 directories, all below /home/u\n"
		"   50 findings in /home/u/proj0/d\n"
		"     let through: remove file  [file-outside]: f0, f1, f2, f3 and 46 more\n"
		"     by dash(10) > cp(11)\n"
		"   50 findings in /home/u/proj1/d\n"
		"     let through: remove file  [file-outside]: f0, f1, f2, f3 and 46 more\n"
		"   50 findings in /home/u/proj10/d\n");
	assert_contains(text, "   and 1,500 more findings in 30 more directories\n"
			      "   full list: weir show --json 20261130-175600-a1b2c3\n");
	assert_contains(text, "     # and 34 more rules\n");
	assert_true(count_lines(text) < 50);
}

/* A flood must not hide the one that matters. */
static void the_gravest_stand_alone(void **state)
{
	struct world *w = *state;
	struct weir_opev op;
	const char *text;

	add_deletions(w, 500, 50);
	op = bad(w, WEIR_OP_READ, WEIR_KIND_CREDENTIAL_READ, WEIR_RIGHT_READ);
	op.have = 0;
	op.rule = 2;
	add_op(w, op, "/home/u/.ssh/id", NULL);
	text = summary(w);
	assert_contains(text,
			"\n  1. let through: read file /home/u/.ssh/id\n"
			"     credential-read, by dash(10) > cp(11), credential store '~/.ssh' "
			"at p0.yaml:4 gives no right\n"
			"\n"
			"   500 findings in 10 directories, all below /home/u\n");
}

static void unjudged(void **state)
{
	struct world *w = *state;

	w->verdict.value = VERDICT_UNJUDGED;
	w->report.image = NULL;
	w->report.policy_file = NULL;
	w->report.mode = "trace";
	w->report.exit_status = 3;
	w->report.repository = "/srv/t.git";
	w->report.ref = "refs/heads/main";
	w->report.commit = "0123456789abcdef0123456789abcdef01234567";
	w->report.suggestion = "files:\n  - path: ${WORKSPACE}\n    allow: [write]\n";
	w->report.next = "write a policy";
	assert_string_equal(
		summary(w),
		"weir: unjudged: no policy, so nothing was judged and nothing blocked; "
		"1,234 changes\n"
		"   run        20261130-175600-a1b2c3, weir's exit status 3\n"
		"   command    sh -c 'cp a b; rm x'\n"
		"              exit status 3, 12.3 s, as nobody-at-all\n"
		"   workspace  /lab/ws\n"
		"   base       refs/heads/main at 0123456789abcdef0123456789abcdef01234567 of "
		"/srv/t.git\n"
		"   seen       53 tasks, 1,234 changes, 14 changed files in the workspace\n"
		"\n"
		"   Policy lines that would allow what was seen:\n"
		"\n"
		"   files:\n"
		"     - path: ${WORKSPACE}\n"
		"       allow: [write]\n"
		"\n"
		"   next: write a policy\n");
}

static void indeterminate(void **state)
{
	struct world *w = *state;
	const char *text;

	w->verdict.value = VERDICT_INDETERMINATE;
	verdict_add_reason(&w->verdict, VERDICT_REASON_GAP, "records 4 to 7 are missing");
	w->report.wait_status = SIGKILL;
	text = summary(w);
	assert_contains(text,
			"weir: INDETERMINATE: weir can't say what this run did, for 1 reason\n");
	assert_contains(text, "              killed by signal 9, 12.3 s, as nobody-at-all\n");
	assert_contains(text, "\n   What keeps weir from being sure:\n"
			      "   - records 4 to 7 are missing (sequence-gap)\n");
}

/* What weir show prints later is what weir run printed, also through the file. */
static void show_says_the_same(void **state)
{
	struct world *w = *state;
	cleanup_buf struct buf again = { 0 };
	json_t *json, *read;
	char *text;

	add_deletions(w, 3, 3);
	json = report_json(&w->report);
	assert_non_null(json);
	text = json_dumps(json, JSON_INDENT(2));
	read = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(read);
	assert_int_equal(report_from_json(read, false, &again, NULL), 0);
	assert_string_equal(buf_str(&again), summary(w));
	free(text);
	json_decref(json);
	json_decref(read);
}

static void members_of_run_json(void **state)
{
	static const char *const members[] = {
		"id",	   "verdict", "exit",	"reasons", "findings", "counters",   "coverage",
		"command", "status",  "user",	"mode",	   "policy",   "workspace",  "base",
		"started", "ended",   "counts", "kinds",   "next",     "suggestion", "would_need",
	};
	struct world *w = *state;
	const json_t *finding;
	json_t *json;

	add_deletions(w, 1, 1);
	json = report_json(&w->report);
	assert_string_equal(json_string_value(json_object_get(json, "schema")), "weir.run/1");
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		assert_non_null(json_object_get(json, members[i]));
	assert_string_equal(json_string_value(json_object_get(json, "started")),
			    "2026-11-30T17:56:00Z");
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(json, "status"), "code")), 3);
	finding = json_array_get(json_object_get(json, "findings"), 0);
	assert_string_equal(json_string_value(json_object_get(finding, "class")), "file");
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(finding, "explain"), "rule")),
		"no rule");
	json_decref(json);
}

/* A file that somebody edited: refused, or at least no danger to the terminal. */
static void edited_documents(void **state)
{
	static const char *const bad_ones[] = {
		"[]",
		"{}",
		"{\"schema\": \"weir.run/2\\u001b\"}",
		"{\"schema\": \"weir.run/1\", \"id\": \"x\"}",
		"{\"schema\": \"weir.run/1\", \"id\": \"x\", \"verdict\": \"clean\", "
		"\"findings\": {}, \"reasons\": []}",
	};
	static const char hostile[] =
		"{\"schema\": \"weir.run/1\", \"id\": \"\\u001b[1m\", \"verdict\": "
		"\"\\u0007\", \"reasons\": [3, {\"text\": \"\\u009b\"}], \"command\": [1, "
		"\"\\u001b\"], \"findings\": [4, {\"op\": \"\\n\", \"actor\": {\"exe\": "
		"\"\\u001b\", \"ancestors\": [null]}, \"count\": -1, \"object\": {\"path\": "
		"\"\\u001b\"}, \"explain\": {\"fix\": \"\\u001b\"}}], \"next\": \"\\r\"}";
	cleanup_buf struct buf b = { 0 };
	json_t *json;

	(void)state;
	for (size_t i = 0; i < sizeof(bad_ones) / sizeof(bad_ones[0]); i++) {
		struct weir_err e = { 0 };

		json = json_loads(bad_ones[i], 0, NULL);
		assert_non_null(json);
		assert_int_equal(report_from_json(json, false, &b, &e), -EINVAL);
		assert_int_equal(b.len, 0);
		assert_true(e.text[0] != '\0');
		assert_no_control_bytes(e.text);
		json_decref(json);
	}
	json = json_loads(hostile, 0, NULL);
	assert_non_null(json);
	assert_int_equal(report_from_json(json, false, &b, NULL), 0);
	assert_no_control_bytes(buf_str(&b));
	json_decref(json);
}

static void long_paths_lose_their_middle(void **state)
{
	struct world *w = *state;
	char path[6100] = "";
	const char *text;

	for (int i = 0; i < 30; i++) {
		size_t at = strlen(path);

		path[at] = '/';
		memset(path + at + 1, i % 2 ? '\033' : 'd', 200);
	}
	strcat(path, "/the-end");
	add_op(w, bad(w, WEIR_OP_CREATE, WEIR_KIND_FILE_OUTSIDE, WEIR_RIGHT_CREATE), path, NULL);
	text = summary(w);
	assert_no_control_bytes(text);
	assert_contains(text, " bytes ...]");
	assert_contains(text, "/the-end\n");
	assert_contains(text, "dddd/\\x1b\\x1b");
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(one_finding),
		WORLD_TEST(no_finding),
		WORLD_TEST(hostile_names),
		WORLD_TEST(hostile_program_names),
		WORLD_TEST(kinds_of_findings),
		WORLD_TEST(notes),
		WORLD_TEST(twenty_findings),
		WORLD_TEST(two_thousand_deletions),
		WORLD_TEST(the_gravest_stand_alone),
		WORLD_TEST(unjudged),
		WORLD_TEST(indeterminate),
		WORLD_TEST(show_says_the_same),
		WORLD_TEST(members_of_run_json),
		WORLD_TEST(edited_documents),
		WORLD_TEST(long_paths_lose_their_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
