/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Membership and lineage. A child becomes a member before it can run, also when it is
 * an io_uring worker; what can't be made a member is not made at all.
 */
#include "bpf/lib/decide.bpf.h"

/* Counts an act of bookkeeping that needs no record. */
static __always_inline void tally(struct weir_run *run, __u16 hook)
{
	__sync_fetch_and_add(&weir_stat_of(run, hook)->seen, 1);
	__sync_fetch_and_add(&weir_stat_of(run, hook)->aggregated, 1);
}

static __always_inline int inherit(struct task_struct *child)
{
	struct weir_task *parent = weir_member();
	struct weir_task entry = {};
	__u64 key = (__u64)child;
	struct weir_run *run;

	if (!parent)
		return 0;
	run = weir_run_of(parent->slot);
	entry.slot = parent->slot;
	entry.role = parent->role;
	if (!run || bpf_map_update_elem(&weir_tasks, &key, &entry, BPF_ANY)) {
		if (run)
			__sync_fetch_and_or(&run->trouble, WEIR_TROUBLE_MEMBER);
		return 1;
	}
	__sync_fetch_and_add(&run->live, 1);
	__sync_fetch_and_add(&run->members, 1);
	tally(run, WEIR_HOOK_TASK_ALLOC);
	return 0;
}

/* A child in another group would be out of the run's limits (memory, processes). */
static __always_inline int leave_group(u64 clone_flags)
{
	struct weir_ask ask;

	if (!(clone_flags & CLONE_INTO_CGROUP) ||
	    !weir_enter(&ask, WEIR_HOOK_TASK_ALLOC, WEIR_OP_NONE) || !ask.member)
		return 0;
	ask.note.kind = WEIR_KIND_MEMBERSHIP;
	ask.note.flags |= WEIR_EV_BAD_FIRST;
	return weir_leave(&ask);
}

SEC("lsm/task_alloc")
int BPF_PROG(weir_task_alloc, struct task_struct *task, u64 clone_flags)
{
	if (leave_group(clone_flags)) {
		asm volatile("" ::: "memory");
		return -EPERM;
	}
	if (!inherit(task))
		return 0;
	asm volatile("" ::: "memory");
	return -EAGAIN;
}

static __always_inline void leave_run(struct weir_task *entry)
{
	struct weir_run *run = weir_run_of(entry->slot);

	if (entry->exited || entry->role == WEIR_ROLE_COLLECTOR)
		return;
	entry->exited = 1;
	if (run)
		__sync_fetch_and_add(&run->live, -1);
}

/* An entry lives exactly as long as the task's memory, also when that outlives the last run:
 * the next task at this address must not inherit anything. */
SEC("lsm/task_free")
int BPF_PROG(weir_task_free, struct task_struct *task)
{
	__u64 key = (__u64)task;
	struct weir_task *entry = bpf_map_lookup_elem(&weir_tasks, &key);
	struct weir_run *run;

	if (!entry)
		return 0;
	run = weir_run_of(entry->slot);
	if (run)
		tally(run, WEIR_HOOK_TASK_FREE);
	leave_run(entry);
	bpf_map_delete_elem(&weir_tasks, &key);
	return 0;
}

/* The child has its pid now, and has not run yet. */
SEC("tp_btf/task_newtask")
int BPF_PROG(weir_task_newtask, struct task_struct *task, u64 clone_flags)
{
	struct weir_task *entry = weir_task_of(task);
	struct weir_life life = { .task = (__u64)task, .flags = clone_flags };
	struct weir_run *run;

	if (!entry || entry->role == WEIR_ROLE_COLLECTOR)
		return 0;
	entry->tgid = task->tgid;
	entry->pid = task->pid;
	entry->start_ns = task->start_boottime;
	life.slot = entry->slot;
	run = weir_run_of(entry->slot);
	if (!run)
		return 0;
	__sync_fetch_and_add(&weir_stat_of(run, WEIR_HOOK_TASK_NEWTASK)->seen, 1);
	weir_emit_fork(&life);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(weir_process_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	struct weir_task *entry = weir_task_of(task);
	struct weir_life life = {
		.task = (__u64)task,
		.dentry = (__u64)bprm->file->f_path.dentry,
	};
	struct weir_run *run;

	if (!entry || entry->role == WEIR_ROLE_COLLECTOR)
		return 0;
	entry->tgid = task->tgid;
	entry->pid = task->pid;
	life.slot = entry->slot;
	run = weir_run_of(entry->slot);
	if (!run)
		return 0;
	__sync_fetch_and_add(&weir_stat_of(run, WEIR_HOOK_PROCESS_EXEC)->seen, 1);
	weir_emit_exec(&life);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(weir_process_exit, struct task_struct *task)
{
	struct weir_task *entry = weir_task_of(task);
	bool last = task->signal->live.counter == 0;
	struct weir_life life = { .task = (__u64)task, .code = task->exit_code };
	struct weir_run *run;

	if (!entry)
		return 0;
	run = weir_run_of(entry->slot);
	if (!run)
		return 0;
	if (entry->role == WEIR_ROLE_COLLECTOR) {
		if (last) {
			__sync_fetch_and_or(&run->flags, WEIR_RUN_DEAD);
			__sync_fetch_and_or(&run->trouble, WEIR_TROUBLE_DEAD);
		}
		return 0;
	}
	if (last) {
		__sync_fetch_and_add(&weir_stat_of(run, WEIR_HOOK_PROCESS_EXIT)->seen, 1);
		life.slot = entry->slot;
		weir_emit_exit(&life);
	}
	leave_run(entry);
	return 0;
}

/* The file is deleted, or only its address can be told: forget the links. An inode that
 * memory lets go of, but that has names, comes back. */
SEC("lsm/inode_free_security")
int BPF_PROG(weir_inode_free, struct inode *inode)
{
	struct weir_host *host = weir_host_state();
	struct weir_linkkey key;

	if (!host || host->runs == 0)
		return 0;
	weir_link_key(&key, inode);
	if (key.inode || inode->i_nlink == 0)
		bpf_map_delete_elem(&weir_links, &key);
	return 0;
}
