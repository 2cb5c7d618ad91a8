/* SPDX-License-Identifier: MIT */
/*
 * Proof of life. A child of the collector becomes a canary: a member whose operations
 * are always enforced. It tries, on files made for it, one operation for each hook that
 * can be tried without harm; a hook is proven when the operation was refused and the
 * hook's own counter moved. It also does what is allowed, which must succeed.
 */
#ifndef WEIR_KERN_CANARY_H
#define WEIR_KERN_CANARY_H

#include <stddef.h>
#include <sys/types.h>

#include "user/kern/canary_reach.h"
#include "user/kern/kern.h"

struct canary {
	struct weir_run *run;
	int yes, no; /* directories */
	int old;     /* descriptor of a file in "no", open for writing since before */
	int channel; /* socket on which a descriptor arrives */
	pid_t collector;
	struct canary_reach reach;
};

/* One operation, and the hook that it proves. act returns what the call returned; refused means
 * -1 with errno EPERM. */
struct canary_proof {
	enum weir_hook hook;
	int (*act)(struct canary *c);
};

/* Operations for a source that refuses nothing (user/kern/canary_seen.c): they must be seen, no
 * more. */
extern const struct canary_proof canary_seen[];
extern const size_t canary_seen_count;

/* Puts the directory "no" back to what it was before a flight. Returns: 0 or a negative errno.
 * Borrows: no. */
int canary_tidy(int no, struct weir_err *e);

/* Prepares the files below dir (an absolute path of an existing directory): "yes", which
 * gets all rights in the slot, and "no", which has none. Returns: 0 or a negative errno. */
int kern_canary_prepare(struct kern_slot *s, const char *dir, struct weir_err *e);

/* Sends a canary; marks proven hooks in s->kern->hooks. Waits deadline_ms at most.
 * Returns: 0 when all hooks that can be proven were, else -ENOTRECOVERABLE with their
 * names, or a negative errno. Borrows: dir. */
int kern_canary_fly(struct kern_slot *s, const char *dir, unsigned int deadline_ms,
		    struct weir_err *e);

#endif
