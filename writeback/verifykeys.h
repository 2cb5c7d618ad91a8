/* SPDX-License-Identifier: MIT */
/* The link of verify that is about the times of keys. */
#ifndef WEIR_WRITEBACK_VERIFYKEYS_H
#define WEIR_WRITEBACK_VERIFYKEYS_H

#include "writeback/verify.h"

/* The history of keys (writeback/keyhist.h) is the one that the promotion names; by it, and by the
 * latest that is at hand, the key that signed the commit and the host's were valid at the entry of
 * the promotion's intent. Returns: 0; refused with code "verify"; or a negative errno. */
int verifykeys_check(struct verify *v, struct weir_err *e);

#endif
