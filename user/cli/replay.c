/* SPDX-License-Identifier: MIT */
#include "user/cli/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/cleanup.h"
#include "user/pipe/pipe.h"
#include "user/report/report.h"
#include "user/trace/reader.h"

struct replay {
	struct pipe pipe;
	const struct replay_watch *watch; /* NULL: nobody */
	struct mounts *mounts;
	json_t *start; /* its record, NULL before */
	json_t *coverage;
	uint64_t first_ns, last_ns; /* of events, since boot */
	uint64_t members;
	uint64_t size; /* bytes of the trace that could be read */
	bool ended;    /* so it says itself */
};

static void replay_done(struct replay *r)
{
	pipe_done(&r->pipe);
	mounts_free(r->mounts);
	json_decref(r->start);
	json_decref(r->coverage);
}
#define cleanup_replay __attribute__((__cleanup__(replay_done)))

static void hear(const struct event *e, struct lineage_proc *proc, void *arg)
{
	const struct replay *r = arg;

	r->watch->event(e, r->mounts, r->pipe.lineage, proc, r->watch->arg);
}

/* The mounts of the host as they were come first: everything else is told by them. */
static int begin(struct replay *r, json_t *start, struct weir_err *e)
{
	int err = mounts_from_json(json_object_get(start, "mounts"), &r->mounts, e);

	if (err < 0)
		return err_wrap(e, "the start of the trace");
	r->start = json_incref(start);
	if (pipe_init(&r->pipe, NULL, r->mounts, NULL, NULL) < 0)
		return err_errno(e, -ENOMEM, "pipe");
	if (r->watch) {
		r->pipe.watch = hear;
		r->pipe.watch_arg = r;
	}
	return 0;
}

static void note_head(struct replay *r, const struct trace_record *record)
{
	struct weir_head head;

	if (record->len < sizeof(head))
		return;
	memcpy(&head, record->bytes, sizeof(head));
	if (!r->first_ns)
		r->first_ns = head.ts_ns;
	r->last_ns = head.ts_ns;
	r->members += head.type == WEIR_RECORD_FORK;
}

static void add_note(struct replay *r, const json_t *json)
{
	struct note note;
	struct weir_err why = { 0 };

	if (note_from_json(json, &note, &why) == 0)
		findings_add_note(r->pipe.findings, &note);
}

static int add_json(struct replay *r, const struct trace_record *record, struct weir_err *e)
{
	json_t *json = json_loadb(record->bytes, record->len, JSON_REJECT_DUPLICATES, NULL);
	int err = 0;

	if (record->type == TRACE_START && !r->start)
		err = begin(r, json, e);
	else if (!r->start)
		err = err_set(e, -EBADMSG, "the trace does not begin with its start");
	if (err == 0) {
		if (record->type == TRACE_COVERAGE && !r->coverage)
			r->coverage = json_incref(json);
		if (record->type == TRACE_NOTE)
			add_note(r, json);
		verdict_add_json(&r->pipe.verdict, (enum verdict_input)record->type, json);
		if (r->watch)
			r->watch->json(trace_type_name(record->type), json, r->watch->arg);
	}
	json_decref(json);
	return err;
}

static int add_record(struct replay *r, const struct trace_record *record, struct weir_err *e)
{
	if (record->type != TRACE_EVENT)
		return add_json(r, record, e);
	if (!r->start)
		return err_set(e, -EBADMSG, "the trace does not begin with its start");
	note_head(r, record);
	pipe_event(&r->pipe, record->bytes, record->len);
	return 0;
}

/* ret_broken: why the trace can't be read to its end, if it can't. */
static int read_trace(struct replay *r, int fd, struct weir_err *ret_broken, struct weir_err *e)
{
	cleanup_trace_reader struct trace_reader *reader = NULL;
	struct trace_record record;
	int err = trace_reader_new(fd, &reader, e);

	while (err == 0 && trace_reader_next(reader, &record, ret_broken) > 0)
		err = add_record(r, &record, e);
	if (err == 0 && trace_reader_ended(reader))
		r->ended = true;
	if (err == 0)
		r->size = trace_reader_size(reader);
	if (err == 0 && !r->start)
		err = err_set(e, -EBADMSG, "the trace holds nothing that can be read");
	return err;
}

