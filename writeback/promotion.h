/* SPDX-License-Identifier: MIT */
/*
 * A promotion under way: what the steps of writeback/gate.h hand to each other. Filled from
 * top to bottom; a step reads what steps before it wrote.
 */
#ifndef WEIR_WRITEBACK_PROMOTION_H
#define WEIR_WRITEBACK_PROMOTION_H

#include "user/event/mutation.h"
#include "user/event/verdict.h"
#include "user/policy/policy.h"
#include "user/tree/compare.h"
#include "writeback/approve.h"
#include "writeback/attest.h"
#include "writeback/changes.h"
#include "writeback/config.h"
#include "writeback/dirs.h"
#include "writeback/except.h"
#include "writeback/gate.h"
#include "writeback/gateledger.h"
#include "writeback/hazard.h"
#include "writeback/keyhist.h"
#include "writeback/kind.h"
#include "writeback/nonce.h"
#include "writeback/order.h"
#include "writeback/pack.h"
#include "writeback/pending.h"
#include "writeback/reads.h"
#include "writeback/repo.h"
#include "writeback/roles.h"
#include "writeback/statement.h"

/* Files of the run directory, opened by root; -1 where there is none. */
enum run_file {
	RUN_STATEMENT,
	RUN_SIGNATURE,
	RUN_TRACE,
	RUN_BEFORE,
	RUN_AFTER,
	RUN_POLICY,
	RUN_COVERAGE,
	RUN_FILES,
};

#define UIDS_MAX 64

/* Users that members of the run were. */
struct uids {
	uid_t items[UIDS_MAX];
	unsigned int count;
	bool overflow;
};

#define CHANGES_MAX 1000000 /* files in one promotion */

struct promotion {
	/* given */
	enum promotion_kind kind;
	const struct gate_config *config;
	int files[RUN_FILES];
	int reader;	 /* socket of the workspace reader */
	uint64_t ws_dev; /* of the directory that the reader has */
	uint64_t ws_ino;
	uint64_t ws_type; /* of its file system: statfs.f_type; 0 when nobody looked */
	uid_t ws_uid;	  /* owner of the workspace */
	uid_t caller;	  /* who proposes it */
	bool resumed;	  /* from pending: the workspace is not read again */
	bool rebase;	  /* what the run changed goes on top of the branch as it is now */
	struct pending pending;
	const char *message;
	const char *author; /* "Name <email>", NULL: the gate's own */
	struct repo repo;
	struct gateledger *ledger;
	bool recorded; /* the ledger has what became of it */

	/* nonce */
	struct buf statement_text;
	struct buf signature_text;
	struct statement statement;
	struct nonce nonce;
	struct order order;   /* of kinds without a run; statement_text has its text */
	git_oid object;	      /* commit that it is about */
	const char *target;   /* ref that is written */
	struct gate_dir dir;  /* of that kind */
	git_oid old_dir;      /* what its ref holds; zero: nothing */
	git_oid began_commit; /* of a run: what the workspace was filled with */
	struct repo_commit began_head;
	git_oid base_commit; /* the parent: what the run began with, unless it is rebased */
	struct repo_commit base_head;
	char base_hex[OID_HEX];
	bool rebased;

	/* open */
	struct verdict verdict;
	struct buf policy_text; /* of kinds without a run */
	struct policy *policy;
	const char *policy_source; /* "base commit" or "gate.yaml" */
	struct mutations *mutations;
	struct uids uids;
	struct people people; /* loaded when the policy asks for approvals, or for exceptions */
	struct except_use exceptions;
	struct reads reads;
	struct manifest *before;
	struct manifest *after;
	bool pristine; /* manifest(before) is what the gate filled the workspace with */

	/* crosscheck */
	enum tree_strength strength;
	uint64_t hashed_files; /* of the workspace, again */
	uint64_t skipped;      /* entries that strength `trace` did not look at */
	uint64_t untouched;    /* traced writes that left no difference */

	/* inspect */
	struct base base;
	struct changes changes; /* what is promoted */
	struct changes left;	/* what changed and stays behind; tracked ones first */
	struct hazards hazards;
	uint64_t expected; /* classes of findings that are none here, as bits */

	/* quarantine */
	int quarantine; /* directory */
	struct pack_result pack;
	git_oid tree;

	/* digest */
	struct keyhist keys;	     /* changes of keys so far */
	struct gate_texts producers; /* persons who can't approve, sorted */
	char proposal[33];	     /* random, in hex: no two proposals have one digest */
	struct buf changes_text;
	struct buf digest_text;
	char digest[DIGEST_HEX];

	/* approve */
	struct approve_tally tally;

	/* commit */
	struct buf commit_data; /* with its signature */
	git_oid commit;

	/* attest */
	struct attestations attestations;
	char bundle_sha256[DIGEST_HEX];
};

void promotion_done(struct promotion *p);
#define cleanup_promotion __attribute__((__cleanup__(promotion_done)))

/* Whether people have to agree: always for a revert, else as the policy says. Returns: truth. */
bool promotion_asks_people(const struct promotion *p);

/* Sets p->target and checks that it may be promoted to and is where the base says; a tag must not be
 * there. What counts is
 * the comparison under the lock; this one is early. Returns: 0; refused with
 * code "ref", "base-moved" or "tag-exists"; or a negative errno. */
int promotion_check_ref(struct promotion *p, struct weir_err *e);

/* A refusal goes on record; that it can't is said in e beside it. */
void promotion_record_refusal(struct promotion *p, struct weir_err *e);

/* Findings of p->changes by path, type, mode and neighbours. Returns: 0; refused where nobody may
 * accept it; or a negative errno. */
int inspect_findings(struct promotion *p, struct weir_err *e);

/* The steps, one file each. */
gate_fn step_nonce, step_open, step_crosscheck, step_inspect, step_quarantine, step_digest,
	step_approve, step_commit, step_attest, step_publish;

/* Those that kinds do in their own way (writeback/kind.h). */
gate_fn run_nonce, run_open, run_crosscheck, run_inspect, run_quarantine;
gate_fn order_nonce, order_open;
gate_fn revert_crosscheck, revert_inspect, revert_quarantine;
gate_fn tag_crosscheck, tag_inspect, tag_quarantine;
gate_fn dir_inspect;

#endif
