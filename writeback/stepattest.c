/* SPDX-License-Identifier: MIT */
/*
 * Step 8, attest: statements about the promotion for tools of others, made once the commit is
 * signed and its id known. publish stores them beside the record.
 */
#include <errno.h>

#include "writeback/promotion.h"

int step_attest(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	int err = attest_make(p, &p->attestations, e);

	(void)ret_answer;
	if (err < 0)
		return err;
	return attest_bundle_hash(&p->attestations, p->bundle_sha256) < 0
		       ? err_set(e, -EIO, "hashing the attestations failed")
		       : 0;
}
