/* SPDX-License-Identifier: MIT */
/*
 * What a run is told as: run.json for programs (schema weir.run/1) and a summary for
 * people. Both come from the same facts; neither is believed by the gate.
 */
#ifndef WEIR_REPORT_REPORT_H
#define WEIR_REPORT_REPORT_H

#include <jansson.h>
#include <stdint.h>

#include "user/base/buf.h"
#include "user/event/finding.h"
#include "user/event/verdict.h"
#include "user/policy/compile.h"

struct report {
	const char *id;
	const struct verdict *verdict;
	const struct findings *findings;
	const struct policy_image *image;      /* NULL when unjudged */
	const char *policy_file;	       /* NULL when unjudged */
	const char *workspace;		       /* real path */
	const char *repository, *ref, *commit; /* NULL without a base */
	const char *user;		       /* the command runs as */
	const char *mode;		       /* trace, observe, enforce */
	char *const *argv;		       /* the command */
	int wait_status;		       /* of the command, -1: it never started */
	int exit_status;		       /* of weir run, -1: it was cut short */
	int64_t started, ended;		       /* seconds since 1970 */
	uint64_t duration_ms;
	uint64_t members;	/* processes and threads there were */
	uint64_t mutations;	/* operations of members that were recorded and passed */
	uint64_t changed_files; /* manifest(after) against manifest(before) */
	const json_t *counters; /* by hook; borrowed */
	const json_t *coverage; /* borrowed */
	const char *suggestion; /* policy lines of an unjudged run, NULL: none */
	const char *next;	/* what to do now, one line, NULL: none */
};

/* Makes the document of run.json. Gives: a new reference, NULL when out of memory.
 * Borrows: r. */
json_t *report_json(const struct report *r);

/* Appends the summary, at most about a screen: verdict, counts, each finding with the real
 * path, who did it, which rule is missing, what to do next. More than 20 findings are
 * grouped by directory. color: with terminal attributes. Returns: as buf_add. Borrows: r. */
int report_summary(const struct report *r, bool color, struct buf *b);

/* One line for a finding as it appears while the run goes on. Returns: as buf_add.
 * Borrows: f. */
int report_alert_line(const struct finding *f, bool color, struct buf *b);

/* One line for a record of a trace, in the form of schema weir.event/1 (user/event/event_json.h) or
 * {record, data} for what the collector noted. first_ns: when the run began, since boot.
 * Returns: as buf_add. Borrows: record. */
int report_event_line(const json_t *record, uint64_t first_ns, bool color, struct buf *b);

/* The summary of a run that ended before, from its run.json. Returns: as buf_add, -EINVAL
 * with the reason for a document of another form. Borrows: run. */
int report_from_json(const json_t *run, bool color, struct buf *b, struct weir_err *e);

#endif
