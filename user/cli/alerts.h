/* SPDX-License-Identifier: MIT */
/* weir run --alerts FILE: findings as they happen, for programs (user/report/alert.h). */
#ifndef WEIR_CLI_ALERTS_H
#define WEIR_CLI_ALERTS_H

#include "user/cli/session.h"

/* Opens the file that --alerts names, and tells that the run begins; nothing without the option.
 * Lines are added to a file that is there. Returns: 0 or a negative errno with e set. */
int alerts_open(struct session *s, struct weir_err *e);

/* A new finding: to the terminal, and to the file. An alert that can't be written is a doubt.
 * Borrows: finding. */
void alerts_finding(struct session *s, const struct finding *finding);

/* The last line. What goes wrong is said on standard error, as the verdict stands. */
void alerts_end(struct session *s);

#endif
