/* SPDX-License-Identifier: MIT */
/*
 * Publishing, and what a crash leaves.
 *
 * Files of the gate in the repository (0700, REPOSITORY/weir):
 *   gate               flock: one gate at a time; given up by the kernel when it dies
 *   quarantine/NONCE/  pack and idx that nothing reaches
 *   lock-0, lock-1     prepared locks (writeback/reflock.h)
 *   record.pack, .idx  objects of a record (writeback/record.h)
 *   checkpoint         copy of the ledger's last checkpoint (writeback/gateledger.h)
 *   journal            what is being published, JSON, schema "weir.journal/2": phase, nonce,
 *                      run, statement, commit, intent (index in the ledger), refs [{ref, old,
 *                      new, ino}], the branch last; for a directory (writeback/dirs.h) dir
 *                      {name, new, old}, inode numbers
 *
 * Order: journal "lock" -> branch locked and compared -> ledger: intent -> pack, then index
 * renamed into objects/pack, synced -> commit and record written, synced -> journal "ready" ->
 * record ref renamed -> directory exchanged, where it is about one, which was made before "ready"
 * -> branch renamed, synced -> ledger: done -> its proof written as a second
 * commit of the record ref, journal, renamed -> nonce used -> journal, locks, quarantine
 * removed. What fails before the branch was renamed: ledger: aborted.
 *
 * In mode push (writeback/remote.h) the push stands before the renames of the refs, and another
 * one after `done`; -EAGAIN from either leaves the journal as after a crash.
 *
 * After a crash the next gate on this repository, before anything else: without a journal it
 * removes quarantines; with "lock" it gives the locks up: old state, and the ledger says
 * aborted if it had the intent; with "ready" everything is durable, so it completes: new state
 * and done, unless the branch is somewhere else by now, which only another program can have
 * done: then the promotion is given up, and aborted.
 */
#ifndef WEIR_WRITEBACK_PUBLISH_H
#define WEIR_WRITEBACK_PUBLISH_H

#include "writeback/gateledger.h"
#include "writeback/journal.h"
#include "writeback/repo.h"

/* Waits for the repository's gate lock. Returns: a descriptor to keep open, or a negative
 * errno with e. */
int publish_lock(const struct repo *r, struct weir_err *e);

/* Completes or cleans up after a crash. Under the lock. Returns: 0 or a negative errno.
 * Borrows: c, g. */
int publish_recover(const struct repo *r, const struct gate_config *c, struct gateledger *g,
		    struct weir_err *e);

/* What follows once the branch was moved: the ledger's `done`, and its proof in the record.
 * Doing it again changes nothing. Returns: 0 or a negative errno. Borrows: all. */
int publish_end(const struct repo *r, const struct gate_config *c, struct gateledger *g,
		struct journal *j, struct weir_err *e);

/* Makes an empty quarantine. Under the lock. Gives: its directory's descriptor.
 * Returns: 0 or a negative errno with e. Borrows: nonce. */
int publish_open_quarantine(const struct repo *r, const char *nonce, int *ret_dir,
			    struct weir_err *e);

/* Removes a quarantine. Borrows: nonce. */
void publish_drop_quarantine(const struct repo *r, const char *nonce);

#endif
