/* SPDX-License-Identifier: MIT */
#include "user/kern/canary.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
#include "user/event/names.h"
#include "user/kern/canary_reach.h"

/* Each returns what the call returned; refused means -1 with errno EPERM. */

static int do_open(struct canary *c)
{
	return openat(c->no, "file", O_WRONLY | O_CLOEXEC);
}

static int do_receive(struct canary *c)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec io = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &io,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };

	if (recvmsg(c->channel, &msg, MSG_DONTWAIT) != 1)
		return 0;
	/* a refused descriptor is not installed, and the control data cut */
	if (!(msg.msg_flags & MSG_CTRUNC) || CMSG_FIRSTHDR(&msg))
		return 0;
	errno = EPERM;
	return -1;
}

static int do_ftruncate(struct canary *c)
{
	return ftruncate(c->old, 0);
}

static int do_truncate(struct canary *c)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/file", c->no);
	return truncate(path, 0);
}

static int do_create(struct canary *c)
{
	return openat(c->no, "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static int do_mkdir(struct canary *c)
{
	return mkdirat(c->no, "dir2", 0700);
}

static int do_symlink(struct canary *c)
{
	return symlinkat("file", c->no, "symlink");
}

static int do_link(struct canary *c)
{
	return linkat(c->no, "file", c->no, "link", 0);
}

static int do_rename(struct canary *c)
{
	return renameat(c->no, "file", c->no, "renamed");
}

static int do_unlink(struct canary *c)
{
	return unlinkat(c->no, "file", 0);
}

static int do_rmdir(struct canary *c)
{
	return unlinkat(c->no, "dir", AT_REMOVEDIR);
}

static int do_chmod(struct canary *c)
{
	return fchmodat(c->no, "file", 0600, 0);
}

static int do_setxattr(struct canary *c)
{
	return fsetxattr(c->old, "user.weir", "1", 1, 0);
}

static int do_removexattr(struct canary *c)
{
	return fremovexattr(c->old, "user.weir");
}

/* The smallest valid ACL: owner, group, others (acl(5), linux/posix_acl_xattr.h). */
static int do_set_acl(struct canary *c)
{
	static const unsigned char acl[] = { 2,	   0,	 0, 0, 1,    0,	   6,	 0,    0xff, 0xff,
					     0xff, 0xff, 4, 0, 0,    0,	   0xff, 0xff, 0xff, 0xff,
					     0x20, 0,	 0, 0, 0xff, 0xff, 0xff, 0xff };

	return fsetxattr(c->old, "system.posix_acl_access", acl, sizeof(acl), 0);
}

static int do_remove_acl(struct canary *c)
{
	return fremovexattr(c->old, "system.posix_acl_access");
}

static int do_ioctl(struct canary *c)
{
	int flags = 0;

	return ioctl(c->old, FS_IOC_SETFLAGS, &flags);
}

/* The 32-bit entry, with the numbers of that ABI. */
static int do_ioctl_compat(struct canary *c)
{
#ifdef __x86_64__
	long ret = 54; /* __NR_ioctl of i386 */

	__asm__ volatile("int $0x80"
			 : "+a"(ret)
			 : "b"((long)c->old), "c"(0x40046602L), "d"(0L)
			 : "r8", "r9", "r10", "r11", "memory");
	if (ret < 0) {
		errno = (int)-ret;
		return -1;
	}
#else
	(void)c;
#endif
	return 0;
}

static int do_exec(struct canary *c)
{
	char *const argv[] = { (char *)"program", NULL };

	return (int)syscall(SYS_execveat, c->no, "program", argv, argv + 1, 0);
}

static int do_bpf(struct canary *c)
{
	union bpf_attr attr = { 0 };

	(void)c;
	return (int)syscall(SYS_bpf, BPF_MAP_GET_NEXT_ID, &attr, sizeof(attr));
}

static int do_kill(struct canary *c)
{
	return kill(c->collector, 0);
}

static int do_ptrace(struct canary *c)
{
	return (int)ptrace(PTRACE_SEIZE, c->collector, NULL, NULL);
}

/* Asks for a signal to the collector when a pipe has data. */
static int do_sigio(struct canary *c)
{
	int ends[2], ret = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return 0;
	if (fcntl(ends[0], F_SETOWN, c->collector) < 0 || fcntl(ends[0], F_SETSIG, SIGURG) < 0 ||
	    fcntl(ends[0], F_SETFL, O_ASYNC) < 0 || write(ends[1], "", 1) != 1)
		ret = 1;
	close(ends[0]);
	close(ends[1]);
	/* the kernel drops a refused signal without telling; the counter tells */
	errno = EPERM;
	return ret ? 0 : -1;
}

static int do_setrlimit(struct canary *c)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_CORE, &limit) < 0)
		return 0;
	return prlimit(c->collector, RLIMIT_CORE, &limit, NULL);
}

