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
	X(VIOLATED, "violated", \
	  "see `weir show`; mend the policy or the command, or see `weir except RUN --list`") \
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
	X(APPROVALS, "approvals", \
	  "say under writeback.approvals how many approvals each path needs (0: none)") \
	X(APPROVALS_MISSING, "approvals-missing", \
	  "look with `weir review RUN`, sign with `weir approve RUN -k KEY`") \
	X(REJECTED, "rejected", "mend what the reviewer says and run it again") \
	X(PRODUCER, "producer", "let somebody sign who neither made nor could make the change") \
	X(PRODUCER_UNKNOWN, "producer-unknown", \
	  "give the user to a person of .weir/roles.yaml, under logins") \
	X(SIGNER_ROOT, "signer-root", \
	  "let a policy owner that gate.yaml's signer_root lists sign .weir/people") \
	X(PEOPLE, "people", "mend the files of people in .weir/") \
	X(SIGNER_UNKNOWN, "signer-unknown", "sign with a key of .weir/allowed_signers") \
	X(SIGNER_ROLE, "signer-role", "let somebody sign who has this role") \
	X(SIGNER_EXPIRED, "signer-expired", "sign with a key or certificate that is valid now") \
	X(SIGNER_REVOKED, "signer-revoked", "sign with a key that is not revoked") \
	X(SIGNER_SHARED, "signer-shared", "list each key for one person by name") \
	X(SIGNER_TWICE, "signer-twice", "let another person sign with another key") \
	X(SIGNED_TEXT, "signed-text", "sign the text that the gate prints, unchanged") \
	X(SIGNED_SIGNATURE, "signed-signature", "sign it again, with the namespace of the role") \
	X(CLOCK, "clock", \
	  "set the clocks of who signs, the host and the gate right, and do it again") \
	X(WINDOW, "window", "sign again, with a window that the policy allows") \
	X(ACKNOWLEDGE, "acknowledge", "read `weir review RUN` and acknowledge each finding") \
	X(EXCEPTION, "exception", "name findings by id, with reason, control, owner and span") \
	X(EXCEPTION_ROLE, "exception-role", "let the role sign that the finding's class needs") \
	X(EXCEPTION_SPAN, "exception-span", "sign a shorter one (writeback.exception_span)") \
	X(EXCEPTION_EXPIRED, "exception-expired", "sign a new one, or mend the finding") \
	X(EXCEPTION_REVOKED, "exception-revoked", "mend the finding") \
	X(EXCEPTION_PERSONS, "exception-persons", \
	  "let another person sign it too (`weir except --exception SHA256 -k KEY`)") \
	X(PENDING, "pending", "propose it with `weir commit RUN -m MSG`; see `weir pending`") \
	X(VOID, "void", "propose it again with `weir commit RUN -m MSG`; approvals start anew") \
	X(EXPIRED, "expired", "propose it again with `weir commit RUN -m MSG`, or run it again") \
	X(NOTHING, "nothing-to-promote", "list what may be promoted under writeback.paths") \
	X(UNLISTED, "unlisted-change", "list the path under writeback.paths or do not change it") \
	X(WORKSPACE_DIRTY, "workspace-dirty", \
	  "it differed from the base commit before the run; commit or remove it first") \
	X(FOREIGN_WRITE, "foreign-write", "somebody outside the run changed it; run it again") \
	X(CROSSCHECK, "crosscheck", "use `crosscheck: stat` in gate.yaml for such runs") \
	X(CHANGED_AFTER, "changed-after-run", "somebody changed it after the run; run it again") \
	X(TREE_UNSAFE, "tree-unsafe", "remove or rename it") \
	X(TREE_UNREPRESENTABLE, "tree-unrepresentable", "git can't hold it; remove it") \
	X(CONTROL_FILE, "control-file", "let a person make this change") \
	X(TEXT, "content", "let a person look at it, and sign an exception or remove it") \
	X(SECRET, "secret", "take it out, and replace it where it is in use") \
	X(LIMIT, "limit", "promote less at once") \
	X(OBJECT_COLLISION, "object-collision", \
	  "another content has this object id; keep both files and report it") \
	X(QUARANTINE, "quarantine", "the quarantined objects changed on disk; run it again") \
	X(MESSAGE, "message", "write another message") \
	X(KEY, "key", "see `weir-gate init` for keys and their modes") \
	X(BASE_MOVED, "base-moved", "run it again on the new base, or `weir rebase RUN`") \
	X(REBASE_CONFLICT, "rebase-conflict", \
	  "run it again on the new base, or `weir rebase RUN`") \
	X(REBASE_POLICY, "rebase-policy", "run it again under the policy that holds now") \
	X(LEDGER_WHOLE, "ledger-whole", \
	  "nothing is to be restored; move it away if it is the wrong one") \
	X(LEDGER, "ledger", \
	  "the ledger is missing or was edited; restore it and find out by whom") \
	X(LEDGER_ROLLED_BACK, "ledger-rolled-back", \
	  "entries are gone from the ledger; restore it and find out by whom") \
	X(TAG_EXISTS, "tag-exists", "a tag is made once and never moved; choose another name") \
	X(TAG_COMMIT, "tag-commit", "tag a commit that the gate has promoted") \
	X(DIRECTORY, "directory", \
	  "find out by whom; put it back or move it away, then promote again") \
	X(DIRECTORY_FILES, "directory-files", \
	  "promote all of it, as `dirs` of gate.yaml and writeback.paths say") \
	X(ORDER_TEXT, "order-text", "ask for it again") \
	X(REVERT, "revert", "undo it with a run, whose changes are reviewed") \
	X(REVERT_CONTROL, "revert-control", \
	  "let a person mend .weir/; revert what else is wrong with a run") \
	X(LOCKED, "locked", "wait for the other program, or remove its stale lock file") \
	X(REPOSITORY, "repository", "use a plain bare SHA-1 repository") \
	X(REF, "ref", "list the ref in gate.yaml") \
	X(DELETION, "deletion", "what the gate keeps is never deleted; revert the change") \
	X(REWIND, "rewind", "fetch, and push what stands on the tip") \
	X(MERGE, "merge", "promote it as one change with `weir commit`") \
	X(UNATTESTED, "unattested", \
	  "promote it with `weir commit`; its record is pushed with it (--atomic)") \
	X(RECORDS, "records", "push refs/weir/attestations as the gate wrote it, with its branch") \
	X(BREAK_GLASS, "break-glass", \
	  "two people of gate.yaml's break_glass push it: push --signed -o reason=TEXT") \
	X(BREAK_GLASS_WAITS, "break-glass-waits", \
	  "let another person push the same within an hour") \
	X(PUSH, "push", "see what the remote's hooks say; nothing has changed there") \
	X(REMOTE, "remote", "find out by whom; then mend the remote or the gate's copy") \
	X(UNREACHABLE, "unreachable-objects", "push with stock git, which sends no others") \
	X(REQUEST, "request", "see the head of writeback/serve.h for what the service takes") \
	X(DENIED, "denied", \
	  "ask somebody who may, or see .weir/roles.yaml and `weir-gate call status`") \
	X(BUSY, "busy", "try again later") \
	X(DEADLINE, "deadline", "try again; what was promoted, stays so") \
	X(ORDER, "order", "this is a defect of weir-gate; report it") \
	X(AUDIT, "audit", "find out who wrote there; trust nothing after the first of them") \
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
