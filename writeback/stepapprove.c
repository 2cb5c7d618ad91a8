/* SPDX-License-Identifier: MIT */
/*
 * Step 6, approve: the only step that may say yes. Signatures of people over the promotion
 * digest are not supported yet, so the policy must say in so many words that it asks for
 * none; silence is no consent.
 */
#include "writeback/promotion.h"
#include "writeback/reason.h"

int step_approve(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	const struct policy_value *approvals = &p->policy->approvals;

	if (approvals->pos.line == 0)
		return refuse(e, REASON_APPROVALS,
			      "the policy does not say how many approvals a promotion needs");
	if (approvals->value != 0)
		return refuse(e, REASON_APPROVALS,
			      "the policy asks for %llu approvals, which this gate can't count yet",
			      (unsigned long long)approvals->value);
	*ret_answer = GATE_YES;
	return 0;
}
