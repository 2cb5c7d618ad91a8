/* SPDX-License-Identifier: MIT */
/*
 * How many people of which role have to agree, who may not, and who did.
 *
 * The promotion text (writeback/digest.h) says it, so that everybody signs it as well:
 *
 *   review none|required
 * and where there are approvals or exceptions
 *   proposal HEX       random: what was said about an earlier proposal of the same change, and
 *                      taken back, can't be handed in again
 *   people HEX, roles HEX, revoked HEX, host-revoked HEX, signer-root HEX
 *   producer NAME      any number: a person who made the change or could have; never counts
 *   need ROLE N        any number
 *
 * A need is what writeback.approvals of the base commit's policy asks for the changed paths (the
 * greatest number of each role; a tag is about all paths), or for a revert one person of the role of writeback.revert; and
 * one person of the role of each finding. Each person fills
 * one place, whatever roles they have; one key is one person's.
 */
#ifndef WEIR_WRITEBACK_APPROVE_H
#define WEIR_WRITEBACK_APPROVE_H

#include <stdbool.h>
#include <stdint.h>

#include "user/policy/policy.h"
#include "writeback/approval.h"
#include "writeback/pending.h"
#include "writeback/roles.h"

struct promotion; /* writeback/promotion.h */

/* Whether a policy asks for people. Returns: truth. Borrows: policy. */
bool approve_wanted(const struct policy *policy);

/* Finds the persons whose logins started the run, own the workspace, ran in it or propose it,
 * and the author; all persons with a login when the run got hold of credentials or memory of
 * others. Returns: 0; refused with code "producer-unknown"; -ENOMEM. Borrows: p's parts.
 * Gives: p->producers. */
int approve_find_producers(struct promotion *p, struct weir_err *e);

/* Appends the lines above. Returns: 0; refused with code "approvals" for a path that no rule
 * covers; -ENOMEM. Borrows: p. */
int approve_add_lines(const struct promotion *p, struct buf *ret_text, struct weir_err *e);

struct approve_tally {
	unsigned int need[ROLE_COUNT];
	unsigned int have[ROLE_COUNT]; /* places filled */
	struct gate_texts approvers;   /* persons who count, sorted */
	struct buf missing;	       /* "1 approver, 2 security", or empty */
	struct buf rejected;	       /* "NAME: REASON", or empty */
	struct buf ignored;	       /* a line for each statement that does not count: why */
	struct buf bundle;	       /* texts and signatures that count, one after the other */
};

void approve_tally_done(struct approve_tally *t);
#define cleanup_tally __attribute__((__cleanup__(approve_tally_done)))

/* Counts the signed statements of a proposal as of now. Returns: 0 or a negative errno with e.
 * Borrows: all. Gives: ret_tally. */
int approve_count(const struct pending *p, const struct people *people, int64_t now,
		  struct approve_tally *ret_tally, struct weir_err *e);

/* The same for the statements of a promotion that was made: bundle is the record's `approvals`,
 * texts and signatures one after the other. Returns: 0, -EBADMSG with e for a bundle that can't
 * be read, or a negative errno with e. Borrows: all. Gives: ret_tally. */
int approve_count_bundle(const struct buf *promotion, const struct buf *bundle,
			 const struct people *people, int64_t now, struct approve_tally *ret_tally,
			 struct weir_err *e);

/* Loads the people of a proposal's base commit and checks that they are those of its text.
 * Returns: 0; refused with code "void" or as people_load. Borrows: c, r, p. */
int approve_people(const struct gate_config *c, const struct repo *r, const struct pending *p,
		   struct people *ret_people, struct weir_err *e);

/* When a statement that is made now is of: now, or just after all that was signed about the proposal,
 * as far as clocks may differ. Seconds since 1970. Returns: 0 or a negative errno with e. Borrows: p. */
int approve_next_from(const struct pending *p, int64_t now, int64_t *ret_from, struct weir_err *e);

/* Takes a signed statement: every check that can be made now is made now. window_s: longest
 * life that the policy allows, seconds. Returns: 0; refused with the code of what is wrong; or a
 * negative errno. Borrows: all. */
int approve_submit(const struct pending *p, const struct people *people, const struct buf *text,
		   const struct buf *armor, int64_t window_s, int64_t now, struct weir_err *e);

#endif