static const char *text_at(const json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name));
}

/* The command, borrowed from the start. Returns: NULL when out of memory. */
static char **command_of(const json_t *start)
{
	const json_t *argv = json_object_get(start, "argv");
	size_t n = json_array_size(argv);
	char **list = calloc(n + 1, sizeof(*list));

	for (size_t i = 0; list && i < n; i++) {
		const char *arg = json_string_value(json_array_get(argv, i));

		list[i] = (char *)(arg ? arg : "");
	}
	return list;
}

static json_t *document(struct replay *r, const struct rundir *run, const struct stat *st)
{
	const json_t *base = json_object_get(r->start, "base");
	cleanup_free char **argv = command_of(r->start);
	json_t *counters = json_object();
	json_t *json;
	struct report report = {
		.id = run->id,
		.verdict = &r->pipe.verdict,
		.findings = r->pipe.findings,
		.workspace = text_at(json_object_get(r->start, "workspace"), "path"),
		.repository = text_at(base, "repository"),
		.ref = text_at(base, "ref"),
		.commit = text_at(base, "commit"),
		.mode = text_at(r->start, "mode"),
		.argv = argv,
		.wait_status = -1,
		.exit_status = -1,
		.started = st->st_mtim.tv_sec - (int64_t)((r->last_ns - r->first_ns) / 1000000000),
		.ended = st->st_mtim.tv_sec,
		.duration_ms = (r->last_ns - r->first_ns) / 1000000,
		.members = r->members + 1,
		.mutations = r->pipe.mutations,
		.coverage = r->coverage,
		.counters = counters,
		.next = "run it again; `weir recover` clears what this one left",
	};

	json = argv ? report_json(&report) : NULL;
	json_decref(counters);
	return json;
}

static int open_trace(const struct rundir *run, struct stat *st, struct weir_err *e)
{
	cleanup_close int fd = openat(run->fd, "trace", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 || fstat(fd, st) < 0)
		return err_errno(e, -errno, "%s/trace", run->path);
	return TAKE_FD(fd);
}

int replay_run(const struct rundir *run, json_t **ret_json, struct weir_err *e)
{
	cleanup_replay struct replay r = { 0 };
	struct weir_err broken = { 0 };
	struct stat st;
	cleanup_close int fd = open_trace(run, &st, e);
	int err = fd;

	if (err >= 0)
		err = read_trace(&r, fd, &broken, e);
	if (err < 0)
		return fd < 0 ? err : err_wrap(e, "%s/trace", run->path);
	if (broken.err)
		verdict_add_reason(&r.pipe.verdict, VERDICT_REASON_RECORD, "%s", broken.text);
	pipe_settle(&r.pipe);
	verdict_finish(&r.pipe.verdict);
	*ret_json = document(&r, run, &st);
	return *ret_json ? 0 : err_errno(e, -ENOMEM, "run");
}

int replay_watch(const struct rundir *run, const struct replay_watch *watch, struct weir_err *e)
{
	cleanup_replay struct replay r = { .watch = watch };
	struct weir_err broken = { 0 };
	struct stat st;
	cleanup_close int fd = open_trace(run, &st, e);
	int err = fd;

	if (err >= 0)
		err = read_trace(&r, fd, &broken, e);
	if (err == 0 && broken.err)
		err = err_set(e, broken.err, "%s", broken.text);
	else if (err == 0 && !r.ended)
		err = err_set(e, -EBADMSG, "cut short: it stops at byte %" PRIu64 " without an end",
			      r.size);
	return err < 0 && fd >= 0 ? err_wrap(e, "%s/trace", run->path) : err;
}
