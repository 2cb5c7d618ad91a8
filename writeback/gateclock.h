/* SPDX-License-Identifier: MIT */
/*
 * The gate's own clock, by which approvals, exceptions, keys and proposals expire. It may not go
 * back: what has expired would be good again. The latest time that the gate has seen is the time of
 * modification of REPOSITORY/weir/clock, an empty file (0600, of the gate's user).
 *
 * A clock that once was far ahead leaves a time that is to come: the gate refuses until it is there,
 * or until somebody who knows sets the file to now, with touch(1).
 */
#ifndef WEIR_WRITEBACK_GATECLOCK_H
#define WEIR_WRITEBACK_GATECLOCK_H

#include "writeback/repo.h"

#define GATECLOCK_FILE "weir/clock"
#define GATECLOCK_STEP_S 1 /* seconds that a clock which is kept right may go back */

/* Refuses a time before the latest that was seen, and keeps it. Under the gate's lock. now: seconds
 * since 1970. Returns: 0, refused with code "clock", or a negative errno with e. Borrows: r. */
int gateclock_check(const struct repo *r, int64_t now, struct weir_err *e);

#endif
