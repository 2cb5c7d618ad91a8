/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What user space puts into the maps: rights, rule keys and values, the state of
 * a run. The layout is versioned together with the records (WEIR_ABI_VERSION).
 */
#ifndef WEIR_ABI_POLICY_H
#define WEIR_ABI_POLICY_H

#include "bpf/abi/counters.h"
#include "bpf/abi/event.h"
#include "bpf/abi/power.h"

/* Rights on an object and all below it. X(ID, bit, name in a policy) */
#define WEIR_RIGHTS(X) \
	X(READ, 0, "read") \
	X(WRITE, 1, "write") \
	X(CREATE, 2, "create") \
	X(DELETE, 3, "delete") \
	X(LINK, 4, "link") \
	X(ATTR, 5, "attr") \
	X(EXEC, 6, "exec") \
	X(DEVICE, 7, "device") \
	X(CONTROL, 8, "control")

enum weir_right {
#define WEIR_X(id, bit, name) WEIR_RIGHT_##id = 1u << (bit),
	WEIR_RIGHTS(WEIR_X)
#undef WEIR_X
};

/* What "write" in a policy stands for: everything that changes a tree. */
#define WEIR_RIGHTS_MUTATE \
	(WEIR_RIGHT_WRITE | WEIR_RIGHT_CREATE | WEIR_RIGHT_DELETE | WEIR_RIGHT_LINK | \
	 WEIR_RIGHT_ATTR)

/* Kind of finding when a power is missing: WEIR_KIND_OF_SETUID ... */
enum weir_kind_of {
#define WEIR_X(id, bit, word, kind) WEIR_KIND_OF_##id = WEIR_KIND_##kind,
	WEIR_POWERS(WEIR_X)
#undef WEIR_X
};

/* weir_rule.flags */
#define WEIR_RULE_WORKSPACE (1u << 0)  /* root of the run's workspace */
#define WEIR_RULE_CREDENTIAL (1u << 1) /* reads need an explicit read right */
#define WEIR_RULE_ROOT (1u << 2)       /* a rule's own root: can't be renamed or removed */
#define WEIR_RULE_ANCESTOR (1u << 3)   /* above a root: can't be renamed; carries no rights */
#define WEIR_RULE_SEAL (1u << 4)       /* sealed tree (slot WEIR_SLOT_SEAL) */
#define WEIR_RULE_TAMPER \
	(1u << 5)		   /* weir's own files: a touch is kind tamper; rights are
					* the canary's alone */
#define WEIR_RULE_WATCH (1u << 6)  /* workspace of a run: others' writes are foreign writes */
#define WEIR_RULE_SHARED (1u << 7) /* POSIX objects of processes lie here: kind ipc */

/* Rules of this pseudo slot hold for every task on the host; their id is the run's slot. */
#define WEIR_SLOT_SEAL 0xffffffffu

/* Fibonacci hashing: the uppermost bits of number * (2^64 / golden ratio). */
static inline __u32 weir_spread(__u64 number, __u32 bits)
{
	return (__u32)((number * 0x9e3779b97f4a7c15ull) >> (64 - bits));
}

/* Each inode address has a byte in the bloom array. Bits: it may have a rule; it may be a
 * directory with a named rule. */
#define WEIR_BLOOM_RULE 1u
#define WEIR_BLOOM_NAMED 2u

struct weir_objkey {
	__u64 inode; /* address, pinned by an O_PATH descriptor of the collector */
	__u64 ino;
	__u32 dev;
	__u32 gen;
	__u32 slot;
	__u32 pad;
};
WEIR_ASSERT_SIZE(struct weir_objkey, 32);

struct weir_rule {
	__u32 rights;
	__u32 flags;
	__u32 id; /* number of the policy rule, from 1 */
	__u32 pad;
};
WEIR_ASSERT_SIZE(struct weir_rule, 16);

/* A name below a directory: hash is weir_hash_word() over its bytes, from the host's seed. */
struct weir_namekey {
	struct weir_objkey dir;
	__u64 hash;
};
WEIR_ASSERT_SIZE(struct weir_namekey, 40);

/* Superblocks known when the run started; others carry no rights. */
struct weir_sbkey {
	__u32 dev;
	__u32 slot;
};
WEIR_ASSERT_SIZE(struct weir_sbkey, 8);

enum weir_role {
	WEIR_ROLE_NONE = 0,
	WEIR_ROLE_MEMBER = 1,
	WEIR_ROLE_COLLECTOR = 2, /* protected from members; its death ends the run's rights */
	WEIR_ROLE_CANARY = 3,	 /* member whose operations are proofs, always enforced */
};
#define WEIR_ROLE_ACTS 1u /* a bit of those roles whose operations are judged */

struct weir_task {
	__u32 slot;
	__u16 role;
	__u16 exited;
	__u32 tgid;
	__u32 pid;
	__u64 start_ns;
	__u64 trunc_inode; /* opened with O_TRUNC: the truncation that follows is the same operation */
	/* last speculative creation: name, place, and the kind of finding it was */
	__u64 spec_dentry;
	__u64 spec_parent;
	__u64 spec_name;
	__u64 spec_stamp; /* of the place, before */
	__u32 spec_kind;
	__u32 ns_tgid; /* as the process sees itself */
	/* last system call that was judged by its need of a capability: which, when, and what it was
	 * judged to need */
	__u64 call;
	__u64 call_ns;
	__u64 call_powers;
	__u32 call_what;
	__u32 pad;
	__u64 clone_flags; /* of its last fork, as the kernel took them */
	__u64 told;	   /* address of the process whose memory it was just denied */
	/* the decision about what the task is doing (struct weir_work of bpf/lib/decide.bpf.h) */
	__u64 work[WEIR_WORK_WORDS];
};
WEIR_ASSERT_SIZE(struct weir_task, 120 + 8 * WEIR_WORK_WORDS);

