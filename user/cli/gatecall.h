/* SPDX-License-Identifier: MIT */
/* Executing weir-gate, the only program that knows git and holds keys. */
#ifndef WEIR_CLI_GATECALL_H
#define WEIR_CLI_GATECALL_H

#include <sys/types.h>

#include "user/base/buf.h"
#include "user/base/err.h"

/* What the gate promised for a run: its answer to `weir-gate nonce`. */
struct gate_base {
	char *nonce;
	char *repository;
	char *ref;
	char *commit;
	char *policy_sha256; /* of .weir/policy.yaml in the commit, NULL if there is none */
};

void gate_base_done(struct gate_base *b);

/* Runs weir-gate with args (NULL-terminated, without the program's name); its standard
 * output is appended to out (NULL: passed through), its standard error passes through.
 * Returns: its exit status, or a negative errno. Borrows: args. */
int gate_call(const char *const *args, struct buf *out, struct weir_err *e);

/* The gate ended with a status of its own and has said why: what weir says is nothing, and its
 * status is the gate's. Returns: -EACCES. */
int gate_said(int status, struct weir_err *e);

/* Asks for a nonce for a run in the workspace. repository and ref may be NULL: those of the
 * gate's configuration. Gives: *ret_base. Returns: 0, -ENOENT when no gate is configured,
 * or a negative errno. */
int gate_nonce(const char *repository, const char *ref, const char *workspace,
	       struct gate_base *ret_base, struct weir_err *e);

/* Is a gate configured on this host? */
int gate_is_configured(void);

#endif
