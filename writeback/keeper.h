/* SPDX-License-Identifier: MIT */
/*
 * The keeper: the process of the gate's own user, which has repository, key and state and
 * never sees a workspace (writeback/priv.h).
 */
#ifndef WEIR_WRITEBACK_KEEPER_H
#define WEIR_WRITEBACK_KEEPER_H

#include <stddef.h>
#include <sys/types.h>

#include "user/base/err.h"
#include "writeback/config.h"

typedef int keeper_fn(const struct gate_config *c, void *arg, struct weir_err *e);

/* Forks the keeper, which runs fn and exits. Descriptors other than 0 to 2 and those in keep
 * are closed in it. Returns: 0 and its pid, or a negative errno. Borrows: all. */
int keeper_start(const struct gate_config *c, keeper_fn *fn, void *arg, const int *keep,
		 size_t count, pid_t *ret_pid, struct weir_err *e);

/* Starts it and waits. Returns: the exit status for main(). */
int keeper_run(const struct gate_config *c, keeper_fn *fn, void *arg, const int *keep,
	       size_t count);

/* Starts it with a pipe, waits, and takes what it wrote there, at most max bytes. pipe_fd, in
 * what arg points to, is set to the pipe's end before. Returns: the exit status for main().
 * Borrows: all. Gives: ret_text. */
int keeper_ask(const struct gate_config *c, keeper_fn *fn, void *arg, int *pipe_fd, size_t max,
	       struct buf *ret_text);

/* Says so when the caller is not root. Returns: 0, or the exit status for main(). */
int gate_need_root(void);

/* Prints an error as main() and the keeper do; nothing for an empty one.
 * Returns: the exit status it asks for, 125 if none. */
int gate_fail(const struct weir_err *e);

#endif
