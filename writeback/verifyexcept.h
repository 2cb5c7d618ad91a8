/* SPDX-License-Identifier: MIT */
/* The link of verify that is about exceptions. */
#ifndef WEIR_WRITEBACK_VERIFYEXCEPT_H
#define WEIR_WRITEBACK_VERIFYEXCEPT_H

#include "writeback/verify.h"

/* Check of the link EXCEPTIONS: a run that was not clean has exceptions, and each that the promotion
 * names stands in the record, was valid at the time of the ledger's entry, and is signed by
 * as many of the parent commit's people as its scope needs; each accepted finding is named by
 * one. Which findings the run has is the gate's word, for the trace is not in the record.
 * Returns: 0; refused with code "verify"; or a negative errno. */
int verifyexcept_findings(struct verify *v, struct weir_err *e);

#endif
