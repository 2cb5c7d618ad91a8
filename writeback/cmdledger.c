/* SPDX-License-Identifier: MIT */
/*
 * weir-gate ledger: check, back up, and put back. What is put back must reach as far as the last
 * checkpoint that the repository has a copy of: entries that are gone are gone, and nobody can make
 * others in their place that anybody would believe.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/base/usage.h"
#include "writeback/command.h"
#include "writeback/gateledger.h"
#include "writeback/keeper.h"
#include "writeback/keys.h"
#include "writeback/ledgercopy.h"
#include "writeback/publish.h"
#include "writeback/reason.h"

#define NEW_SUFFIX ".new"

struct args {
	const char *action;
	const char *dir;
	int fd;	     /* of it */
	bool newest; /* there is no copy of the last checkpoint, and that is known */
};

struct place {
	struct repo repo;
	int lock;
	struct note_key key; /* public */
};

static void place_done(struct place *p)
{
	repo_close(&p->repo);
	if (p->lock >= 0)
		close(p->lock);
}

/* Without the ledger, which may be gone, and without its key. */
static int place_open(const struct gate_config *c, struct place *p, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	int err = repo_open(c->repository, true, &p->repo, e);

	if (err == 0)
		err = fsio_read_file(AT_FDCWD, GATE_LEDGER_PUBLIC, NOTE_MAX, &text, e);
	if (err < 0)
		return err;
	if (note_key_parse(buf_str(&text), &p->key) < 0)
		return err_set(e, -EINVAL, "%s is no public key of a ledger", GATE_LEDGER_PUBLIC);
	p->lock = publish_lock(&p->repo, e);
	return p->lock < 0 ? p->lock : 0;
}

/* Opens it, and reads all of it. */
static int walk(const struct place *p, const char *path, struct ledger *ret_ledger,
		struct weir_err *e)
{
	int err = ledger_open(path, &p->key, ret_ledger, e);

	return err < 0 ? err : ledger_walk(ret_ledger, NULL, NULL, e);
}

/* Whole, and not older than the repository knows. newest: where the repository knows nothing, it is
 * told what is here. */
static int check(const struct place *p, const char *path, bool newest, uint64_t *ret_size,
		 struct weir_err *e)
{
	cleanup_ledger struct ledger l = { .dir = -1 };
	cleanup_buf struct buf note = { 0 };
	struct weir_err none = { 0 };
	int err = walk(p, path, &l, e);

	if (err < 0)
		return err;
	*ret_size = l.checkpoint.size;
	err = fsio_read_file(p->repo.fd, GATELEDGER_COPY, NOTE_MAX, &note, &none);
	if (err == -ENOENT && newest)
		return fsio_replace(p->repo.fd, GATELEDGER_COPY, l.note.data, l.note.len, 0600, e);
	if (err == -ENOENT)
		return *ret_size == 0 ? 0 : gateledger_no_copy(&p->repo, e);
	if (err < 0)
		return err_errno(e, err, "%s/" GATELEDGER_COPY, p->repo.path);
	return ledger_check_follows(&l, buf_str(&note), note.len, e);
}

