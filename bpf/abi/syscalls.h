/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the programs of source "syscall" know about a system call. User space fills the table
 * (user/kern/syscalls.c), so that no number of a call is known to the programs, and none of them
 * depends on the machine.
 */
#ifndef WEIR_ABI_SYSCALLS_H
#define WEIR_ABI_SYSCALLS_H

#include "bpf/abi/types.h"

/* Numbers of system calls that are looked up; all of Linux 7.2 are below 480. Members that use
 * a higher one, or another ABI's numbers, make the run indeterminate. */
#define WEIR_CALLS_MAX 512

/* Programs that look at the result of a call. X(ID, program) */
#define WEIR_HANDLERS(X) \
	X(OPEN, "weir_sys_open") \
	X(FD, "weir_sys_fd") \
	X(NAME, "weir_sys_name") \
	X(TWO, "weir_sys_two") \
	X(RECEIVE, "weir_sys_receive") \
	X(TARGET, "weir_sys_target") \
	X(ACT, "weir_sys_act")

enum weir_handler {
	WEIR_HANDLER_NONE = 0, /* nobody's business */
#define WEIR_X(id, program) WEIR_HANDLER_##id,
	WEIR_HANDLERS(WEIR_X)
#undef WEIR_X
	WEIR_HANDLER_COUNT,
};

/* weir_call.traits */
#define WEIR_CALL_NOFOLLOW (1u << 0) /* a link as the last component is meant itself */
#define WEIR_CALL_AT (1u << 1)	     /* its flags are AT_* */
#define WEIR_CALL_LINKAT (1u << 2)   /* follows only where AT_SYMLINK_FOLLOW says so */
#define WEIR_CALL_HOW (1u << 3)	     /* its flags are the first word of a structure */
#define WEIR_CALL_MODE (1u << 4)     /* its flags are a file mode (mknod) */
#define WEIR_CALL_ATTEMPT (1u << 5)  /* counts when it fails as well */
#define WEIR_CALL_BLIND (1u << 6)    /* nobody can see what comes of it */
#define WEIR_CALL_GONE (1u << 7)     /* the name is no more */
#define WEIR_CALL_TRACED (1u << 8)   /* its target is the newest process that is traced */
#define WEIR_CALL_REQUESTS (1u << 9) /* only PTRACE_ATTACH and PTRACE_SEIZE */
/* Left out of an open: the use of a file, its creation, the memory of a process. */
#define WEIR_CALL_NO_USE (1u << 10)
#define WEIR_CALL_NO_CREATE (1u << 11)
#define WEIR_CALL_NO_MEMORY (1u << 12)

/* One call. Arguments count from 1; 0 is none. */
struct weir_call {
	__u32 set;    /* flags that the call implies */
	__u32 want;   /* rights that it needs on its object */
	__u32 traits; /* WEIR_CALL_* */
	__u16 op;     /* enum weir_op */
	__u8 hook;    /* enum weir_hook: where the same is seen by other sources */
	__u8 handler; /* enum weir_handler */
	__u8 dir[2];  /* descriptor of the directory that a path begins at, or of the object */
	__u8 path[2];
	__u8 flags;
	__u8 kind; /* enum weir_kind that any use is */
	__u8 pad[2];
};
WEIR_ASSERT_SIZE(struct weir_call, 24);

/* Where the kernel's table of names is, for a look-up of a name in a directory. Found out by user
 * space, since nothing tells it (user/kern/dcache.c); table 0: not known, which only costs time. */
struct weir_dcache {
	__u64 table; /* address of the first chain */
	__u32 shift; /* of a hash, to the number of its chain */
	__u32 pad;
};
WEIR_ASSERT_SIZE(struct weir_dcache, 16);

/* Command of the sample program: how the name of the caller's descriptor lies in that table. */
struct weir_sample {
	__u32 fd;
	__u32 hash;
	__u64 link;   /* what points at it: the chain itself, or the entry before */
	__u64 parent; /* address of the directory's dentry */
	__u32 len;
	__s32 ret_err;
	char name[32];
};
WEIR_ASSERT_SIZE(struct weir_sample, 64);

/* One step of the hash that the kernel makes of names on 64-bit machines that read words (generic
 * HASH_MIX): x and y are its state, y begins as the address of the directory. */
static inline __u64 weir_rotate(__u64 word, unsigned int bits)
{
	return word << bits | word >> (64 - bits);
}

static inline void weir_dcache_mix(__u64 *x, __u64 *y, __u64 word)
{
	*x ^= word;
	*y ^= *x;
	*x = weir_rotate(*x, 12) + *y;
	*y = weir_rotate(*y, 45) * 9;
}

/* Its end, with what is left of the last word; 0x61c8864680b583eb is the kernel's GOLDEN_RATIO_64. */
static inline __u32 weir_dcache_fold(__u64 x, __u64 y, __u64 rest)
{
	x ^= rest;
	y ^= x * 0x61c8864680b583ebull;
	return (__u32)(y * 0x61c8864680b583ebull >> 32);
}

#endif
