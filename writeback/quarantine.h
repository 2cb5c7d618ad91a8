/* SPDX-License-Identifier: MIT */
/* The quarantine of a promotion that brings no new objects. */
#ifndef WEIR_WRITEBACK_QUARANTINE_H
#define WEIR_WRITEBACK_QUARANTINE_H

#include "user/base/err.h"

struct promotion; /* writeback/promotion.h */

/* Writes an empty pack and its index to p->quarantine. Returns: 0 or a negative errno with e. */
int quarantine_empty(struct promotion *p, struct weir_err *e);

#endif
