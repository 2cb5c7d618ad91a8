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

/* Zero, but unknown to the verifier. Before 6.7 it looks at the body of a bpf_loop once,
 * takes the values of that first round for those of all rounds, and cuts out branches that
 * it never saw taken. What a round changes must therefore begin as something unknown. */
static __always_inline __u32 weir_zero(void)
{
	struct weir_host *host = weir_host_state();

	return host ? host->pad : 0;
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
static __always_inline bool weir_is_overlay_layer(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct cred *cred = task->cred, *own = task->real_cred;
	__u64 key = (__u64)cred;
	struct weir_task *member;
	struct weir_run *run;

	if (cred == own || !weir_is_admin(cred))
		return false;
	if (bpf_map_lookup_elem(&weir_creds, &key))
		return true;
	member = weir_member();
	run = member ? weir_run_of(member->slot) : 0;
	return !weir_is_admin(own) && run && !(run->flags & WEIR_RUN_ADMIN);
}

#endif
