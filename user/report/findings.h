/* SPDX-License-Identifier: MIT */
/* Inside of user/report: the part of a summary that lists findings. */
#ifndef WEIR_REPORT_FINDINGS_H
#define WEIR_REPORT_FINDINGS_H

#include "user/report/text.h"

/* So many findings are shown each with all that is known, */
#define REPORT_DETAILED 6u
/* so many with two lines each, and more by directory. */
#define REPORT_LISTED 20u

/* Lists what speaks against the run. Borrows: run, a document of run.json. */
void report_add_findings(struct page *p, const json_t *run);

/* One line each for what is only to be known. Borrows: run. */
void report_add_notices(struct page *p, const json_t *run);

/* One finding in two lines, with its number in the list. Borrows: f. */
void report_add_short(struct page *p, const json_t *f, unsigned int number);

/* The first of the gravest alone, lest they drown; all others by directory, the fullest
 * first (groups.c). Borrows: list, the findings. */
void report_add_groups(struct page *p, const json_t *list);

/* How many there are, and what became of them. Borrows: run. */
struct report_totals {
	uint64_t findings; /* distinct */
	uint64_t notices;
	uint64_t operations; /* of the findings */
	uint64_t denied, passed, refused;
};
void report_count(const json_t *run, struct report_totals *ret_totals);

#endif
