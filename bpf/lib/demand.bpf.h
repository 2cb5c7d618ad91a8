/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Powers: what a member does to something that is no file. One call decides, latches and
 * records:
 *
 *	struct weir_demand d = WEIR_DEMAND(SETTIME, WEIR_HOOK_SETTIME, WEIR_OP_SETTIME);
 *
 *	WEIR_ANSWER(weir_demand(&d));
 *
 * An outsider costs one look-up. What the policy grants is recorded as well, without a
 * finding; what needs no power is weir_needless().
 */
#ifndef WEIR_LIB_DEMAND_H
#define WEIR_LIB_DEMAND_H

#include "bpf/lib/decide.bpf.h"

/* Lies on the stack: nothing of it is looked into on the way. */
struct weir_demand {
	__u64 powers; /* all of them are needed */
	__u16 hook;
	__u16 op;
	__u16 kind;
	__u16 outcome; /* WEIR_OUTCOME_REFUSED: by the kernel, without us */
	__u32 aux;
	__u32 name_len;
	__u32 rule;		    /* of the policy, that grants it; 0: none */
	__u32 error;		    /* REFUSED: the errno */
	struct task_struct *target; /* the process that it is aimed at, NULL: none */
	struct dentry *object;	    /* first object, NULL: none. Of a target: its program */
	const char *name;	    /* kernel memory, NULL: none. See struct weir_objects */
	struct weir_peer peer;
};

#define WEIR_DEMAND(power, where, what) \
	{ \
		.powers = WEIR_POWER(power), .kind = WEIR_KIND_OF_##power, .hook = (where), \
		.op = (what) \
	}

/* The file that a process runs. */
static __always_inline struct dentry *weir_program_of(struct task_struct *task)
{
	struct mm_struct *mm = WEIR_PLAIN(task_struct, task)->mm;
	struct file *file;

	if (!mm)
		return 0;
	file = mm->exe_file;
	return file ? file->f_path.dentry : 0;
}

static __always_inline void weir_put_target(struct weir_peer *peer, struct task_struct *task)
{
	const struct cred *cred;

	task = WEIR_PLAIN(task_struct, task);
	cred = task->real_cred;
	peer->tgid = task->tgid;
	peer->uid = cred ? cred->uid.val : 0;
	peer->start_ns = task->group_leader->start_boottime;
}

/* Of the current member's run? Threads of a collector are none. */
static __always_inline bool weir_is_fellow(struct task_struct *task)
{
	struct weir_task *member = weir_member();
	struct weir_task *entry = weir_task_of(task);

	return member && entry && entry->role != WEIR_ROLE_COLLECTOR && entry->slot == member->slot;
}

/* A member's operation that needs no power and no record. Returns 0. */
static __always_inline int weir_needless(__u16 hook)
{
	struct weir_task *member = weir_member();
	struct weir_run *run = member ? weir_run_of(member->slot) : 0;

	if (!run)
		return 0;
	__sync_fetch_and_add(&weir_stat_of(run, hook)->seen, 1);
	__sync_fetch_and_add(&weir_stat_of(run, hook)->aggregated, 1);
	return 0;
}

/* The system call that the task is in. */
struct weir_trap {
	__u32 nr; /* of the 64-bit table, 0 (read) for others that matter to nobody */
	__u64 arg[3];
	__u64 ip;
};

/* Calls of the 32-bit table that are judged, by their numbers in the 64-bit one. From 424 on the
 * tables are the same. */
__u32 weir_call_of_32(__u32 nr);

#define IS_COMPAT 0x2
#define IS_X32 0x40000000u

/* Its number alone. */
static __always_inline __u32 weir_call_nr(void)
{
#if defined(__TARGET_ARCH_x86)
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u32 nr = BPF_CORE_READ(regs, orig_ax) & ~IS_X32;

	return WEIR_PLAIN(task_struct, task)->thread_info.status & IS_COMPAT ? weir_call_of_32(nr)
									     : nr;
#else
	return 0;
#endif
}

static __always_inline void weir_read_call(struct weir_trap *call)
{
#if defined(__TARGET_ARCH_x86)
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	bool compat = WEIR_PLAIN(task_struct, task)->thread_info.status & IS_COMPAT;

	call->nr = BPF_CORE_READ(regs, orig_ax) & ~IS_X32;
	call->ip = BPF_CORE_READ(regs, ip);
	if (compat) {
		call->nr = weir_call_of_32(call->nr);
		call->arg[0] = (__u32)BPF_CORE_READ(regs, bx);
		call->arg[1] = (__u32)BPF_CORE_READ(regs, cx);
		call->arg[2] = (__u32)BPF_CORE_READ(regs, dx);
	} else {
		call->arg[0] = BPF_CORE_READ(regs, di);
		call->arg[1] = BPF_CORE_READ(regs, si);
		call->arg[2] = BPF_CORE_READ(regs, dx);
	}
#else
	__builtin_memset(call, 0, sizeof(*call));
#endif
}

