/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records that the programs write to a run's ring buffer, and the vocabulary in
 * them. Little endian as on all supported hosts. Each record starts with struct
 * weir_head; size covers the whole record and is a multiple of 8; seq counts from
 * 1 within a run without gaps, so that a missing record is seen.
 *
 * Paths are stored as components from the object upwards to the root of its file
 * system, each NUL-terminated: "main.c\0src\0ws\0lab\0". They name where the
 * object really lives (dentries of its own file system), never a string that the
 * process passed.
 *
 * Version 2 put whom or what an operation was aimed at behind the fixed part of an
 * operation of version 1; all else is the same.
 */
#ifndef WEIR_ABI_EVENT_H
#define WEIR_ABI_EVENT_H

#include "bpf/abi/limits.h"
#include "bpf/abi/types.h"

#define WEIR_ABI_VERSION 2

enum weir_record {
	WEIR_RECORD_OP = 1,
	WEIR_RECORD_FORK = 2,
	WEIR_RECORD_EXEC = 3,
	WEIR_RECORD_EXIT = 4,
};

/* Kinds of findings. X(ID, name, severity of a finding of this kind) */
#define WEIR_KINDS(X) \
	X(NONE, "none", "informational") \
	X(FILE_OUTSIDE, "file-outside", "error") \
	X(FILE_CONTROL, "file-control", "critical") \
	X(FILE_TRANSIENT, "file-transient", "error") \
	X(UNDECLARED_INPUT, "undeclared-input", "error") \
	X(CREDENTIAL_READ, "credential-read", "critical") \
	X(MEMORY_ACCESS, "memory-access", "critical") \
	X(EXEC_NEW_BINARY, "exec-new-binary", "error") \
	X(EXEC_MEMFD, "exec-memfd", "critical") \
	X(NAMESPACE, "namespace", "error") \
	X(MOUNT, "mount", "error") \
	X(KERNEL_TUNABLE, "kernel-tunable", "critical") \
	X(MODULE, "module", "critical") \
	X(BPF, "bpf", "critical") \
	X(NETWORK, "network", "error") \
	X(IPC, "ipc", "error") \
	X(MEMBERSHIP, "membership", "error") \
	X(TAMPER, "tamper", "alert") \
	X(TREE_UNSAFE, "tree-unsafe", "error") \
	X(TREE_UNREPRESENTABLE, "tree-unrepresentable", "error") \
	X(GATE_RACE, "gate-race", "error") \
	X(ATTEMPT, "attempt", "notice") \
	X(COVERAGE, "coverage", "error") \
	X(POLICY, "policy", "error") \
	X(PRIVILEGE, "privilege", "critical")

enum weir_kind {
#define WEIR_X(id, name, severity) WEIR_KIND_##id,
	WEIR_KINDS(WEIR_X)
#undef WEIR_X
	WEIR_KIND_COUNT,
};

