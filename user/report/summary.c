/* SPDX-License-Identifier: MIT */
/* A run in words. All of it comes from the document of run.json, so that `weir run` and a
 * later `weir show` say the same. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "user/report/findings.h"
#include "user/report/report.h"
#include "user/report/text.h"

/* Bytes of the command in the head. */
#define COMMAND_MAX 200u
#define REASONS_MAX 8u

static void add_totals(struct page *p, const struct report_totals *t)
{
	const struct {
		uint64_t count;
		const char *text;
	} parts[] = {
		{ t->denied, "denied" },
		{ t->passed, "let through" },
		{ t->refused, "refused by the kernel" },
	};
	const char *before = ": ";

	text_add_count(p, t->findings, "finding");
	if (t->operations > t->findings) {
		buf_addf(p->b, " from ");
		text_add_count(p, t->operations, "operation");
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].count == 0)
			continue;
		buf_addf(p->b, "%s", before);
		if (parts[i].count < t->operations)
			buf_addf(p->b, "%" PRIu64 " ", parts[i].count);
		else if (t->operations > 1)
			buf_addf(p->b, "all ");
		buf_addf(p->b, "%s", parts[i].text);
		before = ", ";
	}
}

static void add_verdict(struct page *p, const json_t *run, const struct report_totals *t)
{
	const char *verdict = text_of(run, "verdict");
	uint64_t changes = text_number(json_object_get(run, "counts"), "mutations");
	size_t reasons = json_array_size(json_object_get(run, "reasons"));

	buf_addf(p->b, "weir: ");
	if (strcmp(verdict, "clean") == 0) {
		text_add_tone(p, TONE_GOOD, "clean");
		buf_addf(p->b, ": no findings; ");
		text_add_count(p, changes, "change");
		buf_addf(p->b, ", all allowed by the policy");
	} else if (strcmp(verdict, "violated") == 0) {
		text_add_tone(p, TONE_BAD, "VIOLATED");
		buf_addf(p->b, ": ");
		add_totals(p, t);
	} else if (strcmp(verdict, "unjudged") == 0) {
		text_add_tone(p, TONE_STRONG, "unjudged");
		buf_addf(p->b, ": no policy, so nothing was judged and nothing blocked; ");
		text_add_count(p, changes, "change");
	} else {
		text_add_tone(p, TONE_DOUBT, "INDETERMINATE");
		buf_addf(p->b, ": weir can't say what this run did, for ");
		text_add_count(p, reasons, "reason");
	}
	buf_addf(p->b, "\n");
}

static bool is_cut_short(const json_t *run)
{
	return !json_is_integer(json_object_get(run, "exit"));
}

static void add_status(struct page *p, const json_t *run)
{
	const json_t *status = json_object_get(run, "status");

	if (json_object_get(status, "signal"))
		buf_addf(p->b, "killed by signal %" PRIu64, text_number(status, "signal"));
	else if (json_object_get(status, "code"))
		buf_addf(p->b, "exit status %" PRIu64, text_number(status, "code"));
	else
		buf_addf(p->b, is_cut_short(run) ? "nobody saw its end" : "it never started");
	buf_addf(p->b, ", ");
	text_add_duration(p, text_number(run, "duration_ms"));
	if (*text_of(run, "user")) {
		buf_addf(p->b, ", as ");
		text_add(p, text_of(run, "user"));
	}
}

static void add_head(struct page *p, const json_t *run)
{
	const json_t *base = json_object_get(run, "base");
	const json_t *counts = json_object_get(run, "counts");
	const char *policy = text_of(run, "policy");

	buf_addf(p->b, "   run        ");
	text_add(p, text_of(run, "id"));
	if (is_cut_short(run))
		buf_addf(p->b, ", cut short: this is what its trace tells");
	else
		buf_addf(p->b, ", weir's exit status %" PRIu64, text_number(run, "exit"));
	buf_addf(p->b, "\n   command    ");
	text_add_command(p, json_object_get(run, "command"), COMMAND_MAX);
	buf_addf(p->b, "\n              ");
	add_status(p, run);
	buf_addf(p->b, "\n   workspace  ");
	text_add_path(p, text_of(run, "workspace"));
	if (json_is_object(base)) {
		buf_addf(p->b, "\n   base       ");
		text_add(p, text_of(base, "ref"));
		buf_addf(p->b, " at ");
		text_add(p, text_of(base, "commit"));
		buf_addf(p->b, " of ");
		text_add_path(p, text_of(base, "repository"));
	}
	if (*policy) {
		buf_addf(p->b, "\n   policy     ");
		text_add_path(p, policy);
		buf_addf(p->b, ", ");
		text_add(p, text_of(run, "mode"));
	}
	buf_addf(p->b, "\n   seen       ");
	text_add_count(p, text_number(counts, "members"), "task");
	buf_addf(p->b, ", ");
	text_add_count(p, text_number(counts, "mutations"), "change");
	buf_addf(p->b, ", ");
	text_add_count(p, text_number(counts, "changed_files"), "changed file");
	buf_addf(p->b, " in the workspace\n");
}

