/* SPDX-License-Identifier: MIT */
/*
 * The types of the running kernel that the programs name. For each of them libbpf looks through
 * all types that it is given, which are 130,000 in a kernel's BTF: it is given a copy of just
 * these.
 */
#ifndef WEIR_KERN_TYPES_H
#define WEIR_KERN_TYPES_H

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "user/base/err.h"

/* Reads the running kernel's BTF. Gives: *ret_kernel for types_close. Returns: 0, or a negative
 * errno, with what to do about it. */
int types_open(struct btf **ret_kernel, struct weir_err *e);

/* Frees what a variable holds, for cleanup_with; NULL is nothing. */
void types_close(struct btf **kernel);

/* Writes BTF with the types that programs name to the empty file fd, and puts the ids that these
 * have in the kernel into the programs' constants (bpf/abi/casts.h). To be called before the
 * programs are loaded. Returns: 0, or a negative errno. Borrows: everything; kernel is
 * the running kernel's BTF. */
int types_pick(struct btf *kernel, struct bpf_object *programs, int fd, struct weir_err *e);

#endif
