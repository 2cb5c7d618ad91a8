/* SPDX-License-Identifier: MIT */
#include "writeback/remotegit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "writeback/priv.h"
#include "writeback/remote.h"

#define OUTPUT_MAX ((size_t)1 << 20)
#define COMPLAINT_MAX 480u
#define PROGRAM "/usr/bin/git"

/* Before the command. Nothing runs but git and ssh; the copy's hooks are for others. */
static const char *const options[] = {
	"--no-replace-objects",
	"-c",
	"core.hooksPath=/dev/null",
	"-c",
	"push.gpgSign=false",
	"-c",
	"gc.auto=0",
	"-c",
	"maintenance.auto=false",
	"-c",
	"fetch.fsckObjects=true",
	"-c",
	"core.fsmonitor=false",
	"-c",
	"credential.helper=",
};

static const char *const environment[] = {
	"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=/nonexistent",
	"LC_ALL=C",
	"GIT_CONFIG_NOSYSTEM=1",
	"GIT_CONFIG_GLOBAL=/dev/null",
	"GIT_ATTR_NOSYSTEM=1",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_ASKPASS=/bin/false",
	"GIT_ALLOW_PROTOCOL=file:ssh",
	"GIT_SSH_VARIANT=ssh",
};

void remotegit_done(struct remotegit *g)
{
	for (size_t i = 0; i < g->count; i++)
		free(g->args[i]);
	g->count = 0;
}

void remotegit_add(struct remotegit *g, const char *fmt, ...)
{
	va_list args;

	if (g->count + 1 >= REMOTEGIT_ARGS_MAX) {
		g->failed = true;
		return;
	}
	va_start(args, fmt);
	if (vasprintf(&g->args[g->count], fmt, args) < 0)
		g->failed = true;
	else
		g->count++;
	va_end(args);
}

/* git runs this through a shell: config_parse refused quotes in both paths. */
static char *ssh_command(const struct gate_config *c)
{
	cleanup_buf struct buf b = { 0 };

	buf_addf(&b, "GIT_SSH_COMMAND=ssh -F /dev/null -o BatchMode=yes -o IdentitiesOnly=yes "
		     "-o ClearAllForwardings=yes -o ConnectTimeout=20 -o ServerAliveInterval=20 "
		     "-o StrictHostKeyChecking=yes -o GlobalKnownHostsFile=/dev/null");
	buf_addf(&b, " -o 'UserKnownHostsFile=%s'",
		 c->remote_hosts ? c->remote_hosts : GATE_KNOWN_HOSTS);
	if (c->remote_key)
		buf_addf(&b, " -i '%s'", c->remote_key);
	return b.failed ? NULL : strdup(buf_str(&b));
}

static void run_child(const struct gate_config *c, const struct repo *r, const struct remotegit *g,
		      const int out, const int complaint)
{
	const char *argv[ARRAY_SIZE(options) + REMOTEGIT_ARGS_MAX + 4] = { PROGRAM };
	const char *envp[ARRAY_SIZE(environment) + 2] = { NULL };
	char *command = ssh_command(c), *dir = NULL;
	int null = open("/dev/null", O_RDONLY);
	size_t n = 1, k = 0;

	if (!command || null < 0 || asprintf(&dir, "--git-dir=%s", r->path) < 0)
		_exit(125);
	argv[n++] = dir;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		argv[n++] = options[i];
	for (size_t i = 0; i < g->count; i++)
		argv[n++] = g->args[i];
	for (; k < ARRAY_SIZE(environment); k++)
		envp[k] = environment[k];
	envp[k] = command;
	if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(complaint, 2) < 0 ||
	    priv_close_others(NULL, 0) < 0 || chdir(r->path) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
		_exit(125);
	signal(SIGPIPE, SIG_DFL);
	alarm(REMOTE_TIMEOUT_S);
	execve(PROGRAM, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)envp);
	dprintf(2, PROGRAM ": %s\n", strerror(errno));
	_exit(125);
}

/* Keeps what fits and drops the rest, so that git is never blocked. */
static void take(int fd, struct buf *b)
{
	char bytes[4096];
	ssize_t n = read(fd, bytes, sizeof(bytes));
	size_t room = OUTPUT_MAX - b->len;

	if (n > 0)
		buf_add(b, bytes, (size_t)n < room ? (size_t)n : room);
}

static void listen_to(const int fds[2], struct buf *out, struct buf *complaint)
{
	struct pollfd p[2] = { { .fd = fds[0], .events = POLLIN },
			       { .fd = fds[1], .events = POLLIN } };

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return;
		for (int i = 0; i < 2; i++) {
			if (p[i].fd >= 0 && (p[i].revents & POLLIN))
				take(fds[i], i == 0 ? out : complaint);
			else if (p[i].fd >= 0 && (p[i].revents & (POLLHUP | POLLERR)))
				p[i].fd = -1;
		}
	}
}

/* Lines that say something, in one. */
static void shorten(const struct buf *text, struct buf *ret_line)
{
	const char *at = buf_str(text);

	while (*at && ret_line->len < COMPLAINT_MAX) {
		size_t len = strcspn(at, "\r\n"), used;

		if (strncmp(at, "remote: ", 8) == 0) {
			at += 8;
			len -= 8;
		}
		for (used = len; used > 0 && at[used - 1] == ' ';)
			used--;
		if (used > COMPLAINT_MAX - ret_line->len)
			used = COMPLAINT_MAX - ret_line->len;
		if (used > 0) {
			buf_addf(ret_line, "%s", ret_line->len ? " | " : "");
			buf_add_escaped(ret_line, at, used);
		}
		at += len;
		at += strspn(at, "\r\n");
	}
}

int remotegit_run(const struct gate_config *c, const struct repo *r, const struct remotegit *g,
		  struct buf *ret_out, struct buf *ret_complaint, struct weir_err *e)
{
	cleanup_buf struct buf complaint = { 0 };
	int out[2] = { -1, -1 }, errors[2] = { -1, -1 }, status;
	struct weir_err killed = { 0 };
	pid_t pid = -1;

	if (g->failed)
		return err_errno(e, -ENOMEM, "running git");
	if (pipe2(out, O_CLOEXEC) == 0 && pipe2(errors, O_CLOEXEC) == 0)
		pid = fork();
	if (pid == 0)
		run_child(c, r, g, out[1], errors[1]);
	status = pid < 0 ? err_errno(e, -errno, "running git") : 0;
	for (int i = 1; i >= 0; i--) {
		if (i == 0 && status == 0)
			listen_to((const int[2]){ out[0], errors[0] }, ret_out, &complaint);
		if (out[i] >= 0)
			close(out[i]);
		if (errors[i] >= 0)
			close(errors[i]);
	}
	if (status == 0)
		status = priv_wait(pid, "git", &killed);
	if (killed.text[0])
		buf_addf(ret_complaint, "%s", killed.text);
	shorten(&complaint, ret_complaint);
	return status;
}
