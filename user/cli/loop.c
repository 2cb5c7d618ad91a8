/* SPDX-License-Identifier: MIT */
/* While the command runs: records, findings, signals, the terminal, the time. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/cli/coverage.h"
#include "user/cli/session.h"
#include "user/cli/terminal.h"

/* Tasks of a run where nothing else is said: a quarter of what all runs share. */
#define PROCESSES_DEFAULT 8192

#define TICK_MS 100
#define NS 1000000000ull
#define KILL_AFTER_SIGNAL_NS (2 * NS)

struct loop {
	struct session *s;
	struct terminal terminal;
	int signals;
	uint64_t began, exited, stopped; /* when, 0: not yet */
	uint64_t shown;
	uint64_t written; /* the trace, up to here */
	bool progress;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

static int write_value(const char *dir, const char *name, uint64_t value, struct weir_err *e)
{
	char path[600], text[32];
	cleanup_close int fd = -1;
	int len = snprintf(text, sizeof(text), "%llu", (unsigned long long)value);

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, (size_t)len) != len)
		return err_errno(e, -errno, "limit %s", path);
	return 0;
}

/* The group only limits and speeds up the end; membership does not depend on it. */
static int make_cgroup(struct session *s, struct weir_err *e)
{
	static const char *const tops[] = { "/sys/fs/cgroup", KERN_CGROUP };
	uint64_t memory = s->opt->memory ? s->opt->memory
			  : s->policy	 ? s->policy->memory_bytes.value
					 : 0;
	uint64_t processes = s->opt->processes ? s->opt->processes
			     : s->policy       ? s->policy->processes.value
					       : 0;
	struct kern_probe probe;
	int err;

	/* without cgroups there are no such limits, which session_source has said */
	kern_probe(&probe);
	if (!probe.cgroup2)
		return 0;
	err = fsio_mkdir_p(tops[1], 0755, e);
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(tops); i++) {
		char path[100];
		cleanup_close int fd = -1;

		snprintf(path, sizeof(path), "%s/cgroup.subtree_control", tops[i]);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd >= 0)
			fsio_write_all(fd, "+memory +pids", 13);
	}
	if (err == 0 && asprintf(&s->cgroup, "%s/%s", tops[1], s->run.id) < 0)
		err = err_errno(e, -ENOMEM, "cgroup");
	if (err == 0 && mkdir(s->cgroup, 0755) < 0)
		err = err_errno(e, -errno, "%s", s->cgroup);
	if (err == 0 && memory)
		err = write_value(s->cgroup, "memory.max", memory, e);
	if (err == 0)
		err = write_value(s->cgroup, "pids.max", processes ? processes : PROCESSES_DEFAULT,
				  e);
	return err;
}

static int start_child(struct session *s, struct weir_err *e)
{
	const struct child_spec spec = {
		.argv = s->opt->argv,
		.envp = s->env,
		.cwd = s->workspace,
		.user = s->user.name,
		.uid = s->user.uid,
		.gid = s->user.gid,
		.capabilities = s->policy ? s->policy->capabilities.value : 0,
		.no_new_privs = s->policy ? s->policy->no_new_privs.value : true,
		.terminal = isatty(0),
		.file_bytes = s->disk_bytes,
		.cgroup = s->cgroup,
	};
	int err = child_hold(&spec, &s->child, e);

	if (err == 0)
		err = kern_adopt(&s->slot, s->child.pid, WEIR_ROLE_MEMBER, e);
	if (err == 0) {
		s->coverage = coverage_json(s->kern);
		err = pipe_json(&s->pipe, VERDICT_COVERAGE, json_incref(s->coverage));
		if (err < 0)
			err_errno(e, err, "coverage");
	}
	if (err < 0) {
		if (s->child.pid > 0) {
			kill(s->child.pid, SIGKILL);
			waitpid(s->child.pid, NULL, 0);
		}
		return err;
	}
	s->exec_err = child_release(&s->child);
	return 0;
}

/* A child that makes us its tracer (PTRACE_TRACEME) stops, waits for us, and would look as
 * if it had ended. It goes on as if it had not asked. */
static void refuse_tracing(struct session *s, pid_t pid, int sig)
{
	char text[100];
	const struct note note = {
		.kind = WEIR_KIND_TAMPER,
		.op = WEIR_OP_PTRACE,
		.outcome = WEIR_OUTCOME_REFUSED,
		.severity = SEVERITY_ALERT,
		.count = 1,
		.path = "",
		.text = text,
	};

	ptrace(PTRACE_DETACH, pid, NULL, (void *)(intptr_t)sig);
	snprintf(text, sizeof(text), "process %d made the collector its tracer", pid);
	pipe_note(&s->pipe, &note);
}

/* Reaps everything: orphans of the run come to us, as their subreaper. */
static void reap(struct loop *l)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (WIFSTOPPED(status)) {
			refuse_tracing(l->s, pid, WSTOPSIG(status));
			continue;
		}
		if (pid != l->s->child.pid)
			continue;
		l->s->wait_status = status;
		l->exited = now_ns();
	}
}

