/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The hooks and what each counts. WEIR_HOOKS is the one list of hooks: programs,
 * counters, coverage, witnesses and documents take their names from it.
 *
 * For each hook of a run:  seen = emitted + aggregated + dropped.
 * seen counts decisions about members; aggregated are those that need no record
 * of their own (a second layer of one operation, harmless devices); dropped are
 * records that could not be written and make the run indeterminate.
 */
#ifndef WEIR_ABI_COUNTERS_H
#define WEIR_ABI_COUNTERS_H

#include "bpf/abi/types.h"

/* X(ID, kernel hook, family) */
#define WEIR_HOOKS(X) \
	X(FILE_OPEN, "file_open", "file") \
	X(FILE_RECEIVE, "file_receive", "file") \
	X(FILE_TRUNCATE, "file_truncate", "file") \
	X(PATH_TRUNCATE, "path_truncate", "file") \
	X(PATH_MKNOD, "path_mknod", "name") \
	X(PATH_MKDIR, "path_mkdir", "name") \
	X(PATH_SYMLINK, "path_symlink", "name") \
	X(PATH_LINK, "path_link", "name") \
	X(PATH_RENAME, "path_rename", "name") \
	X(PATH_UNLINK, "path_unlink", "name") \
	X(PATH_RMDIR, "path_rmdir", "name") \
	X(INODE_SETATTR, "inode_setattr", "attr") \
	X(INODE_SETXATTR, "inode_setxattr", "attr") \
	X(INODE_REMOVEXATTR, "inode_removexattr", "attr") \
	X(INODE_SET_ACL, "inode_set_acl", "attr") \
	X(INODE_REMOVE_ACL, "inode_remove_acl", "attr") \
	X(FILE_IOCTL, "file_ioctl", "attr") \
	X(FILE_IOCTL_COMPAT, "file_ioctl_compat", "attr") \
	X(BPRM_CHECK, "bprm_check_security", "exec") \
	X(TASK_ALLOC, "task_alloc", "task") \
	X(TASK_FREE, "task_free", "task") \
	X(TASK_NEWTASK, "task_newtask", "task") \
	X(PROCESS_EXEC, "sched_process_exec", "task") \
	X(PROCESS_EXIT, "sched_process_exit", "task") \
	X(INODE_FREE, "inode_free_security", "task") \
	X(BPF, "bpf", "guard") \
	X(TASK_KILL, "task_kill", "guard") \
	X(PTRACE, "ptrace_access_check", "guard") \
	X(SIGIO, "file_send_sigiotask", "guard") \
	X(TASK_SETRLIMIT, "task_setrlimit", "guard") \
	X(SYSCTL, "cgroup_sysctl", "guard") \
	X(INODE_FILE_SETATTR, "inode_file_setattr", "attr") \
	X(SOCKET_CREATE, "socket_create", "network") \
	X(SOCKET_POST_CREATE, "socket_post_create", "network") \
	X(SOCKET_ACCEPT, "socket_accept", "network") \
	X(SOCKET_CONNECT, "socket_connect", "network") \
	X(SOCKET_BIND, "socket_bind", "network") \
	X(SOCKET_LISTEN, "socket_listen", "network") \
	X(SENDMSG4, "cgroup_sendmsg4", "network") \
	X(SENDMSG6, "cgroup_sendmsg6", "network") \
	X(CONNECT4, "cgroup_connect4", "network") \
	X(CONNECT6, "cgroup_connect6", "network") \
	X(NETLINK_SEND, "netlink_send", "network") \
	X(UNIX_STREAM_CONNECT, "unix_stream_connect", "ipc") \
	X(UNIX_MAY_SEND, "unix_may_send", "ipc") \
	X(IPC_PERMISSION, "ipc_permission", "ipc") \
	X(SHM_ALLOC, "shm_alloc_security", "ipc") \
	X(MSG_QUEUE_ALLOC, "msg_queue_alloc_security", "ipc") \
	X(SEM_ALLOC, "sem_alloc_security", "ipc") \
	X(SHMCTL, "shm_shmctl", "ipc") \
	X(MSGCTL, "msg_queue_msgctl", "ipc") \
	X(SEMCTL, "sem_semctl", "ipc") \
	X(INODE_CREATE, "inode_create", "ipc") \
	X(INODE_UNLINK, "inode_unlink", "ipc") \
	X(PTRACE_TRACEME, "ptrace_traceme", "process") \
	X(TASK_MOVEMEMORY, "task_movememory", "process") \
	X(TASK_SETNICE, "task_setnice", "process") \
	X(TASK_SETIOPRIO, "task_setioprio", "process") \
	X(TASK_SETSCHEDULER, "task_setscheduler", "process") \
	X(FILE_SET_FOWNER, "file_set_fowner", "process") \
	X(TASK_FIX_SETUID, "task_fix_setuid", "cred") \
	X(TASK_FIX_SETGID, "task_fix_setgid", "cred") \
	X(TASK_FIX_SETGROUPS, "task_fix_setgroups", "cred") \
	X(CAPSET, "capset", "cred") \
	X(BPRM_CREDS, "bprm_creds_from_file", "cred") \
	X(KEY_PERMISSION, "key_permission", "cred") \
	X(KEY_ALLOC, "key_alloc", "cred") \
	X(USERNS_CREATE, "userns_create", "space") \
	X(SB_MOUNT, "sb_mount", "space") \
	X(SB_UMOUNT, "sb_umount", "space") \
	X(SB_REMOUNT, "sb_remount", "space") \
	X(SB_KERN_MOUNT, "sb_kern_mount", "space") \
	X(SB_PIVOTROOT, "sb_pivotroot", "space") \
	X(MOVE_MOUNT, "move_mount", "space") \
	X(CAPABLE, "capable", "kernel") \
	X(SECURITY_CAPABLE, "security_capable", "kernel") \
	X(PERF_EVENT_OPEN, "perf_event_open", "kernel") \
	X(MODULE_REQUEST, "kernel_module_request", "kernel") \
	X(KERNEL_READ_FILE, "kernel_read_file", "kernel") \
	X(INODE_CAPABLE, "capable_wrt_inode_uidgid", "file") \
	X(PTRACE_REFUSED, "__ptrace_may_access", "process")

enum weir_hook {
#define WEIR_X(id, name, family) WEIR_HOOK_##id,
	WEIR_HOOKS(WEIR_X)
#undef WEIR_X
	WEIR_HOOK_COUNT,
};

struct weir_hookstat {
	__u64 seen;
	__u64 emitted;
	__u64 aggregated;
	__u64 dropped;
};
WEIR_ASSERT_SIZE(struct weir_hookstat, 32);

#endif
