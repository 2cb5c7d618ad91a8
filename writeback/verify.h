/* SPDX-License-Identifier: MIT */
/*
 * Verification of a promoted commit, or of a promoted tag and its commit: offline, with public keys only, from the repository's
 * objects and its promotion record. Links are checked in this order; the first that fails is
 * named and ends it.
 *
 * With the ledger itself at hand it is looked at too: it must still hold what the proofs were
 * made from. Without (a clone), proofs and checkpoint in the record are enough.
 *
 * When keys were valid, the ledger says (writeback/keyhist.h): the signers file lists those that
 * ever were the gate's. What this does not show: that the trace itself still exists.
 */
#ifndef WEIR_WRITEBACK_VERIFY_H
#define WEIR_WRITEBACK_VERIFY_H

#include "writeback/attest.h"
#include "writeback/digest.h"
#include "writeback/keyhist.h"
#include "writeback/kind.h"
#include "writeback/ledger.h"
#include "writeback/record.h"
#include "writeback/repo.h"
#include "writeback/statement.h"

/* X(ID, name, what it means) */
#define VERIFY_LINKS(X) \
	X(OBJECT, "object", "the object's bytes have its id") \
	X(SIGNATURE, "signature", "signed for git by a key that the signers file lists") \
	X(TRAILERS, "trailers", "each trailer of the gate once, at the end") \
	X(RECORD, "record", "the promotion record is in refs/weir/attestations") \
	X(DIGEST, "digest", "the record is the one that the commit names") \
	X(HEAD, "head", "parent, tree, author and message are those of the promotion") \
	X(CHANGES, "changes", "the tree differs from its parent exactly as recorded") \
	X(CONTENT, "content", "changed blobs have the recorded SHA-256") \
	X(STATEMENT, "statement", "the host's statement, or the order, is the one recorded") \
	X(POLICY, "policy", "the policy is the parent commit's, or one that the gate allows") \
	X(EXCEPTIONS, "exceptions", "what was found and accepted, people accepted by name") \
	X(APPROVALS, "approvals", "those whom the policy asks for agreed to this promotion") \
	X(DSSE, "dsse", "attestations are signed by the key that signed the commit") \
	X(ATTESTED, "attested", "they are about this commit, promotion and list of reads") \
	X(CHECKPOINT, "checkpoint", "the ledger's checkpoint is signed by the ledger's key") \
	X(INCLUSION, "inclusion", "the ledger of that checkpoint has the entry") \
	X(LEDGER, "ledger", "the entry says done, for this commit, promotion and branch") \
	X(HISTORY, "history", "the ledger goes on from the one that the commit names") \
	X(KEYS, "keys", "the gate's key and the host's were valid at that entry") \
	X(BRANCH, "branch", "the target ref reaches the object") \
	X(DEEP, "deep", "each object of the tree is whole, and so is all of the ledger")

enum verify_link {
#define WEIR_X(id, name, what) VERIFY_##id,
	VERIFY_LINKS(WEIR_X)
#undef WEIR_X
	VERIFY_COUNT,
};

struct verify {
	const struct repo *repo;
	const char *signers; /* text of the signers file */
	const struct note_key *ledger_key;
	struct ledger *ledger;	    /* NULL: only what the record has */
	const struct keyhist *keys; /* of that ledger; NULL: what records have */
	const char *keys_why;	    /* why the ledger's can't be read; "" or NULL: they could */
	bool deep;		    /* check the last link, too */
	bool reached;		    /* the caller came from the branch */
	bool pushed;		    /* on its way: the ledger's intent stands for its done */
	bool is_tag;
	git_oid commit; /* or tag */
	/* found on the way */
	struct buf raw;
	struct buf plain; /* the commit without its signature */
	struct buf principal;
	struct buf tag_name;
	struct buf signer;   /* public blob that signed */
	const char *message; /* inside plain */
	const char *trailers;
	enum promotion_kind kind; /* that the trailers say */
	struct repo_commit head;  /* of a tag: the tree of its commit, which is the one parent */
	struct record record;
	struct attestations attestations;
	struct buf payloads[ATTEST_KIND_COUNT]; /* of the envelopes */
	struct tlog_proof proof;
	uint64_t intent;      /* its index in the ledger */
	unsigned int checked; /* links that hold */
};

void verify_done(struct verify *v);
#define cleanup_verify __attribute__((__cleanup__(verify_done)))

/* Checks the chain; repo, signers, ledger_key and commit are set. Returns: 0; refused with code
 * "verify", naming the link; or a negative errno. */
int verify_run(struct verify *v, struct weir_err *e);

/* Returns: how many links are asked for. Borrows: v. */
unsigned int verify_count(const struct verify *v);

/* For the files of verify: sets e to the link that fails. Returns: -EPERM. Borrows: why. */
int verify_fail(enum verify_link link, struct weir_err *e, const char *why);

/* Value of a trailer of the gate. Returns: 0 or -ENOENT. Borrows: key. */
int verify_trailer(const struct verify *v, const char *key, struct buf *ret_value);

/* Returns: whether the promotion text has this line. Borrows: both. */
bool verify_promotion_says(const struct verify *v, const char *key, const char *value);

/* The line of the promotion text that names the commit the run began with, or an order is about.
 * Returns: its key; static. Borrows: v. */
const char *verify_began(const struct verify *v);

/* Returns: whether some line of it is KEY and this value, which is escaped here. Borrows: all. */
bool verify_promotion_has(const struct verify *v, const char *key, const char *value);

/* Returns: name and meaning of a link; static. */
const char *verify_name(enum verify_link link);
const char *verify_what(enum verify_link link);

#endif
