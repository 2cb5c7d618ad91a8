/* SPDX-License-Identifier: MIT */
#include "user/kern/syscalls.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "bpf/abi/policy.h"
#include "bpf/abi/syscalls.h"
#include "user/base/cleanup.h"
#include "user/event/names.h"

struct row {
	unsigned int number;
	struct weir_call call;
};

/* clang-format off */
/* One line for a call: number, handler, hook, operation, the rest by name. */
#define CALL(nr, which, at, what, ...) \
	{ (nr), { .handler = WEIR_HANDLER_##which, .hook = WEIR_HOOK_##at, .op = WEIR_OP_##what, \
		  __VA_ARGS__ } }

#define AT_FD(fd, name) .dir = { (fd) }, .path = { (name) }
#define AT_FDS(fd, name, fd2, name2) .dir = { (fd), (fd2) }, .path = { (name), (name2) }
#define PATH(name) .path = { (name) }
#define PATHS(name, name2) .path = { (name), (name2) }
#define FD(fd) .dir = { (fd) }
#define NEEDS(right) .want = WEIR_RIGHT_##right
#define FLAGS(argument) .flags = (argument)
#define ARE(trait) .traits = WEIR_CALL_##trait

/* Blind: what is set is the trouble that it makes. */
#define BLIND(nr, bit) \
	{ (nr), { .handler = WEIR_HANDLER_ACT, .traits = WEIR_CALL_BLIND, .set = (bit) } }

