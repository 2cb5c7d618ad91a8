/* SPDX-License-Identifier: MIT */
/* weir show: what a run did, once more. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/usage.h"
#include "user/cli/cmd.h"
#include "user/cli/replay.h"
#include "user/cli/runs.h"
#include "user/cli/say.h"
#include "user/report/report.h"

struct show_options {
	const char *run;
	bool json;
};

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "Print the whole run.json (schema weir.run/1)", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct show_options *o = state->input;

	switch (key) {
	case 'j':
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->run)
			usage_error(state, "one run at a time");
		o->run = arg;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* What the run said at its end; of one that was cut short, what its trace tells. */
static int read_run(const char *state, const struct rundir *run, json_t **ret_json,
		    struct weir_err *e)
{
	cleanup_rundir_locks struct rundir_locks locks = { 0 };
	int err = runs_read(run, ret_json, e);

	if (err != -ENOENT || faccessat(run->fd, "trace", R_OK, 0) < 0 ||
	    rundir_locks(state, &locks, e) < 0 || runs_is_active(&locks, run->id))
		return err;
	return replay_run(run, ret_json, e);
}

static int show(const struct show_options *o, struct weir_err *e)
{
	cleanup_rundir struct rundir run = { .fd = -1 };
	cleanup_buf struct buf text = { 0 };
	cleanup_free char *state = NULL;
	json_t *json = NULL;
	int status;

	if (runs_open(o->run, &state, &run, e) < 0 || read_run(state, &run, &json, e) < 0)
		return say_error(e);
	if (o->json)
		status = say_json(json);
	else if (report_from_json(json, isatty(STDOUT_FILENO), &text, e) < 0)
		status = text.failed ? say_text(&text) : say_error(e);
	else
		status = say_text(&text);
	json_decref(json);
	return status;
}

int cmd_show(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse_option,
		"[RUN]",
		"Tells what a run did. RUN is its id or the beginning of it; the default is the "
		"last run.",
		NULL,
		NULL,
		NULL
	};
	struct show_options o = { 0 };
	struct weir_err e = { 0 };

	usage_parse(&argp, argc, argv, 0, &o);
	return show(&o, &e);
}
