/* SPDX-License-Identifier: MIT */
#include "user/report/findings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/event/names.h"

/* Bytes of a command line in a finding. */
#define COMMAND_MAX 160u
/* Lines of policy that a summary proposes; JSON has all of them. */
#define PROPOSED_LINES 12u
#define NOTICES_MAX 10u

void report_count(const json_t *run, struct report_totals *ret_totals)
{
	struct report_totals t = { 0 };
	const json_t *f;
	size_t i;

	json_array_foreach (json_object_get(run, "findings"), i, f) {
		uint64_t count = text_number(f, "count");

		if (text_is_notice(f)) {
			t.notices++;
			continue;
		}
		t.findings++;
		t.operations += count;
		switch (*text_outcome(f)) {
		case 'd':
			t.denied += count;
			break;
		case 'r':
			t.refused += count;
			break;
		case 'l':
			t.passed += count;
			break;
		}
	}
	*ret_totals = t;
}

static void add_outcome(struct page *p, const json_t *f)
{
	const char *outcome = text_outcome(f);

	text_add_tone(p, *outcome == 'd' ? TONE_GOOD : TONE_BAD, *outcome ? outcome : "found");
}

/* "denied: append to file, 3 times  [file-outside, error]" */
static void add_headline(struct page *p, const json_t *f)
{
	uint64_t count = text_number(f, "count");
	bool act = names_find_op(text_of(f, "op")) != WEIR_OP_NONE;

	if (act) {
		add_outcome(p, f);
		buf_addf(p->b, ": ");
		text_add_action(p, f, true);
		if (count > 1) {
			buf_addf(p->b, ", ");
			text_add_count(p, count, "time");
		}
		buf_addf(p->b, "  [");
	}
	text_add(p, text_of(f, "kind"));
	buf_addf(p->b, ", ");
	text_add(p, text_of(f, "severity"));
	buf_addf(p->b, act ? "]\n" : "\n");
}

static void add_object(struct page *p, const json_t *f, const char *indent)
{
	const char *path = text_of(json_object_get(f, "object"), "path");
	const char *other = text_of(f, "other"), *text = text_of(f, "text");

	if (*path) {
		buf_addf(p->b, "%s", indent);
		text_add_path(p, path);
		buf_addf(p->b, "\n");
	}
	if (*other) {
		buf_addf(p->b, "%sother name: ", indent);
		text_add_path(p, other);
		buf_addf(p->b, "\n");
	}
	if (json_is_true(json_object_get(f, "overflow"))) {
		buf_addf(p->b, "%s", indent);
		text_add_count(p, text_number(f, "count"), "operation");
		buf_addf(p->b, ": ");
		text_add(p, text);
		buf_addf(p->b, "\n");
	} else if (*text) {
		text_add_lines(p, indent, text);
	}
	if (text_has_flag(f, "unresolved") || text_has_flag(f, "truncated")) {
		const json_t *object = json_object_get(f, "object");

		buf_addf(p->b, "%sthe path is not complete; device ", indent);
		text_add(p, text_of(object, "dev"));
		buf_addf(p->b, ", inode %" PRIu64 "\n", text_number(object, "ino"));
	}
}

/* "aimed at process 1234 of uid 0; memory: outsiders" */
static void add_target(struct page *p, const json_t *f, const char *indent)
{
	const json_t *peer = json_object_get(f, "peer");
	const char *target = text_of(f, "target");
	uint64_t pid = text_number(peer, "pid");

	if (!pid && !*target)
		return;
	buf_addf(p->b, "%s", indent);
	if (pid)
		buf_addf(p->b, "process %" PRIu64 " of uid %" PRIu64 "%s", pid,
			 text_number(peer, "uid"), *target ? "; " : "");
	text_add(p, target);
	buf_addf(p->b, "\n");
}

static void add_actor(struct page *p, const json_t *f, const char *indent)
{
	const json_t *args = json_object_get(json_object_get(f, "actor"), "args");

	if (!json_is_object(json_object_get(f, "actor")))
		return;
	buf_addf(p->b, "%sby ", indent);
	text_add_actor(p, f);
	if (json_array_size(args) > 0) {
		buf_addf(p->b, ": ");
		text_add_command(p, args, COMMAND_MAX);
	}
	buf_addf(p->b, "\n");
}

static void add_explanation(struct page *p, const json_t *f, const char *indent)
{
	const json_t *x = json_object_get(f, "explain");
	const char *rule = text_of(x, "rule"), *fix = text_of(x, "fix"), *hint = text_of(x, "hint");

	if (*rule || *fix) {
		buf_addf(p->b, "%s", indent);
		text_add(p, *rule ? rule : "no rule");
		buf_addf(p->b, *fix ? "; would need:\n" : "\n");
		text_add_lines(p, indent, fix);
	}
	if (*hint)
		text_add_lines(p, indent, hint);
}

