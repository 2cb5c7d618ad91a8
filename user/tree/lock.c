/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/base/fsio.h"
#include "user/tree/rundir.h"
#include "user/tree/state.h"

#define LOCK_FILE_MAX 32768
#define BOOT_SIZE 37

static int boot_id(char ret_boot[BOOT_SIZE])
{
	cleanup_buf struct buf b = { 0 };
	int err = fsio_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64, &b, NULL);

	if (err < 0)
		return err;
	if (b.len < BOOT_SIZE - 1)
		return -EIO;
	memcpy(ret_boot, b.data, BOOT_SIZE - 1);
	ret_boot[BOOT_SIZE - 1] = '\0';
	return 0;
}

/* Start time of a process, field 22 of stat; the name in field 2 may hold anything. */
static int start_time(pid_t pid, uint64_t *ret_start)
{
	cleanup_buf struct buf b = { 0 };
	char path[64];
	const char *at;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	err = fsio_read_file(AT_FDCWD, path, 4096, &b, NULL);
	if (err < 0)
		return err;
	at = strrchr(buf_str(&b), ')');
	for (int field = 2; at && field < 22; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (!at || sscanf(at, "%" SCNu64, ret_start) != 1)
		return -EIO;
	return 0;
}

static enum rundir_lock_state judge(const struct rundir_lock_info *info, const char *boot,
				    const char *this_boot)
{
	uint64_t start;
	int err;

	if (strcmp(boot, this_boot) != 0)
		return RUNDIR_LOCK_OLD;
	err = start_time(info->pid, &start);
	if (err == -ENOENT || err == -ESRCH)
		return RUNDIR_LOCK_DEAD;
	if (err < 0)
		return RUNDIR_LOCK_LIVE; /* not known to be gone */
	return start == info->start ? RUNDIR_LOCK_LIVE : RUNDIR_LOCK_DEAD;
}

/* Takes "key value\n" at *at. Returns the value, terminated in place, or NULL. */
static char *take_line(char **at, const char *key)
{
	size_t len = strlen(key);
	char *value = *at + len, *end;

	if (strncmp(*at, key, len) != 0)
		return NULL;
	end = strchr(value, '\n');
	if (!end)
		return NULL;
	*end = '\0';
	*at = end + 1;
	return value;
}

static bool all_digits(const char *s)
{
	return *s && strlen(s) < 20 && s[strspn(s, "0123456789")] == '\0';
}

static bool parse_lock(char *text, struct rundir_lock_info *info, char boot[BOOT_SIZE])
{
	char *at = text, *head = take_line(&at, "weir.lock/1");
	char *run = head ? take_line(&at, "run ") : NULL;
	char *pid = run ? take_line(&at, "pid ") : NULL;
	char *start = pid ? take_line(&at, "start ") : NULL;
	char *id = start ? take_line(&at, "boot ") : NULL;
	char *path = id ? take_line(&at, "path ") : NULL;

	if (!path || *head || *at || !rundir_id_is_valid(run) || !all_digits(pid) ||
	    strlen(pid) > 9 || !all_digits(start) || strlen(id) != BOOT_SIZE - 1 ||
	    escape_undo(path) <= 0)
		return false;
	info->path = strdup(path);
	if (!info->path)
		return false;
	memcpy(info->run, run, RUNDIR_ID_SIZE);
	info->pid = (pid_t)strtol(pid, NULL, 10);
	info->start = strtoull(start, NULL, 10);
	memcpy(boot, id, BOOT_SIZE);
	return true;
}

/* Reads one lock; what can't be read counts as broken. Returns 0, or -ENOENT if it went. */
static int read_lock(int locks_fd, const char *name, const char *this_boot,
		     struct rundir_lock_info *ret_info)
{
	cleanup_buf struct buf b = { 0 };
	cleanup_close int fd = fsio_open_beneath(locks_fd, name, O_RDONLY, 0, true);
	char boot[BOOT_SIZE];
	int err = fd < 0 ? fd : fsio_read_fd(fd, LOCK_FILE_MAX, &b);

	*ret_info = (struct rundir_lock_info){ .state = RUNDIR_LOCK_BROKEN };
	if (err == -ENOENT)
		return err;
	snprintf(ret_info->name, sizeof(ret_info->name), "%s", name);
	if (err < 0 || !b.data || strlen(b.data) != b.len || !parse_lock(b.data, ret_info, boot))
		return 0;
	ret_info->state = judge(ret_info, boot, this_boot);
	return 0;
}

static bool is_lock_name(const char *name)
{
	return strlen(name) < 64 && name[strspn(name, "0123456789abcdef-")] == '\0';
}

void rundir_locks_done(struct rundir_locks *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->items[i].path);
	free(l->items);
	*l = (struct rundir_locks){ 0 };
}

static int list_locks(int locks_fd, struct rundir_locks *l)
{
	int copy = openat(locks_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_closedir DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	char boot[BOOT_SIZE];
	int err;

	if (!dir)
		return -errno;
	err = boot_id(boot);
	while (err == 0) {
		struct rundir_lock_info *more;
		struct dirent *d;

		errno = 0;
		d = readdir(dir);
		if (!d)
			return -errno;
		if (!is_lock_name(d->d_name))
			continue;
		more = reallocarray(l->items, l->count + 1, sizeof(*more));
		if (!more)
			return -ENOMEM;
		l->items = more;
		if (read_lock(locks_fd, d->d_name, boot, &l->items[l->count]) == 0)
			l->count++;
	}
	return err;
}

int rundir_locks(const char *state, struct rundir_locks *ret_locks, struct weir_err *e)
{
	cleanup_rundir_locks struct rundir_locks l = { 0 };
	cleanup_close int fd = state_open_part(state, "locks", false, e);
	int err = fd < 0 ? fd : list_locks(fd, &l);

	if (fd >= 0 && err < 0)
		return err_errno(e, err, "listing %s/locks", state);
	if (err < 0 && err != -ENOENT)
		return err;
	*ret_locks = l;
	l = (struct rundir_locks){ 0 };
	return 0;
}

static bool is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 &&
	       (path[len] == '\0' || path[len] == '/' || (len == 1 && dir[0] == '/'));
}