/* Numbers of the 64-bit table. Source: arch/x86/entry/syscalls/syscall_64.tbl. */
#define NR_OPEN 2
#define NR_IOCTL 16
#define NR_MADVISE 28
#define NR_SETSOCKOPT 54
#define NR_CLONE 56
#define NR_TRUNCATE 76
#define NR_RENAME 82
#define NR_MKDIR 83
#define NR_RMDIR 84
#define NR_CREAT 85
#define NR_LINK 86
#define NR_UNLINK 87
#define NR_SYMLINK 88
#define NR_CHMOD 90
#define NR_CHOWN 92
#define NR_LCHOWN 94
#define NR_PIVOT_ROOT 155
#define NR_ADJTIMEX 159
#define NR_ACCT 163
#define NR_SETTIMEOFDAY 164
#define NR_MOUNT 165
#define NR_UMOUNT2 166
#define NR_SWAPON 167
#define NR_SWAPOFF 168
#define NR_REBOOT 169
#define NR_SETHOSTNAME 170
#define NR_SETDOMAINNAME 171
#define NR_IOPL 172
#define NR_IOPERM 173
#define NR_INIT_MODULE 175
#define NR_DELETE_MODULE 176
#define NR_QUOTACTL 179
#define NR_CLOCK_SETTIME 227
#define NR_KEXEC_LOAD 246
#define NR_REQUEST_KEY 249
#define NR_KEYCTL 250
#define NR_OPENAT 257
#define NR_MKDIRAT 258
#define NR_FCHOWNAT 260
#define NR_UNLINKAT 263
#define NR_RENAMEAT 264
#define NR_LINKAT 265
#define NR_SYMLINKAT 266
#define NR_FCHMODAT 268
#define NR_UNSHARE 272
#define NR_SYSLOG 103
#define NR_FANOTIFY_INIT 300
#define NR_CLOCK_ADJTIME 305
#define NR_SETNS 308
#define NR_KCMP 312
#define NR_FINIT_MODULE 313
#define NR_RENAMEAT2 316
#define NR_KEXEC_FILE_LOAD 320
#define NR_BPF 321
#define NR_IO_URING_ENTER 426
#define NR_IO_URING_REGISTER 427
#define NR_MOVE_MOUNT 429
#define NR_FSOPEN 430
#define NR_FSCONFIG 431
#define NR_CLONE3 435
#define NR_OPENAT2 437
#define NR_PROCESS_MADVISE 440
#define NR_MOUNT_SETATTR 442
#define NR_QUOTACTL_FD 443
#define NR_FCHMODAT2 452
#define NR_OPEN_TREE_ATTR 467

/* A step, or in the program itself: see weir_look_by. */
int weir_need(struct weir_demand *d);

static __always_inline int weir_need_here(struct weir_demand *d)
{
	struct weir_objects objects = {};
	struct weir_ask ask;

	if (!weir_enter_aside(&ask, d->hook, d->op, d->kind, d->powers))
		return ask.deny;
	ask.work->note.aux = d->aux;
	ask.work->note.rule = d->rule;
	if (d->outcome == WEIR_OUTCOME_REFUSED) {
		ask.work->note.outcome = d->outcome;
		ask.work->note.error = d->error;
		weir_weigh_attempt(ask.run, &ask.work->note);
	}
	objects.first = d->object;
	if (d->target) {
		weir_put_target(&d->peer, d->target);
		if (!objects.first)
			objects.first = weir_program_of(d->target);
	}
	objects.peer = &d->peer;
	objects.powers = d->powers;
	objects.name = d->name;
	objects.name_len = d->name_len;
	return weir_leave_by(&ask, &objects, true);
}

/* Returns 0 to allow, 1 to deny. here: programs that are no LSM's take all steps themselves,
 * because a step is of the kind of the program that it is put into. */
static __always_inline int weir_demand_by(struct weir_demand *d, bool here)
{
	if (here)
		return weir_need_here(d);
	return weir_state->host.runs && weir_member() ? weir_need(d) : 0;
}

static __always_inline int weir_demand(struct weir_demand *d)
{
	return weir_demand_by(d, WEIR_HERE);
}

/* The answer to a demand that looks like the one before: decided anew, since it may be another
 * one, but told no second time. */
static __always_inline int weir_demand_again(const struct weir_demand *d)
{
	struct weir_task *member = weir_member();
	struct weir_run *run = member ? weir_run_of(member->slot) : 0;
	bool granted;

	if (!run)
		return member != 0;
	weir_needless(d->hook);
	granted = !(d->powers & ~run->powers) && member->role != WEIR_ROLE_CANARY;
	return weir_refuses_member(run, member, granted ? WEIR_KIND_NONE : d->kind);
}

#endif
