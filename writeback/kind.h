/* SPDX-License-Identifier: MIT */
/*
 * Kinds of promotions. All go through the ten steps of writeback/gate.h in their one order; a kind
 * is a row that says who does a step where kinds differ, which trailers its object has, and what
 * can be attested of it.
 *
 *   run     what a run made, as a commit on a branch
 *   revert  the tip of a branch is undone: a commit with the tree of the tip's parent. Nothing ran;
 *           an order of the gate's own (writeback/order.h) stands where a run has its statement
 *   tag     a commit that was promoted gets a name for good: an annotated tag, by an order; the ref
 *           must not exist
 *   dir     files that a run made, in a directory of gate.yaml (writeback/dirs.h): a commit whose
 *           tree is those files alone, on a ref of its own; its parent is the commit that the run
 *           was made from
 *
 * The trailers of an object (git-interpret-trailers(1)) are its last paragraph: those of its row, in
 * their order, then Weir-Ledger (size and root of the ledger before it). Each repeats a line of the
 * promotion text (writeback/digest.h); the first one tells the kind.
 */
#ifndef WEIR_WRITEBACK_KIND_H
#define WEIR_WRITEBACK_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "writeback/attest.h"
#include "writeback/gate.h"

/* X(ID, name) */
#define PROMOTION_KINDS(X) X(RUN, "run") X(REVERT, "revert") X(TAG, "tag") X(DIR, "dir")

enum promotion_kind {
#define WEIR_X(id, name) KIND_##id,
	PROMOTION_KINDS(WEIR_X)
#undef WEIR_X
	KIND_COUNT,
};

/* Steps that kinds do differently. X(name) */
#define KIND_STEPS(X) X(nonce) X(open) X(crosscheck) X(inspect) X(quarantine)

#define KIND_TRAILERS_MAX 8
#define KIND_LEDGER_TRAILER "Weir-Ledger"

struct kind_trailer {
	const char *trailer; /* NULL: no more */
	const char *key;     /* of the promotion text */
	const char *prefix;  /* "sha256:" before digests */
};

struct kind {
	const char *name;
	const char *again; /* command that goes on with a proposal */
	bool has_run;	   /* host statement, trace and manifests */
	bool is_tag;	   /* the object is a tag, else a commit */
	bool is_dir;	   /* what is published is a directory as well */
	uint32_t attests;  /* bit set of enum attest_kind */
	struct kind_trailer trailers[KIND_TRAILERS_MAX];
#define WEIR_X(step) gate_fn *step;
	KIND_STEPS(WEIR_X)
#undef WEIR_X
};

/* Returns: the row of a kind; static. */
const struct kind *kind_of(enum promotion_kind kind);

/* Returns: the kind of a name, KIND_COUNT if there is none. Borrows: name. */
enum promotion_kind kind_find(const char *name);

/* The kind that a promotion text is of: its line `kind`; a text without one is of a run. Returns:
 * KIND_COUNT for a kind that this build does not know. Borrows: text. */
enum promotion_kind kind_of_text(const char *text);

/* Whether something of this type is attested of a kind. Returns: truth. */
bool kind_attests(enum promotion_kind kind, enum attest_kind attest);

#endif
