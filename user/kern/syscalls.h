/* SPDX-License-Identifier: MIT */
/*
 * Source "syscall": the table of system calls that change something, and what sees them.
 * Source: the syscall(2) pages of each, and the kernel's syscall_64.tbl.
 */
#ifndef WEIR_KERN_SYSCALLS_H
#define WEIR_KERN_SYSCALLS_H

#include <stdbool.h>

#include "bpf/abi/counters.h"
#include "user/base/err.h"

/* Fills the maps of calls. without: a hook whose calls are left out, NULL: none.
 * Returns: 0 or a negative errno. Borrows: calls_fd. */
int syscalls_fill(int calls_fd, const char *without, struct weir_err *e);

/* Returns: whether the hook is seen by the end of calls (not by a tracepoint of its own). */
bool syscalls_see(unsigned int hook);

/* Program of a handler (enum weir_handler). Returns: static text. */
const char *syscalls_program(unsigned int handler);

#endif
