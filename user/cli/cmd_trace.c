/* SPDX-License-Identifier: MIT */
/* weir trace: every record of a run, in its order. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/usage.h"
#include "user/cli/cmd.h"
#include "user/cli/replay.h"
#include "user/cli/runs.h"
#include "user/cli/say.h"
#include "user/event/event_json.h"
#include "user/report/report.h"

struct trace_options {
	const char *run;
	bool json;
};

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "A line of JSON for each record (schema weir.event/1)", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct trace_options *o = state->input;

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

struct teller {
	bool json, color, failed;
	uint64_t first_ns;
};

static bool print(const struct teller *t, const json_t *line)
{
	cleanup_buf struct buf text = { 0 };

	if (t->json)
		return json_dumpf(line, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF;
	return report_event_line(line, t->first_ns, t->color, &text) == 0 &&
	       fwrite(buf_str(&text), 1, text.len, stdout) == text.len;
}

/* Owns: line (NULL: out of memory). */
static void tell(struct teller *t, json_t *line)
{
	if (!line || !print(t, line))
		t->failed = true;
	json_decref(line);
}

static void tell_event(const struct event *e, const struct mounts *mounts, struct lineage *lineage,
		       struct lineage_proc *proc, void *arg)
{
	struct teller *t = arg;

	if (!t->first_ns)
		t->first_ns = e->head.ts_ns;
	tell(t, event_json(e, mounts, lineage, proc));
}

static void tell_json(const char *name, const json_t *json, void *arg)
{
	tell(arg, json_pack("{s:s, s:s, s:O}", "schema", "weir.event/1", "record", name, "data",
			    (json_t *)json));
}

static int trace(const struct trace_options *o, struct weir_err *e)
{
	struct teller t = { .json = o->json, .color = isatty(STDOUT_FILENO) };
	const struct replay_watch watch = { tell_event, tell_json, &t };
	cleanup_rundir struct rundir run = { .fd = -1 };
	cleanup_free char *state = NULL;
	int err = runs_open(o->run, &state, &run, e);

	if (err == 0)
		err = replay_watch(&run, &watch, e);
	if (fflush(stdout) == EOF || t.failed) {
		*e = (struct weir_err){ 0 };
		err_errno(e, t.failed && !ferror(stdout) ? -ENOMEM : -errno, "standard output");
		return say_error(e);
	}
	return err < 0 ? say_error(e) : CLI_OK;
}

int cmd_trace(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse_option,
		"[RUN]",
		"Prints every record of a run: processes, operations, and what weir noted itself. "
		"RUN is "
		"its id or the beginning of it; the default is the last run.",
		NULL,
		NULL,
		NULL
	};
	struct trace_options o = { 0 };
	struct weir_err e = { 0 };

	usage_parse(&argp, argc, argv, 0, &o);
	return trace(&o, &e);
}