static const struct row rows[] = {
	/* content */
	CALL(SYS_openat, OPEN, FILE_OPEN, WRITE, FLAGS(3)),
	CALL(SYS_openat2, OPEN, FILE_OPEN, WRITE, FLAGS(3), ARE(HOW)),
	CALL(SYS_open_by_handle_at, OPEN, FILE_OPEN, WRITE, FLAGS(3)),
	CALL(SYS_truncate, NAME, PATH_TRUNCATE, TRUNCATE, PATH(1), NEEDS(WRITE)),
	CALL(SYS_ftruncate, FD, FILE_TRUNCATE, TRUNCATE, FD(1)),
	CALL(SYS_recvmsg, RECEIVE, FILE_RECEIVE, RECEIVE, PATH(2)),
	CALL(SYS_recvmmsg, RECEIVE, FILE_RECEIVE, RECEIVE, PATH(2)),
	CALL(SYS_pidfd_getfd, RECEIVE, FILE_RECEIVE, RECEIVE),
	/* names */
	CALL(SYS_mkdirat, NAME, PATH_MKDIR, MKDIR, AT_FD(1, 2), NEEDS(CREATE), ARE(NOFOLLOW)),
	CALL(SYS_mknodat, NAME, PATH_MKNOD, MKNOD, AT_FD(1, 2), NEEDS(CREATE), FLAGS(3),
	     .traits = WEIR_CALL_MODE | WEIR_CALL_NOFOLLOW),
	CALL(SYS_symlinkat, NAME, PATH_SYMLINK, SYMLINK, AT_FD(2, 3), NEEDS(CREATE), ARE(NOFOLLOW)),
	CALL(SYS_unlinkat, NAME, PATH_UNLINK, UNLINK, AT_FD(1, 2), NEEDS(DELETE), FLAGS(3),
	     .traits = WEIR_CALL_AT | WEIR_CALL_NOFOLLOW | WEIR_CALL_GONE),
	CALL(SYS_linkat, TWO, PATH_LINK, LINK, AT_FDS(1, 2, 3, 4), FLAGS(5), ARE(LINKAT)),
	CALL(SYS_renameat2, TWO, PATH_RENAME, RENAME, AT_FDS(1, 2, 3, 4), FLAGS(5), ARE(NOFOLLOW)),
	/* metadata */
	CALL(SYS_fchmod, FD, INODE_SETATTR, CHMOD, FD(1), NEEDS(ATTR)),
	CALL(SYS_fchown, FD, INODE_SETATTR, CHOWN, FD(1), NEEDS(ATTR)),
	CALL(SYS_fchmodat, NAME, INODE_SETATTR, CHMOD, AT_FD(1, 2), NEEDS(ATTR)),
	CALL(452 /* fchmodat2 */, NAME, INODE_SETATTR, CHMOD, AT_FD(1, 2), NEEDS(ATTR), FLAGS(4),
	     ARE(AT)),
	CALL(SYS_fchownat, NAME, INODE_SETATTR, CHOWN, AT_FD(1, 2), NEEDS(ATTR), FLAGS(5), ARE(AT)),
	CALL(SYS_utimensat, NAME, INODE_SETATTR, UTIMES, AT_FD(1, 2), NEEDS(ATTR), FLAGS(4), ARE(AT)),
	CALL(SYS_setxattr, NAME, INODE_SETXATTR, SETXATTR, PATH(1), NEEDS(ATTR)),
	CALL(SYS_lsetxattr, NAME, INODE_SETXATTR, SETXATTR, PATH(1), NEEDS(ATTR), ARE(NOFOLLOW)),
	CALL(SYS_fsetxattr, FD, INODE_SETXATTR, SETXATTR, FD(1), NEEDS(ATTR)),
	CALL(SYS_removexattr, NAME, INODE_REMOVEXATTR, REMOVEXATTR, PATH(1), NEEDS(ATTR)),
	CALL(SYS_lremovexattr, NAME, INODE_REMOVEXATTR, REMOVEXATTR, PATH(1), NEEDS(ATTR),
	     ARE(NOFOLLOW)),
	CALL(SYS_fremovexattr, FD, INODE_REMOVEXATTR, REMOVEXATTR, FD(1), NEEDS(ATTR)),
	CALL(463 /* setxattrat */, NAME, INODE_SETXATTR, SETXATTR, AT_FD(1, 2), NEEDS(ATTR), FLAGS(3),
	     ARE(AT)),
	CALL(466 /* removexattrat */, NAME, INODE_REMOVEXATTR, REMOVEXATTR, AT_FD(1, 2), NEEDS(ATTR),
	     FLAGS(3), ARE(AT)),
	CALL(469 /* file_setattr */, NAME, INODE_FILE_SETATTR, IOCTL, AT_FD(1, 2),
	     .want = WEIR_RIGHT_WRITE | WEIR_RIGHT_ATTR, FLAGS(5), ARE(AT)),
	CALL(SYS_ioctl, FD, FILE_IOCTL, IOCTL, FD(1), FLAGS(2)),
	/* other processes, and the kernel */
	CALL(SYS_ptrace, TARGET, PTRACE, PTRACE, .traits = WEIR_CALL_TRACED | WEIR_CALL_REQUESTS),
	CALL(SYS_process_vm_readv, TARGET, PTRACE, PTRACE),
	CALL(SYS_process_vm_writev, TARGET, PTRACE, PTRACE),
	CALL(SYS_prlimit64, TARGET, TASK_SETRLIMIT, PRLIMIT, FLAGS(3)),
	CALL(SYS_bpf, ACT, BPF, BPF, FLAGS(1), .kind = WEIR_KIND_BPF, ARE(ATTEMPT)),
	BLIND(SYS_io_uring_setup, WEIR_TROUBLE_URING),
	BLIND(SYS_io_uring_enter, WEIR_TROUBLE_URING),
#ifdef SYS_renameat
	CALL(SYS_renameat, TWO, PATH_RENAME, RENAME, AT_FDS(1, 2, 3, 4), ARE(NOFOLLOW)),
#endif
#ifdef __x86_64__
	CALL(SYS_open, OPEN, FILE_OPEN, WRITE, FLAGS(2)),
	CALL(SYS_creat, OPEN, FILE_OPEN, WRITE, .set = O_CREAT | O_WRONLY | O_TRUNC),
	CALL(SYS_mkdir, NAME, PATH_MKDIR, MKDIR, PATH(1), NEEDS(CREATE), ARE(NOFOLLOW)),
	CALL(SYS_mknod, NAME, PATH_MKNOD, MKNOD, PATH(1), NEEDS(CREATE), FLAGS(2),
	     .traits = WEIR_CALL_MODE | WEIR_CALL_NOFOLLOW),
	CALL(SYS_symlink, NAME, PATH_SYMLINK, SYMLINK, PATH(2), NEEDS(CREATE), ARE(NOFOLLOW)),
	CALL(SYS_unlink, NAME, PATH_UNLINK, UNLINK, PATH(1), NEEDS(DELETE),
	     .traits = WEIR_CALL_NOFOLLOW | WEIR_CALL_GONE),
	CALL(SYS_rmdir, NAME, PATH_RMDIR, RMDIR, PATH(1), NEEDS(DELETE),
	     .traits = WEIR_CALL_NOFOLLOW | WEIR_CALL_GONE),
	CALL(SYS_link, TWO, PATH_LINK, LINK, PATHS(1, 2), ARE(NOFOLLOW)),
	CALL(SYS_rename, TWO, PATH_RENAME, RENAME, PATHS(1, 2), ARE(NOFOLLOW)),
	CALL(SYS_chmod, NAME, INODE_SETATTR, CHMOD, PATH(1), NEEDS(ATTR)),
	CALL(SYS_chown, NAME, INODE_SETATTR, CHOWN, PATH(1), NEEDS(ATTR)),
	CALL(SYS_lchown, NAME, INODE_SETATTR, CHOWN, PATH(1), NEEDS(ATTR), ARE(NOFOLLOW)),
	CALL(SYS_utime, NAME, INODE_SETATTR, UTIMES, PATH(1), NEEDS(ATTR)),
	CALL(SYS_utimes, NAME, INODE_SETATTR, UTIMES, PATH(1), NEEDS(ATTR)),
	CALL(SYS_futimesat, NAME, INODE_SETATTR, UTIMES, AT_FD(1, 2), NEEDS(ATTR)),
#endif
};
/* clang-format on */

