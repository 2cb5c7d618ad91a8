/* SPDX-License-Identifier: MIT */
/* The links of verify that are about the ledger. */
#ifndef WEIR_WRITEBACK_VERIFYLEDGER_H
#define WEIR_WRITEBACK_VERIFYLEDGER_H

#include "writeback/verify.h"

/* The ledger's entry with its proofs: `done`, or `intent` of what is being pushed. */
struct verifyledger_view {
	const struct buf *entry;
	const struct buf *proof;
	const struct buf *consistency;
	bool intent;
};

/* Returns: what the record has; borrowed from v. */
struct verifyledger_view verifyledger_of(const struct verify *v);

/* Checks of the links CHECKPOINT, INCLUSION, LEDGER and HISTORY, in this order; each uses what
 * the one before found. Returns: 0; refused with code "verify"; or a negative errno. */
int verifyledger_checkpoint(struct verify *v, struct weir_err *e);
int verifyledger_inclusion(struct verify *v, struct weir_err *e);
int verifyledger_entry(struct verify *v, struct weir_err *e);
int verifyledger_history(struct verify *v, struct weir_err *e);

#endif
