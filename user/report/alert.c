/* SPDX-License-Identifier: MIT */
#include "user/report/alert.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/event/names.h"
#include "user/report/report.h"

/* Source: RFC 3339, section 5.6. */
static const char *time_text(const struct timespec *when, char *out, size_t size)
{
	struct tm tm;
	size_t len =
		gmtime_r(&when->tv_sec, &tm) ? strftime(out, size, "%Y-%m-%dT%H:%M:%S", &tm) : 0;

	snprintf(out + len, size - len, ".%06ldZ", when->tv_nsec / 1000);
	return out;
}

/* Owns: more, members to be added; NULL: out of memory. */
static int add_line(struct buf *b, const char *run, const struct timespec *when, const char *kind,
		    enum severity severity, const char *text, json_t *more)
{
	char time[64];
	json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "schema", "weir.alert/1", "time",
			      time_text(when, time, sizeof(time)), "run", run, "kind", kind,
			      "severity", names_severity(severity), "text", text);
	int err = o && more ? json_object_update(o, more) : -1;
	cleanup_free char *line = err == 0 ? json_dumps(o, JSON_COMPACT) : NULL;

	json_decref(o);
	json_decref(more);
	if (!line)
		return -ENOMEM;
	return buf_addf(b, "%s\n", line);
}

int report_alert_start(const char *run, const struct timespec *when, struct buf *b)
{
	return add_line(b, run, when, "start", SEVERITY_DEBUG, "the run begins", json_object());
}

int report_alert_finding(const struct finding *f, const char *run, const struct timespec *when,
			 struct buf *b)
{
	static const char prefix[] = "weir: ";
	cleanup_buf struct buf line = { 0 };
	char *text;
	int err = report_alert_line(f, false, &line);

	if (err < 0)
		return err;
	text = line.data;
	text[line.len - 1] = '\0'; /* its newline */
	return add_line(b, run, when, names_kind(f->kind), f->severity, text + strlen(prefix),
			json_pack("{s:o}", "finding", finding_json(f)));
}

int report_alert_end(enum verdict_value verdict, size_t findings, const char *run,
		     const struct timespec *when, struct buf *b)
{
	static const enum severity severities[] = {
		[VERDICT_CLEAN] = SEVERITY_INFORMATIONAL,
		[VERDICT_VIOLATED] = SEVERITY_CRITICAL,
		[VERDICT_INDETERMINATE] = SEVERITY_ERROR,
		[VERDICT_UNJUDGED] = SEVERITY_NOTICE,
	};
	const char *name = verdict_name(verdict);
	char text[64];

	snprintf(text, sizeof(text), "the run has ended: %s", name);
	return add_line(b, run, when, "end", severities[verdict], text,
			json_pack("{s:s, s:I}", "verdict", name, "findings", (json_int_t)findings));
}
