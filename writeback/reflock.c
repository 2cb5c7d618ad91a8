/* SPDX-License-Identifier: MIT */
#include "writeback/reflock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/reason.h"

#define NAP_MS 20

void reflock_done(struct reflock *l)
{
	free(l->ref);
	free(l->file);
	free(l->lock);
	*l = (struct reflock){ 0 };
}

static char *lock_name(const struct reflock *l)
{
	char *name;

	return asprintf(&name, "%s.lock", l->ref) < 0 ? NULL : name;
}

int reflock_prepare(const struct repo *r, struct reflock *l, unsigned int number,
		    struct weir_err *e)
{
	cleanup_close int fd = -1;
	char text[OID_HEX + 1];
	struct stat st;

	if (asprintf(&l->file, "weir/lock-%u", number) < 0) {
		l->file = NULL;
		return err_errno(e, -ENOMEM, "%s", l->ref);
	}
	unlinkat(r->fd, l->file, 0);
	fd = openat(r->fd, l->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return err_errno(e, -errno, "%s/%s", r->path, l->file);
	git_oid_tostr(text, OID_HEX, &l->new_id);
	text[OID_HEX - 1] = '\n';
	if (fsio_write_all(fd, text, OID_HEX) < 0 || fsync(fd) < 0 || fstat(fd, &st) < 0)
		return err_errno(e, -errno, "%s/%s", r->path, l->file);
	l->ino = st.st_ino;
	return 0;
}

/* Directories above a ref that lives in packed-refs only. */
static int make_parents(const struct repo *r, const char *ref)
{
	cleanup_free char *path = strdup(ref);

	if (!path)
		return -ENOMEM;
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdirat(r->fd, path, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

static int take_lock(const struct repo *r, const struct reflock *l, const char *lock)
{
	const struct timespec nap = { .tv_nsec = NAP_MS * 1000000L };

	for (int waited = 0;; waited += NAP_MS) {
		int err = make_parents(r, l->ref);

		if (err < 0)
			return err;
		if (linkat(r->fd, l->file, r->fd, lock, 0) == 0)
			return 0;
		if (errno != EEXIST && errno != ENOENT)
			return -errno;
		if (waited >= REFLOCK_WAIT_MS)
			return -EEXIST;
		nanosleep(&nap, NULL);
	}
}

static int compare(const struct repo *r, const struct reflock *l, struct weir_err *e)
{
	char old[OID_HEX], now[OID_HEX] = "nothing";
	struct weir_err cause = { 0 };
	git_oid current = { 0 };
	int err = repo_read_ref(r, l->ref, &current, &cause);

	if (err < 0 && err != -ENOENT) {
		*e = cause;
		return err;
	}
	if (git_oid_equal(&current, &l->old))
		return 0;
	git_oid_tostr(old, sizeof(old), &l->old);
	if (err == 0)
		git_oid_tostr(now, sizeof(now), &current);
	return refuse(e, REASON_BASE_MOVED, "%s moved from %s to %s", l->ref,
		      git_oid_is_zero(&l->old) ? "nothing" : old, now);
}

int reflock_take(const struct repo *r, struct reflock *l, struct weir_err *e)
{
	int err;

	free(l->lock);
	l->lock = lock_name(l);
	if (!l->lock)
		return err_errno(e, -ENOMEM, "%s", l->ref);
	err = take_lock(r, l, l->lock);
	if (err == -EEXIST)
		return refuse(e, REASON_LOCKED, "%s/%s is held by another program", r->path,
			      l->lock);
	if (err < 0)
		return err_errno(e, err, "locking %s", l->ref);
	l->held = true;
	return compare(r, l, e);
}

static int sync_parent(const struct repo *r, const char *ref)
{
	const char *slash = strrchr(ref, '/');
	cleanup_free char *dir = slash ? strndup(ref, (size_t)(slash - ref)) : NULL;
	cleanup_close int fd = -1;

	if (!dir)
		return -ENOMEM;
	fd = openat(r->fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

int reflock_publish(const struct repo *r, struct reflock *l, struct weir_err *e)
{
	if (!l->held)
		return err_errno(e, -EINVAL, "%s", l->ref);
	if (renameat(r->fd, l->lock, r->fd, l->ref) < 0)
		return err_errno(e, -errno, "writing %s", l->ref);
	l->held = false;
	if (sync_parent(r, l->ref) < 0)
		return err_errno(e, -errno, "syncing %s", l->ref);
	return 0;
}

void reflock_drop(const struct repo *r, struct reflock *l)
{
	if (l->held)
		unlinkat(r->fd, l->lock, 0);
	l->held = false;
	if (l->file)
		unlinkat(r->fd, l->file, 0);
}

int reflock_clean(const struct repo *r, const struct reflock *l, struct weir_err *e)
{
	cleanup_free char *lock = lock_name(l);
	struct stat st;

	if (!lock)
		return err_errno(e, -ENOMEM, "%s", l->ref);
	if (fstatat(r->fd, lock, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : err_errno(e, -errno, "%s", lock);
	if (st.st_ino != l->ino)
		return 0;
	return unlinkat(r->fd, lock, 0) < 0 ? err_errno(e, -errno, "%s", lock) : 0;
}

int reflock_clean_file(const struct repo *r, const char *ref, unsigned int number,
		       struct weir_err *e)
{
	struct reflock l = { .ref = (char *)(uintptr_t)ref };
	char file[32];
	struct stat st;

	snprintf(file, sizeof(file), "weir/lock-%u", number);
	if (fstatat(r->fd, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_errno(e, -errno, "%s/%s", r->path, file);
	l.ino = st.st_ino;
	return reflock_clean(r, &l, e);
}
