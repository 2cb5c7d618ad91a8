/* SPDX-License-Identifier: MIT */
/*
 * Where the kernel keeps its table of names. No symbol says so on kernels without all symbols, but
 * the entries point back: what points at an entry is the entry before, or, for one that has just
 * come, the head of its chain, whose place in the table is the entry's hash. Entries of /proc/self
 * have just come. The place on which enough of them agree is the table's.
 */
#ifndef WEIR_KERN_DCACHE_H
#define WEIR_KERN_DCACHE_H

#include "user/base/err.h"

struct bpf_object;

/* Finds the table and tells the programs, which are loaded. Where it is not found, they look
 * through whole directories. Returns: 0 or a negative errno. Borrows: obj. */
int dcache_find(struct bpf_object *obj, struct weir_err *e);

#endif