/* One inode for as long as it exists, also when memory forgets it in between. */
struct weir_linkkey {
	__u64 inode; /* address, on btrfs, where numbers are not unique; else 0 */
	__u64 ino;
	__u32 dev;
	__u32 gen;
};
WEIR_ASSERT_SIZE(struct weir_linkkey, 24);

/* Links to one inode that members of a run made, or that all lie where they may write. */
struct weir_links {
	__u32 slot;
	__u32 made;
};
WEIR_ASSERT_SIZE(struct weir_links, 8);

/* State of the host, one element. */
struct weir_host {
	__u32 runs;	/* active runs: 0 lets every program return at once */
	__u32 watched;	/* watched or sealed trees */
	__u32 dev[4];	/* superblock devices that hold them */
	__u32 wide;	/* trees whose device found no room: every device counts */
	__u32 unjudged; /* outsiders' changes that nobody could place; concerns all runs */
	__u32 sealed;	/* sealed trees: what can't be placed is refused */
	__u32 pad;
	__u64 seed; /* of the hashes of names */
};
#define WEIR_WATCH_MAX 4
WEIR_ASSERT_SIZE(struct weir_host, 48);

enum weir_mode {
	WEIR_MODE_OFF = 0,
	WEIR_MODE_TRACE = 1,   /* no policy: record, judge nothing */
	WEIR_MODE_OBSERVE = 2, /* judge, let through */
	WEIR_MODE_ENFORCE = 3, /* judge, deny */
};

/* weir_run.flags */
#define WEIR_RUN_LOSSLESS (1u << 0)
#define WEIR_RUN_DEAD (1u << 1)	 /* collector gone: members are denied everything */
#define WEIR_RUN_TAKEN (1u << 2) /* the slot belongs to a collector or to members left over */
#define WEIR_RUN_ADMIN (1u << 3) /* members may have CAP_SYS_ADMIN */
#define WEIR_RUN_AFTER (1u << 4) /* judged after the fact (source "syscall"): nothing is refused */

/* weir_run.trouble: each bit makes the run indeterminate */
#define WEIR_TROUBLE_RING (1u << 0)    /* a record was lost */
#define WEIR_TROUBLE_SCRATCH (1u << 1) /* no event buffer left */
#define WEIR_TROUBLE_MEMBER (1u << 2)  /* a task could not be made a member; its fork failed */
#define WEIR_TROUBLE_DEAD (1u << 3)    /* the collector died */
#define WEIR_TROUBLE_LINKS (1u << 4)   /* link table full */
#define WEIR_TROUBLE_PLACE (1u << 5)   /* an outsider's change that nobody could place */
#define WEIR_TROUBLE_OWNED (1u << 6)   /* too many files send signals where members said */
/* Of source "syscall" alone, bits from the top: */
#define WEIR_TROUBLE_UNKNOWN (1u << 31) /* a name or a descriptor was gone too soon */
#define WEIR_TROUBLE_URING (1u << 30)	/* io_uring: its operations are no system calls */
#define WEIR_TROUBLE_ABI (1u << 29)	/* calls of another ABI, or unknown ones */

struct weir_run {
	__u32 mode;
	__u32 flags;
	__u32 trouble;
	__u32 rights; /* default rights where no rule applies */
	__u64 seq;
	__u64 live;	 /* members that have not exited */
	__u64 members;	 /* members there have been */
	__u64 latch[32]; /* findings by kind, counted before they are written */
	__u64 powers;	 /* WEIR_POWER_* that the policy grants */
	__u64 attempts;	 /* bit n: what the kernel refuses counts as a finding of kind n */
	/* namespaces of the collector, by address: changes in others are the run's own affair */
	__u64 mnt_ns;
	__u64 uts_ns;
	/* the rule that most walks end at, the workspace's: its inode's address, as in
	 * weir_objkey, saves the look-up; 0: none */
	__u64 home;
	struct weir_rule home_rule;
	__u64 owned; /* times that members said who gets the signals of a file */
	struct weir_hookstat hooks[WEIR_HOOKS_MAX];
};
WEIR_ASSERT_SIZE(struct weir_run, 360 + 32 * WEIR_HOOKS_MAX);
_Static_assert(WEIR_KIND_COUNT <= 32 && WEIR_HOOK_COUNT <= WEIR_HOOKS_MAX,
	       "ABI: run state holds all kinds and hooks");

/* Command of the bind program (BPF_PROG_RUN): look at a descriptor of the caller. */
struct weir_bind {
	__u32 fd;
	__u32 slot;
	struct weir_objkey ret_key;
	struct weir_object ret_object;
	__s32 ret_writecount; /* i_writecount: open writers */
	__s32 ret_mapcount;   /* i_mmap_writable: shared writable mappings */
	__u64 ret_cred;	      /* overlay: credentials under which it acts on its layers, else 0 */
	__s32 ret_err;
	__u32 pad;
};
WEIR_ASSERT_SIZE(struct weir_bind, 112);

/* Command of the adopt program: give the caller's newest child, or the caller, a role. */
struct weir_adopt {
	__u32 pid; /* expected pid of the child; 0: the caller itself */
	__u32 slot;
	__u32 role;
	__s32 ret_err;
};
WEIR_ASSERT_SIZE(struct weir_adopt, 16);

#endif
