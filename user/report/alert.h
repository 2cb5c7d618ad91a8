/* SPDX-License-Identifier: MIT */
/*
 * Alerts for programs: JSON lines, one object each, as they happen (schema weir.alert/1).
 *
 *   {"schema": "weir.alert/1", "time": "2026-01-31T12:00:00.000001Z", "run": ID,
 *    "kind": KIND, "severity": SEVERITY, "text": LINE, ...}
 *
 * kind is "start" (the first line), a kind of finding, or "end" (the last line; the run ended in
 * order). Lines of findings have the member finding (the form of findings[] in weir.run/1): its
 * count is that of its first event, as what is repeated is told once. The line "end" has the
 * members verdict and findings, a number. The severities are the eight of syslog (RFC 5424, section
 * 6.2.1) by the names that Falco gives them (falco.org/docs/rules/basic-elements, "priority"):
 *   emergency      the monitor was reached: a finding of kind tamper that passed
 *   alert          somebody tried to
 *   critical       credentials, memory of others, the kernel, control files; a verdict "violated"
 *   error          other findings; a verdict "indeterminate"
 *   warning        (notes of the collector only)
 *   notice         attempts, processes left behind that may be; a verdict "unjudged"
 *   informational  a verdict "clean"
 *   debug          the start of a run
 */
#ifndef WEIR_REPORT_ALERT_H
#define WEIR_REPORT_ALERT_H

#include <stddef.h>
#include <time.h>

#include "user/base/buf.h"
#include "user/event/finding.h"
#include "user/event/verdict.h"

/* Append one line, with its newline. run: the run's id; when: the time since 1970.
 * Return: as buf_add. Borrow: everything. */
int report_alert_start(const char *run, const struct timespec *when, struct buf *b);
int report_alert_finding(const struct finding *f, const char *run, const struct timespec *when,
			 struct buf *b);
int report_alert_end(enum verdict_value verdict, size_t findings, const char *run,
		     const struct timespec *when, struct buf *b);

#endif
