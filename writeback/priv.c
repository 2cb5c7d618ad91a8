/* SPDX-License-Identifier: MIT */
#include "writeback/priv.h"

#include <cap-ng.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "writeback/reason.h"

static int lock_down(struct weir_err *e)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_errno(e, -errno, "setting no_new_privs");
	return 0;
}

static int check_ids(uid_t uid, gid_t gid, struct weir_err *e)
{
	uid_t u[3];
	gid_t g[3];

	if (getresuid(&u[0], &u[1], &u[2]) < 0 || getresgid(&g[0], &g[1], &g[2]) < 0)
		return err_errno(e, -errno, "checking the user");
	for (int i = 0; i < 3; i++)
		if (u[i] != uid || g[i] != gid)
			return err_set(e, -EPERM, "dropping privilege to uid %u failed", uid);
	return getgroups(0, NULL) == 0 ? 0 : err_set(e, -EPERM, "dropping groups failed");
}

int priv_become(uid_t uid, gid_t gid, struct weir_err *e)
{
	int err;

	/* bounding set first: it needs CAP_SETPCAP, which the change of uid takes */
	capng_clear(CAPNG_SELECT_BOTH);
	if (geteuid() == 0 && capng_apply(CAPNG_SELECT_BOUNDS) < 0)
		return err_set(e, -EPERM, "emptying the bounding set failed");
	if (geteuid() == 0 && setgroups(0, NULL) < 0)
		return err_errno(e, -errno, "dropping groups");
	if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return err_errno(e, -errno, "becoming uid %u", uid);
	if (uid == 0)
		return lock_down(e);
	err = check_ids(uid, gid, e);
	if (err < 0)
		return err;
	capng_get_caps_process();
	if (capng_have_capabilities(CAPNG_SELECT_CAPS) != CAPNG_NONE)
		return err_set(e, -EPERM, "dropping capabilities failed");
	return lock_down(e);
}

int priv_become_reader(struct weir_err *e)
{
	int err;

	capng_clear(CAPNG_SELECT_BOTH);
	if (capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_DAC_READ_SEARCH) < 0 ||
	    capng_change_id(PRIV_NOBODY, PRIV_NOBODY, CAPNG_DROP_SUPP_GRP | CAPNG_CLEAR_BOUNDING) <
		    0)
		return err_set(e, -EPERM, "becoming the reader failed");
	err = check_ids(PRIV_NOBODY, PRIV_NOBODY, e);
	if (err < 0)
		return err;
	capng_get_caps_process();
	for (unsigned int cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (capng_have_capability(CAPNG_PERMITTED, cap) != (cap == CAP_DAC_READ_SEARCH))
			return err_set(e, -EPERM,
				       "the reader has other capabilities than it should");
	return lock_down(e);
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

int priv_close_others(const int *keep, size_t count)
{
	int sorted[32], at = 3;

	if (count > sizeof(sorted) / sizeof(sorted[0]))
		return -E2BIG;
	if (count > 0) {
		memcpy(sorted, keep, count * sizeof(*keep));
		qsort(sorted, count, sizeof(*sorted), by_number);
	}
	for (size_t i = 0; i < count; i++) {
		if (sorted[i] < at)
			continue;
		if (sorted[i] > at && close_range((unsigned int)at, (unsigned int)sorted[i] - 1, 0))
			return -errno;
		at = sorted[i] + 1;
	}
	return close_range((unsigned int)at, UINT_MAX, 0) < 0 ? -errno : 0;
}

int priv_wait(pid_t pid, const char *name, struct weir_err *e)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_errno(e, -errno, "waiting for the %s", name);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	err_set(e, -EIO, "the %s was ended by signal %d", name, WTERMSIG(status));
	return GATE_EXIT_FAILED;
}