/* Operations. X(ID, name) */
#define WEIR_OPS(X) \
	X(NONE, "none") \
	X(READ, "read") \
	X(WRITE, "write") \
	X(CREATE, "create") \
	X(TMPFILE, "tmpfile") \
	X(MKDIR, "mkdir") \
	X(MKNOD, "mknod") \
	X(SYMLINK, "symlink") \
	X(LINK, "link") \
	X(RENAME, "rename") \
	X(EXCHANGE, "exchange") \
	X(UNLINK, "unlink") \
	X(RMDIR, "rmdir") \
	X(TRUNCATE, "truncate") \
	X(CHMOD, "chmod") \
	X(CHOWN, "chown") \
	X(UTIMES, "utimes") \
	X(SETXATTR, "setxattr") \
	X(REMOVEXATTR, "removexattr") \
	X(SETACL, "setacl") \
	X(IOCTL, "ioctl") \
	X(MMAP, "mmap") \
	X(RECEIVE, "receive") \
	X(EXEC, "exec") \
	X(BPF, "bpf") \
	X(SIGNAL, "signal") \
	X(PTRACE, "ptrace") \
	X(PRLIMIT, "prlimit") \
	X(MOUNT, "mount") \
	X(UMOUNT, "umount") \
	X(SYSCTL, "sysctl") \
	X(SCHEDULE, "schedule") \
	X(SETUID, "setuid") \
	X(SETGID, "setgid") \
	X(SETGROUPS, "setgroups") \
	X(CAPSET, "capset") \
	X(KEYCTL, "keyctl") \
	X(NAMESPACE, "namespace") \
	X(SETNS, "setns") \
	X(BIND_MOUNT, "bind-mount") \
	X(MOVE_MOUNT, "move-mount") \
	X(REMOUNT, "remount") \
	X(PIVOT_ROOT, "pivot-root") \
	X(MODULE, "module") \
	X(MODULE_REQUEST, "module-request") \
	X(KEXEC, "kexec") \
	X(PERF, "perf") \
	X(SETTIME, "settime") \
	X(HOSTNAME, "hostname") \
	X(REBOOT, "reboot") \
	X(SWAP, "swap") \
	X(ACCOUNTING, "accounting") \
	X(QUOTA, "quota") \
	X(SYSLOG, "syslog") \
	X(FANOTIFY, "fanotify") \
	X(RAWIO, "rawio") \
	X(CONNECT, "connect") \
	X(BIND, "bind") \
	X(LISTEN, "listen") \
	X(SOCKET, "socket") \
	X(SEND, "send") \
	X(IPC_CREATE, "ipc-create") \
	X(IPC_USE, "ipc-use") \
	X(IPC_SET, "ipc-set")

enum weir_op {
#define WEIR_X(id, name) WEIR_OP_##id,
	WEIR_OPS(WEIR_X)
#undef WEIR_X
	WEIR_OP_COUNT,
};

/* What became of the operation, as far as the hook can tell. X(ID, name) */
#define WEIR_OUTCOMES(X) \
	X(PASSED, "passed") \
	X(DENIED, "denied") \
	X(REFUSED, "refused")

enum weir_outcome {
#define WEIR_X(id, name) WEIR_OUTCOME_##id,
	WEIR_OUTCOMES(WEIR_X)
#undef WEIR_X
	WEIR_OUTCOME_COUNT,
};

/* weir_opev.flags */
#define WEIR_EV_FINDING (1u << 0)    /* speaks against the run */
#define WEIR_EV_BAD_FIRST (1u << 1)  /* the first object lacked the right */
#define WEIR_EV_BAD_SECOND (1u << 2) /* the second object lacked the right */
#define WEIR_EV_CANARY (1u << 3)     /* made by the run's own proof of life */
#define WEIR_EV_TRUNCATED (1u << 4)  /* a path did not fit */
#define WEIR_EV_UNRESOLVED (1u << 5) /* disconnected or too deep: no full path */
#define WEIR_EV_OUTSIDER (1u << 6)   /* by a task that is no member: a foreign write */
#define WEIR_EV_SEALED (1u << 7)     /* met a seal */
#define WEIR_EV_HARDLINK (1u << 8)   /* the object has names that the run did not make */
#define WEIR_EV_UNMARKED (1u << 9)   /* no rule applied: the run's default rights */
/* An open with O_CREAT is judged as a creation before the kernel looks whether the name
 * exists. If it does, the open that follows from the same thread says so and takes the
 * creation back; its `error` holds the kind of finding that is taken back, 0 if none. */
#define WEIR_EV_SPECULATIVE (1u << 10)
#define WEIR_EV_EXISTED (1u << 11)

struct weir_head {
	__u16 version; /* WEIR_ABI_VERSION */
	__u16 type;    /* enum weir_record */
	__u32 size;
	__u64 seq;
	__u64 ts_ns;	/* since boot */
	__u32 slot;	/* run slot */
	__u32 tgid;	/* in the initial pid namespace */
	__u32 pid;	/* thread */
	__u32 ns_tgid;	/* as the process sees itself */
	__u32 uid;	/* in the initial user namespace */
	__u32 ppid;	/* tgid of the real parent */
	__u64 start_ns; /* start of the thread group leader: (tgid, start_ns) is unique */
};
WEIR_ASSERT_SIZE(struct weir_head, 56);

