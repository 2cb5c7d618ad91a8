/* SPDX-License-Identifier: MIT */
#include "user/tree/rundir.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/tree/state.h"

#define TRIES 16
#define PREFIX_MIN 4

void rundir_done(struct rundir *r)
{
	if (r->fd >= 0)
		close(r->fd);
	free(r->path);
	*r = (struct rundir){ .fd = -1 };
}

int rundir_state(char **ret_state, struct weir_err *e)
{
	const char *state = secure_getenv("WEIR_STATE");

	if (!state || !*state)
		state = RUNDIR_STATE_DEFAULT;
	if (state[0] != '/') {
		if (e)
			e->exit_code = 2;
		return err_set(e, -EINVAL, "WEIR_STATE is '%s'; set it to an absolute path", state);
	}
	*ret_state = strdup(state);
	return *ret_state ? 0 : err_errno(e, -ENOMEM, "WEIR_STATE");
}

bool rundir_id_is_valid(const char *id)
{
	static const char form[] = "dddddddd-dddddd-xxxxxx";

	for (size_t i = 0; i < sizeof(form); i++) {
		bool digit = id[i] >= '0' && id[i] <= '9';
		bool ok = form[i] == 'd'   ? digit
			  : form[i] == 'x' ? digit || (id[i] >= 'a' && id[i] <= 'f')
					   : id[i] == form[i];

		if (!ok)
			return false;
	}
	return true;
}
_Static_assert(RUNDIR_ID_SIZE == sizeof("dddddddd-dddddd-xxxxxx"), "size of an id");

int state_open_part(const char *state, const char *part, bool create, struct weir_err *e)
{
	cleanup_free char *path = NULL;
	struct stat st;
	int fd, err;

	if (asprintf(&path, "%s/%s", state, part) < 0) {
		path = NULL;
		return err_errno(e, -ENOMEM, "%s", state);
	}
	if (create) {
		err = fsio_mkdir_p(state, 0755, e);
		if (err < 0)
			return err;
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return err_errno(e, -errno, "making directory %s", path);
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		return err == -ENOENT && !create ? err : err_errno(e, err, "opening %s", path);
	}
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022)) {
		close(fd);
		return err_set(e, -EPERM,
			       "%s belongs to someone else or can be written by others; make it "
			       "your own with mode 0700",
			       path);
	}
	return fd;
}

/* Ids sort as runs began, also within a second. */
int rundir_id_make(char ret_id[RUNDIR_ID_SIZE])
{
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!gmtime_r(&now.tv_sec, &tm) ||
	    strftime(ret_id, RUNDIR_ID_SIZE, "%Y%m%d-%H%M%S-", &tm) != 16)
		return -EOVERFLOW;
	snprintf(ret_id + 16, RUNDIR_ID_SIZE - 16, "%06x",
		 (unsigned int)(((uint64_t)now.tv_nsec << 24) / 1000000000));
	return 0;
}

/* Opens runs/ID below runs_fd. */
static int open_run(const char *state, int runs_fd, const char *id, struct rundir *ret_run,
		    struct weir_err *e)
{
	struct rundir r = { .fd = -1 };

	r.fd = openat(runs_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r.fd < 0)
		return err_errno(e, -errno, "opening run %s", id);
	memcpy(r.id, id, RUNDIR_ID_SIZE);
	if (asprintf(&r.path, "%s/runs/%s", state, id) < 0) {
		close(r.fd);
		return err_errno(e, -ENOMEM, "run %s", id);
	}
	*ret_run = r;
	return 0;
}

int rundir_create(const char *state, struct rundir *ret_run, struct weir_err *e)
{
	cleanup_close int runs = state_open_part(state, "runs", true, e);

	if (runs < 0)
		return runs;
	for (int i = 0; i < TRIES; i++) {
		char id[RUNDIR_ID_SIZE];
		int err = rundir_id_make(id);

		if (err < 0)
			return err_errno(e, err, "naming a run");
		if (mkdirat(runs, id, 0700) == 0)
			return open_run(state, runs, id, ret_run, e);
		if (errno != EEXIST)
			return err_errno(e, -errno, "making directory %s/runs/%s", state, id);
	}
	return err_set(e, -EEXIST, "no free name for a run in %s/runs", state);
}

