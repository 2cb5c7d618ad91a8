/* SPDX-License-Identifier: MIT */
/*
 * Every refusal of the gate, one row each: a stable code for programs and tests, and
 * what to do about it. A refusal is printed as
 *
 *   weir-gate: refused: CODE: why; what to do
 *
 * and ends the program with status 122. Nothing has been changed then.
 */
#ifndef WEIR_WRITEBACK_REASON_H
#define WEIR_WRITEBACK_REASON_H

#include "user/base/err.h"

#define GATE_EXIT_USAGE 2
#define GATE_EXIT_REFUSED 122
#define GATE_EXIT_FAILED 125

/* X(ID, code, what to do) */
#define GATE_REASONS(X) \
	X(NONCE_UNKNOWN, "nonce-unknown", "start the run with `weir run --repo`") \
	X(NONCE_USED, "nonce-used", "each run may be promoted once; run it again") \
	X(NONCE_MISMATCH, "nonce-mismatch", "commit the run from the workspace it was made for") \
	X(STATEMENT, "statement", "the run directory is incomplete or was edited; run it again") \
	X(STATEMENT_SIGNATURE, "statement-signature", \
	  "the statement is not signed by a host that gate.yaml lists") \
	X(TRACE, "trace", "the trace is incomplete or was edited; run it again") \
	X(MANIFEST, "manifest", "the manifest is incomplete or was edited; run it again") \
	X(VIOLATED, "violated", "see `weir show`; mend the policy or the command") \
	X(INDETERMINATE, "indeterminate", \
	  "what the run did is not known for certain; run it again") \
	X(UNJUDGED, "unjudged", "run it under a policy (`weir run -p`)") \
	X(VERDICT_MISMATCH, "verdict-mismatch", \
	  "the collector signed another verdict than its trace gives; do not trust this host") \
	X(POLICY_UNTRUSTED, "policy-untrusted", \
	  "use .weir/policy.yaml of the base commit, or list the digest in gate.yaml") \
	X(POLICY, "policy", "mend the policy") \
	X(COVERAGE, "coverage", "the policy must accept this coverage by name") \
	X(EXIT_STATUS, "exit-status", "mend the command, or declare writeback.require_exit") \
	X(APPROVALS, "approvals", "write `approvals: 0` under writeback in the policy") \
	X(NOTHING, "nothing-to-promote", "list what may be promoted under writeback.paths") \
	X(UNLISTED, "unlisted-change", "list the path under writeback.paths or do not change it") \
	X(WORKSPACE_DIRTY, "workspace-dirty", \
	  "it differed from the base commit before the run; commit or remove it first") \
	X(FOREIGN_WRITE, "foreign-write", "somebody outside the run changed it; run it again") \
	X(CHANGED_AFTER, "changed-after-run", "somebody changed it after the run; run it again") \
	X(TREE_UNSAFE, "tree-unsafe", "remove or rename it") \
	X(TREE_UNREPRESENTABLE, "tree-unrepresentable", "git can't hold it; remove it") \
	X(CONTROL_FILE, "control-file", "let a person make this change") \
	X(LIMIT, "limit", "promote less at once") \
	X(OBJECT_COLLISION, "object-collision", \
	  "another content has this object id; keep both files and report it") \
	X(QUARANTINE, "quarantine", "the quarantined objects changed on disk; run it again") \
	X(MESSAGE, "message", "write another message") \
	X(KEY, "key", "see `weir-gate init` for keys and their modes") \
	X(BASE_MOVED, "base-moved", "run it again on the new base") \
	X(LEDGER, "ledger", \
	  "the ledger is missing or was edited; restore it and find out by whom") \
	X(LEDGER_ROLLED_BACK, "ledger-rolled-back", \
	  "entries are gone from the ledger; restore it and find out by whom") \
	X(LOCKED, "locked", "wait for the other program, or remove its stale lock file") \
	X(REPOSITORY, "repository", "use a plain bare SHA-1 repository") \
	X(REF, "ref", "list the ref in gate.yaml") \
	X(ORDER, "order", "this is a defect of weir-gate; report it") \
	X(VERIFY, "verify", "do not trust this commit")

enum gate_reason {
#define WEIR_X(id, code, todo) REASON_##id,
	GATE_REASONS(WEIR_X)
#undef WEIR_X
	REASON_COUNT,
};

/* Returns: the stable code of a reason, static. */
const char *reason_code(enum gate_reason reason);

/* Fills e with the refusal: code, exit status 122, "why; what to do".
 * Returns: -EPERM, so that callers can write `return refuse(...)`. Borrows: the text. */
int refuse(struct weir_err *e, enum gate_reason reason, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
