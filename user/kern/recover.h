/* SPDX-License-Identifier: MIT */
/*
 * Slots whose collector is gone: it crashed, or ended while members could not be killed.
 * Until somebody looks, their members are denied everything, and their pins stay.
 * Pins of other builds are looked at as well, as far as their layout is this one's. Pins that
 * a crash left incomplete are removed.
 */
#ifndef WEIR_KERN_RECOVER_H
#define WEIR_KERN_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "user/base/err.h"
#include "user/kern/kern.h"

#define KERN_STALE_PIDS 16

struct kern_stale {
	const char *build; /* name of the pins' directory */
	bool pins;	   /* it was never complete and is gone now; nothing of the rest counts */
	uint32_t slot;
	uint64_t live;			/* members left, before anything was done */
	uint32_t pids[KERN_STALE_PIDS]; /* some of them, 0: no more */
	bool freed;			/* rules, seals and slot are gone now */
};

typedef void kern_stale_fn(const struct kern_stale *stale, void *arg);

/* Frees each stale slot without members; with kill, ends the members first, waiting
 * timeout_ms for each slot. Calls fn for each stale slot, and for pins that were never
 * complete. Loads nothing.
 * Returns: stale slots that are left, or a negative errno. Borrows: arg. */
int kern_recover(bool kill, unsigned int timeout_ms, kern_stale_fn *fn, void *arg,
		 struct weir_err *e);

/* Forgets tasks and links of a slot whose members are all gone, the collector's own entry
 * included. Must come before the last slot is given back: programs don't look when no run
 * is active, so that an entry left behind would pass to whichever task or inode gets the
 * same address. Borrows: k. */
void kern_slot_forget(struct kern *k, uint32_t slot);

#endif
