/* SPDX-License-Identifier: MIT */
/* weir seal, unseal: a write stop on a directory, for people. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/base/usage.h"
#include "user/cli/cmd.h"
#include "user/cli/parse.h"
#include "user/cli/runs.h"
#include "user/cli/say.h"
#include "user/cli/seal.h"

#define OVERLAY_MAGIC 0x794c7630
#define PATIENCE_NS 500000000ull
#define PATIENCE_MAX_NS 3600000000000ull
#define UNSEAL_MS 10000

/* Exit status when somebody could still write: the seal was not kept. */
enum {
	SEAL_WRITERS = 1
};

struct seal_options {
	const char *dir;
	char **command; /* or NULL */
	uint64_t wait_ns;
};

static const struct argp_option options[] = {
	{ "wait", 'w', "TIME", 0,
	  "Wait so long for those who can write already to close their files (0.5s)", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct seal_options *opt = state->input;

	switch (key) {
	case 'w':
		parse_time(arg, &opt->wait_ns, state, "--wait");
		if (opt->wait_ns > PATIENCE_MAX_NS)
			usage_error(state, "--wait: an hour at most");
		return 0;
	case ARGP_KEY_ARG:
		opt->dir = arg;
		if (state->next < state->argc)
			opt->command = state->argv + state->next;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		usage_error(state, "which directory?");
	}
	return ARGP_ERR_UNKNOWN;
}

static int need_root(const char *name, struct weir_err *e)
{
	return geteuid() == 0 ? 0 : err_set(e, -EPERM, "%s needs root: run it with sudo", name);
}

/* Refuses what a seal does not hold. Gives: *ret_path for free, *ret_fd. */
static int open_tree(const char *dir, char **ret_path, int *ret_fd, struct weir_err *e)
{
	const char *foreign;
	struct statfs fs;

	e->exit_code = CLI_USAGE;
	*ret_path = realpath(dir, NULL);
	if (!*ret_path)
		return err_errno(e, -errno, "%s", dir);
	if (strcmp(*ret_path, "/") == 0)
		return err_set(e, -EINVAL, "the root directory cannot be sealed");
	*ret_fd = open(*ret_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_fd < 0 || fstatfs(*ret_fd, &fs) < 0)
		return err_errno(e, -errno, "%s", dir);
	foreign = seal_foreign_type(*ret_fd);
	if (foreign)
		return err_set(e, -EOPNOTSUPP,
			       "%s lies on %s, where others can change it unseen: a seal would "
			       "promise what it can't hold",
			       dir, foreign);
	if ((uint32_t)fs.f_type == OVERLAY_MAGIC)
		return err_set(e, -EOPNOTSUPP,
			       "%s lies on an overlay, whose upper directory could be written to "
			       "beside it: seal a directory of a plain file system",
			       dir);
	e->exit_code = 0;
	return 0;
}

static pid_t start_command(char **command, const sigset_t *mask)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(command[0], command);
	fprintf(stderr, "weir seal: %s: %s\n", command[0], strerror(errno));
	_exit(errno == ENOENT ? CLI_NOT_FOUND : CLI_NOT_EXECUTABLE);
}

/* Stays until the command has ended, or without one until a signal. Returns: exit status. */
static int stay(pid_t child, const sigset_t *signals)
{
	for (;;) {
		int status, sig = sigwaitinfo(signals, NULL);

		if (sig < 0)
			continue;
		if (child < 0 && sig != SIGCHLD)
			return CLI_OK;
		if (sig != SIGCHLD)
			kill(child, sig);
		else if (child > 0 && waitpid(child, &status, WNOHANG) == child)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
}

static int hold(const struct seal_options *opt, const char *path, const char *id, struct seal *s,
		struct weir_err *e)
{
	int writers = seal_writers(s, path, (unsigned int)(opt->wait_ns / 1000000), e);
	sigset_t signals, before;
	pid_t child = -1;
	char safe[4096];

	if (writers < 0)
		return writers;
	if (writers > 0) {
		e->exit_code = SEAL_WRITERS;
		return err_set(e, -EBUSY,
			       "%s is not sealed: files that can be written to: %d; end those who "
			       "do, or give them time with --wait",
			       path, writers);
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, &before);
	if (!opt->command) {
		escape_text(path, strlen(path), safe, sizeof(safe));
		printf("sealed %s until `weir unseal %s`, or Ctrl-C\n", safe, id);
		fflush(stdout);
	} else {
		child = start_command(opt->command, &before);
		if (child < 0)
			return err_errno(e, -errno, "starting %s", opt->command[0]);
	}
	return stay(child, &signals);
}

static int seal(const struct seal_options *opt, struct weir_err *e)
{
	struct rundir_lock lock = { 0 };
	cleanup_free char *state = NULL, *path = NULL;
	cleanup_close int fd = -1;
	struct seal s = SEAL_NONE;
	char id[RUNDIR_ID_SIZE];
	struct kern_probe probe;
	unsigned long long denied;
	int status = need_root("weir seal", e);

	if (status == 0)
		status = open_tree(opt->dir, &path, &fd, e);
	if (status == 0)
		status = rundir_state(&state, e);
	if (status < 0)
		return status;
	kern_probe(&probe);
	if (probe.source != KERN_SOURCE_LSM && probe.source != KERN_SOURCE_FMOD_RET)
		return err_set(e, -ENOSYS, "cannot seal %s: %s", path, probe.missing);
	if (rundir_id_make(id) < 0)
		return err_set(e, -EOVERFLOW, "the clock is beyond all years");
	status = rundir_lock(state, fd, path, id, &lock, e);
	if (status < 0)
		return status;
	status = seal_begin(path, probe.source, &s, e);
	if (status == 0)
		status = hold(opt, path, id, &s, e);
	denied = seal_denied(&s);
	seal_end(&s);
	rundir_unlock(&lock, NULL);
	if (denied)
		fprintf(stderr, "weir seal: attempts to change it that were denied: %llu\n",
			denied);
	return status;
}

int cmd_seal(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse_option,
		"DIR [COMMAND [ARGUMENT...]]",
		"Lets nobody change what lies below DIR, by any way that leads there, while "
		"COMMAND "
		"goes on, or until `weir unseal`. Who can write there already is named; unless "
		"they stop in time, there is no seal (exit status 1).",
		NULL,
		NULL,
		NULL
	};
	struct seal_options opt = { .wait_ns = PATIENCE_NS };
	struct weir_err e = { 0 };
	int status;

	usage_parse(&argp, argc, argv, ARGP_IN_ORDER, &opt);
	status = seal(&opt, &e);
	return status < 0 ? say_error(&e) : status;
}

