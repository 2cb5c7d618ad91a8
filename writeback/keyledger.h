/* SPDX-License-Identifier: MIT */
/*
 * Rotation of the ledger's own key: an entry of kind `key` (writeback/keyhist.h) signed by the old one,
 * a checkpoint that both have signed, and from then on the new one alone. The file with the public key
 * (writeback/note.h) says until how many entries the old one counts.
 */
#ifndef WEIR_WRITEBACK_KEYLEDGER_H
#define WEIR_WRITEBACK_KEYLEDGER_H

#include "writeback/gateledger.h"
#include "writeback/keyhist.h"

/* The keeper's part; g comes from gateledger_open_rotating. What a crash left half done is ended.
 * Returns: 0, refused with code "limit", or a negative errno with e. Borrows: all; reason may be NULL.
 * Gives: ret_line for keyledger_publish. */
int keyledger_rotate(const struct gate_config *c, struct gateledger *g, const struct keyhist *h,
		     const char *reason, struct buf *ret_line, struct weir_err *e);

/* Root's part: the public file. Returns: 0; refused with code "limit"; or a negative errno with e.
 * Borrows: line. */
int keyledger_publish(const char *line, struct weir_err *e);

#endif
