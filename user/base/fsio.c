/* SPDX-License-Identifier: MIT */
#include "user/base/fsio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/base/cleanup.h"

int fsio_open_beneath(int dirfd, const char *path, int flags, mode_t mode, bool same_mount)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK),
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	if (flags & O_PATH)
		how.flags &= ~(uint64_t)O_NONBLOCK;
	if (same_mount)
		how.resolve |= RESOLVE_NO_XDEV;
	do {
		fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
	} while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	return fd < 0 ? -errno : (int)fd;
}

int fsio_read_fd(int fd, size_t max, struct buf *b)
{
	char chunk[65536];
	size_t total = 0;

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		int err;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		if ((size_t)n > max - total)
			return -EFBIG;
		total += (size_t)n;
		err = buf_add(b, chunk, (size_t)n);
		if (err < 0)
			return err;
	}
}

int fsio_read_file(int dirfd, const char *path, size_t max, struct buf *b, struct weir_err *e)
{
	cleanup_close int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int err;

	if (fd < 0)
		return err_errno(e, -errno, "%s", path);
	err = fsio_read_fd(fd, max, b);
	if (err == -EFBIG)
		return err_set(e, err, "%s: larger than %zu bytes", path, max);
	return err < 0 ? err_errno(e, err, "%s", path) : 0;
}

int fsio_write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int replace(int dirfd, const char *tmp, const char *name, const void *data, size_t len,
		   mode_t mode)
{
	cleanup_close int fd =
		openat(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	int err;

	if (fd < 0)
		return -errno;
	err = fsio_write_all(fd, data, len);
	if (err == 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0))
		err = -errno;
	if (err == 0 && renameat(dirfd, tmp, dirfd, name) < 0)
		err = -errno;
	if (err < 0)
		unlinkat(dirfd, tmp, 0);
	return err;
}

int fsio_replace(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
		 struct weir_err *e)
{
	cleanup_free char *tmp = NULL;
	const char *slash = strrchr(name, '/');
	cleanup_close int dir = -1;
	int err;

	if (asprintf(&tmp, "%s.%d.tmp", name, getpid()) < 0) {
		tmp = NULL;
		return err_errno(e, -ENOMEM, "%s", name);
	}
	unlinkat(dirfd, tmp, 0);
	err = replace(dirfd, tmp, name, data, len, mode);
	if (err < 0)
		return err_errno(e, err, "writing %s", name);
	if (slash) {
		tmp[slash == name ? 1 : slash - name] = '\0';
		dir = openat(dirfd, tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	} else {
		dir = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (dir < 0 || fsync(dir) < 0)
		return err_errno(e, -errno, "syncing the directory of %s", name);
	return 0;
}

int fsio_mkdir_p(const char *path, mode_t mode, struct weir_err *e)
{
	cleanup_free char *copy = strdup(path);

	if (!copy)
		return err_errno(e, -ENOMEM, "%s", path);
	for (char *at = copy + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST)
			return err_errno(e, -errno, "making directory %s", copy);
		*at = '/';
	}
	if (mkdir(copy, mode) < 0 && errno != EEXIST)
		return err_errno(e, -errno, "making directory %s", copy);
	return 0;
}

static int remove_entries(int fd, struct weir_err *e)
{
	cleanup_closedir DIR *dir = fdopendir(fd);

	if (!dir) {
		close(fd);
		return err_errno(e, -errno, "reading a directory");
	}
	for (;;) {
		struct dirent *entry;
		int err;

		errno = 0;
		entry = readdir(dir);
		if (!entry)
			return errno ? err_errno(e, -errno, "reading a directory") : 0;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		err = fsio_remove_tree(dirfd(dir), entry->d_name, e);
		if (err < 0)
			return err;
	}
}

int fsio_remove_tree(int dirfd, const char *name, struct weir_err *e)
{
	int fd, err;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return err_errno(e, -errno, "removing %s", name);
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, -errno, "removing %s", name);
	err = remove_entries(fd, e);
	if (err < 0)
		return err;
	if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0)
		return err_errno(e, -errno, "removing %s", name);
	return 0;
}
