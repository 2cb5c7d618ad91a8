/* SPDX-License-Identifier: MIT */
/*
 * The gate as a hook of its repository (githooks(5)): what others push or write there is let in
 * only when it is what a gate has promoted.
 *
 *   pre-receive             all of a push, before any of its objects is kept
 *   reference-transaction   each change of refs by git, whoever asked: also `git update-ref`
 *
 * Both ask the same of each ref that is to be changed:
 *
 *   name     a branch of gate.yaml's `refs`, or refs/weir/attestations; nothing else, so no
 *            side branch, no tag, no refs/replace
 *   end      it is not deleted
 *   way      the new tip is a descendant of the old one, by commits with one parent each
 *   commits  each of them is attested, for this branch and this parent: `verify` accepts it, with
 *            its record as it is pushed with it, or is there already
 *   records  refs/weir/attestations only grows, by files that records have, of commits that
 *            verify accepts and that a branch reaches
 *   objects  of a push: each that is new is reached from the new tips
 *
 * What other gates push (writeback/remote.h) has the proof of their ledger's intent; its `done`
 * follows. gate.yaml's `ledgers` has their keys, its signers theirs.
 *
 * Two people whom gate.yaml lists may let in commits that no gate promoted: writeback/glass.h.
 *
 * A branch that is not there yet takes anything while nothing was ever promoted: the history from
 * before the gate. What git does for itself is let through in a transaction: refs that keep their
 * value, and loose refs that go since packed-refs has the same (git-pack-refs(1)).
 *
 * The gate's own publication runs no hooks. Nor does what somebody writes who may write the
 * repository's files, or gives git another core.hooksPath: `audit` finds it.
 */
#ifndef WEIR_WRITEBACK_RECEIVE_H
#define WEIR_WRITEBACK_RECEIVE_H

#include "writeback/config.h"
#include "writeback/keyhist.h"
#include "writeback/ledger.h"
#include "writeback/oidset.h"
#include "writeback/repo.h"
#include "writeback/verify.h"

#define RECEIVE_UPDATES_MAX 1000u
#define RECEIVE_COMMITS_MAX 10000u /* new ones of one branch */

struct receive_update {
	char *ref;
	git_oid old; /* as git says; zero: none, or not said */
	git_oid new_id;
	git_oid now; /* what the ref holds; zero: it is not there */
	bool own;    /* git does it for itself */
};

struct receive {
	/* given */
	const struct gate_config *config;
	bool transaction;     /* the second hook */
	const char *incoming; /* path of the objects of a push, NULL: none */
	struct receive_update *updates;
	size_t count;
	/* opened */
	struct repo repo; /* with the incoming objects */
	git_odb *arrived; /* these alone; NULL: none */
	git_odb *kept;	  /* all others */
	struct buf signers;
	struct note_key key;
	struct note_key other; /* of another gate's ledger, while it is tried */
	struct ledger ledger;
	struct keyhist keys; /* of it */
	struct oidset *good; /* commits that were found attested */
};

void receive_done(struct receive *r);
#define cleanup_receive __attribute__((__cleanup__(receive_done)))

/* Opens what is judged by; repo.fd and ledger.dir are set to -1 by the caller. The process must
 * be of the gate's user. Returns: 0, refused with code "repository", "key" or "ledger", or a
 * negative errno. */
int receive_open(struct receive *r, struct weir_err *e);

/* Reads what git hands to its hooks: lines "OLD NEW REF". Returns: 0, -EBADMSG, -E2BIG, -ENOMEM
 * with e. Borrows: text. */
int receive_parse(struct receive *r, const char *text, struct weir_err *e);

/* Judges all of it. Returns: 0; refused, naming the ref; or a negative errno. */
int receive_judge(struct receive *r, struct weir_err *e);

/* For the files of receive: whether verify accepts a commit; `reached`: a branch is known to
 * reach it, or would. Returns: 0, refused with code "verify", or a negative errno. Gives: v,
 * for verify_done. */
int receive_verify(struct receive *r, const git_oid *commit, bool reached, struct verify *v,
		   struct weir_err *e);

/* Judges the growth of the records between two commits. Returns: 0, refused with code
 * "records", or a negative errno. Borrows: all. */
int receive_records(struct receive *r, const git_oid *now, const git_oid *new_id,
		    struct weir_err *e);

/* Whether commits that no gate promoted are let in by two people (writeback/glass.h): on record in
 * a transaction; else by their push certificates, and then they are put on record. Returns: 0;
 * -ENOENT when nobody says so; refused with code "break-glass", "break-glass-waits" and others;
 * or another negative errno. Borrows: u. */
int receive_glass(struct receive *r, const struct receive_update *u, struct weir_err *e);

/* Whether each object that arrived is reached from the new tips. Returns: 0, refused with code
 * "unreachable-objects", or a negative errno. */
int receive_objects(struct receive *r, struct weir_err *e);

#endif
