/* SPDX-License-Identifier: MIT */
#include "user/cli/child.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"

/* What the child tells before exec: 0 and no step when it is ready. */
struct message {
	int err;
	char step[60];
};

static void say(int fd, int err, const char *step)
{
	struct message m = { .err = err };

	snprintf(m.step, sizeof(m.step), "%s", step);
	if (write(fd, &m, sizeof(m)) != (ssize_t)sizeof(m))
		_exit(125);
}

static int enter_cgroup(const char *dir)
{
	cleanup_close int fd = -1;
	char path[512];

	if (!dir)
		return 0;
	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fsio_write_all(fd, "0", 1);
}

/* Limits are set while still root. Core dumps would start a helper of the kernel. */
static int set_limits(const struct child_spec *spec)
{
	struct rlimit core = { 1, 1 };
	struct rlimit size = { spec->file_bytes, spec->file_bytes };
	struct rlimit files = { 1024, 524288 }, have;

	/* raising it takes a power that root in a container lacks */
	if (getrlimit(RLIMIT_NOFILE, &have) == 0 && have.rlim_max < files.rlim_max)
		files.rlim_max = have.rlim_max;
	if (setrlimit(RLIMIT_CORE, &core) < 0 || setrlimit(RLIMIT_NOFILE, &files) < 0)
		return -errno;
	if (spec->file_bytes && setrlimit(RLIMIT_FSIZE, &size) < 0)
		return -errno;
	return 0;
}

/* Groups, ids and capability sets; verified afterwards. */
static int set_identity(const struct child_spec *spec)
{
	if (initgroups(spec->user, spec->gid) < 0)
		return -errno;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return -errno;
	if (setresgid(spec->gid, spec->gid, spec->gid) < 0 ||
	    setresuid(spec->uid, spec->uid, spec->uid) < 0)
		return -errno;
	if (getuid() != spec->uid || geteuid() != spec->uid || getegid() != spec->gid)
		return -EPERM;
	return 0;
}

static int set_capabilities(const struct child_spec *spec)
{
	capng_get_caps_process();
	capng_clear(CAPNG_SELECT_ALL);
	for (unsigned int cap = 0; cap <= CAP_LAST_CAP; cap++) {
		if (!(spec->capabilities >> cap & 1))
			continue;
		if (capng_update(CAPNG_ADD,
				 (capng_type_t)(CAPNG_EFFECTIVE | CAPNG_PERMITTED |
						CAPNG_INHERITABLE | CAPNG_BOUNDING_SET |
						CAPNG_AMBIENT),
				 cap) < 0)
			return -EINVAL;
	}
	return 0;
}

/* The bounding set needs CAP_SETPCAP, so it goes first and the rest after the uid. */
static int drop_privileges(const struct child_spec *spec)
{
	int err = set_capabilities(spec);

	if (err < 0)
		return err;
	if (capng_apply(CAPNG_SELECT_BOUNDS) < 0)
		return -EPERM;
	err = set_identity(spec);
	if (err < 0)
		return err;
	if (capng_apply(CAPNG_SELECT_CAPS) < 0)
		return -EPERM;
	prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (spec->capabilities && capng_apply(CAPNG_SELECT_AMBIENT) < 0)
		return -EPERM;
	if (spec->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

static int take_terminal(int slave)
{
	if (setsid() < 0)
		return -errno;
	if (slave < 0)
		return 0;
	if (ioctl(slave, TIOCSCTTY, 0) < 0)
		return -errno;
	for (int fd = 0; fd < 3; fd++)
		if (isatty(fd) && dup2(slave, fd) < 0)
			return -errno;
	return 0;
}

static void reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Ends the child with the step that failed. */
static void must(int report, int err, const char *step)
{
	if (err == 0)
		return;
	say(report, err, step);
	_exit(125);
}

/* Runs in the child; never returns. */
static void become(const struct child_spec *spec, int slave, int go, int report)
{
	char byte;

	must(report, enter_cgroup(spec->cgroup), "entering its cgroup");
	must(report, take_terminal(slave), "taking a terminal");
	must(report, set_limits(spec), "setting limits");
	must(report, drop_privileges(spec), "changing to its user");
	must(report, chdir(spec->cwd) < 0 ? -errno : 0, "changing to the workspace");
	reset_signals();
	umask(022);
	say(report, 0, "");
	if (read(go, &byte, 1) != 1)
		_exit(125);
	syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC);
	execvpe(spec->argv[0], spec->argv, spec->envp);
	say(report, -errno, "exec");
	_exit(errno == ENOENT ? 127 : 126);
}

static int open_terminal(const struct child_spec *spec, int *ret_master, int *ret_slave)
{
	struct winsize size;
	bool have = ioctl(0, TIOCGWINSZ, &size) == 0;

	*ret_master = *ret_slave = -1;
	if (!spec->terminal)
		return 0;
	if (openpty(ret_master, ret_slave, NULL, NULL, have ? &size : NULL) < 0)
		return -errno;
	fcntl(*ret_master, F_SETFD, FD_CLOEXEC);
	fcntl(*ret_slave, F_SETFD, FD_CLOEXEC);
	return fchown(*ret_slave, spec->uid, (gid_t)-1) < 0 ? -errno : 0;
}

static int wait_ready(struct child *c, struct weir_err *e)
{
	struct message m = { 0 };

	if (read(c->report, &m, sizeof(m)) != (ssize_t)sizeof(m))
		return err_set(e, -EPIPE, "the command's process ended before it was ready");
	if (m.err < 0)
		return err_errno(e, m.err, "%s", m.step);
	return 0;
}

int child_hold(const struct child_spec *spec, struct child *ret_child, struct weir_err *e)
{
	struct child c = { .pid = -1, .pidfd = -1, .master = -1, .go = -1, .report = -1 };
	int go[2] = { -1, -1 }, report[2] = { -1, -1 }, slave = -1;
	int err = open_terminal(spec, &c.master, &slave);

	if (err < 0)
		return err_errno(e, err, "opening a terminal");
	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC) < 0)
		return err_errno(e, -errno, "opening a pipe");
	c.pid = fork();
	if (c.pid == 0)
		become(spec, slave, go[0], report[1]);
	close(go[0]);
	close(report[1]);
	if (slave >= 0)
		close(slave);
	c.go = go[1];
	c.report = report[0];
	if (c.pid < 0)
		return err_errno(e, -errno, "fork");
	c.pidfd = (int)syscall(SYS_pidfd_open, c.pid, 0);
	err = c.pidfd < 0 ? err_errno(e, -errno, "pidfd_open") : wait_ready(&c, e);
	*ret_child = c;
	if (err < 0) {
		kill(c.pid, SIGKILL);
		waitpid(c.pid, NULL, 0);
		child_close(ret_child);
	}
	return err;
}

int child_release(struct child *c)
{
	struct message m = { 0 };

	if (write(c->go, "", 1) != 1)
		return -errno;
	if (read(c->report, &m, sizeof(m)) == (ssize_t)sizeof(m))
		return m.err;
	return 0;
}

void child_close(struct child *c)
{
	int *fds[] = { &c->pidfd, &c->master, &c->go, &c->report };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}
