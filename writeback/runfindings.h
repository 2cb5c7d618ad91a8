/* SPDX-License-Identifier: MIT */
/*
 * What speaks against a run, from its trace, each with an id that a signed exception can name.
 *
 * Id: KIND "-" and the first 32 hex digits of the SHA-256 over "weir-run-finding/1" NUL KIND NUL
 * OP NUL OUTCOME NUL PATH NUL OTHER NUL TEXT: the same act on the same object has it again in the
 * next run. What the trace could only count (too many, records without a path) has no id, and no
 * exception can cover it.
 */
#ifndef WEIR_WRITEBACK_RUNFINDINGS_H
#define WEIR_WRITEBACK_RUNFINDINGS_H

#include <stdint.h>

#include "bpf/abi/event.h"
#include "user/base/err.h"
#include "writeback/hazard.h"
#include "writeback/roles.h"

struct run_finding {
	unsigned int kind;	/* enum weir_kind */
	char id[HAZARD_ID_MAX]; /* "": it can't be named */
	char *text;		/* "OP OUTCOME PATH", escaped */
	uint64_t count;		/* of events */
};

struct run_findings {
	struct run_finding *items;
	size_t count;
};

void run_findings_done(struct run_findings *f);
#define cleanup_run_findings __attribute__((__cleanup__(run_findings_done)))

/* Reads a trace from its start; notes of less than error are left out. Returns: 0; -EBADMSG with
 * e for a trace that can't be read; -ENOMEM. Borrows: trace_fd. Gives: ret_findings. */
int run_findings_read(int trace_fd, struct run_findings *ret_findings, struct weir_err *e);

/* Who may accept a kind of finding, ROLE_COUNT: nobody. Returns: the role. */
enum role run_kind_role(unsigned int kind);

/* The role for the class of any id, of a run or of inspection. Returns: the role, ROLE_COUNT when
 * nobody may accept it, or -EINVAL for what is no id. Borrows: id. */
int finding_role(const char *id);

#endif
