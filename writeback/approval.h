/* SPDX-License-Identifier: MIT */
/*
 * What a person signs about a promotion: a yes, a no, or taking either back. Text, version 1:
 * these lines in this order, nothing else, each ended by a newline; values escaped by
 * user/base/escape.h, "-" for an empty one; times in UTC as 2026-11-30T21:00:00Z.
 *
 *   weir-approval/1
 *   decision approve|reject|withdraw
 *   promotion SHA256          of the promotion text (writeback/digest.h)
 *   repository ID             these five also stand in that text; here they are for the
 *   ref NAME                  eyes of who signs
 *   base COMMIT
 *   tree TREE
 *   run ID
 *   role NAME                 in which the signer speaks; the signature's namespace is
 *                             NAME@weir.v1
 *   from TIME                 not valid before
 *   until TIME                nor after; "-" for reject and withdraw
 *   reason TEXT
 *   acknowledge ID            of each finding of the promotion, sorted; any number
 *
 * The signature is an SSHSIG (writeback/sshsig.h) over these bytes: ssh-keygen -Y verify
 * -n NAME@weir.v1 accepts it.
 */
#ifndef WEIR_WRITEBACK_APPROVAL_H
#define WEIR_WRITEBACK_APPROVAL_H

#include <stdint.h>

#include "user/base/digest.h"
#include "writeback/config.h"
#include "writeback/roles.h"

#define APPROVAL_HEAD "weir-approval/1"
#define APPROVAL_MAX ((size_t)4 << 20) /* bytes */
#define APPROVAL_REASON_MAX 4096       /* bytes, as written by a person */
#define APPROVAL_SKEW_S 300	       /* clocks of signers may be ahead by so many seconds */
#define SIGNED_TIME 24		       /* bytes of a time with its NUL */

/* X(ID, name) */
#define APPROVAL_DECISIONS(X) \
	X(APPROVE, "approve") \
	X(REJECT, "reject") \
	X(WITHDRAW, "withdraw")

enum approval_decision {
#define WEIR_X(id, name) APPROVAL_##id,
	APPROVAL_DECISIONS(WEIR_X)
#undef WEIR_X
	APPROVAL_DECISION_COUNT,
};

struct approval {
	enum approval_decision decision;
	enum role role;
	char *promotion;
	char *repository;
	char *ref;
	char *base;
	char *tree;
	char *run;
	int64_t from;  /* seconds since 1970 */
	int64_t until; /* 0: no end */
	char *reason;  /* NULL: none */
	struct gate_texts acknowledged;
};

void approval_done(struct approval *a);
#define cleanup_approval __attribute__((__cleanup__(approval_done)))

/* Returns: "approve", "reject" or "withdraw"; static. */
const char *approval_name(enum approval_decision decision);

/* Fills what the promotion text says: digest, repository, ref, base, tree, run, and the ids of
 * all findings. Returns: 0, -EBADMSG for a text without them, -ENOMEM. Borrows: promotion. */
int approval_fill(struct approval *a, const char *promotion, size_t len);

/* Appends the text. Returns: 0, -EINVAL for a value that has no place in it, -ENOMEM.
 * Borrows: a. */
int approval_format(const struct approval *a, struct buf *ret_text);

/* Reads a text that approval_format could have written, byte for byte.
 * Returns: 0, -EBADMSG, -ENOMEM. Borrows: text. Gives: ret_approval. */
int approval_parse(const char *text, size_t len, struct approval *ret_approval);

/* Writes a time as above, "-" for one outside the years 1970 to 9999. */
void signed_time_format(int64_t when, char ret_text[SIGNED_TIME]);

/* Reads one. Returns: 0 or -EINVAL. Borrows: text. */
int signed_time_parse(const char *text, int64_t *ret_when);

/* "30m", "12h", "7d": a span for options of commands. Returns: seconds, -EINVAL. Borrows: text. */
int64_t signed_span_parse(const char *text);

#endif
