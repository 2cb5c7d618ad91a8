/* SPDX-License-Identifier: MIT */
/* Running git for the push mode (writeback/remote.h). */
#ifndef WEIR_WRITEBACK_REMOTEGIT_H
#define WEIR_WRITEBACK_REMOTEGIT_H

#include "user/base/buf.h"
#include "writeback/config.h"
#include "writeback/repo.h"

#define REMOTEGIT_ARGS_MAX 160u

/* Arguments after git's own options; texts are owned. */
struct remotegit {
	char *args[REMOTEGIT_ARGS_MAX];
	size_t count;
	bool failed; /* out of memory or room */
};

void remotegit_done(struct remotegit *g);
#define cleanup_remotegit __attribute__((__cleanup__(remotegit_done)))

/* Adds an argument. Borrows: the text. */
void remotegit_add(struct remotegit *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Runs git on the copy and waits. Gives: what it printed, at most 1 MiB, and what it complained of
 * in one escaped line. Returns: its exit status, or a negative errno with e. Borrows: all. */
int remotegit_run(const struct gate_config *c, const struct repo *r, const struct remotegit *g,
		  struct buf *ret_out, struct buf *ret_complaint, struct weir_err *e);

#endif
