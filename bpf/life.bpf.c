/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lineage: records of forks, of programs started, and of exits. */
#include "bpf/lib/emit.bpf.h"

/* Run of an entry, with one more decision seen at the hook. NULL: no member's. */
static __always_inline struct weir_run *run_of(struct weir_task *entry, __u32 hook)
{
	struct weir_run *run;

	if (!entry || entry->role == WEIR_ROLE_COLLECTOR)
		return 0;
	run = weir_run_of(entry->slot);
	if (run)
		__sync_fetch_and_add(&weir_stat_of(run, hook)->seen, 1);
	return run;
}

static __always_inline void name_entry(struct weir_task *entry, struct task_struct *task)
{
	task = WEIR_PLAIN(task_struct, task);
	entry->tgid = task->tgid;
	entry->pid = task->pid;
	entry->ns_tgid = weir_ns_tgid(task);
	entry->start_ns = task->start_boottime;
}

/* The child has its pid now, and has not run yet. */
static __always_inline int tell_of_child(struct task_struct *task, u64 clone_flags)
{
	struct weir_task *entry = weir_task_of(task);
	struct weir_run *run = run_of(entry, WEIR_HOOK_TASK_NEWTASK);
	struct weir_task *parent = weir_member();
	struct weir_scratch_buf *buf;

	if (!run || !entry)
		return 0;
	name_entry(entry, task);
	buf = weir_buffer();
	if (!buf) {
		weir_lost(run, WEIR_HOOK_TASK_NEWTASK, WEIR_TROUBLE_SCRATCH);
		return 0;
	}
	weir_put_head(&buf->head, WEIR_RECORD_FORK, entry->slot, parent ? parent->ns_tgid : 0);
	task = WEIR_PLAIN(task_struct, task);
	buf->fork.child_tgid = task->tgid;
	buf->fork.child_pid = task->pid;
	buf->fork.child_start_ns = task->group_leader->start_boottime;
	buf->fork.clone_flags = clone_flags;
	weir_submit(buf, run, WEIR_HOOK_TASK_NEWTASK, sizeof(struct weir_forkev), false);
	weir_release(buf);
	return 0;
}

SEC("tp_btf/task_newtask")
int BPF_PROG(weir_task_newtask, struct task_struct *task, u64 clone_flags)
{
	return tell_of_child(task, clone_flags);
}

/* Arguments are a label only: the process can rewrite them. */
static __always_inline void put_args(struct weir_scratch_buf *buf, struct task_struct *task)
{
	__u64 start = BPF_CORE_READ(task, mm, arg_start);
	__u64 len = BPF_CORE_READ(task, mm, arg_end) - start;
	__u32 at = buf->offset;

	buf->exec.args_total = len > 0xffffffff ? 0xffffffff : len;
	buf->exec.args_len = 0;
	if (len > WEIR_ARGS_MAX)
		len = WEIR_ARGS_MAX;
	if (at > sizeof(buf->bytes) - WEIR_ARGS_MAX || len == 0)
		return;
	if (bpf_probe_read_user(&buf->bytes[at], (__u32)len, (void *)start) == 0) {
		buf->exec.args_len = len;
		buf->offset = at + len;
	}
}

static __always_inline int tell_of_program(struct task_struct *task, struct linux_binprm *bprm)
{
	struct weir_task *entry = weir_task_of(task);
	struct weir_run *run = run_of(entry, WEIR_HOOK_PROCESS_EXEC);
	struct dentry *dentry = WEIR_PLAIN(linux_binprm, bprm)->file->f_path.dentry;
	struct weir_scratch_buf *buf;

	if (!run || !entry)
		return 0;
	name_entry(entry, task);
	buf = weir_buffer();
	if (!buf) {
		weir_lost(run, WEIR_HOOK_PROCESS_EXEC, WEIR_TROUBLE_SCRATCH);
		return 0;
	}
	weir_put_head(&buf->head, WEIR_RECORD_EXEC, entry->slot, entry->ns_tgid);
	weir_put_object(&buf->exec.exe, dentry->d_inode, dentry->d_sb);
	buf->offset = sizeof(struct weir_execev);
	buf->flags = 0;
	buf->exec.path_len = weir_put_path(buf, dentry);
	buf->exec.flags = buf->flags;
	put_args(buf, task);
	weir_submit(buf, run, WEIR_HOOK_PROCESS_EXEC, buf->offset, false);
	weir_release(buf);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(weir_process_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	return tell_of_program(task, bprm);
}

static __always_inline void emit_exit(struct weir_run *run, struct weir_task *entry, __u32 code)
{
	struct weir_scratch_buf *buf = weir_buffer();

	if (!buf) {
		weir_lost(run, WEIR_HOOK_PROCESS_EXIT, WEIR_TROUBLE_SCRATCH);
		return;
	}
	weir_put_head(&buf->head, WEIR_RECORD_EXIT, entry->slot, entry->ns_tgid);
	buf->exit.code = code;
	buf->exit.pad = 0;
	weir_submit(buf, run, WEIR_HOOK_PROCESS_EXIT, sizeof(struct weir_exitev), false);
	weir_release(buf);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(weir_process_exit, struct task_struct *task)
{
	struct weir_task *entry = weir_task_of(task);
	struct weir_run *run;
	bool last;

	if (!entry)
		return 0;
	run = weir_run_of(entry->slot);
	if (!run)
		return 0;
	task = WEIR_PLAIN(task_struct, task);
	last = task->signal->live.counter == 0;
	if (entry->role == WEIR_ROLE_COLLECTOR) {
		if (last) {
			__sync_fetch_and_or(&run->flags, WEIR_RUN_DEAD);
			__sync_fetch_and_or(&run->trouble, WEIR_TROUBLE_DEAD);
		}
		return 0;
	}
	if (last && run_of(entry, WEIR_HOOK_PROCESS_EXIT))
		emit_exit(run, entry, task->exit_code);
	weir_leave_run(entry, run);
	return 0;
}
