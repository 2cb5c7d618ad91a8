/* SPDX-License-Identifier: MIT */
#include "writeback/ledgercopy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/ledger.h"
#include "writeback/reason.h"

#define DEPTH_MAX 12 /* tile, level, nine groups of an index, N.p */

static int copy_file(int from, int to, const char *name, struct weir_err *e)
{
	cleanup_close int fd = openat(from, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	cleanup_buf struct buf data = { .max = TLOG_BUNDLE_MAX };
	struct stat st, there;
	int err;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, -errno, "%s", name);
	if (!S_ISREG(st.st_mode))
		return refuse(e, REASON_LEDGER, "%s is none of a ledger's files", name);
	if (strcmp(name, LEDGER_CHECKPOINT) != 0 &&
	    fstatat(to, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(there.st_mode) &&
	    there.st_size == st.st_size)
		return 0;
	err = fsio_read_fd(fd, TLOG_BUNDLE_MAX, &data);
	if (err < 0)
		return err_errno(e, err, "%s", name);
	return fsio_replace(to, name, buf_str(&data), data.len, 0644, e);
}

static int copy_dir(int from, int to, unsigned int depth, struct weir_err *e);

static int copy_below(int from, int to, const char *name, unsigned int depth, struct weir_err *e)
{
	cleanup_close int in = -1;
	cleanup_close int out = -1;

	if (depth >= DEPTH_MAX)
		return refuse(e, REASON_LEDGER, "%s is too deep for a ledger", name);
	if (mkdirat(to, name, 0755) < 0 && errno != EEXIST)
		return err_errno(e, -errno, "%s", name);
	in = openat(from, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	out = openat(to, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (in < 0 || out < 0)
		return err_errno(e, -errno, "%s", name);
	return copy_dir(in, out, depth + 1, e);
}

static int copy_dir(int from, int to, unsigned int depth, struct weir_err *e)
{
	int fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_closedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int err = 0;

	if (!dir) {
		err = err_errno(e, -errno, "the ledger");
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (err == 0 && (entry = readdir(dir))) {
		struct stat st;

		if (entry->d_name[0] == '.' ||
		    (depth == 0 && strcmp(entry->d_name, LEDGER_CHECKPOINT) == 0))
			continue;
		if (fstatat(from, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			err = err_errno(e, -errno, "%s", entry->d_name);
		else if (S_ISDIR(st.st_mode))
			err = copy_below(from, to, entry->d_name, depth, e);
		else
			err = copy_file(from, to, entry->d_name, e);
	}
	return err;
}

int ledgercopy_update(int from, int to, struct weir_err *e)
{
	int err = copy_dir(from, to, 0, e);

	return err < 0 ? err : copy_file(from, to, LEDGER_CHECKPOINT, e);
}
