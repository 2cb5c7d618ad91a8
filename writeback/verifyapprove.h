/* SPDX-License-Identifier: MIT */
/* The link of verify that is about people. */
#ifndef WEIR_WRITEBACK_VERIFYAPPROVE_H
#define WEIR_WRITEBACK_VERIFYAPPROVE_H

#include "writeback/roles.h"
#include "writeback/verify.h"

/* Check of the link APPROVALS: where the promotion asked for people, those of the parent commit
 * agreed in time, by the clock of the ledger's entry. Returns: 0; refused with code "verify"; or
 * a negative errno. */
int verifyapprove_people(struct verify *v, struct weir_err *e);

/* Loads the parent commit's people, who must be those of the promotion, and the time of the
 * ledger's entry. Returns: 0, -EBADMSG, refused, or a negative errno with e. Gives: ret_people. */
int verifyapprove_load(const struct verify *v, struct people *ret_people, int64_t *ret_time,
		       struct weir_err *e);

#endif
