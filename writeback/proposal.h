/* SPDX-License-Identifier: MIT */
/* What the commands about proposals share: naming one, and loading it with its people. */
#ifndef WEIR_WRITEBACK_PROPOSAL_H
#define WEIR_WRITEBACK_PROPOSAL_H

#include <argp.h>

#include "writeback/approve.h"
#include "writeback/pending.h"
#include "writeback/repo.h"

enum proposal_key {
	PROPOSAL_RUN = 'r',
	PROPOSAL_NONCE = 'n',
};

#define PROPOSAL_OPTIONS \
	{ "run", PROPOSAL_RUN, "DIR", 0, "the run's directory", 0 }, \
	{ \
		"nonce", PROPOSAL_NONCE, "N", 0, "or its nonce, see weir-gate pending --json", 0 \
	}

struct proposal_args {
	const char *run;
	char nonce[NONCE_HEX];
	bool too_long; /* a nonce that is none */
};

/* Takes one of PROPOSAL_OPTIONS. Returns: 0 or ARGP_ERR_UNKNOWN. Borrows: arg. */
error_t proposal_option(struct proposal_args *a, int key, char *arg);

/* Reads the nonce from the run's statement, as root and without trust. Returns: 0, -EINVAL with
 * e when neither was given, or refused with code "statement". */
int proposal_find_nonce(struct proposal_args *a, struct weir_err *e);

struct proposal {
	struct pending pending;
	struct people people;
	struct policy *policy;
	struct approve_tally tally;
};

void proposal_done(struct proposal *x);
#define cleanup_proposal __attribute__((__cleanup__(proposal_done)))

/* Opens the repository, takes its lock, and removes what has expired. Returns: 0 or a negative
 * errno with e. Gives: both. */
int proposal_open_repo(const struct gate_config *c, struct repo *ret_repo, int *ret_lock,
		       struct weir_err *e);

/* Loads a proposal, its people, its policy, and counts. Under the lock. What was loaded before a
 * failure stays. Returns: 0; refused with code "pending", "void" or as people_load; or a
 * negative errno with e. Borrows: all. Gives: ret_proposal. */
int proposal_load(const struct gate_config *c, struct repo *repo, const char *nonce,
		  struct proposal *ret_proposal, struct weir_err *e);

#endif