static const char *const programs[WEIR_HANDLER_COUNT] = {
#define WEIR_X(id, program) [WEIR_HANDLER_##id] = (program),
	WEIR_HANDLERS(WEIR_X)
#undef WEIR_X
};

const char *syscalls_program(unsigned int handler)
{
	return handler < ARRAY_SIZE(programs) ? programs[handler] : NULL;
}

bool syscalls_see(unsigned int hook)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].call.hook == hook && !(rows[i].call.traits & WEIR_CALL_BLIND))
			return true;
	return false;
}

/* What an open shows belongs to several hooks. */
static uint32_t left_out_of_open(const char *without)
{
	static const struct {
		enum weir_hook hook;
		uint32_t trait;
	} parts[] = {
		{ WEIR_HOOK_FILE_OPEN, WEIR_CALL_NO_USE },
		{ WEIR_HOOK_PATH_MKNOD, WEIR_CALL_NO_CREATE },
		{ WEIR_HOOK_PTRACE, WEIR_CALL_NO_MEMORY },
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (names_hook_in(parts[i].hook, without))
			return parts[i].trait;
	return 0;
}

static bool is_left_out(const struct weir_call *call, const char *without)
{
	return call->handler != WEIR_HANDLER_OPEN && !(call->traits & WEIR_CALL_BLIND) &&
	       names_hook_in(call->hook, without);
}

int syscalls_fill(int calls_fd, const char *without, struct weir_err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct weir_call call = rows[i].call;
		__u32 number = rows[i].number;

		if (is_left_out(&call, without))
			continue;
		if (call.handler == WEIR_HANDLER_OPEN)
			call.traits |= left_out_of_open(without);
		if (bpf_map_update_elem(calls_fd, &number, &call, BPF_ANY) < 0)
			return err_errno(e, -errno, "filling the table of system calls");
	}
	return 0;
}
