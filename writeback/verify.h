/* SPDX-License-Identifier: MIT */
/*
 * Verification of a promoted commit: offline, with public keys only, from the repository's
 * objects and its promotion record. Links are checked in this order; the first that fails is
 * named and ends it.
 *
 * What this does not show: whether the key was valid when it signed (there is no ledger
 * yet: the signers file is taken as of now), nor that the trace itself still exists.
 */
#ifndef WEIR_WRITEBACK_VERIFY_H
#define WEIR_WRITEBACK_VERIFY_H

#include "writeback/record.h"
#include "writeback/repo.h"

/* X(ID, name, what it means) */
#define VERIFY_LINKS(X) \
	X(OBJECT, "object", "the commit's bytes have its id") \
	X(SIGNATURE, "signature", "signed for git by a key that the signers file lists") \
	X(TRAILERS, "trailers", "each trailer of the gate once, at the end") \
	X(RECORD, "record", "the promotion record is in refs/weir/promotions") \
	X(DIGEST, "digest", "the record is the one that the commit names") \
	X(HEAD, "head", "parent, tree, author and message are those of the promotion") \
	X(CHANGES, "changes", "the tree differs from its parent exactly as recorded") \
	X(CONTENT, "content", "changed blobs have the recorded SHA-256") \
	X(STATEMENT, "statement", "the host's statement is signed and is the one recorded") \
	X(POLICY, "policy", "the policy is the parent commit's, or one that the gate allows") \
	X(BRANCH, "branch", "the target branch reaches the commit")

enum verify_link {
#define WEIR_X(id, name, what) VERIFY_##id,
	VERIFY_LINKS(WEIR_X)
#undef WEIR_X
	VERIFY_COUNT,
};

struct verify {
	const struct repo *repo;
	const char *signers; /* text of the signers file */
	git_oid commit;
	/* found on the way */
	struct buf raw;
	struct buf plain; /* the commit without its signature */
	struct buf principal;
	const char *message; /* inside plain */
	const char *trailers;
	struct repo_commit head;
	struct record record;
	unsigned int checked; /* links that hold */
};

void verify_done(struct verify *v);
#define cleanup_verify __attribute__((__cleanup__(verify_done)))

/* Checks the chain; repo, signers and commit are set. Returns: 0; refused with code
 * "verify", naming the link; or a negative errno. */
int verify_run(struct verify *v, struct weir_err *e);

/* Returns: name and meaning of a link; static. */
const char *verify_name(enum verify_link link);
const char *verify_what(enum verify_link link);

#endif
