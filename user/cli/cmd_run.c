/* SPDX-License-Identifier: MIT */
/* weir run: one command under watch, from sealed start to sealed end. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/base/usage.h"
#include "user/cli/alerts.h"
#include "user/cli/cmd.h"
#include "user/cli/parse.h"
#include "user/cli/say.h"
#include "user/cli/session.h"
#include "user/cli/statement.h"
#include "user/report/report.h"
#include "user/tree/compare.h"

#define RING_DEFAULT (8u << 20)

enum {
	OPT_REPO = 256,
	OPT_REF,
	OPT_USER,
	OPT_ENFORCE,
	OPT_OBSERVE,
	OPT_TIMEOUT,
	OPT_GRACE,
	OPT_MEMORY,
	OPT_PROCESSES,
	OPT_DISK,
	OPT_RING,
	OPT_SOURCE,
	OPT_WITHOUT,
	OPT_ALERTS,
};

static const struct argp_option options[] = {
	{ "policy", 'p', "FILE", 0,
	  "Capability set (@base: the one in the base commit); none: only record", 0 },
	{ "workspace", 'w', "DIR", 0, "Where output may be produced; none: a fresh checkout", 0 },
	{ "repo", OPT_REPO, "DIR", 0, "Trusted repository, of those that the gate knows", 0 },
	{ "ref", OPT_REF, "REF", 0, "Branch in it", 0 },
	{ "user", OPT_USER, "NAME", 0, "Run the command as NAME", 0 },
	{ "enforce", OPT_ENFORCE, NULL, 0, "Deny what the policy does not allow (default)", 0 },
	{ "observe", OPT_OBSERVE, NULL, 0, "Judge only, deny nothing", 0 },
	{ "timeout", OPT_TIMEOUT, "TIME", 0, "End the run after TIME (10s, 5m, 2h)", 0 },
	{ "grace", OPT_GRACE, "TIME", 0, "Time for processes that outlive the command", 0 },
	{ "memory", OPT_MEMORY, "SIZE", 0, "Memory of the run (512M, 4G)", 0 },
	{ "processes", OPT_PROCESSES, "N", 0, "Tasks of the run at one time", 0 },
	{ "disk", OPT_DISK, "SIZE", 0, "Largest file that the run may write", 0 },
	{ "ring", OPT_RING, "SIZE", 0, "Ring buffer (a power of two, default 8M)", 0 },
	{ "source", OPT_SOURCE, "NAME", 0,
	  "Judge in lsm, fmod_ret or syscall (default: the best one that this host has)", 0 },
	{ "alerts", OPT_ALERTS, "FILE", 0, "Findings as they happen, as JSON lines", 0 },
	{ "quiet", 'q', NULL, 0, "No progress line, no summary", 0 },
	{ "without-hook", OPT_WITHOUT, "NAMES", OPTION_HIDDEN,
	  "Leave hooks out (a,b); the run is then indeterminate", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct run_options *o = state->input;
	uint64_t ring;

	switch (key) {
	case 'p':
		o->policy = arg;
		return 0;
	case 'w':
		o->workspace = arg;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case OPT_REPO:
		o->repository = arg;
		return 0;
	case OPT_REF:
		o->ref = arg;
		return 0;
	case OPT_USER:
		o->user = arg;
		return 0;
	case OPT_WITHOUT:
		o->without = arg;
		return 0;
	case OPT_ALERTS:
		o->alerts = arg;
		return 0;
	case OPT_SOURCE:
		o->source = kern_source_find(arg);
		if (o->source == KERN_SOURCE_MISSING)
			usage_error(state, "--source: lsm, fmod_ret or syscall");
		return 0;
	case OPT_ENFORCE:
		o->mode = WEIR_MODE_ENFORCE;
		return 0;
	case OPT_OBSERVE:
		o->mode = WEIR_MODE_OBSERVE;
		return 0;
	case OPT_TIMEOUT:
		return parse_time(arg, &o->timeout_ns, state, "--timeout");
	case OPT_GRACE:
		return parse_time(arg, &o->grace_ns, state, "--grace");
	case OPT_MEMORY:
		return parse_size(arg, &o->memory, state, "--memory");
	case OPT_PROCESSES:
		return parse_size(arg, &o->processes, state, "--processes");
	case OPT_DISK:
		return parse_size(arg, &o->disk, state, "--disk");
	case OPT_RING:
		if (parse_size(arg, &ring, state, "--ring") || (ring & (ring - 1)) || ring < 4096)
			usage_error(state, "--ring: a power of two from 4K, like 8M");
		o->ring_bytes = ring;
		return 0;
	case ARGP_KEY_ARGS:
		o->argv = state->argv + state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		usage_error(state, "no command: weir run [OPTION...] -- COMMAND [ARG...]");
	}
	return ARGP_ERR_UNKNOWN;
}

static void on_alert(const struct finding *finding, void *arg)
{
	alerts_finding(arg, finding);
}

static int exit_of_child(const struct session *s)
{
	if (s->exec_err == -ENOENT)
		return CLI_NOT_FOUND;
	if (s->exec_err < 0)
		return CLI_NOT_EXECUTABLE;
	if (WIFSIGNALED(s->wait_status))
		return 128 + WTERMSIG(s->wait_status);
	return WEXITSTATUS(s->wait_status);
}

static int exit_status(const struct session *s, enum verdict_value verdict)
{
	switch (verdict) {
	case VERDICT_VIOLATED:
		return CLI_VIOLATED;
	case VERDICT_INDETERMINATE:
		return CLI_INDETERMINATE;
	case VERDICT_CLEAN:
	case VERDICT_UNJUDGED:
		return exit_of_child(s);
	}
	return CLI_FAILED;
}

/* Files that differ between the two manifests; 0 if that can't be told. */
static uint64_t count_changes(const struct session *s)
{
	cleanup_close int before = openat(s->run.fd, "manifest.before", O_RDONLY | O_CLOEXEC);
	cleanup_close int after = openat(s->run.fd, "manifest.after", O_RDONLY | O_CLOEXEC);
	cleanup_manifest_reader struct manifest_reader *a = NULL, *b = NULL;
	cleanup_tree_changes struct tree_changes changes = { 0 };

	if (before < 0 || after < 0 ||
	    manifest_reader_new(before, "manifest.before", &a, NULL) < 0 ||
	    manifest_reader_new(after, "manifest.after", &b, NULL) < 0 ||
	    tree_compare_manifests(a, b, 0, &changes, NULL) < 0)
		return 0;
	return changes.count;
}

