/* SPDX-License-Identifier: MIT */
/* weir rm: runs go, with trace and manifests. Commits that were made of them stay. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/base/usage.h"
#include "user/cli/cmd.h"
#include "user/cli/runs.h"
#include "user/cli/say.h"

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	char ***runs = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_ARGS:
		*runs = state->argv + state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		usage_error(state, "which run? `weir list` shows them");
	}
	return ARGP_ERR_UNKNOWN;
}

/* The fresh checkout that the run worked in, if it had one: nobody else knows of it.
 * Returns: 1 when it is gone now, 0 when there was none, or a negative errno. */
static int remove_checkout(const char *state, const char *id, struct weir_err *e)
{
	cleanup_free char *path = NULL;
	struct stat st;
	int err;

	if (asprintf(&path, "%s/work/%s", state, id) < 0) {
		path = NULL;
		return err_errno(e, -ENOMEM, "%s", id);
	}
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_errno(e, -errno, "%s", path);
	err = fsio_remove_tree(AT_FDCWD, path, e);
	return err < 0 ? err : 1;
}

static int remove_run(const char *which)
{
	cleanup_rundir struct rundir run = { .fd = -1 };
	cleanup_free char *state = NULL;
	struct weir_err e = { 0 };
	int checkout;

	if (runs_open(which, &state, &run, &e) < 0 || rundir_remove(state, run.id, &e) < 0)
		return say_error(&e);
	checkout = remove_checkout(state, run.id, &e);
	printf("removed %s%s\n", run.id, checkout > 0 ? " and its checkout" : "");
	return checkout < 0 ? say_error(&e) : CLI_OK;
}

int cmd_rm(int argc, char **argv)
{
	static const struct argp argp = { NULL,
					  parse_option,
					  "RUN...",
					  "Removes runs with all that is known of them. RUN is an "
					  "id, the beginning of one, or "
					  "`last`.",
					  NULL,
					  NULL,
					  NULL };
	char **runs = NULL;
	int status = CLI_OK;

	usage_parse(&argp, argc, argv, 0, &runs);
	for (; runs && *runs; runs++) {
		int one = remove_run(*runs);

		if (one != CLI_OK)
			status = one;
	}
	return status;
}
