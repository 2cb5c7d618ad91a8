/* SPDX-License-Identifier: MIT */
/*
 * Publishing, and what a crash leaves.
 *
 * Files of the gate in the repository (0700, REPOSITORY/weir):
 *   gate               flock: one gate at a time; given up by the kernel when it dies
 *   quarantine/NONCE/  pack and idx that nothing reaches
 *   lock-0, lock-1     prepared locks (writeback/reflock.h)
 *   journal            what is being published, JSON, schema "weir.journal/1": phase, nonce,
 *                      run, statement, commit, refs [{ref, old, new, ino}], the branch last
 *
 * Order: journal "lock" -> locks taken and compared -> pack, then index renamed into
 * objects/pack, synced -> commit and record written, synced -> journal "ready" -> record ref
 * renamed -> branch renamed, synced -> nonce used -> journal, locks, quarantine removed.
 *
 * After a crash the next gate on this repository, before anything else: without a journal it
 * removes quarantines; with "lock" it gives the locks up: old state; with "ready" everything
 * is durable, so it completes: new state, unless the branch is somewhere else by now, which
 * only another program can have done: then the promotion is given up.
 */
#ifndef WEIR_WRITEBACK_PUBLISH_H
#define WEIR_WRITEBACK_PUBLISH_H

#include "writeback/repo.h"

/* Waits for the repository's gate lock. Returns: a descriptor to keep open, or a negative
 * errno with e. */
int publish_lock(const struct repo *r, struct weir_err *e);

/* Completes or cleans up after a crash. Under the lock. Returns: 0 or a negative errno. */
int publish_recover(const struct repo *r, struct weir_err *e);

/* Makes an empty quarantine. Under the lock. Gives: its directory's descriptor.
 * Returns: 0 or a negative errno with e. Borrows: nonce. */
int publish_open_quarantine(const struct repo *r, const char *nonce, int *ret_dir,
			    struct weir_err *e);

/* Removes a quarantine. Borrows: nonce. */
void publish_drop_quarantine(const struct repo *r, const char *nonce);

#endif