static void add_detailed(struct page *p, const json_t *f, unsigned int number)
{
	static const char indent[] = "     ";

	buf_addf(p->b, "\n%3u. ", number);
	add_headline(p, f);
	add_object(p, f, indent);
	add_target(p, f, indent);
	add_actor(p, f, indent);
	add_explanation(p, f, indent);
}

void report_add_short(struct page *p, const json_t *f, unsigned int number)
{
	const char *rule = text_of(json_object_get(f, "explain"), "rule");
	const char *path = text_of(json_object_get(f, "object"), "path");

	buf_addf(p->b, "%3u. ", number);
	if (names_find_op(text_of(f, "op")) != WEIR_OP_NONE) {
		add_outcome(p, f);
		buf_addf(p->b, ": ");
		text_add_action(p, f, true);
		buf_addf(p->b, " ");
	}
	text_add(p, text_of(f, "text"));
	buf_addf(p->b, "%s", *path && *text_of(f, "text") ? ": " : "");
	text_add_path(p, path);
	if (!*path)
		text_add(p, text_of(f, "target"));
	buf_addf(p->b, "\n     ");
	text_add(p, text_of(f, "kind"));
	if (text_number(f, "count") > 1) {
		buf_addf(p->b, ", ");
		text_add_count(p, text_number(f, "count"), "time");
	}
	buf_addf(p->b, ", by ");
	text_add_actor(p, f);
	if (*rule) {
		buf_addf(p->b, ", ");
		text_add(p, rule);
	}
	buf_addf(p->b, "\n");
}

/* The beginning of a text that may have thousands of lines. */
static void add_proposal(struct page *p, const char *text)
{
	static const char rule[] = "  - path: ";
	const char *at = text;
	unsigned int lines = 0, left = 0;

	for (; *at && lines < PROPOSED_LINES; lines++) {
		size_t len = strcspn(at, "\n");

		at += len + (at[len] == '\n');
	}
	/* never half a rule */
	while (*at && strncmp(at, rule, strlen(rule)) != 0)
		at += strcspn(at, "\n") + 1;
	for (const char *c = at; (c = strstr(c, rule)); c++)
		left++;
	if (left > 0) {
		char *head = strndup(text, (size_t)(at - text));

		text_add_lines(p, "   ", head ? head : "");
		free(head);
		buf_addf(p->b, "     # and ");
		text_add_count(p, left, "more rule");
		buf_addf(p->b, "\n");
		return;
	}
	text_add_lines(p, "   ", text);
}

static void add_listed(struct page *p, const json_t *list, uint64_t total)
{
	unsigned int number = 0;
	const json_t *f;
	size_t i;

	if (total > REPORT_DETAILED)
		buf_addf(p->b, "\n");
	json_array_foreach (list, i, f) {
		if (text_is_notice(f))
			continue;
		number++;
		if (total > REPORT_DETAILED)
			report_add_short(p, f, number);
		else
			add_detailed(p, f, number);
	}
}

void report_add_findings(struct page *p, const json_t *run)
{
	const json_t *list = json_object_get(run, "findings");
	const char *need = text_of(run, "would_need");
	struct report_totals totals;

	report_count(run, &totals);
	if (totals.findings == 0)
		return;
	if (totals.findings > REPORT_LISTED) {
		report_add_groups(p, list);
		buf_addf(p->b, "   full list: weir show --json ");
		text_add(p, text_of(run, "id"));
		buf_addf(p->b, "\n");
	} else {
		add_listed(p, list, totals.findings);
	}
	if (totals.findings > REPORT_DETAILED && *need) {
		buf_addf(p->b, "\n   Rules that would allow this, if it is meant:\n");
		add_proposal(p, need);
	}
}

void report_add_notices(struct page *p, const json_t *run)
{
	uint64_t shown = 0, total = 0;
	const json_t *f;
	size_t i;

	json_array_foreach (json_object_get(run, "findings"), i, f) {
		const char *path = text_of(json_object_get(f, "object"), "path");

		if (!text_is_notice(f) || ++total > NOTICES_MAX)
			continue;
		buf_addf(p->b, "%s   notice: ", shown++ ? "" : "\n");
		text_add(p, text_of(f, "text"));
		if (*path) {
			buf_addf(p->b, ": ");
			text_add_path(p, path);
		}
		buf_addf(p->b, "\n");
	}
	if (total > shown) {
		buf_addf(p->b, "   and ");
		text_add_count(p, total - shown, "more notice");
		buf_addf(p->b, "\n");
	}
}
