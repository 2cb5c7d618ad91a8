/* SPDX-License-Identifier: MIT */
/* The sealed end: members gone, tree sealed, no writer left, all records in, all hashed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/base/fsio.h"
#include "user/cli/environ.h"
#include "user/cli/session.h"
#include "user/cli/statement.h"
#include "user/cli/sweep.h"
#include "user/event/names.h"

#define KILL_MS 10000
#define DRAIN_MS 5000

/* One member that outlived the command: a note with its program. */
static int note_leftover(const struct weir_task *task, void *arg)
{
	struct session *s = arg;
	bool block = s->policy && s->policy->leftover.value == POLICY_LEFTOVER_BLOCK;
	char link[64], exe[4096], path[4 * 4096 + 1], text[128];
	ssize_t len;
	struct note note = {
		.kind = WEIR_KIND_MEMBERSHIP,
		.op = WEIR_OP_NONE,
		.outcome = WEIR_OUTCOME_DENIED,
		.severity = block ? SEVERITY_ERROR : SEVERITY_NOTICE,
		.count = 1,
		.path = path,
		.text = text,
	};

	if (task->pid != task->tgid)
		return 0;
	snprintf(link, sizeof(link), "/proc/%u/exe", task->tgid);
	len = readlink(link, exe, sizeof(exe));
	escape_bytes(exe, len > 0 ? (size_t)len : 0, path, sizeof(path));
	snprintf(text, sizeof(text), "process %u was still running after the command and the grace",
		 task->tgid);
	pipe_note(&s->pipe, &note);
	return 0;
}

