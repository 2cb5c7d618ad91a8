/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who: the current task's entry, and the state of its run. Decided by the task's
 * address alone; names, groups and namespaces play no part.
 */
#ifndef WEIR_LIB_TASK_H
#define WEIR_LIB_TASK_H

#include "bpf/lib/compat.bpf.h"

/* An index that has been checked. The compiler checks one copy of it and uses another, of which
 * the verifier knows no bound; limit is a power of two. */
static __always_inline __u64 weir_below(__u64 index, __u32 limit)
{
	asm volatile("" : "+r"(index));
	return index & (limit - 1);
}

/* A task's address as a number. The verifier allows no arithmetic with kernel pointers but the
 * difference of two, and knows the current task as a pointer and as a number. */
static __always_inline __u64 weir_address(struct task_struct *task)
{
	__u64 distance = (__u64)task;

	asm volatile("%0 -= %1" : "+r"(distance) : "r"(bpf_get_current_task_btf()));
	return distance + bpf_get_current_task();
}

/* The cell that counts members with this task's hash. */
static __always_inline __u32 *weir_crowd_of(__u64 task)
{
	return &weir_state->crowd[weir_spread(task, WEIR_CROWD_BITS) & (WEIR_CROWD_SIZE - 1)];
}

/* Can the task be a member? */
static __always_inline bool weir_is_crowded(__u64 task)
{
	return *(volatile __u32 *)weir_crowd_of(task) != 0;
}

/* Entry of a task, NULL for an outsider. */
static __always_inline struct weir_task *weir_entry_of(__u64 task)
{
	if (!weir_is_crowded(task))
		return 0;
	return bpf_map_lookup_elem(&weir_tasks, &task);
}

/* The same; returns at once while no run is active. */
static __always_inline struct weir_task *weir_task_of(struct task_struct *task)
{
	if (weir_state->host.runs == 0)
		return 0;
	return weir_entry_of(weir_address(task));
}

/* Makes an entry. Returns 0, or a negative errno when there is no room. */
static __always_inline long weir_entry_add(__u64 task, struct weir_task *entry)
{
	__u32 *cell = weir_crowd_of(task);
	bool there = bpf_map_lookup_elem(&weir_tasks, &task) != 0;
	long err;

	if (!there)
		__sync_fetch_and_add(cell, 1);
	err = bpf_map_update_elem(&weir_tasks, &task, entry, BPF_ANY);
	if (err && !there)
		__sync_fetch_and_add(cell, -1);
	return err;
}

static __always_inline void weir_entry_remove(__u64 task)
{
	__u32 *cell = weir_crowd_of(task);
	struct weir_task *entry = bpf_map_lookup_elem(&weir_tasks, &task);

	/* if it can't be deleted, it is at least nobody's */
	if (entry)
		entry->role = WEIR_ROLE_NONE;
	if (bpf_map_delete_elem(&weir_tasks, &task) == 0)
		__sync_fetch_and_add(cell, -1);
}

/* Entry of the current task if it is a member or a canary, else NULL. Callers look first
 * whether a run is active. */
static __always_inline struct weir_task *weir_member(void)
{
	struct weir_task *entry = weir_entry_of(bpf_get_current_task());

	if (!entry || !(entry->role & WEIR_ROLE_ACTS))
		return 0;
	return entry;
}

static __always_inline struct weir_run *weir_run_of(__u32 slot)
{
	if (slot >= WEIR_RUNS_MAX)
		return 0;
	return &weir_state->runs[weir_below(slot, WEIR_RUNS_MAX)];
}

static __always_inline struct weir_hookstat *weir_stat_of(struct weir_run *run, __u32 hook)
{
	return &run->hooks[hook & (WEIR_HOOKS_MAX - 1)];
}

/* Thread group of a task as the process sees itself. */
static __always_inline __u32 weir_ns_tgid(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, group_leader, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level), nr = 0;

	bpf_probe_read_kernel(&nr, sizeof(nr), &pid->numbers[level & 31].nr);
	return nr;
}

/* The task runs no more; its memory may stay for a while. */
static __always_inline void weir_leave_run(struct weir_task *entry, struct weir_run *run)
{
	if (entry->exited || entry->role == WEIR_ROLE_COLLECTOR)
		return;
	entry->exited = 1;
	if (run)
		__sync_fetch_and_add(&run->live, -1);
}

/* Remembers what a member made. Only a run's own state: nothing is decided. */
static __always_inline void weir_remember(const struct weir_made *made, __u32 slot)
{
	bpf_map_update_elem(&weir_made, made, &slot, BPF_ANY);
}

static __always_inline bool weir_made_by(const struct weir_made *made, __u32 slot)
{
	__u32 *maker = bpf_map_lookup_elem(&weir_made, made);

	return maker && *maker == slot;
}

/* Shared memory, a semaphore, a queue: what it is, and where it lies. */
static __always_inline void weir_made_file(struct weir_made *made, struct inode *inode)
{
	made->address = (__u64)inode;
	made->number = inode->i_ino;
}

static __always_inline bool weir_is_admin(const struct cred *cred)
{
	__u64 caps = 0;

	bpf_core_read(&caps, sizeof(caps), &cred->cap_effective);
	return (caps >> CAP_SYS_ADMIN) & 1 && BPF_CORE_READ(cred, user_ns, level) == 0;
}

/* An overlay acts on its layers under the credentials of who mounted it, or under a copy
 * of them; the operation itself was judged on the merged tree before. The originals are
 * private to the superblock, so no task can take them on. A copy is known by power that
 * the member itself does not have: only the kernel lends it. Where members may have that
 * power, they can lend it to themselves (personalities of io_uring), and only originals
 * count. An address alone does not count either: it can be used again. */
static __always_inline bool weir_is_overlay_layer(struct weir_run *run)
{
	struct task_struct *task = WEIR_PLAIN(task_struct, bpf_get_current_task_btf());
	const struct cred *cred = task->cred, *own = task->real_cred;
	__u64 key = (__u64)cred;

	if (cred == own || !weir_is_admin(cred))
		return false;
	if (bpf_map_lookup_elem(&weir_creds, &key))
		return true;
	return !(run->flags & WEIR_RUN_ADMIN) && !weir_is_admin(own);
}

#endif
