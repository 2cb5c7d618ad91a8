/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who: the current task's entry, and the state of its run. Decided by the task's
 * address alone; names, groups and namespaces play no part.
 */
#ifndef WEIR_LIB_TASK_H
#define WEIR_LIB_TASK_H

#include "bpf/lib/compat.bpf.h"

static __always_inline struct weir_host *weir_host_state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&weir_host, &zero);
}

/* Entry of a task, NULL for an outsider; returns at once while no run is active. */
static __always_inline struct weir_task *weir_task_of(struct task_struct *task)
{
	struct weir_host *host = weir_host_state();
	__u64 key = (__u64)task;

	if (!host || host->runs == 0)
		return 0;
	return bpf_map_lookup_elem(&weir_tasks, &key);
}

/* Entry of the current task if it is a member or a canary, else NULL. */
static __always_inline struct weir_task *weir_member(void)
{
	struct weir_task *entry = weir_task_of(bpf_get_current_task_btf());

	if (!entry || entry->role == WEIR_ROLE_COLLECTOR)
		return 0;
	return entry;
}

static __always_inline struct weir_run *weir_run_of(__u32 slot)
{
	return bpf_map_lookup_elem(&weir_runs, &slot);
}

static __always_inline struct weir_hookstat *weir_stat_of(struct weir_run *run, __u32 hook)
{
	return &run->hooks[hook & 63];
}

/* An overlay acts on its layers under the credentials of who mounted it; the operation
 * itself was judged on the merged tree before. No task can take on these credentials:
 * they are a private copy inside the superblock. */
static __always_inline bool weir_is_overlay_layer(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cred = (__u64)task->cred;

	if (cred == (__u64)task->real_cred)
		return false;
	return bpf_map_lookup_elem(&weir_creds, &cred) != 0;
}

#endif