/* A child of the canary must be one as well. Moves the counters of tasks. */
static int do_fork(struct canary *c)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(do_open(c) < 0 && errno == EPERM ? 0 : 1);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 0;
	errno = EPERM;
	return status == 0 ? -1 : 0;
}

/* The owner's own file, whose mode says no, without the capability to disregard that. It is not
 * taken back: last of all. */
static int do_refused(struct canary *c)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];

	if (syscall(SYS_capget, &head, caps) < 0)
		return 0;
	caps[0].effective &= ~(1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH);
	if (syscall(SYS_capset, &head, caps) < 0 || openat(c->no, "closed", O_RDONLY) >= 0)
		return 0;
	errno = errno == EACCES ? EPERM : 0;
	return -1;
}

/* clang-format off */
#define REACH(name) \
	static int reach_##name(struct canary *c) { return canary_##name(&c->reach); }
REACH(socket)
REACH(connect)
REACH(bind)
REACH(listen)
REACH(sendto)
REACH(netlink)
REACH(unix_connect)
REACH(unix_send)
REACH(queue_send)
REACH(make_queue)
REACH(make_semaphores)
REACH(make_memory)
REACH(remove_queue)
REACH(remove_semaphores)
REACH(remove_memory)
/* clang-format on */

static const struct canary_proof proofs[] = {
	{ WEIR_HOOK_FILE_OPEN, do_open },
	{ WEIR_HOOK_FILE_RECEIVE, do_receive },
	{ WEIR_HOOK_FILE_TRUNCATE, do_ftruncate },
	{ WEIR_HOOK_PATH_TRUNCATE, do_truncate },
	{ WEIR_HOOK_PATH_MKNOD, do_create },
	{ WEIR_HOOK_PATH_MKDIR, do_mkdir },
	{ WEIR_HOOK_PATH_SYMLINK, do_symlink },
	{ WEIR_HOOK_PATH_LINK, do_link },
	{ WEIR_HOOK_PATH_RENAME, do_rename },
	{ WEIR_HOOK_PATH_UNLINK, do_unlink },
	{ WEIR_HOOK_PATH_RMDIR, do_rmdir },
	{ WEIR_HOOK_INODE_SETATTR, do_chmod },
	{ WEIR_HOOK_INODE_SETXATTR, do_setxattr },
	{ WEIR_HOOK_INODE_REMOVEXATTR, do_removexattr },
	{ WEIR_HOOK_INODE_SET_ACL, do_set_acl },
	{ WEIR_HOOK_INODE_REMOVE_ACL, do_remove_acl },
	{ WEIR_HOOK_FILE_IOCTL, do_ioctl },
	{ WEIR_HOOK_FILE_IOCTL_COMPAT, do_ioctl_compat },
	{ WEIR_HOOK_BPRM_CHECK, do_exec },
	{ WEIR_HOOK_TASK_ALLOC, do_fork },
	{ WEIR_HOOK_TASK_NEWTASK, do_fork },
	{ WEIR_HOOK_PROCESS_EXIT, do_fork },
	{ WEIR_HOOK_BPF, do_bpf },
	{ WEIR_HOOK_TASK_KILL, do_kill },
	{ WEIR_HOOK_PTRACE, do_ptrace },
	{ WEIR_HOOK_PTRACE_REFUSED, do_ptrace },
	{ WEIR_HOOK_SIGIO, do_sigio },
	{ WEIR_HOOK_TASK_SETRLIMIT, do_setrlimit },
	{ WEIR_HOOK_SOCKET_CREATE, reach_socket },
	{ WEIR_HOOK_SOCKET_CONNECT, reach_connect },
	{ WEIR_HOOK_SOCKET_BIND, reach_bind },
	{ WEIR_HOOK_SOCKET_LISTEN, reach_listen },
	{ WEIR_HOOK_SENDMSG4, reach_sendto },
	{ WEIR_HOOK_NETLINK_SEND, reach_netlink },
	{ WEIR_HOOK_UNIX_STREAM_CONNECT, reach_unix_connect },
	{ WEIR_HOOK_UNIX_MAY_SEND, reach_unix_send },
	{ WEIR_HOOK_IPC_PERMISSION, reach_queue_send },
	{ WEIR_HOOK_MSG_QUEUE_ALLOC, reach_make_queue },
	{ WEIR_HOOK_SEM_ALLOC, reach_make_semaphores },
	{ WEIR_HOOK_SHM_ALLOC, reach_make_memory },
	{ WEIR_HOOK_MSGCTL, reach_remove_queue },
	{ WEIR_HOOK_SEMCTL, reach_remove_semaphores },
	{ WEIR_HOOK_SHMCTL, reach_remove_memory },
	{ WEIR_HOOK_INODE_CAPABLE, do_refused },
};

