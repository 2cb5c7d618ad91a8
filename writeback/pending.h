/* SPDX-License-Identifier: MIT */
/*
 * Promotions that wait for people, in REPOSITORY/weir/pending/NONCE/ (0700, of the gate's user):
 *
 *   promotion       the digest's text      changes    the changes text (writeback/digest.h)
 *   message         without trailers       author     empty: the gate
 *   statement.json  statement.sig          of the collector
 *   policy.yaml     that the host signed and the base commit or gate.yaml has
 *   findings        JSON, as report_findings writes it
 *   left            JSON, what stays behind
 *   q.pack, q.idx   the quarantined objects
 *   signed/ID.text, signed/ID.sig   statements of people (writeback/approval.h); ID is the
 *                   SHA-256 of text and signature
 *
 * A proposal is one rename: it is there whole or not. All but signed/ and the two JSON files,
 * which are only shown, is bound by the promotion digest: when the promotion goes on, every part
 * is made or hashed again and the text must come out the same.
 */
#ifndef WEIR_WRITEBACK_PENDING_H
#define WEIR_WRITEBACK_PENDING_H

#include "user/base/buf.h"
#include "user/base/digest.h"
#include "writeback/config.h"
#include "writeback/nonce.h"
#include "writeback/repo.h"

#define PENDING_MAX 1000 /* proposals that may wait at once */
#define PENDING_SIGNED_MAX 1000

struct pending {
	int dir; /* -1: not open */
	char nonce[NONCE_HEX];
	char digest[DIGEST_HEX];
	int64_t proposed; /* seconds since 1970 */
	struct buf promotion;
	struct buf changes;
	struct buf message;
	struct buf author;
	struct buf statement;
	struct buf signature;
	struct buf policy;
	struct buf findings;
	struct buf left;
};

void pending_done(struct pending *p);
#define cleanup_pending __attribute__((__cleanup__(pending_done)))

struct promotion; /* writeback/promotion.h */

/* Keeps a promotion that has its digest; an older proposal of the same run is replaced, with
 * what was signed about it. Under the lock. Returns: 0, refused with code "limit", or a
 * negative errno with e. Borrows: p. */
int pending_keep(const struct promotion *p, struct weir_err *e);

/* Opens a proposal. Returns: 0, -ENOENT, refused with code "void" when a part does not fit the
 * promotion text, or a negative errno with e. Borrows: nonce. Gives: ret_pending. */
int pending_open(const struct repo *r, const char *nonce, struct pending *ret_pending,
		 struct weir_err *e);

/* Removes a proposal. Borrows: nonce. */
void pending_drop(const struct repo *r, const char *nonce);

/* Removes the proposals that have waited for longer than gate.yaml's `expire`; the ledger says so
 * of each. Under the lock. Returns: 0; refused with code "clock" where that went back
 * (writeback/gateclock.h); or a negative errno with e. Borrows: c, r. */
int pending_expire(const struct gate_config *c, const struct repo *r, struct weir_err *e);

/* Until when a proposal may wait, seconds since 1970. Returns: that. Borrows: c. */
int64_t pending_until(const struct gate_config *c, int64_t proposed);

/* Lists the nonces of all proposals, sorted. Returns: 0 or a negative errno with e.
 * Gives: ret_nonces. */
int pending_list(const struct repo *r, struct gate_texts *ret_nonces, struct weir_err *e);

/* Puts the proposal's pack into a fresh quarantine, takes object ids, tree, findings and what
 * the cross-check read from its texts, and hashes the pack. Returns: 0, refused with code "quarantine"
 * or "void", or a negative errno with e. */
int pending_restore(struct promotion *p, struct weir_err *e);

/* Adds a signed statement. Returns: 0, refused with code "limit", or a negative errno with e.
 * Borrows: all. */
int pending_add_signed(const struct pending *p, const struct buf *text, const struct buf *armor,
		       struct weir_err *e);

/* Calls fn for each signed statement, by id. Returns: 0, what fn returned, or a negative errno
 * with e. Borrows: all. */
int pending_each_signed(const struct pending *p,
			int (*fn)(const struct buf *text, const struct buf *armor, void *arg,
				  struct weir_err *e),
			void *arg, struct weir_err *e);

#endif
