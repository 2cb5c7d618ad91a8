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
	__u16 pad;
	__u32 aux;
	__u32 name_len;
	__u32 rule;		    /* of the policy, that grants it; 0: none */
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

/* Returns 0 to allow, 1 to deny. here: see weir_look_by; programs that are no LSM's take all steps
 * themselves, because a step is of the kind of the program that it is put into. */
static __always_inline int weir_demand_by(struct weir_demand *d, bool here)
{
	struct weir_objects objects = {};
	struct weir_ask ask;

	if (!weir_enter_aside(&ask, d->hook, d->op, d->kind, d->powers))
		return ask.deny;
	ask.work->note.aux = d->aux;
	ask.work->note.rule = d->rule;
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
	return weir_leave_by(&ask, &objects, here);
}

static __always_inline int weir_demand(struct weir_demand *d)
{
	return weir_demand_by(d, WEIR_HERE);
}

#endif