/* Most proofs that a source has. */
#define PROOFS_MAX 64

/* What is to be proven of a source, and how. */
struct plan {
	const struct canary_proof *proofs;
	size_t count;
	bool refused; /* it refuses */
};

static struct plan plan_of(const struct kern *k)
{
	if (k->source == KERN_SOURCE_SYSCALL)
		return (struct plan){ canary_seen, canary_seen_count, false };
	return (struct plan){ proofs, ARRAY_SIZE(proofs), true };
}

/* Runs in the child. One byte for each proof: 1 proven, 0 not; then one for what must pass. */
static void fly(struct canary *c, const struct plan *plan, int out)
{
	unsigned char result[PROOFS_MAX + 1] = { 0 };
	ssize_t size = (ssize_t)plan->count + 1;
	int fd;

	for (size_t i = 0; i < plan->count; i++) {
		volatile __u64 *seen = &c->run->hooks[plan->proofs[i].hook].seen;
		uint64_t before = *seen;
		int ret;

		errno = 0;
		ret = plan->proofs[i].act(c);
		result[i] = (!plan->refused || (ret < 0 && errno == EPERM)) && *seen > before;
	}
	fd = openat(c->yes, "mine", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	result[plan->count] = fd >= 0 && unlinkat(c->yes, "mine", 0) == 0;
	_exit(write(out, result, (size_t)size) == size ? 0 : 1);
}

int kern_canary_prepare(struct kern_slot *s, const char *dir, struct weir_err *e)
{
	/* rights that only canaries have */
	const struct weir_rule all = { .rights = WEIR_RIGHTS_MUTATE | WEIR_RIGHT_READ,
				       .flags = WEIR_RULE_TAMPER };
	const struct weir_rule look = { .rights = WEIR_RIGHT_READ, .flags = WEIR_RULE_TAMPER };
	cleanup_free char *yes = NULL, *no = NULL;
	cleanup_close int fd = -1;
	int err;

	if (asprintf(&yes, "%s/yes", dir) < 0 || asprintf(&no, "%s/no", dir) < 0)
		return err_errno(e, -ENOMEM, "canary");
	err = fsio_mkdir_p(yes, 0700, e);
	if (err == 0)
		err = fsio_mkdir_p(no, 0700, e);
	if (err < 0)
		return err;
	fd = open(no, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, -errno, "%s", no);
	err = canary_tidy(fd, e);
	if (err == 0)
		err = kern_bind_path(s, yes, 0, 0, &all, e);
	return err < 0 ? err : kern_bind_path(s, no, 0, 0, &look, e);
}

/* Sends a descriptor that is open for writing. */
static int send_descriptor(int channel, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec io = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &io,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(int));
	return sendmsg(channel, &msg, 0) == 1 ? 0 : -errno;
}

