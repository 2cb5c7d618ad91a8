/* SPDX-License-Identifier: MIT */
/* A record of a trace as one line. */
#include <inttypes.h>
#include <string.h>

#include "user/report/report.h"
#include "user/report/text.h"

/* Bytes of a command line. */
#define COMMAND_MAX 200u

static void add_op(struct page *p, const json_t *r)
{
	const json_t *kind = json_object_get(r, "kind");
	const char *path = text_of(json_object_get(r, "object"), "path");
	const char *other = text_of(r, "other"), *target = text_of(r, "target");
	bool finding = json_is_true(json_object_get(r, "finding"));

	if (text_has_flag(r, "canary"))
		buf_addf(p->b, "weir's canary, ");
	text_add_tone(p, finding ? TONE_BAD : TONE_STRONG, text_outcome(r));
	buf_addf(p->b, ": ");
	text_add_action(p, r, true);
	buf_addf(p->b, "%s", *path ? " " : "");
	text_add_path(p, path);
	if (*other) {
		buf_addf(p->b, ", other name ");
		text_add_path(p, other);
	}
	if (*target) {
		buf_addf(p->b, ", ");
		text_add(p, target);
	}
	if (json_is_string(kind)) {
		buf_addf(p->b, "  [");
		text_add(p, json_string_value(kind));
		buf_addf(p->b, "]");
	}
}

static void add_exec(struct page *p, const json_t *r)
{
	buf_addf(p->b, "runs ");
	text_add_path(p, text_of(json_object_get(r, "object"), "path"));
	buf_addf(p->b, ": ");
	text_add_command(p, json_object_get(json_object_get(r, "actor"), "args"), COMMAND_MAX);
}

static void add_fork(struct page *p, const json_t *r)
{
	const json_t *child = json_object_get(r, "child");
	uint64_t pid = text_number(child, "pid"), thread = text_number(child, "thread");

	buf_addf(p->b, pid == thread ? "forks %" PRIu64 : "starts thread %" PRIu64, thread);
}

static void add_exit(struct page *p, const json_t *r)
{
	const json_t *status = json_object_get(r, "status");

	if (json_object_get(status, "signal"))
		buf_addf(p->b, "is ended by signal %" PRIu64, text_number(status, "signal"));
	else
		buf_addf(p->b, "exits with %" PRIu64, text_number(status, "code"));
}

static const struct {
	const char *record;
	void (*add)(struct page *p, const json_t *r);
} forms[] = {
	{ "op", add_op },
	{ "exec", add_exec },
	{ "fork", add_fork },
	{ "exit", add_exit },
};

/* What the collector noted itself: no more of it than a line holds. */
static void add_noted(struct page *p, const json_t *r)
{
	const json_t *data = json_object_get(r, "data");

	buf_addf(p->b, "            -  ");
	text_add(p, text_of(r, "record"));
	if (*text_of(data, "text")) {
		buf_addf(p->b, ": ");
		text_add(p, text_of(data, "text"));
	}
	buf_addf(p->b, "\n");
}

int report_event_line(const json_t *record, uint64_t first_ns, bool color, struct buf *b)
{
	struct page page = { .b = b, .color = color };
	uint64_t us = (text_number(record, "time_ns") - first_ns) / 1000;

	if (json_object_get(record, "data")) {
		add_noted(&page, record);
		return b->failed ? -1 : 0;
	}
	buf_addf(b, "%5" PRIu64 ".%06" PRIu64 "  ", us / 1000000, us % 1000000);
	text_add_actor(&page, record);
	buf_addf(b, "  ");
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (strcmp(forms[i].record, text_of(record, "record")) == 0)
			forms[i].add(&page, record);
	buf_addf(b, "\n");
	return b->failed ? -1 : 0;
}
