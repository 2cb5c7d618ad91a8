/* SPDX-License-Identifier: MIT */
/* The links of verify that are about attestations. */
#ifndef WEIR_WRITEBACK_VERIFYATTEST_H
#define WEIR_WRITEBACK_VERIFYATTEST_H

#include "writeback/verify.h"

/* Check of the link DSSE: each envelope is signed by the key that signed the commit. Then of
 * ATTESTED: what they say is about this commit, promotion and list of reads. Returns: 0; refused
 * with code "verify"; or a negative errno. */
int verifyattest_dsse(struct verify *v, struct weir_err *e);
int verifyattest_content(struct verify *v, struct weir_err *e);

#endif
