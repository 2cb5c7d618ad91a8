/* SPDX-License-Identifier: MIT */
/*
 * What a person sees before signing: the whole proposal, from its texts and its quarantined
 * objects, never from the workspace. Every byte that changes is shown or named by size and
 * digest; nothing is collapsed, whatever its name or length. What asks for more than an
 * approver, and what has findings, comes first. Everything is escaped (user/base/escape.h; tabs in
 * contents stay).
 *
 * JSON has schema "weir.review/1": promotion, run, repository, ref, base, tree, author, message,
 * verdict, exit, review, producers[], needs[] {role, need, have}, missing, rejected, approvers[],
 * ignored[], findings[] and left_behind[] (report.h), skipped[] (texts), changes[] {change, path,
 * old_mode, new_mode, size, sha256, old_id, new_id, roles[], kind (text, binary, link,
 * submodule), old_size, old_target, new_target, diff (a unified diff; null where kind has none)}.
 */
#ifndef WEIR_WRITEBACK_REVIEW_H
#define WEIR_WRITEBACK_REVIEW_H

#include <stdio.h>

#include "writeback/approve.h"
#include "writeback/pending.h"
#include "writeback/repo.h"

#define REVIEW_DIFF_MAX ((size_t)16 << 20) /* bytes of a file; larger ones: size and digest */

struct review_change {
	char letter;	   /* A, M or D */
	uint32_t old_mode; /* of git; 0: not there */
	uint32_t new_mode;
	uint64_t size; /* bytes, after */
	char sha256[DIGEST_HEX];
	char old_id[OID_HEX];
	char new_id[OID_HEX];
	char *path; /* raw bytes */
	size_t len;
	uint32_t roles; /* bit set of enum role beyond approver that it asks for */
	bool found;	/* it has findings */
};

struct review {
	const struct pending *pending;
	const struct repo *repo;
	const struct approve_tally *tally;
	struct review_change *changes; /* in the order shown */
	size_t count;
};

void review_done(struct review *r);
#define cleanup_review __attribute__((__cleanup__(review_done)))

/* Reads the proposal's changes, hashes its pack and lets repo see its objects. Returns: 0;
 * refused with code "quarantine" or "void"; or a negative errno with e. Borrows: all, for as
 * long as ret_review is used. */
int review_load(struct repo *repo, const struct pending *pending, const struct approve_tally *tally,
		struct review *ret_review, struct weir_err *e);

/* What one change is, with its contents shown. */
enum review_kind {
	REVIEW_TEXT,
	REVIEW_BINARY,
	REVIEW_LINK,
	REVIEW_SUBMODULE,
};

struct review_content {
	enum review_kind kind;
	uint64_t old_size;     /* bytes */
	struct buf old_target; /* of links, escaped */
	struct buf new_target;
	struct buf diff; /* of texts, escaped lines */
};

void review_content_done(struct review_content *c);
#define cleanup_review_content __attribute__((__cleanup__(review_content_done)))

/* Reads a change's blobs and compares the new one with its SHA-256. Returns: 0; refused with
 * code "quarantine"; or a negative errno with e. Borrows: r, c. */
int review_content(const struct review *r, const struct review_change *c,
		   struct review_content *ret_content, struct weir_err *e);

/* What was not checked or not shown, a line each. Returns: 0 or -ENOMEM. Borrows: r. */
int review_skipped(const struct review *r, struct gate_texts *ret_lines);

/* Prints it for people, or as JSON and a newline. Returns: 0; refused with code "quarantine"; or
 * a negative errno with e. Borrows: r. */
int review_text(const struct review *r, FILE *out, struct weir_err *e);
int review_json(const struct review *r, FILE *out, struct weir_err *e);

#endif