static int refuse(const struct rundir_lock_info *info, const char *path, struct weir_err *e)
{
	if (info->state == RUNDIR_LOCK_LIVE)
		return err_code(
			e, -EBUSY, "workspace-busy",
			"workspace %.200s is in use by run %s (process %d, in %.200s); wait for "
			"its end, or take another workspace",
			path, info->run, info->pid, info->path);
	if (info->state == RUNDIR_LOCK_BROKEN)
		return err_code(e, -EBUSY, "workspace-stale",
				"the lock %s of a workspace is unreadable; run `weir recover`",
				info->name);
	return err_code(
		e, -EBUSY, "workspace-stale",
		"workspace %.200s is held by run %s, whose collector (process %d) is gone; run "
		"`weir recover`",
		path, info->run, info->pid);
}

/* Looks for other locks on this workspace, above or below it; lifts those of other boots. */
static int check_others(int locks_fd, const char *own, const char *path, struct weir_err *e)
{
	cleanup_rundir_locks struct rundir_locks l = { 0 };
	int err = list_locks(locks_fd, &l);

	if (err < 0)
		return err_errno(e, err, "looking for locks");
	for (size_t i = 0; i < l.count; i++) {
		const struct rundir_lock_info *info = &l.items[i];

		/* a broken one may be anybody's: it counts for every workspace */
		if (info->state != RUNDIR_LOCK_BROKEN && strcmp(info->name, own) != 0 &&
		    !is_below(info->path, path) && !is_below(path, info->path))
			continue;
		if (info->state != RUNDIR_LOCK_OLD)
			return refuse(info, path, e);
		if (unlinkat(locks_fd, info->name, 0) < 0 && errno != ENOENT)
			return err_errno(e, -errno, "lifting the old lock %s", info->name);
	}
	return 0;
}

static int write_lock(int locks_fd, const char *name, const char *path, const char *id,
		      struct weir_err *e)
{
	cleanup_buf struct buf b = { 0 };
	char boot[BOOT_SIZE];
	uint64_t start;
	int err = boot_id(boot);

	if (err == 0)
		err = start_time(getpid(), &start);
	if (err < 0)
		return err_errno(e, err, "looking at this process in /proc");
	buf_addf(&b, "weir.lock/1\nrun %s\npid %d\nstart %" PRIu64 "\nboot %s\npath ", id, getpid(),
		 start, boot);
	buf_add_escaped(&b, path, strlen(path));
	buf_addf(&b, "\n");
	if (b.failed)
		return err_errno(e, -ENOMEM, "locking %s", path);
	return fsio_replace(locks_fd, name, b.data, b.len, 0600, e);
}

int rundir_lock(const char *state, int workspace_fd, const char *path, const char *id,
		struct rundir_lock *ret_lock, struct weir_err *e)
{
	cleanup_close int locks = state_open_part(state, "locks", true, e);
	char name[64];
	struct stat st;
	int err;

	if (locks < 0)
		return locks;
	if (fstat(workspace_fd, &st) < 0)
		return err_errno(e, -errno, "workspace %s", path);
	snprintf(name, sizeof(name), "%llx-%llx", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	/* one at a time: the look at the others and the own file belong together */
	while (flock(locks, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_errno(e, -errno, "locking %s/locks", state);
	err = check_others(locks, name, path, e);
	if (err == 0)
		err = write_lock(locks, name, path, id, e);
	if (err < 0)
		return err;
	if (asprintf(&ret_lock->file, "%s/locks/%s", state, name) < 0) {
		ret_lock->file = NULL;
		unlinkat(locks, name, 0);
		return err_errno(e, -ENOMEM, "locking %s", path);
	}
	return 0;
}

int rundir_unlock(struct rundir_lock *lock, struct weir_err *e)
{
	int err = 0;

	if (!lock->file)
		return 0;
	if (unlink(lock->file) < 0 && errno != ENOENT)
		err = err_errno(e, -errno, "lifting the lock %s", lock->file);
	free(lock->file);
	lock->file = NULL;
	return err;
}

int rundir_lock_lift(const char *state, const struct rundir_lock_info *info, struct weir_err *e)
{
	cleanup_close int locks = state_open_part(state, "locks", false, e);
	struct rundir_lock_info now;
	char boot[BOOT_SIZE];
	int err;

	if (locks == -ENOENT)
		return 0;
	if (locks < 0)
		return locks;
	while (flock(locks, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_errno(e, -errno, "locking %s/locks", state);
	err = boot_id(boot);
	if (err < 0)
		return err_errno(e, err, "reading the boot id");
	if (!is_lock_name(info->name) || read_lock(locks, info->name, boot, &now) < 0)
		return 0;
	free(now.path);
	if (now.state == RUNDIR_LOCK_LIVE)
		return err_code(e, -EBUSY, "workspace-busy", "run %s is active", now.run);
	if (unlinkat(locks, info->name, 0) < 0 && errno != ENOENT)
		return err_errno(e, -errno, "lifting the lock %s", info->name);
	return 0;
}
