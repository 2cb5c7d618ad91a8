/* SPDX-License-Identifier: MIT */
#include "writeback/gate.h"

#include "writeback/promotion.h"
#include "writeback/reason.h"

static const struct gate_row table[GATE_STEP_COUNT] = {
#define WEIR_X(id, name, next, decides) { #name, step_##name, next, decides },
	GATE_STEPS(WEIR_X)
#undef WEIR_X
};

const struct gate_row *gate_rows(void)
{
	return table;
}

void gate_order_init(struct gate_order *o)
{
	*o = (struct gate_order){ .permitted = GATE_BIT(NONCE) };
}

static int check_order(const struct gate_row *row, enum gate_step step, const struct gate_order *o,
		       struct weir_err *e)
{
	uint32_t bit = 1u << step;

	if (!(o->permitted & bit) || (o->done & bit))
		return refuse(e, REASON_ORDER, "step %s is not permitted here", row->name);
	if (step >= GATE_COMMIT && !o->approved)
		return refuse(e, REASON_ORDER, "step %s without a yes", row->name);
	return 0;
}

int gate_step_run(const struct gate_row *rows, enum gate_step step, struct gate_order *o,
		  struct promotion *p, struct weir_err *e)
{
	enum gate_answer answer = GATE_NO_OPINION;
	const struct gate_row *row;
	int err;

	if ((unsigned int)step >= GATE_STEP_COUNT)
		return refuse(e, REASON_ORDER, "there is no step %u", (unsigned int)step);
	row = &rows[step];
	err = check_order(row, step, o, e);
	o->permitted = 0;
	if (err < 0)
		return err;
	o->done |= 1u << step;
	err = row->run(p, &answer, e);
	if (err < 0)
		return err;
	if (answer != GATE_NO_OPINION && !row->decides)
		return refuse(e, REASON_ORDER, "step %s may not decide", row->name);
	if (row->decides && answer != GATE_YES)
		return refuse(e, REASON_ORDER, "step %s ended without a yes", row->name);
	if (answer == GATE_YES)
		o->approved = true;
	o->permitted = row->next;
	return 0;
}

int gate_run(struct promotion *p, struct weir_err *e)
{
	struct gate_order order;

	gate_order_init(&order);
	for (unsigned int i = 0; i < GATE_STEP_COUNT; i++) {
		int err = gate_step_run(table, (enum gate_step)i, &order, p, e);

		if (err < 0)
			return err;
	}
	return 0;
}
