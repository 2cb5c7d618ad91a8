/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The only way into a ring buffer. The functions are global, so that the verifier
 * looks at each once for a program, whatever the number of calls; kernel objects
 * therefore come in as addresses and are read with faults tolerated.
 */
#ifndef WEIR_LIB_EMIT_H
#define WEIR_LIB_EMIT_H

#include "bpf/lib/task.bpf.h"

struct weir_note {
	__u64 first;  /* struct dentry *, 0: none */
	__u64 second; /* struct dentry *, 0: none */
	__u64 inode;  /* of the first object where the dentry has none */
	__u32 slot;
	__u16 op;
	__u16 hook;
	__u16 kind;
	__u16 outcome;
	__u32 flags;
	__u32 want;
	__u32 have;
	__u32 rule;
	__u32 aux;
	__u32 error;
};

/* Writes one operation record for note. Returns 0, or 1 when it could not be written;
 * the loss is counted and the run marked before that. */
int weir_emit_op(struct weir_note *note);

/* What happened to a task. Addresses travel in a record on the stack, because a global
 * function takes no kernel pointers as plain arguments. */
struct weir_life {
	__u64 task;   /* fork: the child */
	__u64 dentry; /* exec: of the program */
	__u64 flags;  /* fork: clone flags */
	__u32 slot;
	__u32 code; /* exit: wait status */
};

/* The same as weir_emit_op for the life of tasks. */
int weir_emit_fork(struct weir_life *life);
int weir_emit_exec(struct weir_life *life);
int weir_emit_exit(struct weir_life *life);

#endif
