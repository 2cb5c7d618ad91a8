/* SPDX-License-Identifier: MIT */
/* Proofs for source "syscall": nothing is refused, but all of it must be seen. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/kern/canary.h"

int canary_tidy(int no, struct weir_err *e)
{
	static const char *const left[] = { "new", "symlink", "link", "renamed" };
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(left); i++)
		unlinkat(no, left[i], 0);
	unlinkat(no, "dir2", AT_REMOVEDIR);
	err = fsio_replace(no, "file", "", 0, 0600, e);
	if (err == 0)
		err = fsio_replace(no, "closed", "", 0, 0, e);
	if (err == 0)
		err = fsio_replace(no, "program", "#!/bin/false\n", 13, 0700, e);
	if (err == 0 && mkdirat(no, "dir", 0700) < 0 && errno != EEXIST)
		err = err_errno(e, -errno, "the canary's dir");
	return err;
}

/* Runs act in a child that is waited for; how it ends doesn't matter. */
static int in_child(struct canary *c, void (*act)(struct canary *c))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		act(c);
		_exit(0);
	}
	return pid < 0 ? -1 : waitpid(pid, &status, 0);
}

static int see_open(struct canary *c)
{
	int fd = openat(c->no, "file", O_WRONLY | O_CLOEXEC);

	return fd < 0 ? fd : close(fd);
}

static int see_receive(struct canary *c)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec io = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &io,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };

	return (int)recvmsg(c->channel, &msg, MSG_DONTWAIT);
}

static int see_ftruncate(struct canary *c)
{
	return ftruncate(c->old, 0);
}

static int see_truncate(struct canary *c)
{
	return fchdir(c->no) < 0 ? -1 : truncate("file", 0);
}

static int see_create(struct canary *c)
{
	int fd = openat(c->no, "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? fd : close(fd);
}

static int see_mkdir(struct canary *c)
{
	return mkdirat(c->no, "dir2", 0700);
}

static int see_symlink(struct canary *c)
{
	return symlinkat("file", c->no, "symlink");
}

static int see_link(struct canary *c)
{
	return linkat(c->no, "file", c->no, "link", 0);
}

static int see_chmod(struct canary *c)
{
	return fchmodat(c->no, "file", 0600, 0);
}

static int see_setxattr(struct canary *c)
{
	return fsetxattr(c->old, "user.weir", "1", 1, 0);
}

static int see_removexattr(struct canary *c)
{
	return fremovexattr(c->old, "user.weir");
}

/* Sets the flags that the file has. */
static int see_ioctl(struct canary *c)
{
	int flags = 0;

	return ioctl(c->old, FS_IOC_GETFLAGS, &flags) < 0 ? -1
							  : ioctl(c->old, FS_IOC_SETFLAGS, &flags);
}

static int see_rename(struct canary *c)
{
	return renameat(c->no, "file", c->no, "renamed");
}

static int see_unlink(struct canary *c)
{
	return unlinkat(c->no, "renamed", 0);
}

static int see_rmdir(struct canary *c)
{
	return unlinkat(c->no, "dir", AT_REMOVEDIR);
}

static void run_program(struct canary *c)
{
	char *const argv[] = { (char *)"program", NULL };

	if (fchdir(c->no) == 0)
		execve("./program", argv, argv + 1);
}

static int see_exec(struct canary *c)
{
	return in_child(c, run_program);
}

static void do_nothing(struct canary *c)
{
	(void)c;
}

static int see_fork(struct canary *c)
{
	return in_child(c, do_nothing);
}

static int see_bpf(struct canary *c)
{
	union bpf_attr attr = { 0 };

	(void)c;
	return (int)syscall(SYS_bpf, BPF_MAP_GET_NEXT_ID, &attr, sizeof(attr));
}

/* A signal that is ignored, and arrives all the same. */
static int see_kill(struct canary *c)
{
	return kill(c->collector, SIGURG);
}

/* Of a child, which is a member too. */
static int see_ptrace(struct canary *c)
{
	int status, ret;
	pid_t pid = fork();

	(void)c;
	if (pid == 0) {
		for (;;)
			pause();
	}
	if (pid < 0)
		return -1;
	ret = (int)ptrace(PTRACE_SEIZE, pid, NULL, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return ret;
}

static int see_setrlimit(struct canary *c)
{
	struct rlimit limit;

	if (prlimit(c->collector, RLIMIT_CORE, NULL, &limit) < 0)
		return -1;
	return prlimit(c->collector, RLIMIT_CORE, &limit, NULL);
}

/* In this order: later ones take away what earlier ones made. */
const struct canary_proof canary_seen[] = {
	{ WEIR_HOOK_FILE_OPEN, see_open },
	{ WEIR_HOOK_FILE_RECEIVE, see_receive },
	{ WEIR_HOOK_FILE_TRUNCATE, see_ftruncate },
	{ WEIR_HOOK_PATH_TRUNCATE, see_truncate },
	{ WEIR_HOOK_PATH_MKNOD, see_create },
	{ WEIR_HOOK_PATH_MKDIR, see_mkdir },
	{ WEIR_HOOK_PATH_SYMLINK, see_symlink },
	{ WEIR_HOOK_PATH_LINK, see_link },
	{ WEIR_HOOK_INODE_SETATTR, see_chmod },
	{ WEIR_HOOK_INODE_SETXATTR, see_setxattr },
	{ WEIR_HOOK_INODE_REMOVEXATTR, see_removexattr },
	{ WEIR_HOOK_FILE_IOCTL, see_ioctl },
	{ WEIR_HOOK_PATH_RENAME, see_rename },
	{ WEIR_HOOK_PATH_UNLINK, see_unlink },
	{ WEIR_HOOK_PATH_RMDIR, see_rmdir },
	{ WEIR_HOOK_BPRM_CHECK, see_exec },
	{ WEIR_HOOK_PROCESS_EXEC, see_exec },
	{ WEIR_HOOK_TASK_ALLOC, see_fork },
	{ WEIR_HOOK_TASK_NEWTASK, see_fork },
	{ WEIR_HOOK_PROCESS_EXIT, see_fork },
	{ WEIR_HOOK_BPF, see_bpf },
	{ WEIR_HOOK_TASK_KILL, see_kill },
	{ WEIR_HOOK_PTRACE, see_ptrace },
	{ WEIR_HOOK_TASK_SETRLIMIT, see_setrlimit },
};
const size_t canary_seen_count = ARRAY_SIZE(canary_seen);
