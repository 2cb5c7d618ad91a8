/* SPDX-License-Identifier: MIT */
/*
 * What is said after a promotion: everything that was promoted, left behind, warned of and
 * not done. JSON has schema "weir.promotion/1": commit, ref, parent, tree, promotion, run,
 * crosscheck, changes[] {change, path, mode, size, sha256}, left_behind[] {change, path,
 * tracked, ignored}, warnings[] {id, path, why}, untouched, not_attested. Paths are escaped.
 */
#ifndef WEIR_WRITEBACK_REPORT_H
#define WEIR_WRITEBACK_REPORT_H

#include <stdio.h>

#include "writeback/promotion.h"

/* Appends the JSON and a newline. Returns: 0 or -ENOMEM. Borrows: p. */
int report_json(const struct promotion *p, struct buf *ret_text);

/* Prints the text for people. Borrows: p. */
void report_text(const struct promotion *p, FILE *out);

#endif
