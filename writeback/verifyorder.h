/* SPDX-License-Identifier: MIT */
/* What verification shows of promotions that no run made; see verify.h. */
#ifndef WEIR_WRITEBACK_VERIFYORDER_H
#define WEIR_WRITEBACK_VERIFYORDER_H

#include "writeback/verify.h"

/* The order is the recorded one, and the object does what an order of its kind can ask for: a revert
 * has the tree of its parent's parent, a tag names a commit that verifies. Returns: 0 or a negative errno with e. Borrows: v. */
int verifyorder_check(const struct verify *v, struct weir_err *e);

#endif
