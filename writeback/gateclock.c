/* SPDX-License-Identifier: MIT */
#include "writeback/gateclock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "user/base/cleanup.h"
#include "writeback/approval.h"
#include "writeback/reason.h"

int gateclock_check(const struct repo *r, int64_t now, struct weir_err *e)
{
	cleanup_close int fd =
		openat(r->fd, GATECLOCK_FILE, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	const struct timespec times[2] = { { .tv_sec = now }, { .tv_sec = now } };
	char is[SIGNED_TIME], was[SIGNED_TIME];
	struct stat st = { 0 };

	if (fd < 0 && errno == ENOENT)
		fd = openat(r->fd, GATECLOCK_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	else if (fd >= 0 && fstat(fd, &st) < 0)
		return err_errno(e, -errno, "%s/" GATECLOCK_FILE, r->path);
	if (fd < 0)
		return err_errno(e, -errno, "%s/" GATECLOCK_FILE, r->path);
	if (now + GATECLOCK_STEP_S < st.st_mtim.tv_sec) {
		signed_time_format(now, is);
		signed_time_format(st.st_mtim.tv_sec, was);
		return refuse(e, REASON_CLOCK,
			      "it is %s here, and was %s before (`touch %s/" GATECLOCK_FILE
			      "` if that was wrong)",
			      is, was, r->path);
	}
	if (now > st.st_mtim.tv_sec && futimens(fd, times) < 0)
		return err_errno(e, -errno, "%s/" GATECLOCK_FILE, r->path);
	return 0;
}
