/* SPDX-License-Identifier: MIT */
/*
 * What is said after a promotion: everything that was promoted, left behind, found and not
 * done. JSON has schema "weir.promotion/1": commit, ref, parent, tree, promotion, run,
 * crosscheck, changes[] {change, path, mode, size, sha256}, left_behind[] {change, path,
 * tracked, ignored}, findings[], untouched, attestations (SHA-256 of the bundle). Paths are escaped.
 *
 * A finding is {id, class, path, place, times, why, detail, severity (refuse, warn), role,
 * accepted}: hazard.h says what they mean.
 *
 * A refusal that findings explain has schema "weir.refusal/1": code, text, findings[].
 */
#ifndef WEIR_WRITEBACK_REPORT_H
#define WEIR_WRITEBACK_REPORT_H

#include <stdio.h>

#include "writeback/promotion.h"

/* Appends the JSON and a newline. Returns: 0 or -ENOMEM. Borrows: p. */
int report_json(const struct promotion *p, struct buf *ret_text);

/* Prints the text for people. Borrows: p. */
void report_text(const struct promotion *p, FILE *out);

/* Appends the JSON of all findings, as an array. Borrows: h. */
void report_findings(const struct hazards *h, bool strict, struct buf *ret_text);

/* Appends the JSON of what stays behind, as an array. Returns: 0 or -ENOMEM. Borrows: left. */
int report_left(const struct changes *left, struct buf *ret_text);

/* Appends the JSON of a refusal with all its findings and a newline. Returns: 0 or -ENOMEM.
 * Borrows: h, e. */
int report_refusal(const struct hazards *h, bool strict, const struct weir_err *e,
		   struct buf *ret_text);

#endif
