/* SPDX-License-Identifier: MIT */
/*
 * Where runs are kept, and which workspace a run holds.
 *
 *   STATE            ${WEIR_STATE:-/var/lib/weir}, 0755
 *   STATE/runs       0700; one directory per run, 0700
 *   STATE/runs/ID    YYYYMMDD-HHMMSS-xxxxxx: UTC, and the fraction of the second in units of
 *                    2^-24 s, in lower-case hex digits
 *   STATE/locks      0700; one file per workspace in use, 0600, named DEV-INO in hex
 *
 * STATE/runs and STATE/locks must belong to the caller and be writable for nobody else,
 * otherwise nothing is read from or written to them.
 *
 * Lock files, version 1: lines "KEY VALUE", in this order, nothing else:
 *   weir.lock/1
 *   run ID           a seal's id as well: there is no STATE/runs/ID then
 *   pid N            the collector, or the holder of the seal
 *   start N          its start time, field 22 of /proc/PID/stat
 *   boot UUID        /proc/sys/kernel/random/boot_id
 *   path PATH        of the workspace, escaped by user/base/escape.h
 * A lock is live if the boot is this one and a process with that pid and start time
 * exists. A dead lock of this boot still refuses: members of the run may be left; recover
 * looks and lifts it. One of another boot is replaced. Locks of workspaces above or below
 * count as well.
 */
#ifndef WEIR_TREE_RUNDIR_H
#define WEIR_TREE_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/err.h"

#define RUNDIR_STATE_DEFAULT "/var/lib/weir"

/* Bytes of an id with its NUL. */
#define RUNDIR_ID_SIZE 23

struct rundir {
	int fd; /* of the run's directory, -1: none */
	char id[RUNDIR_ID_SIZE];
	char *path; /* absolute */
};

/* Closes and frees. Owns: r's members. */
void rundir_done(struct rundir *r);
#define cleanup_rundir __attribute__((cleanup(rundir_done)))

/* The state directory by the environment. Gives: ret_state for free.
 * Returns: 0, -EINVAL (exit status 2) if WEIR_STATE is set but not absolute, -ENOMEM. */
int rundir_state(char **ret_state, struct weir_err *e);

/* Whether text has the form of a complete id. Borrows: id. Returns: truth. */
bool rundir_id_is_valid(const char *id);

/* A new id, of now. Gives: ret_id. Returns: 0 or -EOVERFLOW. */
int rundir_id_make(char ret_id[RUNDIR_ID_SIZE]);

/* Makes a new run's directory, and those above it. Gives: ret_run. Borrows: state.
 * Returns: 0; -EPERM for a state directory that others could change; other errno. */
int rundir_create(const char *state, struct rundir *ret_run, struct weir_err *e);

/* Opens a run: NULL, "" or "last" for the newest, an id, or a unique prefix of one (four
 * characters at least). Gives: ret_run. Borrows: state, which.
 * Returns: 0; -ENOENT (code "no-run"), -EEXIST if several match (code "run-ambiguous"),
 * -EINVAL, -EPERM, other errno. */
int rundir_open(const char *state, const char *which, struct rundir *ret_run, struct weir_err *e);

struct rundir_list {
	char (*ids)[RUNDIR_ID_SIZE]; /* oldest first */
	size_t count;
};

/* Lists the runs; none if there is no state directory. Gives: ret_list for
 * rundir_list_done. Borrows: state. Returns: 0, -EPERM, other errno. */
int rundir_list(const char *state, struct rundir_list *ret_list, struct weir_err *e);
void rundir_list_done(struct rundir_list *l);
#define cleanup_rundir_list __attribute__((cleanup(rundir_list_done)))

/* Removes a run by its complete id. Returns: 0; -EBUSY (code "run-active") while a lock,
 * live or left by a crash of this boot, names it; -ENOENT; other errno.
 * Borrows: state, id. */
int rundir_remove(const char *state, const char *id, struct weir_err *e);

struct rundir_lock {
	char *file; /* path of the lock file, NULL: none held */
};

/* Takes the workspace for a run of this process. path is its real path.
 * Gives: ret_lock for rundir_unlock. Borrows: state, workspace_fd, path, id.
 * Returns: 0; -EBUSY, code "workspace-busy" (a run is active there, above or below) or
 * "workspace-stale" (left by a crash; say `weir recover`); other errno. */
int rundir_lock(const char *state, int workspace_fd, const char *path, const char *id,
		struct rundir_lock *ret_lock, struct weir_err *e);

/* Gives the workspace back; nothing if none is held. Returns: 0 or a negative errno. */
int rundir_unlock(struct rundir_lock *lock, struct weir_err *e);

enum rundir_lock_state {
	RUNDIR_LOCK_LIVE,
	RUNDIR_LOCK_DEAD,   /* collector gone in this boot */
	RUNDIR_LOCK_OLD,    /* from another boot */
	RUNDIR_LOCK_BROKEN, /* unreadable: counts as held until recovered */
};

struct rundir_lock_info {
	enum rundir_lock_state state;
	char name[64]; /* file name in STATE/locks */
	char run[RUNDIR_ID_SIZE];
	pid_t pid;
	uint64_t start; /* clock ticks since boot */
	char *path;	/* of the workspace */
};

struct rundir_locks {
	struct rundir_lock_info *items;
	size_t count;
};

/* Lists all locks. Gives: ret_locks for rundir_locks_done. Borrows: state.
 * Returns: 0, -EPERM, other errno. */
int rundir_locks(const char *state, struct rundir_locks *ret_locks, struct weir_err *e);
void rundir_locks_done(struct rundir_locks *l);
#define cleanup_rundir_locks __attribute__((cleanup(rundir_locks_done)))

/* Lifts one lock that is not live, after the caller saw that no member is left.
 * Returns: 0; -EBUSY if it is live by now; other errno. Borrows: state, info. */
int rundir_lock_lift(const char *state, const struct rundir_lock_info *info, struct weir_err *e);

#endif
