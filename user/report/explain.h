/* SPDX-License-Identifier: MIT */
/*
 * Inside of user/report: which rule was missing, and what would mend it.
 *
 * Member "explain" of a finding in run.json:
 *   {"rule": "no rule" or "rule 'X' at FILE:LINE gives RIGHTS",
 *    "fix": policy lines that would allow it, "" where none can,
 *    "hint": what else to do, "" if nothing}
 */
#ifndef WEIR_REPORT_EXPLAIN_H
#define WEIR_REPORT_EXPLAIN_H

#include <jansson.h>

#include "user/event/finding.h"
#include "user/policy/compile.h"

struct explainer {
	const struct policy_image *image; /* NULL: there was no policy */
	struct policy_env env;
};

/* Returns: a new reference, NULL when out of memory. Borrows: all. */
json_t *explain_finding(const struct explainer *x, const struct finding *f);

/* Policy lines that would allow all findings together, "" if none can.
 * Returns: a new reference, NULL when out of memory. Borrows: all. */
json_t *explain_all(const struct explainer *x, const struct findings *list);

#endif
