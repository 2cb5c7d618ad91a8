/* SPDX-License-Identifier: MIT */
/*
 * The BPF objects that are built into the program. The programs come in two forms: whole, for any
 * kernel; or split, for those that can cast a number to a kernel object (bpf_rdonly_cast, 6.2):
 * there the large steps that almost all programs take are programs of their own, verified once,
 * which take the place of a function in each of the others (BPF_PROG_TYPE_EXT). Where that is
 * possible, it takes a fifth of the time.
 */
#ifndef WEIR_KERN_OBJECTS_H
#define WEIR_KERN_OBJECTS_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/base/err.h"

/* What the caller knows of the kernel. */
struct objects_plan {
	struct btf *kernel; /* the types of the kernel that runs */
	bool can_split;
	bool fmod; /* LSM programs go in front of security_* functions (user/kern/fmod.h) */
	/* Says which of the programs are to be loaded. Borrows: programs. */
	void (*choose)(struct bpf_object *programs, void *arg);
	/* Id in the kernel's BTF of what a program is attached to. Borrows: prog. */
	uint32_t (*place)(const struct bpf_program *prog, void *arg);
	void *arg;
};

/* Returns: SHA-256 of all that is built in, as static text. */
const char *objects_digest(void);

/* Loads the programs, split where the kernel takes them so. Nothing is attached.
 * Gives: *ret_programs for bpf_object__close. Returns: 0 or a negative errno. Borrows: plan. */
int objects_load(const struct objects_plan *plan, struct bpf_object **ret_programs,
		 struct weir_err *e);

/* Loads the programs of source "syscall" (user/kern/own.h), of which plan needs no more than kernel,
 * choose and arg; kernels from 6.2. Gives, returns and borrows: likewise. */
int objects_load_syscalls(const struct objects_plan *plan, struct bpf_object **ret_programs,
			  struct weir_err *e);

/* Is a program a step of others? Steps have no hook. */
bool objects_is_step(const struct bpf_program *prog);

/* Puts the steps into the programs, and pins that as DIR/PROGRAM-STEP; *ret_count of them.
 * Returns: 0 or a negative errno. Borrows: programs. */
int objects_join(const struct bpf_object *programs, const char *dir, unsigned int *ret_count,
		 struct weir_err *e);

#endif
