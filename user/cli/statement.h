/* SPDX-License-Identifier: MIT */
/*
 * The collector's statement about a run, signed with the host key: what the gate checks
 * against the trace.
 *
 * statement.json: one JSON object, keys sorted, no blanks, one newline at the end:
 *   schema "weir.statement/1", run, nonce, machine, boot, host_key (hex),
 *   trace {root, bytes}, counters, coverage, manifest_before, manifest_after, policy
 *   (SHA-256, hex; policy null when unjudged), verdict, exit {code | signal},
 *   repository, ref, commit, workspace {path, dev, ino}, mode
 * statement.sig: Ed25519 over "weir-statement/1\0" and the bytes of statement.json, in
 *   lower-case hex and a newline.
 */
#ifndef WEIR_CLI_STATEMENT_H
#define WEIR_CLI_STATEMENT_H

#include "user/cli/session.h"

#define STATEMENT_KEY_FILE "/etc/weir/host.key"

/* Writes both files into the run's directory. Returns: 0 or a negative errno. */
int statement_write(struct session *s, enum verdict_value verdict, struct weir_err *e);

/* Whether the host key can be used, before a run that needs it begins. Returns: 0, or a negative
 * errno with what is wrong. */
int statement_check_key(struct weir_err *e);

/* The counters of all hooks, as in END. Gives: a new reference. Borrows: run. */
json_t *finish_hooks_json(const struct weir_run *run);

/* How the command ended, as in END and in the statement. Gives: a new reference. */
json_t *finish_exit_json(int wait_status);

#endif