static void on_signal(struct loop *l)
{
	struct signalfd_siginfo info;
	struct session *s = l->s;

	while (read(l->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD) {
			reap(l);
		} else if (info.ssi_signo == SIGWINCH) {
			terminal_resize(&l->terminal);
		} else {
			if (!s->interrupted)
				session_doubt(s, "stopped by signal %u", info.ssi_signo);
			s->interrupted = true;
			l->stopped = now_ns();
			if (!l->exited)
				kill(-s->child.pid, (int)info.ssi_signo);
		}
	}
}

static void show_progress(struct loop *l, uint64_t now)
{
	struct session *s = l->s;

	if (!l->progress || now - l->shown < NS)
		return;
	l->shown = now;
	fprintf(stderr, "\r\033[Kweir: %llu s, %llu members, %llu operations, %zu findings ",
		(unsigned long long)((now - l->began) / NS),
		(unsigned long long)kern_run(s->kern, s->slot.slot)->live,
		(unsigned long long)s->pipe.mutations, findings_count(s->pipe.findings));
}

/* What happened more than a second ago survives a crash of ours. */
static void keep_trace(struct loop *l, uint64_t now)
{
	struct pipe *p = &l->s->pipe;

	if (now - l->written < NS || p->trace_err < 0)
		return;
	l->written = now;
	p->trace_err = trace_writer_flush(p->trace, &p->trace_error);
}

static uint64_t disk_free(const struct session *s)
{
	struct statvfs fs;

	return fstatvfs(s->workspace_fd, &fs) == 0 ? fs.f_bavail * fs.f_frsize : 0;
}

/* What the workspace's file system lost since the start, whoever took it. */
static void check_disk(struct loop *l)
{
	struct session *s = l->s;
	uint64_t left;

	if (!s->disk_bytes || s->cut_short)
		return;
	left = disk_free(s);
	if (left >= s->disk_free || s->disk_free - left <= s->disk_bytes)
		return;
	s->cut_short = true;
	session_doubt(s, "disk limit of %llu bytes reached", (unsigned long long)s->disk_bytes);
	kern_kill_members(&s->slot, 5000);
	reap(l);
}

static void check_time(struct loop *l, uint64_t now)
{
	struct session *s = l->s;

	if (s->timeout_ns && !s->cut_short && now - l->began > s->timeout_ns) {
		s->cut_short = true;
		session_doubt(s, "time limit of %llu s reached",
			      (unsigned long long)(s->timeout_ns / NS));
		kern_kill_members(&s->slot, 5000);
		reap(l);
	}
	if (l->stopped && now - l->stopped > KILL_AFTER_SIGNAL_NS && !l->exited)
		kern_kill_members(&s->slot, 5000);
}

/* Goes on until the command and, within the grace, all its members have ended. */
static bool goes_on(struct loop *l)
{
	struct session *s = l->s;

	if (!l->exited)
		return true;
	if (kern_run(s->kern, s->slot.slot)->live == 0)
		return false;
	return now_ns() - l->exited < s->grace_ns;
}

static void turn(struct loop *l)
{
	struct pollfd fds[4] = {
		{ .fd = kern_ring_fd(l->s->ring), .events = POLLIN },
		{ .fd = l->signals, .events = POLLIN },
		{ .fd = l->terminal.master, .events = POLLIN },
		{ .fd = l->terminal.master >= 0 ? 0 : -1, .events = POLLIN },
	};
	int wait = l->exited ? 10 : TICK_MS;

	poll(fds, ARRAY_SIZE(fds), wait);
	session_drain(l->s, 0);
	if (fds[1].revents)
		on_signal(l);
	if (fds[2].revents)
		terminal_output(&l->terminal);
	if (fds[3].revents)
		terminal_input(&l->terminal);
	check_time(l, now_ns());
	check_disk(l);
	keep_trace(l, now_ns());
	show_progress(l, now_ns());
}

static int block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGWINCH);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int session_watch(struct session *s, struct weir_err *e)
{
	struct loop l = { .s = s, .signals = -1, .terminal.master = -1 };
	int err;

	l.signals = block_signals();
	if (l.signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return err_errno(e, -errno, "taking signals");
	l.progress = !s->opt->quiet && isatty(2) && !isatty(0);
	s->disk_bytes = s->opt->disk ? s->opt->disk : s->policy ? s->policy->disk_bytes.value : 0;
	s->disk_free = disk_free(s);
	err = make_cgroup(s, e);
	if (err == 0)
		err = start_child(s, e);
	if (err < 0) {
		close(l.signals);
		return err;
	}
	l.began = now_ns();
	terminal_start(&l.terminal, s->child.master);
	while (goes_on(&l))
		turn(&l);
	while (l.terminal.master >= 0 &&
	       poll(&(struct pollfd){ l.terminal.master, POLLIN, 0 }, 1, 0) > 0)
		terminal_output(&l.terminal);
	terminal_stop(&l.terminal);
	if (l.progress)
		fprintf(stderr, "\r\033[K");
	close(l.signals);
	return 0;
}
