/* SPDX-License-Identifier: MIT */
/*
 * Source "fmod_ret": where bpf is not in the list of active LSMs, the same programs are put in front
 * of the security_* functions that call the LSMs. They refuse just so, but the kernel skips a
 * program that is preempted in the middle for whoever comes next on that processor: each miss is
 * counted.
 */
#ifndef WEIR_KERN_FMOD_H
#define WEIR_KERN_FMOD_H

#include <stdbool.h>
#include <stdint.h>

#include "user/base/err.h"
#include "user/kern/kern.h"

#define FMOD_PREFIX "security_"

/* Returns: the hook's name in a source, without its prefix; static text. */
const char *fmod_name(unsigned int hook, enum kern_source source);

/* How often programs of this build have been skipped since they were loaded. Gives: *ret_misses.
 * Returns: 0 or a negative errno. Borrows: k. */
int fmod_misses(const struct kern *k, uint64_t *ret_misses, struct weir_err *e);

/* Returns: whether this kernel takes such a program; tries with one that does nothing. */
bool fmod_loads(void);

#endif
