/* SPDX-License-Identifier: MIT */
/*
 * Source "syscall": programs that belong to one collector and end with it. They look at system
 * calls of members when those end, and refuse nothing; there is nothing to leave behind.
 */
#ifndef WEIR_KERN_OWN_H
#define WEIR_KERN_OWN_H

#include "user/kern/kern.h"

struct bpf_object;

/* Loads the programs of the source and attaches them; fills k->own and k->hooks. without: name of
 * a hook to leave out, NULL for none. Gives: k->own for own_free, and on success *ret_programs for
 * bpf_object__close, of which nothing else is kept. Returns: 0 or a negative errno. */
int own_load(struct kern *k, const char *without, struct bpf_object **ret_programs,
	     struct weir_err *e);

/* Whether the kernel has run the programs whenever it should have. Returns: 0; -EIO with the name of
 * one that was skipped, because it ran already on the same processor; a negative errno. */
int own_check(const struct kern_own *own, struct weir_err *e);

/* Detaches. NULL is fine. */
void own_free(struct kern_own *own);

#endif
