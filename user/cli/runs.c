/* SPDX-License-Identifier: MIT */
#include "user/cli/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/cli/cmd.h"

/* 10,000 findings of long paths and chains stay below. */
#define RUN_JSON_MAX ((size_t)256 << 20)

int runs_open(const char *which, char **ret_state, struct rundir *ret_run, struct weir_err *e)
{
	int err = rundir_state(ret_state, e);

	if (err == 0)
		err = rundir_open(*ret_state, which, ret_run, e);
	if (err == -ENOENT || err == -EEXIST || err == -EINVAL)
		e->exit_code = CLI_USAGE;
	return err;
}

int runs_read(const struct rundir *run, json_t **ret_json, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	json_error_t why;
	struct stat st;
	int err;

	if (fstatat(run->fd, "run.json", &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return err_code(e, -ENOENT, "run-unfinished",
				"run %s has not ended: it goes on, or it was cut short (see "
				"`weir list`)",
				run->id);
	err = fsio_read_file(run->fd, "run.json", RUN_JSON_MAX, &text, e);
	if (err < 0)
		return err_wrap(e, "%s", run->path);
	*ret_json = json_loadb(buf_str(&text), text.len, JSON_REJECT_DUPLICATES, &why);
	if (!*ret_json)
		return err_set(e, -EBADMSG, "%s/run.json:%d:%d: %s", run->path, why.line,
			       why.column, why.text);
	return 0;
}

bool runs_is_active(const struct rundir_locks *locks, const char *id)
{
	for (size_t i = 0; i < locks->count; i++)
		if (locks->items[i].state == RUNDIR_LOCK_LIVE &&
		    strcmp(locks->items[i].run, id) == 0)
			return true;
	return false;
}

bool runs_is_seal(const char *state, const struct rundir_lock_info *lock)
{
	cleanup_free char *path = NULL;
	struct stat st;

	if (lock->state == RUNDIR_LOCK_BROKEN)
		return false;
	if (asprintf(&path, "%s/runs/%s", state, lock->run) < 0) {
		path = NULL;
		return false;
	}
	return lstat(path, &st) < 0 && errno == ENOENT;
}
