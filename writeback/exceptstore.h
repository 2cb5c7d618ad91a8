/* SPDX-License-Identifier: MIT */
/* Exceptions read from the repository and judged, for writeback/except.h alone. */
#ifndef WEIR_WRITEBACK_EXCEPTSTORE_H
#define WEIR_WRITEBACK_EXCEPTSTORE_H

#include "writeback/except.h"

struct held {
	char name[DIGEST_HEX];
	struct exception x;
	struct buf text;
	struct buf armors[EXCEPT_SIGNED_MAX];
	size_t armor_count;
	bool judged;
	struct weir_err why; /* code "" when it holds */
};

struct held_list {
	struct held **items; /* by name */
	size_t count;
};

void held_list_done(struct held_list *l);
#define cleanup_held __attribute__((__cleanup__(held_list_done)))

/* Reads all exceptions; one that is damaged is left out. Returns: 0 or a negative errno with e.
 * Gives: ret_list. */
int held_load(const struct repo *r, struct held_list *ret_list, struct weir_err *e);

/* Stores a text and a signature. Returns: 0, refused with code "limit", or a negative errno with
 * e. Borrows: all. */
int held_add(const struct repo *r, const char *name, const struct buf *text,
	     const struct buf *armor, struct weir_err *e);

struct held_context {
	const char *repository; /* id */
	const struct people *people;
	const struct gate_texts *producers; /* persons who do not count; NULL: none are known */
	int64_t span_s;			    /* longest */
	int64_t now;			    /* seconds since 1970 */
};

/* Judges one exception and notes the result in it: role, times, signatures, revocation.
 * Returns: 0, also when it does not hold, or a negative errno with e. Borrows: all. */
int held_judge(const struct held_list *l, struct held *h, const struct held_context *c,
	       struct weir_err *e);

/* Finds the persons who signed validly, each once. The last signature that does not count leaves
 * its reason in ret_why. Returns: their number or a negative errno. Borrows: all. */
int held_signers(const struct held *h, const struct held_context *c,
		 const struct person *ret_people[EXCEPT_SIGNED_MAX], struct weir_err *ret_why);

#endif