/* The lock that is meant: an id, or the real path of a directory. */
static const struct rundir_lock_info *find_seal(const struct rundir_locks *locks, const char *which)
{
	cleanup_free char *path = realpath(which, NULL);

	for (size_t i = 0; i < locks->count; i++) {
		const struct rundir_lock_info *lock = &locks->items[i];

		if (lock->state != RUNDIR_LOCK_BROKEN &&
		    (strcmp(lock->run, which) == 0 || (path && strcmp(lock->path, path) == 0)))
			return lock;
	}
	return NULL;
}

static int check_seal(const char *state, const struct rundir_lock_info *lock, const char *which,
		      struct weir_err *e)
{
	e->exit_code = CLI_USAGE;
	if (!lock)
		return err_set(e, -ENOENT, "%.200s is not sealed; `weir list` shows what is",
			       which);
	if (!runs_is_seal(state, lock))
		return err_set(e, -EINVAL,
			       "%.200s is held by run %s, not by a seal: it ends with the run",
			       which, lock->run);
	e->exit_code = 0;
	if (lock->state != RUNDIR_LOCK_LIVE)
		return err_set(e, -ESRCH,
			       "the seal of %.200s ended when process %d did; run `weir recover`",
			       lock->path, lock->pid);
	return 0;
}

/* Ends the holder. Its pid is looked at again when a descriptor holds it. */
static int end_holder(const char *state, const char *which, pid_t pid, struct weir_err *e)
{
	cleanup_rundir_locks struct rundir_locks locks = { 0 };
	cleanup_close int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	const struct rundir_lock_info *lock;
	struct pollfd gone = { .fd = fd, .events = POLLIN };
	int err = fd < 0 ? err_errno(e, -errno, "process %d", pid) : rundir_locks(state, &locks, e);

	if (err < 0)
		return err;
	lock = find_seal(&locks, which);
	if (!lock)
		return 0;
	err = check_seal(state, lock, which, e);
	if (err < 0)
		return err;
	if (lock->pid != pid)
		return err_set(e, -EAGAIN, "%.200s was sealed anew meanwhile; try again", which);
	if (syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0) < 0)
		return err_errno(e, -errno, "process %d", pid);
	if (poll(&gone, 1, UNSEAL_MS) <= 0)
		return err_set(e, -ETIMEDOUT,
			       "process %d, or the command that it waits for, goes on: the seal "
			       "stays",
			       pid);
	return 0;
}

static int unseal(const char *which, struct weir_err *e)
{
	cleanup_rundir_locks struct rundir_locks locks = { 0 };
	cleanup_free char *state = NULL;
	const struct rundir_lock_info *lock = NULL;
	char safe[4096];
	int err = need_root("weir unseal", e);

	if (err == 0)
		err = rundir_state(&state, e);
	if (err == 0)
		err = rundir_locks(state, &locks, e);
	if (err < 0)
		return err;
	lock = find_seal(&locks, which);
	err = check_seal(state, lock, which, e);
	if (err == 0)
		err = end_holder(state, which, lock->pid, e);
	if (err < 0)
		return err;
	escape_text(lock->path, strlen(lock->path), safe, sizeof(safe));
	printf("unsealed %s\n", safe);
	return CLI_OK;
}

static error_t parse_which(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_ARG:
		return usage_take_one(state, "directory or id", arg, state->input);
	case ARGP_KEY_NO_ARGS:
		usage_error(state, "which directory or id? `weir list` shows them");
	}
	return ARGP_ERR_UNKNOWN;
}

int cmd_unseal(int argc, char **argv)
{
	static const struct argp argp = { NULL,
					  parse_which,
					  "DIR|ID",
					  "Ends a seal of `weir seal`, and the command that it "
					  "waits for.",
					  NULL,
					  NULL,
					  NULL };
	struct weir_err e = { 0 };
	const char *which = NULL;
	int status;

	usage_parse(&argp, argc, argv, 0, &which);
	status = unseal(which, &e);
	return status < 0 ? say_error(&e) : status;
}
