/* SPDX-License-Identifier: MIT */
/*
 * Audit of a branch: each commit that it reaches is
 *
 *   attested     verify accepts it (all links but `deep`)
 *   broken       it has the gate's trailers or a record, and verify does not accept it
 *   break-glass  two people pushed it past the gate, and the ledger says so (writeback/glass.h)
 *   unattested   neither, though an ancestor of it is attested (or it is not reached from
 *                `since`): somebody wrote to the branch without the gate
 *   before       neither, and none of its ancestors is attested: history from before the gate
 *
 * and the whole ledger, where it is at hand, in itself and against the branch: each `done` of
 * this branch, and each `break-glass`, is a commit that it reaches, each entry that ends an
 * intent has one.
 */
#ifndef WEIR_WRITEBACK_AUDIT_H
#define WEIR_WRITEBACK_AUDIT_H

#include "writeback/verifysource.h"

#define AUDIT_COMMITS_MAX 1000000u

/* X(ID, name) */
#define AUDIT_STATES(X) \
	X(BEFORE, "before") \
	X(ATTESTED, "attested") \
	X(GLASS, "break-glass") \
	X(UNATTESTED, "unattested") \
	X(BROKEN, "broken")

enum audit_state {
#define WEIR_X(id, name) AUDIT_##id,
	AUDIT_STATES(WEIR_X)
#undef WEIR_X
	AUDIT_STATE_COUNT,
};

struct audit_commit {
	git_oid id;
	enum audit_state state;
	bool after; /* an ancestor is attested, or it came after `since` */
	char *why;  /* of a broken one: link and reason; of break-glass: by whom, and why */
	size_t parents;
	size_t parent_count; /* in audit.parents */
};

struct audit {
	/* given */
	const char *ref;
	git_oid since; /* zero: not said */
	/* found, ancestors first */
	struct audit_commit *commits;
	size_t count;
	size_t *parents; /* numbers of commits */
	size_t counts[AUDIT_STATE_COUNT];
	uint64_t done; /* entries of the ledger by kind, for this branch */
	uint64_t aborted;
	struct buf ledger_why; /* what is wrong with the ledger, a line each */
};

void audit_done(struct audit *a);
#define cleanup_audit __attribute__((__cleanup__(audit_done)))

/* Walks and verifies all. What is wrong is in a, not an error. Returns: 0; -E2BIG past
 * AUDIT_COMMITS_MAX; or a negative errno with e. Borrows: s. */
int audit_run(struct audit *a, struct verifysource *s, struct weir_err *e);

/* Returns: whether all is as it should be. Borrows: a. */
bool audit_good(const struct audit *a);

/* Returns: the name of a state; static. */
const char *audit_name(enum audit_state state);

#endif
