/* SPDX-License-Identifier: MIT */
/* weir recover: what a crash left behind, in the kernel and on disk. */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/base/fsio.h"
#include "user/base/usage.h"
#include "user/cli/cmd.h"
#include "user/cli/runs.h"
#include "user/cli/say.h"
#include "user/kern/recover.h"

#define KILL_MS 10000
#define CGROUPS "/sys/fs/cgroup/weir"
/* A new run locks its checkout at once; what has no lock after this has none coming. */
#define SETTLE_SECONDS 60

enum {
	OPT_KILL = 256
};

/* Exit status when something is left that a person must decide about. */
enum {
	RECOVER_LEFT = 1
};

struct recovery {
	unsigned int done; /* things that were lifted */
	unsigned int left; /* things that stay */
	unsigned int members_left;
};

static const struct argp_option options[] = {
	{ "kill", OPT_KILL, NULL, 0, "End processes that are left from dead runs", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	bool *kill = state->input;

	(void)arg;
	switch (key) {
	case OPT_KILL:
		*kill = true;
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state, "takes no arguments");
	}
	return ARGP_ERR_UNKNOWN;
}

static void on_stale(const struct kern_stale *stale, void *arg)
{
	struct recovery *r = arg;

	if (stale->pins) {
		r->done++;
		printf("pins %s: never complete; removed\n", stale->build);
		return;
	}
	if (stale->freed) {
		r->done++;
		printf("slot %u: its collector is gone; freed", stale->slot);
		if (stale->live)
			printf("; tasks ended first: %llu", (unsigned long long)stale->live);
		printf("\n");
		return;
	}
	r->left++;
	r->members_left++;
	printf("slot %u: its collector is gone; tasks left, and denied everything: %llu, of "
	       "processes",
	       stale->slot, (unsigned long long)stale->live);
	for (size_t i = 0; i < KERN_STALE_PIDS && stale->pids[i]; i++)
		printf(" %u", stale->pids[i]);
	printf("\n");
}

static void tell_lock(const char *state, const struct rundir_lock_info *lock, const char *what)
{
	const char *path = lock->path ? lock->path : "a workspace that it does not name";
	size_t size = 4 * strlen(path) + 1;
	cleanup_free char *safe = malloc(size);

	if (safe)
		escape_bytes(path, strlen(path), safe, size);
	if (runs_is_seal(state, lock))
		printf("seal %s of %s: ended when process %d did, and held nobody off since; %s\n",
		       lock->run, safe ? safe : "", lock->pid, what);
	else
		printf("lock %s of %s (run %s): %s\n", lock->name, safe ? safe : "", lock->run,
		       what);
}

/* Locks of dead runs stay while members are left, which may be those of the same run. */
static int lift_locks(const char *state, const struct rundir_locks *locks, struct recovery *r,
		      struct weir_err *e)
{
	for (size_t i = 0; i < locks->count; i++) {
		const struct rundir_lock_info *lock = &locks->items[i];
		int err;

		if (lock->state == RUNDIR_LOCK_LIVE)
			continue;
		if (r->members_left && lock->state != RUNDIR_LOCK_OLD) {
			tell_lock(state, lock, "stays, since processes of dead runs are left");
			r->left++;
			continue;
		}
		err = rundir_lock_lift(state, lock, e);
		if (err < 0)
			return err;
		tell_lock(state, lock, "lifted");
		r->done++;
	}
	return 0;
}

typedef int remove_fn(int dirfd, const char *id);

static int remove_group(int dirfd, const char *id)
{
	return unlinkat(dirfd, id, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static int remove_tree(int dirfd, const char *id)
{
	return fsio_remove_tree(dirfd, id, NULL);
}

/* Where dead runs leave something under their ids. */
struct place {
	const char *path;
	const char *what; /* for people */
	remove_fn *remove;
	const char
		*runs; /* spares runs that have ended in order, by their run.json here; or NULL */
};

/* Whether a run that no lock keeps alive is still somebody's: it has ended in order and may
 * be promoted, or it is just about to take its lock. */
static bool is_spared(const struct place *p, int dirfd, const char *id,
		      const struct rundir_locks *locks)
{
	cleanup_free char *json = NULL;
	struct stat st;

	if (!p->runs)
		return false;
	if (asprintf(&json, "%s/%s/run.json", p->runs, id) < 0) {
		json = NULL;
		return true;
	}
	if (stat(json, &st) == 0)
		return true;
	for (size_t i = 0; i < locks->count; i++)
		if (strcmp(locks->items[i].run, id) == 0)
			return false;
	return fstatat(dirfd, id, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	       st.st_ctim.tv_sec + SETTLE_SECONDS > time(NULL);
}

static void clear_place(const struct place *p, const struct rundir_locks *locks, struct recovery *r)
{
	cleanup_closedir DIR *dir = opendir(p->path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const char *id = entry->d_name;
		int err;

		if (!rundir_id_is_valid(id) || runs_is_active(locks, id) ||
		    is_spared(p, dirfd(dir), id, locks))
			continue;
		err = p->remove(dirfd(dir), id);
		printf("%s %s/%s: %s\n", p->what, p->path, id,
		       err < 0 ? strerror(-err) : "removed");
		r->done += err == 0;
		r->left += err < 0;
	}
}

static int recover(bool kill, struct recovery *r, struct weir_err *e)
{
	cleanup_rundir_locks struct rundir_locks locks = { 0 };
	cleanup_free char *state = NULL, *temporary = NULL, *checkouts = NULL, *runs = NULL;
	int err = rundir_state(&state, e);

	if (err == 0)
		err = kern_recover(kill, KILL_MS, on_stale, r, e);
	if (err >= 0)
		err = rundir_locks(state, &locks, e);
	if (err == 0)
		err = lift_locks(state, &locks, r, e);
	if (err < 0)
		return err;
	if (asprintf(&temporary, "%s/tmp", state) < 0 ||
	    asprintf(&checkouts, "%s/work", state) < 0 || asprintf(&runs, "%s/runs", state) < 0)
		return err_set(e, -ENOMEM, "out of memory");

	const struct place places[] = {
		{ temporary, "temporary directory", remove_tree, NULL },
		{ checkouts, "checkout", remove_tree, runs },
		{ CGROUPS, "control group", remove_group, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (!r->members_left || places[i].remove == remove_group)
			clear_place(&places[i], &locks, r);
	return 0;
}

int cmd_recover(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse_option,
		NULL,
		"Cleans up after a crash: slots, seals and pins in the kernel whose collector is "
		"gone, locks of workspaces, checkouts and temporary directories of runs that did "
		"not end. Runs that are alive are not touched.",
		NULL,
		NULL,
		NULL
	};
	struct recovery r = { 0 };
	struct weir_err e = { 0 };
	bool kill = false;

	usage_parse(&argp, argc, argv, 0, &kill);
	if (geteuid() != 0) {
		err_set(&e, -EPERM, "weir recover needs root: run it with sudo");
		return say_error(&e);
	}
	if (recover(kill, &r, &e) < 0)
		return say_error(&e);
	if (r.members_left)
		printf("`weir recover --kill` ends what is left\n");
	else if (!r.done && !r.left)
		printf("nothing to recover\n");
	return r.left ? RECOVER_LEFT : CLI_OK;
}
