/* SPDX-License-Identifier: MIT */
/* weir rm: runs go, with trace and manifests. Commits that were made of them stay. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

#include "user/base/cleanup.h"
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

static int remove_run(const char *which)
{
	cleanup_rundir struct rundir run = { .fd = -1 };
	cleanup_free char *state = NULL;
	struct weir_err e = { 0 };

	if (runs_open(which, &state, &run, &e) < 0 || rundir_remove(state, run.id, &e) < 0)
		return say_error(&e);
	printf("removed %s\n", run.id);
	return CLI_OK;
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
