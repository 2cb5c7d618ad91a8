/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Source "syscall": who is a member, what it runs, and what it does to other processes.
 */
#include "bpf/lib/frame.bpf.h"

#define PTRACE_ATTACH 16
#define PTRACE_SEIZE 0x4206

/* The child has not run yet: what can't be made a member is told at least. */
SEC("tp_btf/task_newtask")
int BPF_PROG(weir_sys_newtask, struct task_struct *task, u64 clone_flags)
{
	struct weir_task *parent;

	if (weir_state->host.runs == 0)
		return 0;
	parent = weir_sys_member();
	if (!parent)
		return 0;
	leave_group(clone_flags);
	if (inherit(task, parent)) {
		weir_unknown(WEIR_TROUBLE_MEMBER);
		return 0;
	}
	return tell_of_child(task, clone_flags);
}

/* The task's memory goes after this. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(weir_sys_free, struct task_struct *task)
{
	return forget_task(task);
}

/* Judged when it runs already. Of a script the kernel keeps only the name. */
static __always_inline void ran_script(struct linux_binprm *bprm)
{
	__u64 name = (__u64)BPF_CORE_READ(bprm, filename);
	__u32 zero = 0;
	struct weir_frame *f;
	struct weir_objects objects = {};
	struct weir_ask ask;

	if (name == (__u64)BPF_CORE_READ(bprm, interp))
		return;
	f = bpf_map_lookup_elem(&weir_frames, &zero);
	if (!f || __sync_val_compare_and_swap(&f->busy, 0, 1) != 0) {
		weir_unknown(WEIR_TROUBLE_SCRATCH);
		return;
	}
	weir_resolve_kernel(f, name);
	weir_fake(f);
	objects.first = weir_dentry_at(&f->spot);
	if (weir_enter(&ask, WEIR_HOOK_BPRM_CHECK, WEIR_OP_EXEC, 0)) {
		if (!f->spot.dentry)
			f->spot.unknown = 1;
		weir_note_unknown(&ask, &f->spot);
		weir_look(&ask, objects.first, WEIR_RIGHT_EXEC, WEIR_EV_BAD_FIRST);
		if (ask.work->note.kind == WEIR_KIND_NONE && !f->spot.unknown)
			weir_pass(&ask, WEIR_HOOK_BPRM_CHECK);
		else
			weir_leave(&ask, &objects);
	}
	weir_frame_give(f);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(weir_sys_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	struct weir_task *member;

	if (weir_state->host.runs == 0)
		return 0;
	member = weir_member();
	/* a thread that calls exec becomes its process's first, and as old: so it is known by the
	 * number that it had */
	if (!member || member->pid != (__u32)old_pid)
		return 0;
	tell_of_program(task, bprm);
	bprm = WEIR_PLAIN(linux_binprm, bprm);
	ran_script(bprm);
	run_file(bprm->file);
	return 0;
}

/* A signal that a member sent itself (si_code up to 0), and that arrives. */
SEC("tp_btf/signal_generate")
int BPF_PROG(weir_sys_signal, int sig, struct kernel_siginfo *info, struct task_struct *target)
{
	int code = 1;

	if (weir_state->host.runs == 0 || !is_collector(target) || !weir_sys_member())
		return 0;
	/* SEND_SIG_NOINFO is a signal of a process, SEND_SIG_PRIV one of the kernel */
	if ((__u64)info == 0)
		code = 0;
	else if ((__u64)info != 1)
		code = BPF_CORE_READ(info, si_code);
	if (code <= 0)
		refuse_member(WEIR_HOOK_TASK_KILL, WEIR_OP_SIGNAL, WEIR_KIND_TAMPER, sig);
	return 0;
}

extern struct task_struct *bpf_task_from_pid(__s32 pid) __ksym __weak;
extern void bpf_task_release(struct task_struct *p) __ksym __weak;

/* The process that a member names by its number. Numbers of another pid namespace say nothing
 * here. Only a number of the task's address comes back: it is compared, never followed. */
static __always_inline __u64 task_of_pid(__s32 pid)
{
	struct task_struct *self = bpf_get_current_task_btf(), *task;
	__u64 address;

	if (BPF_CORE_READ(self, thread_pid, level) != 0)
		return 0;
	task = bpf_task_from_pid(pid);
	if (!task)
		return 0;
	address = weir_address(task);
	bpf_task_release(task);
	return address;
}

/* The newest process that the current one traces. */
static __always_inline __u64 traced_task(void)
{
	struct task_struct *self = bpf_get_current_task_btf();
	__u64 node = (__u64)BPF_CORE_READ(self, ptraced.next);

	if (!node ||
	    node == bpf_get_current_task() + bpf_core_field_offset(struct task_struct, ptraced))
		return 0;
	return node - bpf_core_field_offset(struct task_struct, ptrace_entry);
}

/* Another process was attached to, or its memory used. */
static __always_inline void look_at_target(__u64 task)
{
	struct weir_task *entry = weir_entry_of(task);

	if (entry && entry->role == WEIR_ROLE_COLLECTOR)
		refuse_member(WEIR_HOOK_PTRACE, WEIR_OP_PTRACE, WEIR_KIND_TAMPER, entry->tgid);
	else
		attach_to(WEIR_PLAIN(task_struct, (void *)task));
}

static __always_inline void look_at_limit(__u64 task, __u32 resource)
{
	struct weir_task *entry = weir_entry_of(task);

	if (entry && entry->role == WEIR_ROLE_COLLECTOR)
		refuse_member(WEIR_HOOK_TASK_SETRLIMIT, WEIR_OP_PRLIMIT, WEIR_KIND_TAMPER,
			      resource);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(weir_sys_target, struct pt_regs *regs, long ret)
{
	struct weir_frame *f = weir_frame_take(regs, ret);
	struct weir_call call;
	__u64 first, second, value, target;

	if (!f)
		return 0;
	call = f->call;
	first = f->args[0];
	second = f->args[1];
	value = weir_arg(f, call.flags);
	weir_frame_give(f);
	if ((call.traits & WEIR_CALL_REQUESTS) && first != PTRACE_ATTACH && first != PTRACE_SEIZE)
		return 0;
	/* prlimit that only reads, or one's own */
	if (call.op == WEIR_OP_PRLIMIT && (!first || !value))
		return 0;
	target = call.traits & WEIR_CALL_TRACED ? traced_task() : task_of_pid(first);
	if (!target) {
		weir_unknown(WEIR_TROUBLE_UNKNOWN);
		return 0;
	}
	if (call.op == WEIR_OP_PRLIMIT)
		look_at_limit(target, second);
	else
		look_at_target(target);
	return 0;
}
