/* SPDX-License-Identifier: MIT */
/*
 * Exceptions as the gate keeps and judges them, in REPOSITORY/weir/exceptions/SHA256/ (0700, of the
 * gate's user), one directory for each text (writeback/exception.h):
 *
 *   text          ID.sig      armored signatures, ID: SHA-256 of the armor
 *
 * Nothing in there is trusted for being there: text, signatures, persons, roles, scope and times
 * are judged each time, with the people of the promotion's base commit.
 *
 * A violated run passes when every event that was latched has a record, and each finding of each
 * kind is named by an exception that holds. Who made the change can't accept its findings.
 */
#ifndef WEIR_WRITEBACK_EXCEPT_H
#define WEIR_WRITEBACK_EXCEPT_H

#include "writeback/exception.h"
#include "writeback/repo.h"

struct promotion; /* writeback/promotion.h */

#define EXCEPT_MAX 10000      /* texts */
#define EXCEPT_SIGNED_MAX 100 /* signatures of one */

/* What a promotion makes of exceptions. */
struct except_use {
	struct gate_texts used;	    /* SHA-256 of exceptions, sorted */
	struct gate_texts accepted; /* "ID COUNT" of the run's findings, sorted */
	struct buf bundle;	    /* texts and signatures of those used */
};

void except_use_done(struct except_use *u);

/* Covers a violated run's findings. Loads people and producers when there are exceptions.
 * Returns: 0 when all are covered; refused with code "violated", "exception-expired",
 * "exception-revoked", "exception-role", "exception-persons" or that of a signer;
 * or a negative errno. Borrows: p's parts. Gives: p->exceptions. */
int except_cover_run(struct promotion *p, struct weir_err *e);

/* Marks the inspection's findings that exceptions accept. Returns: 0, a refusal by whatever keeps people
 * from being loaded, or a negative errno. Borrows: p's parts. Gives: p->exceptions. */
int except_accept_hazards(struct promotion *p, struct weir_err *e);

/* Appends "exception SHA256" and "accepted ID COUNT" lines of the promotion text.
 * Returns: as buf_add. Borrows: u. */
int except_add_lines(const struct except_use *u, struct buf *ret_text);

/* A signed exception or revocation as it was handed in. */
struct except_signed {
	const struct buf *text;
	const struct buf *armor;
	int64_t span_s; /* longest that the policy allows */
	int64_t now;	/* seconds since 1970 */
};

struct except_taken {
	char name[DIGEST_HEX];
	unsigned int missing; /* persons who have yet to sign */
};

/* Takes a signed exception or revocation: every check that can be made now is made now.
 * Returns: 0; refused with the code of what is wrong; or a negative errno. Borrows: all. */
int except_submit(const struct gate_config *c, const struct repo *r, const struct people *people,
		  const struct except_signed *in, struct except_taken *ret_taken,
		  struct weir_err *e);

/* Reads the text of an exception. Returns: 0, -ENOENT, or a negative errno with e. */
int except_read(const struct repo *r, const char *name, struct buf *ret_text, struct weir_err *e);

#endif