static int open_places(struct canary *c, const struct plan *plan, const char *dir,
		       struct weir_err *e)
{
	/* what was let through the last time is put back */
	cleanup_close int top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	c->yes = top < 0 ? -1 : openat(top, "yes", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	c->no = top < 0 ? -1 : openat(top, "no", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->no >= 0 && !plan->refused && canary_tidy(c->no, e) < 0)
		return e->err;
	c->old = c->no < 0 ? -1 : openat(c->no, "file", O_RDWR | O_CLOEXEC);
	return c->yes < 0 || c->old < 0 ? err_errno(e, -errno, "canary in %s", dir) : 0;
}

/* The guard of kernel.ftrace_enabled holds for everybody: writing what it is must fail. */
static bool sysctl_refused(void)
{
	cleanup_close int fd = open("/proc/sys/kernel/ftrace_enabled", O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, "1", 1) < 0 && errno == EPERM;
}

/* Whether it holds is proven for a source that has it. */
static void prove_sysctl(struct kern *k)
{
	struct kern_hook *hook = &k->hooks[WEIR_HOOK_SYSCTL];

	hook->proven = hook->source == KERN_SOURCE_CGROUP && sysctl_refused();
}

static int collect(struct kern_slot *s, const struct plan *plan, int in, unsigned int deadline_ms,
		   struct weir_err *e)
{
	unsigned char result[PROOFS_MAX + 1] = { 0 };
	struct pollfd poll_in = { .fd = in, .events = POLLIN };
	const struct kern_hook *sysctl = &s->kern->hooks[WEIR_HOOK_SYSCTL];
	char names[32 * PROOFS_MAX] = "";
	size_t used = 0;

	if (poll(&poll_in, 1, (int)deadline_ms) != 1 ||
	    read(in, result, plan->count + 1) != (ssize_t)plan->count + 1)
		return err_set(e, -ETIMEDOUT, "the canary did not come back");
	for (size_t i = 0; i < plan->count && used < sizeof(names); i++) {
		struct kern_hook *hook = &s->kern->hooks[plan->proofs[i].hook];

		hook->proven = result[i] != 0;
		if (hook->source > KERN_SOURCE_ABSENT && !result[i])
			used += (size_t)snprintf(names + used, sizeof(names) - used, " %s",
						 names_hook(plan->proofs[i].hook));
	}
	prove_sysctl(s->kern);
	if (!result[plan->count])
		return err_set(e, -ENOTRECOVERABLE, "the canary was refused what it may do");
	if (sysctl->source > KERN_SOURCE_ABSENT && !sysctl->proven && used < sizeof(names))
		used += (size_t)snprintf(names + used, sizeof(names) - used, " cgroup_sysctl");
	return used ? err_set(e, -ENOTRECOVERABLE, "attached but without effect:%s", names) : 0;
}

static pid_t hatch(struct canary *c, const struct plan *plan, int ready, int out)
{
	pid_t pid = fork();
	char byte;

	if (pid != 0)
		return pid;
	if (read(ready, &byte, 1) == 1)
		fly(c, plan, out);
	_exit(1);
}

int kern_canary_fly(struct kern_slot *s, const char *dir, unsigned int deadline_ms,
		    struct weir_err *e)
{
	struct canary c = { .run = kern_run(s->kern, s->slot),
			    .yes = -1,
			    .no = -1,
			    .old = -1,
			    .collector = getpid(),
			    .reach = { -1, -1, .queue = -1, .semaphores = -1, .memory = -1 } };
	int go[2] = { -1, -1 }, back[2] = { -1, -1 }, pair[2] = { -1, -1 };
	const struct plan plan = plan_of(s->kern);
	int err = open_places(&c, &plan, dir, e), status;
	pid_t pid = -1;

	if (err == 0)
		err = canary_reach_open(&c.reach, e);
	if (err == 0 && (pipe2(go, O_CLOEXEC) < 0 || pipe2(back, O_CLOEXEC) < 0 ||
			 socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0))
		err = err_errno(e, -errno, "canary");
	if (err == 0) {
		c.channel = pair[1];
		send_descriptor(pair[0], c.old);
		pid = hatch(&c, &plan, go[0], back[1]);
		if (pid < 0)
			err = err_errno(e, -errno, "canary");
	}
	if (err == 0)
		err = kern_adopt(s, pid, WEIR_ROLE_CANARY, e);
	if (err == 0 && write(go[1], "", 1) != 1)
		err = err_errno(e, -errno, "canary");
	if (err == 0)
		err = collect(s, &plan, back[0], deadline_ms, e);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(back[i]);
		close(pair[i]);
	}
	close(c.yes);
	close(c.no);
	close(c.old);
	canary_reach_close(&c.reach);
	return err;
}
