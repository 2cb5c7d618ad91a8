/* SPDX-License-Identifier: MIT */
/*
 * The order of a promotion: ten steps in one const table, each with the steps that its
 * success permits. What is not permitted is refused; each step runs once; only `approve`
 * may say yes, and nothing may be committed before it did.
 */
#ifndef WEIR_WRITEBACK_GATE_H
#define WEIR_WRITEBACK_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/err.h"

/* X(ID, name, steps that are permitted after it, may it decide) */
#define GATE_STEPS(X) \
	X(NONCE, nonce, GATE_BIT(OPEN), false) \
	X(OPEN, open, GATE_BIT(CROSSCHECK), false) \
	X(CROSSCHECK, crosscheck, GATE_BIT(INSPECT), false) \
	X(INSPECT, inspect, GATE_BIT(QUARANTINE), false) \
	X(QUARANTINE, quarantine, GATE_BIT(DIGEST), false) \
	X(DIGEST, digest, GATE_BIT(APPROVE), false) \
	X(APPROVE, approve, GATE_BIT(COMMIT), true) \
	X(COMMIT, commit, GATE_BIT(ATTEST), false) \
	X(ATTEST, attest, GATE_BIT(PUBLISH), false) \
	X(PUBLISH, publish, 0, false)

#define GATE_BIT(id) (1u << GATE_##id)

enum gate_step {
#define WEIR_X(id, name, next, decides) GATE_##id,
	GATE_STEPS(WEIR_X)
#undef WEIR_X
	GATE_STEP_COUNT,
};

/* What a step answers beside success. */
enum gate_answer {
	GATE_NO_OPINION,
	GATE_YES,
};

struct promotion; /* writeback/promotion.h */

typedef int gate_fn(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e);

struct gate_row {
	const char *name;
	gate_fn *run;
	uint32_t next; /* bit set of enum gate_step */
	bool decides;
};

/* Where a promotion stands. Start with gate_order_init(). */
struct gate_order {
	uint32_t permitted;
	uint32_t done;
	bool approved;
};

void gate_order_init(struct gate_order *o);

/* Runs one step of a table of GATE_STEP_COUNT rows.
 * Returns: 0; refused with code "order" when the step is not permitted, was done, answers
 * without being the one that decides, or when `commit` comes without a yes; else what the
 * step returned. After any failure nothing is permitted. Borrows: all. */
int gate_step_run(const struct gate_row *rows, enum gate_step step, struct gate_order *o,
		  struct promotion *p, struct weir_err *e);

/* The real table. Returns: GATE_STEP_COUNT rows, static. */
const struct gate_row *gate_rows(void);

/* Runs all steps of the real table in order, stopping at the first that fails; e then has
 * the refusal. Returns: 0 or a negative errno. Borrows: p. */
int gate_run(struct promotion *p, struct weir_err *e);

#endif
