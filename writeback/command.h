/* SPDX-License-Identifier: MIT */
/*
 * Commands of weir-gate: one table, from which dispatch, help and documents come.
 */
#ifndef WEIR_WRITEBACK_COMMAND_H
#define WEIR_WRITEBACK_COMMAND_H

/* X(function, name, summary) */
#define GATE_COMMANDS(X) \
	X(init, "init", "make gate.yaml, keys, the gate's user and the repository") \
	X(nonce, "nonce", "issue a nonce for a run in a workspace") \
	X(policy, "policy", "print the policy of a nonce's base commit") \
	X(checkout, "checkout", "fill an empty workspace from a nonce's base commit") \
	X(commit, "commit", "promote a run: check it, commit it, publish it") \
	X(pending, "pending", "list the proposals that wait for people") \
	X(review, "review", "show all of a proposal: contents, findings, what is missing") \
	X(approve, "approve", "sign a yes to exactly this proposal") \
	X(reject, "reject", "sign a no to it") \
	X(withdraw, "withdraw", "take back what one signed about it") \
	X(revert, "revert", "undo the tip of a branch by a promotion of its own") \
	X(tag, "tag", "name a promoted commit for good, by a signed tag") \
	X(attest, "attest", "print the attestations of a promoted commit") \
	X(except, "except", "accept findings for a time, by name, signed") \
	X(verify, "verify", "check a promoted commit, tag or directory with public keys only") \
	X(receive, "receive", "judge what is pushed to the repository, as its hook") \
	X(audit, "audit", "check every commit of a branch, and the ledger") \
	X(serve, "serve", "serve people who are not root; relay one of them (ssh)") \
	X(call, "call", "ask a service: pending, review, approve, commit ...") \
	X(key, "key", "list, rotate, enrol, remove and revoke keys") \
	X(ledger, "ledger", "check, back up and restore the ledger")

/* Each parses its arguments with argp (argv[0] is the name for messages) and runs.
 * Returns: the exit status. Borrows: argv. */
#define WEIR_X(function, name, summary) int command_##function(int argc, char **argv);
GATE_COMMANDS(WEIR_X)
#undef WEIR_X

#endif