static void add_reasons(struct page *p, const json_t *run)
{
	const json_t *reasons = json_object_get(run, "reasons"), *reason;
	size_t i;

	if (json_array_size(reasons) == 0)
		return;
	buf_addf(p->b, "\n   %s:\n",
		 strcmp(text_of(run, "verdict"), "indeterminate") == 0
			 ? "What keeps weir from being sure"
			 : "Also, what was seen may not be all, because");
	json_array_foreach (reasons, i, reason) {
		if (i == REASONS_MAX) {
			buf_addf(p->b, "   - ");
			text_add_count(p, json_array_size(reasons) - i, "more reason");
			buf_addf(p->b, "\n");
			break;
		}
		buf_addf(p->b, "   - ");
		text_add(p, text_of(reason, "text"));
		buf_addf(p->b, " (");
		text_add(p, text_of(reason, "code"));
		buf_addf(p->b, ")\n");
	}
}

static void add_suggestion(struct page *p, const json_t *run)
{
	const char *text = text_of(run, "suggestion");

	if (!*text)
		return;
	buf_addf(p->b, "\n   Policy lines that would allow what was seen:\n\n");
	text_add_lines(p, "   ", text);
}

static void add_summary(struct page *p, const json_t *run)
{
	struct report_totals totals;

	report_count(run, &totals);
	add_verdict(p, run, &totals);
	add_head(p, run);
	report_add_findings(p, run);
	report_add_notices(p, run);
	add_reasons(p, run);
	add_suggestion(p, run);
	if (*text_of(run, "next")) {
		buf_addf(p->b, "\n   ");
		text_add_tone(p, TONE_STRONG, "next:");
		buf_addf(p->b, " ");
		text_add(p, text_of(run, "next"));
		buf_addf(p->b, "\n");
	}
}

int report_summary(const struct report *r, bool color, struct buf *b)
{
	struct page p = { .b = b, .color = color };
	json_t *run = report_json(r);

	if (!run)
		return -ENOMEM;
	add_summary(&p, run);
	json_decref(run);
	return b->failed ? -ENOMEM : 0;
}

int report_alert_line(const struct finding *f, bool color, struct buf *b)
{
	struct page p = { .b = b, .color = color };
	json_t *o = finding_json(f);
	const char *path, *outcome;

	if (!o)
		return -ENOMEM;
	path = text_of(json_object_get(o, "object"), "path");
	outcome = text_outcome(o);
	buf_addf(b, "weir: ");
	text_add_tone(&p, TONE_BAD, text_of(o, "kind"));
	buf_addf(b, "%s%s: ", *outcome ? ", " : "", outcome);
	text_add_actor(&p, o);
	buf_addf(b, ": ");
	text_add_action(&p, o, false);
	if (*text_of(o, "text"))
		text_add(&p, text_of(o, "text"));
	if (*path) {
		buf_addf(b, *text_of(o, "text") ? ": " : " ");
		text_add_path(&p, path);
	}
	buf_addf(b, "\n");
	json_decref(o);
	return b->failed ? -ENOMEM : 0;
}

int report_from_json(const json_t *run, bool color, struct buf *b, struct weir_err *e)
{
	struct page p = { .b = b, .color = color };

	if (!json_is_object(run))
		return err_set(e, -EINVAL, "run.json: not an object");
	if (strcmp(text_of(run, "schema"), "weir.run/1") != 0)
		return err_set(e, -EINVAL,
			       "run.json: schema is \"%.40s\", this weir reads weir.run/1",
			       text_of(run, "schema"));
	if (!*text_of(run, "id") || !*text_of(run, "verdict") ||
	    !json_is_array(json_object_get(run, "findings")) ||
	    !json_is_array(json_object_get(run, "reasons")))
		return err_set(e, -EINVAL, "run.json: id, verdict, findings or reasons is missing");
	add_summary(&p, run);
	return b->failed ? -ENOMEM : 0;
}