static void end_members(struct session *s)
{
	struct weir_run *run = kern_run(s->kern, s->slot.slot);

	if (run->live && !s->interrupted && !s->cut_short)
		kern_each_member(&s->slot, note_leftover, s);
	if (run->live && kern_kill_members(&s->slot, KILL_MS) > 0)
		session_doubt(s, "members could not be killed");
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Everything up to the last number must have come out of the ring. */
static void drain(struct session *s)
{
	struct weir_run *run = kern_run(s->kern, s->slot.slot);
	const struct timespec pause = { .tv_nsec = 2000000 };

	for (int ms = 0; ms < DRAIN_MS; ms += 2) {
		session_drain(s, 0);
		if (s->pipe.verdict.records >= run->seq || (run->trouble & WEIR_TROUBLE_RING))
			return;
		nanosleep(&pause, NULL);
	}
	session_doubt(s, "the last records did not arrive");
}

json_t *finish_hooks_json(const struct weir_run *run)
{
	json_t *hooks = json_object();

	for (unsigned int i = 0; i < WEIR_HOOK_COUNT; i++) {
		const struct weir_hookstat *h = &run->hooks[i];

		json_object_set_new(hooks, names_hook(i),
				    json_pack("{s:I, s:I, s:I, s:I}", "seen", (json_int_t)h->seen,
					      "emitted", (json_int_t)h->emitted, "aggregated",
					      (json_int_t)h->aggregated, "dropped",
					      (json_int_t)h->dropped));
	}
	return hooks;
}

static json_t *latch_json(const struct weir_run *run)
{
	json_t *latch = json_object();

	for (unsigned int i = 0; i < WEIR_KIND_COUNT; i++)
		if (run->latch[i])
			json_object_set_new(latch, names_kind(i),
					    json_integer((json_int_t)run->latch[i]));
	return latch;
}

json_t *finish_exit_json(int wait_status)
{
	if (wait_status < 0)
		return json_null();
	if (WIFSIGNALED(wait_status))
		return json_pack("{s:i}", "signal", WTERMSIG(wait_status));
	return json_pack("{s:i}", "code", WEXITSTATUS(wait_status));
}

static json_t *end_record(struct session *s, const struct weir_run *run)
{
	char before[DIGEST_HEX], after[DIGEST_HEX];

	digest_hex(s->before.sha256, DIGEST_SIZE, before);
	digest_hex(s->after.sha256, DIGEST_SIZE, after);
	return json_pack("{s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:o, s:s, s:s, s:O}", "schema",
			 "weir.end/1", "hooks", finish_hooks_json(run), "latch", latch_json(run),
			 "trouble", (json_int_t)kern_trouble(&s->slot), "last_seq",
			 (json_int_t)run->seq, "live", (json_int_t)run->live, "members",
			 (json_int_t)run->members, "exit", finish_exit_json(s->wait_status),
			 "manifest_before", before, "manifest_after", after, "reasons", s->reasons);
}

static int hash_after(struct session *s, struct weir_err *e)
{
	cleanup_close int fd =
		openat(s->run.fd, "manifest.after", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_errno(e, -errno, "manifest.after");
	return manifest_write_tree(s->workspace_fd, ".git", fd, &s->after, e);
}

/* The workspace must be the directory that it was, at the place where it was. */
static void check_workspace(struct session *s)
{
	struct stat was, is;

	if (fstat(s->workspace_fd, &was) < 0 || lstat(s->workspace, &is) < 0 ||
	    was.st_dev != is.st_dev || was.st_ino != is.st_ino)
		session_doubt(s, "the workspace was removed or replaced: %s", s->workspace);
}

void session_spoil(struct session *s, const struct weir_err *why)
{
	struct verdict *v = &s->pipe.verdict;

	verdict_add_reason(v, VERDICT_REASON_COLLECTOR, "%s", why->text);
	if (v->value != VERDICT_VIOLATED)
		v->value = VERDICT_INDETERMINATE;
}

static int write_coverage(struct session *s, struct weir_err *e)
{
	cleanup_free char *text = json_dumps(s->coverage, JSON_INDENT(2) | JSON_SORT_KEYS);

	if (!text)
		return err_errno(e, -ENOMEM, "coverage");
	return fsio_replace(s->run.fd, "coverage.json", text, strlen(text), 0600, e);
}

/* The counters go on for a moment after the last member (tasks are freed late): takes
 * them when they stand still, so that they belong together. */
static void settle(struct session *s, struct weir_run *ret_run)
{
	const struct weir_run *run = kern_run(s->kern, s->slot.slot);
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct weir_run again;

	memcpy(ret_run, run, sizeof(*ret_run));
	for (int i = 0; i < DRAIN_MS; i++) {
		nanosleep(&pause, NULL);
		memcpy(&again, run, sizeof(again));
		if (memcmp(&again, ret_run, sizeof(again)) == 0)
			return;
		memcpy(ret_run, &again, sizeof(again));
	}
}

int session_finish(struct session *s, enum verdict_value *ret_verdict, struct weir_err *e)
{
	struct weir_err doubt = { 0 };
	struct weir_run run;
	int err;

	end_members(s);
	/* source syscall can't keep others out */
	if (s->opt->source != KERN_SOURCE_SYSCALL &&
	    kern_watch(&s->slot, s->workspace_fd, true, &doubt) < 0)
		session_doubt(s, "sealing: %s", doubt.text);
	check_workspace(s);
	if (sweep_writers(s, NULL, &doubt) < 0)
		session_doubt(s, "looking for open writers: %s", doubt.text);
	if (hash_after(s, &doubt) < 0)
		session_doubt(s, "hashing the workspace: %s", doubt.text);
	session_prove(s, "at the end");
	if (kern_check(s->kern, &doubt) < 0)
		session_doubt(s, "at the end: %s", doubt.text);
	drain(s);
	pipe_settle(&s->pipe);
	settle(s, &run);
	err = pipe_json(&s->pipe, VERDICT_END, end_record(s, &run));
	if (err < 0)
		return err_errno(e, err, "ending the trace");
	err = s->pipe.trace_err < 0 ? s->pipe.trace_err
				    : trace_writer_sync(s->trace, &s->pipe.trace_error);
	if (err < 0)
		verdict_add_reason(&s->pipe.verdict, VERDICT_REASON_COLLECTOR,
				   "the trace could not be written: %s", s->pipe.trace_error.text);
	verdict_finish(&s->pipe.verdict);
	if (write_coverage(s, &doubt) < 0 ||
	    (s->base.nonce && statement_write(s, s->pipe.verdict.value, &doubt) < 0))
		session_spoil(s, &doubt);
	*ret_verdict = s->pipe.verdict.value;
	return 0;
}