static int by_id(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int list_runs(int runs_fd, struct rundir_list *l)
{
	int copy = openat(runs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_closedir DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	size_t room = 0;

	if (!dir)
		return -errno;
	for (;;) {
		struct dirent *d;

		errno = 0;
		d = readdir(dir);
		if (!d && errno)
			return -errno;
		if (!d)
			break;
		if (!rundir_id_is_valid(d->d_name))
			continue;
		if (l->count == room) {
			void *more = reallocarray(l->ids, 2 * room + 16, RUNDIR_ID_SIZE);

			if (!more)
				return -ENOMEM;
			l->ids = more;
			room = 2 * room + 16;
		}
		memcpy(l->ids[l->count++], d->d_name, RUNDIR_ID_SIZE);
	}
	if (l->count)
		qsort(l->ids, l->count, RUNDIR_ID_SIZE, by_id);
	return 0;
}

void rundir_list_done(struct rundir_list *l)
{
	free(l->ids);
	*l = (struct rundir_list){ 0 };
}

int rundir_list(const char *state, struct rundir_list *ret_list, struct weir_err *e)
{
	cleanup_rundir_list struct rundir_list l = { 0 };
	cleanup_close int runs = state_open_part(state, "runs", false, e);
	int err = runs < 0 ? runs : list_runs(runs, &l);

	if (runs >= 0 && err < 0)
		return err_errno(e, err, "listing %s/runs", state);
	if (err < 0 && err != -ENOENT)
		return err;
	*ret_list = l;
	l = (struct rundir_list){ 0 };
	return 0;
}

/* Picks the one id that `which` means. */
static int pick(const struct rundir_list *l, const char *which, const char **ret_id,
		struct weir_err *e)
{
	size_t len = which ? strlen(which) : 0, found = 0, first = 0;

	if (len == 0 || strcmp(which, "last") == 0) {
		if (l->count == 0)
			return err_code(e, -ENOENT, "no-run", "there is no run yet");
		*ret_id = l->ids[l->count - 1];
		return 0;
	}
	if (len >= RUNDIR_ID_SIZE || which[strspn(which, "0123456789abcdef-")])
		return err_code(e, -EINVAL, "no-run",
				"'%.64s' is no run; `weir list` shows their names", which);
	if (len < PREFIX_MIN)
		return err_code(e, -EINVAL, "no-run",
				"'%s' is too short for a run's name; write %d characters or more",
				which, PREFIX_MIN);
	for (size_t i = 0; i < l->count; i++)
		if (strncmp(l->ids[i], which, len) == 0 && found++ == 0)
			first = i;
	if (found == 0)
		return err_code(e, -ENOENT, "no-run", "there is no run '%s'; `weir list` shows all",
				which);
	if (found > 1)
		return err_code(e, -EEXIST, "run-ambiguous",
				"'%s' is the start of %zu runs (%s, %s%s); write more of it", which,
				found, l->ids[first], l->ids[first + 1], found > 2 ? ", ..." : "");
	*ret_id = l->ids[first];
	return 0;
}

int rundir_open(const char *state, const char *which, struct rundir *ret_run, struct weir_err *e)
{
	cleanup_rundir_list struct rundir_list l = { 0 };
	cleanup_close int runs = state_open_part(state, "runs", false, e);
	const char *id = NULL;
	int err = 0;

	if (runs < 0 && runs != -ENOENT)
		return runs;
	if (runs >= 0)
		err = list_runs(runs, &l);
	if (err < 0)
		return err_errno(e, err, "listing %s/runs", state);
	err = pick(&l, which, &id, e);
	return err < 0 ? err : open_run(state, runs, id, ret_run, e);
}

int rundir_remove(const char *state, const char *id, struct weir_err *e)
{
	cleanup_rundir_locks struct rundir_locks locks = { 0 };
	cleanup_close int runs = -1;
	struct stat st;
	int err;

	if (!rundir_id_is_valid(id))
		return err_code(e, -EINVAL, "no-run", "'%.64s' is no run's complete name", id);
	err = rundir_locks(state, &locks, e);
	if (err < 0)
		return err;
	for (size_t i = 0; i < locks.count; i++) {
		const struct rundir_lock_info *info = &locks.items[i];

		if (strcmp(info->run, id) == 0 && info->state != RUNDIR_LOCK_OLD)
			return err_code(e, -EBUSY, "run-active",
					info->state == RUNDIR_LOCK_LIVE
						? "run %s is active; end it first"
						: "run %s was cut off; run `weir recover` first",
					id);
	}
	runs = state_open_part(state, "runs", false, e);
	if (runs < 0 && runs != -ENOENT)
		return runs;
	if (runs < 0 || fstatat(runs, id, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_code(e, -ENOENT, "no-run", "there is no run '%s'; `weir list` shows all",
				id);
	return fsio_remove_tree(runs, id, e);
}