struct weir_object {
	__u64 ino;
	__u64 size;  /* bytes, before the operation */
	__u32 dev;   /* superblock device, kernel encoding: major << 20 | minor */
	__u32 gen;   /* i_generation */
	__u32 magic; /* superblock magic */
	__u32 mode;  /* 0: there is no inode yet */
	__u32 uid;
	__u32 nlink;
	__u32 rdev;
	__u32 pad;
};
WEIR_ASSERT_SIZE(struct weir_object, 48);

/* What an operation was aimed at, besides objects that have a path; 0 where it says nothing. */
struct weir_peer {
	__u64 start_ns;	  /* of the process's first thread: (tgid, start_ns) is unique */
	__u64 number;	  /* a key's serial, a namespace's inode, an IPC object's id */
	__u32 tgid;	  /* a process, in the initial pid namespace */
	__u32 uid;	  /* its real user, in the initial user namespace */
	__u16 family;	  /* a socket: AF_* */
	__u16 type;	  /* SOCK_* */
	__u16 protocol;	  /* IPPROTO_*, or the protocol of the family */
	__u16 port;	  /* as a number of this host */
	__u8 address[16]; /* as on the wire; of IPv4 the first 4 bytes */
};
WEIR_ASSERT_SIZE(struct weir_peer, 48);

struct weir_opev {
	struct weir_head head;
	__u16 op;
	__u16 hook;
	__u16 kind;
	__u16 outcome;
	__u32 flags;
	__u32 want;  /* rights asked for (bpf/abi/policy.h) */
	__u32 have;  /* rights found */
	__u32 rule;  /* policy rule that gave them, 0: none */
	__u32 aux;   /* open flags, ATTR_*, ioctl command, signal, bpf command, target tgid */
	__u32 error; /* with WEIR_EV_EXISTED: the kind taken back; if refused: an errno, or 0 */
	struct weir_object first;
	struct weir_object second; /* rename: target; link: new name */
	__u32 first_len;	   /* bytes of the first path in the data */
	__u32 second_len;
	/* version 1 ends here: data follows */
	struct weir_peer peer;
	__u64 powers;	/* powers asked for (bpf/abi/power.h) */
	__u32 name_len; /* bytes of the name in the data */
	__u32 pad;
	/* first path, second path, name, padding to 8. The name is no path but a label: of a
	 * module, a file system, an abstract socket; any bytes */
};
WEIR_ASSERT_SIZE(struct weir_opev, 256);
WEIR_ASSERT_OFFSET(struct weir_opev, peer, 192);
#define WEIR_OPEV_SIZE_1 192

struct weir_forkev {
	struct weir_head head; /* of the parent */
	__u32 child_tgid;
	__u32 child_pid;
	__u64 child_start_ns;
	__u64 clone_flags;
};
WEIR_ASSERT_SIZE(struct weir_forkev, 80);

struct weir_execev {
	struct weir_head head;
	struct weir_object exe;
	__u32 path_len;
	__u32 args_len;	  /* NUL-separated, a label: the process controls it */
	__u32 args_total; /* bytes there were */
	__u32 flags;
	/* path, args, padding to 8 */
};
WEIR_ASSERT_SIZE(struct weir_execev, 120);

struct weir_exitev {
	struct weir_head head;
	__u32 code; /* wait status */
	__u32 pad;
};
WEIR_ASSERT_SIZE(struct weir_exitev, 64);

/* Largest record: an operation with two paths, or an exec with path and arguments. */
#define WEIR_RECORD_MAX (sizeof(struct weir_opev) + 2 * WEIR_PATH_MAX + WEIR_LABEL_MAX + 8)

#endif
