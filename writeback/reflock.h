/* SPDX-License-Identifier: MIT */
/*
 * Compare-and-swap of refs with git's own locks, so that a crash can be told from another
 * program's lock.
 *
 * git locks REF by creating REF.lock exclusively and publishes by renaming it over REF. Here
 * the new content is written and synced first, to a file of our own in REPOSITORY/weir; the
 * journal records that file's inode number; then link(2) makes it REF.lock, which fails if
 * there is one. After a crash a lock with the inode of the journal is ours, any other is not.
 */
#ifndef WEIR_WRITEBACK_REFLOCK_H
#define WEIR_WRITEBACK_REFLOCK_H

#include <stdbool.h>

#include "writeback/repo.h"

#define REFLOCK_WAIT_MS 5000
#define REFLOCK_OTHER 2 /* number of a lock that no journal knows */

struct reflock {
	char *ref;
	git_oid old; /* zero: must not exist */
	git_oid new_id;
	char *file; /* below the repository: weir/lock-... */
	uint64_t ino;
	char *lock; /* REF.lock; made before it is taken: to give it up needs no memory */
	bool held;
};

void reflock_done(struct reflock *l);

/* Writes the file that will be the lock; number tells several apart.
 * Returns: 0 or a negative errno with e. Borrows: all. */
int reflock_prepare(const struct repo *r, struct reflock *l, unsigned int number,
		    struct weir_err *e);

/* Takes the lock and compares the ref. Returns: 0; refused with code "locked" when another
 * program held it for REFLOCK_WAIT_MS, or "base-moved" naming both ids. */
int reflock_take(const struct repo *r, struct reflock *l, struct weir_err *e);

/* Renames the lock over the ref and syncs. Returns: 0 or a negative errno with e. */
int reflock_publish(const struct repo *r, struct reflock *l, struct weir_err *e);

/* Gives the lock up, and removes the prepared file. Safe at any time. */
void reflock_drop(const struct repo *r, struct reflock *l);

/* After a crash: removes REF.lock if it is the prepared file of this number, which stays.
 * Returns: 0 or a negative errno. Borrows: ref. */
int reflock_clean_file(const struct repo *r, const char *ref, unsigned int number,
		       struct weir_err *e);

/* After a crash: removes REF.lock if it has the inode of l. Returns: 0 or a negative errno. */
int reflock_clean(const struct repo *r, const struct reflock *l, struct weir_err *e);

#endif
