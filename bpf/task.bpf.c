/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Membership. A child becomes a member before it can run, also when it is an io_uring
 * worker; what can't be made a member is not made at all.
 */
#include "bpf/lib/decide.bpf.h"

/* Counts an act of bookkeeping that needs no record. */
static __always_inline void tally(struct weir_run *run, __u16 hook)
{
	__sync_fetch_and_add(&weir_stat_of(run, hook)->seen, 1);
	__sync_fetch_and_add(&weir_stat_of(run, hook)->aggregated, 1);
}

/* A new entry is too large for the stack: it starts as a copy of the parent's. */
static __always_inline int inherit(struct task_struct *child, struct weir_task *parent)
{
	struct weir_run *run = weir_run_of(parent->slot);
	__u64 key = weir_address(child);
	struct weir_task *entry;

	if (!run)
		return 1;
	if (weir_entry_add(key, parent)) {
		__sync_fetch_and_or(&run->trouble, WEIR_TROUBLE_MEMBER);
		return 1;
	}
	entry = weir_entry_of(key);
	if (!entry)
		return 1;
	entry->exited = 0;
	entry->tgid = entry->pid = entry->ns_tgid = 0;
	entry->start_ns = 0;
	entry->trunc_inode = 0;
	entry->spec_dentry = 0;
	entry->spec_kind = 0;
	__sync_fetch_and_add(&run->live, 1);
	__sync_fetch_and_add(&run->members, 1);
	tally(run, WEIR_HOOK_TASK_ALLOC);
	return 0;
}

/* A child in another group would be out of the run's limits (memory, processes). */
static __always_inline int leave_group(u64 clone_flags)
{
	struct weir_objects objects = {};
	struct weir_ask ask;

	if (!(clone_flags & CLONE_INTO_CGROUP))
		return 0;
	if (!weir_enter(&ask, WEIR_HOOK_TASK_ALLOC, WEIR_OP_NONE, 0))
		return ask.deny;
	ask.work->note.kind = WEIR_KIND_MEMBERSHIP;
	ask.work->note.flags |= WEIR_EV_BAD_FIRST;
	return weir_leave(&ask, &objects);
}

SEC("lsm/task_alloc")
int BPF_PROG(weir_task_alloc, struct task_struct *task, u64 clone_flags)
{
	struct weir_task *parent;

	if (weir_state->host.runs == 0)
		return 0;
	parent = weir_member();
	if (!parent)
		return 0;
	parent->clone_flags = clone_flags;
	if (leave_group(clone_flags)) {
		asm volatile("" ::: "memory");
		return -EPERM;
	}
	if (!inherit(task, parent))
		return 0;
	asm volatile("" ::: "memory");
	return -EAGAIN;
}

/* An entry lives exactly as long as the task's memory, also when that outlives the last run:
 * the next task at this address must not inherit anything. */
static __always_inline int forget_task(struct task_struct *task)
{
	__u64 key = weir_address(task);
	struct weir_task *entry = weir_entry_of(key);
	struct weir_run *run;

	if (!entry)
		return 0;
	run = weir_run_of(entry->slot);
	if (run)
		tally(run, WEIR_HOOK_TASK_FREE);
	weir_leave_run(entry, run);
	weir_entry_remove(key);
	return 0;
}

SEC("lsm/task_free")
int BPF_PROG(weir_task_free, struct task_struct *task)
{
	return forget_task(task);
}

/* The file is deleted, or only its address can be told: forget the links. An inode that
 * memory lets go of, but that has names, comes back. */
SEC("lsm/inode_free_security")
int BPF_PROG(weir_inode_free, struct inode *inode)
{
	struct weir_linkkey key;

	if (weir_state->host.runs == 0)
		return 0;
	inode = WEIR_PLAIN(inode, inode);
	weir_link_key(&key, inode);
	if (key.inode || inode->i_nlink == 0)
		bpf_map_delete_elem(&weir_links, &key);
	return 0;
}