static const char *next_step(const struct session *s, enum verdict_value verdict)
{
	switch (verdict) {
	case VERDICT_CLEAN:
		return s->base.nonce ? "promote it: weir commit -m MESSAGE" : NULL;
	case VERDICT_VIOLATED:
		return "look at each finding; nothing of this run gets into the repository";
	case VERDICT_INDETERMINATE:
		return "mend the cause and run again; what can't be proven gets nowhere";
	case VERDICT_UNJUDGED:
		return "write a policy from the lines above and run again with -p FILE";
	}
	return NULL;
}

static int write_run_json(struct session *s, const struct report *r, struct weir_err *e)
{
	json_t *json = report_json(r);
	cleanup_free char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;

	json_decref(json);
	if (!text)
		return err_errno(e, -ENOMEM, "run.json");
	return fsio_replace(s->run.fd, "run.json", text, strlen(text), 0600, e);
}

static void report(struct session *s, enum verdict_value verdict)
{
	static const char *const modes[] = { "off", "trace", "observe", "enforce" };
	const struct weir_run *run = kern_run(s->kern, s->slot.slot);
	struct policy_env env = { s->workspace, s->user.home, s->tmpdir };
	cleanup_buf struct buf suggestion = { 0 }, text = { 0 };
	json_t *counters = finish_hooks_json(run);
	struct timespec now;
	struct report r = {
		.id = s->run.id,
		.verdict = &s->pipe.verdict,
		.findings = s->pipe.findings,
		.image = s->image,
		.policy_file = s->opt->policy,
		.workspace = s->workspace,
		.repository = s->base.repository,
		.ref = s->base.ref,
		.commit = s->base.commit,
		.user = s->user.name,
		.mode = modes[s->mode],
		.argv = s->opt->argv,
		.wait_status = s->wait_status,
		.exit_status = exit_status(s, verdict),
		.members = run->members - s->canaries,
		.mutations = s->pipe.mutations,
		.changed_files = count_changes(s),
		.coverage = s->coverage,
		.counters = counters,
		.next = next_step(s, verdict),
	};
	struct weir_err doubt = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	r.started = s->started.tv_sec;
	r.ended = now.tv_sec;
	r.duration_ms = (uint64_t)((now.tv_sec - s->started.tv_sec) * 1000 +
				   (now.tv_nsec - s->started.tv_nsec) / 1000000);
	if (verdict == VERDICT_UNJUDGED &&
	    policy_add_powers(&suggestion, s->pipe.wants.powers) == 0 &&
	    policy_suggest(s->pipe.wants.items, s->pipe.wants.count, &env, &suggestion) == 0)
		r.suggestion = buf_str(&suggestion);
	if (write_run_json(s, &r, &doubt) < 0) {
		session_spoil(s, &doubt);
		r.next = next_step(s, s->pipe.verdict.value);
		r.exit_status = exit_status(s, s->pipe.verdict.value);
	}
	if (!s->opt->quiet && report_summary(&r, isatty(2), &text) == 0)
		fputs(buf_str(&text), stderr);
	json_decref(counters);
}

static int run(struct session *s, const struct run_options *o, struct weir_err *e)
{
	enum verdict_value verdict = VERDICT_INDETERMINATE;
	int err = session_prepare(s, o, e);

	s->pipe.alert = on_alert;
	if (err == 0)
		err = alerts_open(s, e);
	if (err == 0)
		err = session_attach(s, e);
	if (err == 0)
		err = session_watch(s, e);
	if (err == 0)
		err = session_finish(s, &verdict, e);
	if (err < 0)
		return e->exit_code ? e->exit_code : CLI_FAILED;
	report(s, verdict);
	alerts_end(s);
	return exit_status(s, s->pipe.verdict.value);
}

int cmd_run(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse_option,
		"-- COMMAND [ARG...]",
		"Runs COMMAND under watch and judges what it did to the host.",
		NULL,
		NULL,
		NULL
	};
	struct run_options o = { .grace_ns = UINT64_MAX, .ring_bytes = RING_DEFAULT };
	struct weir_err e = { 0 };
	struct kern_probe probe;
	struct session s;
	int status;

	usage_parse(&argp, argc, argv, ARGP_IN_ORDER, &o);
	kern_probe(&probe);
	if (o.source == KERN_SOURCE_MISSING)
		o.source = probe.source;
	if (o.source == KERN_SOURCE_MISSING) {
		fprintf(stderr, "weir: cannot observe: %s\n", probe.blind);
		return CLI_FAILED;
	}
	status = run(&s, &o, &e);
	if (e.err < 0)
		say_error(&e);
	session_close(&s);
	return status;
}