/* A ledger that is whole stays, also where the repository can't say whether it is the newest. */
static int check_lost(const struct place *p, const char *path, struct weir_err *e)
{
	cleanup_ledger struct ledger l = { .dir = -1 };
	struct weir_err none = { 0 };
	uint64_t size;

	if (check(p, path, false, &size, &none) == 0)
		return refuse(e, REASON_LEDGER_WHOLE, "%s has %llu entries", path,
			      (unsigned long long)size);
	if (faccessat(p->repo.fd, GATELEDGER_COPY, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	    walk(p, path, &l, &none) == 0)
		return gateledger_no_copy(&p->repo, e);
	return 0;
}

static int path_of(int fd, char ret_path[32])
{
	snprintf(ret_path, 32, "/proc/self/fd/%d", fd);
	return 0;
}

static int keep_check(const struct gate_config *c, void *arg, struct weir_err *e)
{
	__attribute__((__cleanup__(place_done))) struct place p = { .repo = { .fd = -1 },
								    .lock = -1 };
	const struct args *a = arg;
	char path[32];
	uint64_t size;
	int err = place_open(c, &p, e);

	if (err == 0 && a->fd >= 0)
		path_of(a->fd, path);
	if (err == 0)
		err = check(&p, a->fd >= 0 ? path : c->ledger, a->newest && a->fd < 0, &size, e);
	if (err == 0)
		printf("whole: %llu entries\n", (unsigned long long)size);
	return err;
}

static int keep_backup(const struct gate_config *c, void *arg, struct weir_err *e)
{
	__attribute__((__cleanup__(place_done))) struct place p = { .repo = { .fd = -1 },
								    .lock = -1 };
	const struct args *a = arg;
	cleanup_close int from = -1;
	char path[32];
	uint64_t size;
	int err = place_open(c, &p, e);

	/* a backup of one that is damaged would replace a good one */
	if (err == 0)
		err = check(&p, c->ledger, false, &size, e);
	if (err < 0)
		return err;
	from = open(c->ledger, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (from < 0)
		return err_errno(e, -errno, "%s", c->ledger);
	path_of(a->fd, path);
	err = ledgercopy_update(from, a->fd, e);
	if (err == 0)
		err = check(&p, path, false, &size, e);
	if (err == 0)
		printf("backed up: %llu entries\n", (unsigned long long)size);
	return err;
}

static int swap(const struct gate_config *c, const char *next, struct weir_err *e)
{
	cleanup_free char *aside = NULL;

	if (asprintf(&aside, "%s.lost-%lld", c->ledger, (long long)time(NULL)) < 0) {
		aside = NULL;
		return err_errno(e, -ENOMEM, "%s", c->ledger);
	}
	/* what is left of it may tell somebody what has happened */
	if (rename(c->ledger, aside) < 0 && errno != ENOENT)
		return err_errno(e, -errno, "%s", c->ledger);
	return rename(next, c->ledger) < 0 ? err_errno(e, -errno, "%s", next) : 0;
}

static int keep_restore(const struct gate_config *c, void *arg, struct weir_err *e)
{
	__attribute__((__cleanup__(place_done))) struct place p = { .repo = { .fd = -1 },
								    .lock = -1 };
	cleanup_free char *next = NULL;
	const struct args *a = arg;
	cleanup_close int to = -1;
	uint64_t size;
	int err = place_open(c, &p, e);

	if (err == 0)
		err = check_lost(&p, c->ledger, e);
	if (err < 0)
		return err;
	if (asprintf(&next, "%s" NEW_SUFFIX, c->ledger) < 0) {
		next = NULL;
		return err_errno(e, -ENOMEM, "%s", c->ledger);
	}
	err = fsio_remove_tree(AT_FDCWD, next, e);
	if (err == 0 && mkdir(next, 0755) < 0)
		err = err_errno(e, -errno, "%s", next);
	if (err < 0)
		return err;
	to = open(next, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (to < 0)
		return err_errno(e, -errno, "%s", next);
	err = ledgercopy_update(a->fd, to, e);
	if (err == 0)
		err = check(&p, next, a->newest, &size, e);
	if (err == 0)
		err = swap(c, next, e);
	if (err == 0)
		printf("restored: %llu entries\n", (unsigned long long)size);
	else
		fsio_remove_tree(AT_FDCWD, next, NULL);
	return err;
}

/* X(name, function, whether it takes DIR: 0 no, 1 may, 2 must) */
#define LEDGER_ACTIONS(X) \
	X("check", keep_check, 1) X("backup", keep_backup, 2) X("restore", keep_restore, 2)

static const struct {
	const char *name;
	keeper_fn *keep;
	unsigned int takes;
} actions[] = {
#define WEIR_X(name, function, takes) { name, function, takes },
	LEDGER_ACTIONS(WEIR_X)
#undef WEIR_X
};

/* The backup belongs to the gate's user, who alone writes to it. */
static int open_dir(const struct gate_config *c, struct args *a, struct weir_err *e)
{
	bool make = strcmp(a->action, "backup") == 0;
	struct stat st;

	if (!a->dir)
		return 0;
	make = make && mkdir(a->dir, 0755) == 0;
	a->fd = open(a->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (a->fd < 0) {
		e->exit_code = GATE_EXIT_USAGE;
		return err_errno(e, -errno, "%s", a->dir);
	}
	/* not by its name, behind which somebody may have put another one */
	if (make &&
	    (fstat(a->fd, &st) < 0 || st.st_uid != geteuid() || fchown(a->fd, c->uid, c->gid) < 0))
		return err_set(e, -EPERM, "%s is no longer the directory that was made", a->dir);
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'n':
		a->newest = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->action)
			return usage_take_one(state, "directory", arg, &a->dir);
		a->action = arg;
		return 0;
	case ARGP_KEY_END:
		for (size_t i = 0; a->action && i < ARRAY_SIZE(actions); i++) {
			if (strcmp(actions[i].name, a->action) != 0)
				continue;
			if (actions[i].takes == 2 && !a->dir)
				usage_error(state, "%s: DIR is missing", a->action);
			return 0;
		}
		usage_error(state, "which action? check, backup or restore");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int command_ledger(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "newest", 'n', NULL, 0,
		  "check, restore: the repository's copy of the last checkpoint is gone; take this "
		  "for the newest that there is (entries that it lacks are lost unseen)",
		  0 },
		{ 0 },
	};
	static const struct argp argp = {
		options,
		parse,
		"check [DIR]\nbackup DIR\nrestore DIR",
		"Check the ledger or a backup of it; bring a backup up to date; put a backup in "
		"place of a ledger that is lost or damaged.\vExit status: 0 done, 122 refused, "
		"2 usage, 125 own failure.",
		NULL,
		NULL,
		NULL
	};
	cleanup_config struct gate_config c = { 0 };
	struct args a = { .fd = -1 };
	struct weir_err e = { 0 };
	int status = GATE_EXIT_FAILED;

	usage_parse(&argp, argc, argv, 0, &a);
	if (gate_need_root() != 0)
		return GATE_EXIT_USAGE;
	if (config_load(&c, &e) < 0 || open_dir(&c, &a, &e) < 0)
		return gate_fail(&e);
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		if (strcmp(actions[i].name, a.action) == 0)
			status = keeper_run(&c, actions[i].keep, &a, &a.fd, a.fd >= 0);
	if (a.fd >= 0)
		close(a.fd);
	return status;
}
