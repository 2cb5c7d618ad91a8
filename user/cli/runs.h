/* SPDX-License-Identifier: MIT */
/* Runs that have ended, as `weir show` and `weir list` read them. */
#ifndef WEIR_CLI_RUNS_H
#define WEIR_CLI_RUNS_H

#include <jansson.h>

#include "user/base/err.h"
#include "user/tree/rundir.h"

/* The state directory and a run in it (which: as rundir_open). An unknown or ambiguous run
 * asks for CLI_USAGE. Gives: *ret_state for free, *ret_run for rundir_done.
 * Returns: 0 or a negative errno. Borrows: which. */
int runs_open(const char *which, char **ret_state, struct rundir *ret_run, struct weir_err *e);

/* run.json of a run. Gives: a reference. Returns: 0, -ENOENT when the run has not ended in
 * order (code "run-unfinished"), -EBADMSG, or a negative errno. Borrows: run. */
int runs_read(const struct rundir *run, json_t **ret_json, struct weir_err *e);

/* Whether a live collector holds a workspace for the run. Borrows: all. */
bool runs_is_active(const struct rundir_locks *locks, const char *id);

/* Whether the lock belongs to a seal of `weir seal`, not to a run. Borrows: both. */
bool runs_is_seal(const char *state, const struct rundir_lock_info *lock);

#endif
