/* SPDX-License-Identifier: MIT */
/* weir list: all runs, the newest last, and the seals of `weir seal`. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/base/usage.h"
#include "user/cli/cmd.h"
#include "user/cli/runs.h"
#include "user/cli/say.h"

#define COMMAND_MAX 60u

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "Print JSON (schema weir.list/1)", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	bool *json = state->input;

	(void)arg;
	switch (key) {
	case 'j':
		*json = true;
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state, "takes no arguments");
	}
	return ARGP_ERR_UNKNOWN;
}

static json_t *copy(const json_t *from, const char *name)
{
	json_t *value = json_object_get(from, name);

	return value ? json_incref(value) : json_null();
}

/* A run that has no run.json, or one that can't be read. */
static json_t *unfinished(const char *id, const struct rundir_locks *locks,
			  const struct weir_err *e)
{
	const char *state = "unreadable";

	if (strcmp(e->code, "run-unfinished") == 0)
		state = runs_is_active(locks, id) ? "running" : "cut-short";
	return json_pack("{s:s, s:s}", "id", id, "verdict", state);
}

static json_t *line_of(const char *state, const char *id, const struct rundir_locks *locks)
{
	cleanup_rundir struct rundir run = { .fd = -1 };
	struct weir_err e = { 0 };
	json_t *json = NULL, *line;

	if (rundir_open(state, id, &run, &e) < 0 || runs_read(&run, &json, &e) < 0)
		return unfinished(id, locks, &e);
	line = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id", id, "verdict",
			 copy(json, "verdict"), "exit", copy(json, "exit"), "findings",
			 copy(json_object_get(json, "counts"), "findings"), "started",
			 copy(json, "started"), "duration_ms", copy(json, "duration_ms"),
			 "workspace", copy(json, "workspace"), "command", copy(json, "command"));
	json_decref(json);
	return line;
}

static json_t *seal_of(const struct rundir_lock_info *lock)
{
	cleanup_buf struct buf path = { 0 };

	buf_add_escaped(&path, lock->path, strlen(lock->path));
	return json_pack("{s:s, s:s, s:I, s:s}", "id", lock->run, "state",
			 lock->state == RUNDIR_LOCK_LIVE ? "holds" : "ended", "pid",
			 (json_int_t)lock->pid, "path", buf_str(&path));
}

static int collect(const char *state, json_t *list, json_t *seals, struct weir_err *e)
{
	cleanup_rundir_list struct rundir_list runs = { 0 };
	cleanup_rundir_locks struct rundir_locks locks = { 0 };
	int err = rundir_list(state, &runs, e);

	if (err == 0)
		err = rundir_locks(state, &locks, e);
	for (size_t i = 0; err == 0 && i < runs.count; i++)
		if (json_array_append_new(list, line_of(state, runs.ids[i], &locks)) < 0)
			err = err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; err == 0 && i < locks.count; i++)
		if (runs_is_seal(state, &locks.items[i]) &&
		    json_array_append_new(seals, seal_of(&locks.items[i])) < 0)
			err = err_set(e, -ENOMEM, "out of memory");
	return err;
}

/* The command in one line, cut. What run.json holds is escaped; escaping again makes sure. */
static void add_command(struct buf *b, const json_t *args)
{
	cleanup_buf struct buf all = { 0 };
	char safe[COMMAND_MAX];
	const json_t *arg;
	size_t i;

	json_array_foreach (args, i, arg)
		buf_addf(&all, "%s%s", i ? " " : "",
			 json_is_string(arg) ? json_string_value(arg) : "");
	escape_text(buf_str(&all), all.len, safe, sizeof(safe));
	buf_addf(b, "%s%s", safe, strlen(safe) < all.len ? "..." : "");
}

static void add_number(struct buf *b, const json_t *number, int width)
{
	char text[24] = "-";

	if (json_is_integer(number))
		snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(number));
	buf_addf(b, "%*s  ", width, text);
}

static void add_table(struct buf *b, const json_t *list)
{
	const json_t *run;
	size_t i;

	if (json_array_size(list) == 0) {
		buf_addf(b, "no runs\n");
		return;
	}
	buf_addf(b, "%-22s  %-13s  %4s  %8s  %8s  %s\n", "RUN", "VERDICT", "EXIT", "FINDINGS",
		 "SECONDS", "COMMAND");
	json_array_foreach (list, i, run) {
		char verdict[32];
		const char *text = json_string_value(json_object_get(run, "verdict"));
		const json_t *ms = json_object_get(run, "duration_ms");

		escape_text(text ? text : "-", text ? strlen(text) : 1, verdict, sizeof(verdict));
		buf_addf(b, "%-22s  %-13s  ", json_string_value(json_object_get(run, "id")),
			 verdict);
		add_number(b, json_object_get(run, "exit"), 4);
		add_number(b, json_object_get(run, "findings"), 8);
		if (json_is_integer(ms))
			buf_addf(b, "%8.1f  ", (double)json_integer_value(ms) / 1000);
		else
			buf_addf(b, "%8s  ", "-");
		add_command(b, json_object_get(run, "command"));
		buf_addf(b, "\n");
	}
}

/* A seal that ended without a word stands here until `weir recover`. */
static void add_seals(struct buf *b, const json_t *seals)
{
	const json_t *seal;
	size_t i;

	if (json_array_size(seals) == 0)
		return;
	buf_addf(b, "\n%-22s  %-5s  %8s  %s\n", "SEAL", "STATE", "PROCESS", "DIRECTORY");
	json_array_foreach (seals, i, seal)
		buf_addf(b, "%-22s  %-5s  %8" JSON_INTEGER_FORMAT "  %s\n",
			 json_string_value(json_object_get(seal, "id")),
			 json_string_value(json_object_get(seal, "state")),
			 json_integer_value(json_object_get(seal, "pid")),
			 json_string_value(json_object_get(seal, "path")));
}

static int list_runs(bool as_json, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	cleanup_free char *state = NULL;
	json_t *list = json_array(), *seals = json_array(), *document;
	int status = rundir_state(&state, e);

	if (status == 0)
		status = collect(state, list, seals, e);
	document =
		json_pack("{s:s, s:o, s:o}", "schema", "weir.list/1", "runs", list, "seals", seals);
	if (status < 0) {
		status = say_error(e);
	} else if (as_json) {
		status = say_json(document);
	} else {
		add_table(&text, list);
		add_seals(&text, seals);
		status = say_text(&text);
	}
	json_decref(document);
	return status;
}

int cmd_list(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse_option, NULL, "Lists the runs, the newest last, and the seals.",
		NULL,	 NULL,	       NULL
	};
	struct weir_err e = { 0 };
	bool json = false;

	usage_parse(&argp, argc, argv, 0, &json);
	return list_runs(json, &e);
}
