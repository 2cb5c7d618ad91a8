/* SPDX-License-Identifier: MIT */
/*
 * Step 6, approve: the only step that may say yes. What nobody has to look at must be said to be
 * so, by `approvals: 0`; silence is no consent. A promotion that needs people is kept, and goes on
 * when they have signed its digest.
 */
#include <errno.h>
#include <time.h>

#include "writeback/approve.h"
#include "writeback/promotion.h"
#include "writeback/reason.h"

static int ask_people(struct promotion *p, struct weir_err *e)
{
	struct approve_tally *t = &p->tally;
	int err = p->resumed ? 0 : pending_keep(p, e);

	if (err == 0 && !p->resumed)
		err = pending_open(&p->repo, p->nonce.id, &p->pending, e);
	if (err == 0)
		err = approve_count(&p->pending, &p->people, time(NULL), t, e);
	if (err < 0)
		return err == -ENOENT ? err_errno(e, err, "the proposal") : err;
	if (t->rejected.len > 0)
		return refuse(e, REASON_REJECTED, "%s", buf_str(&t->rejected));
	if (t->missing.len > 0)
		return refuse(e, REASON_APPROVALS_MISSING,
			      "promotion %.16s... waits for %s (%zu agreed)", p->digest,
			      buf_str(&t->missing), t->approvers.count);
	return 0;
}

int step_approve(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	int err = 0;

	if (p->policy->approvals.pos.line == 0 && !promotion_asks_people(p))
		return refuse(e, REASON_APPROVALS,
			      "the policy does not say how many approvals a promotion needs");
	if (promotion_asks_people(p))
		err = ask_people(p, e);
	if (err == 0)
		*ret_answer = GATE_YES;
	return err;
}
