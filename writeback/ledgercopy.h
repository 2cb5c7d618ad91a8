/* SPDX-License-Identifier: MIT */
/*
 * Copies of a ledger. Full tiles never change and the checkpoint is replaced last, so that a copy can
 * be brought up to date in place and is, at each moment, a ledger as it once was.
 */
#ifndef WEIR_WRITEBACK_LEDGERCOPY_H
#define WEIR_WRITEBACK_LEDGERCOPY_H

#include "user/base/err.h"

/* Copies what `to` does not have yet, the checkpoint last. Links and special files are refused, and
 * depth and sizes are those of a ledger. Whether the copy is whole, ledger_open and ledger_walk say.
 * Returns: 0, refused with code "ledger", or a negative errno with e. Borrows: both directories. */
int ledgercopy_update(int from, int to, struct weir_err *e);

#endif
