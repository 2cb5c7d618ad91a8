/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Self-protection, in every mode: members don't touch the collector, its programs, or
 * the switch that would silently turn enforcement off.
 */
#include "bpf/lib/decide.bpf.h"

/* A member acted on the guarded thing: latch, record, refuse. May run in an interrupt. */
static __always_inline int refuse_member(__u16 hook, __u16 op, __u16 kind, __u32 aux)
{
	struct weir_objects objects = {};
	struct weir_ask ask;

	if (!weir_enter_aside(&ask, hook, op, kind, WEIR_POWER_NEVER))
		return ask.deny;
	ask.work->note.aux = aux;
	return weir_leave(&ask, &objects);
}

static __always_inline bool is_collector(struct task_struct *task)
{
	struct weir_task *entry = weir_task_of(task);

	return entry && entry->role == WEIR_ROLE_COLLECTOR;
}

SEC("lsm/bpf")
int BPF_PROG(weir_bpf, int cmd)
{
	WEIR_ANSWER(refuse_member(WEIR_HOOK_BPF, WEIR_OP_BPF, WEIR_KIND_BPF, cmd));
}

SEC("lsm/task_kill")
int BPF_PROG(weir_task_kill, struct task_struct *target, struct kernel_siginfo *info, int sig)
{
	if (!is_collector(target))
		return 0;
	WEIR_ANSWER(refuse_member(WEIR_HOOK_TASK_KILL, WEIR_OP_SIGNAL, WEIR_KIND_TAMPER, sig));
}

/* The file that a process runs. */
static __always_inline struct dentry *program_of(struct task_struct *task)
{
	struct mm_struct *mm = WEIR_PLAIN(task_struct, task)->mm;
	struct file *file;

	if (!mm)
		return 0;
	file = mm->exe_file;
	return file ? file->f_path.dentry : 0;
}

/* Reading or writing another process (ptrace, /proc/PID/mem, process_vm_*, pidfd_getfd):
 * allowed among members, a finding against anybody else. The object is the program that
 * the target runs. */
static __always_inline int attach_to(struct task_struct *target)
{
	struct weir_task *entry = weir_task_of(target);
	struct weir_objects objects = { .first = program_of(target) };
	struct weir_ask ask;

	if (!weir_enter(&ask, WEIR_HOOK_PTRACE, WEIR_OP_PTRACE, 0))
		return ask.deny;
	if (entry && entry->role != WEIR_ROLE_COLLECTOR && entry->slot == ask.work->note.slot)
		return weir_pass(&ask, WEIR_HOOK_PTRACE);
	ask.work->note.kind = WEIR_KIND_MEMORY_ACCESS;
	ask.work->note.aux = target->tgid;
	ask.work->note.flags |= WEIR_EV_BAD_FIRST;
	return weir_leave(&ask, &objects);
}

SEC("lsm/ptrace_access_check")
int BPF_PROG(weir_ptrace, struct task_struct *target, unsigned int mode)
{
	if (is_collector(target)) {
		/* ps looks at everybody, but does not attach: refused, yet no finding */
		if (mode & PTRACE_MODE_ATTACH)
			WEIR_ANSWER(refuse_member(WEIR_HOOK_PTRACE, WEIR_OP_PTRACE,
						  WEIR_KIND_TAMPER, target->tgid));
		/* a run is active, else there were no collector */
		if (!weir_member())
			return 0;
		asm volatile("" ::: "memory");
		return -EPERM;
	}
	if (!(mode & PTRACE_MODE_ATTACH) || (mode & PTRACE_MODE_NOAUDIT))
		return 0;
	WEIR_ANSWER(attach_to(target));
}

/* F_SETOWN and F_SETSIG make the kernel send a signal that task_kill never sees. The
 * collector uses no such signals, so whoever asked for it is refused. */
SEC("lsm/file_send_sigiotask")
int BPF_PROG(weir_sigio, struct task_struct *target, struct fown_struct *fown, int sig)
{
	if (!is_collector(target))
		return 0;
	refuse_member(WEIR_HOOK_SIGIO, WEIR_OP_SIGNAL, WEIR_KIND_TAMPER, sig);
	asm volatile("" ::: "memory");
	return -EPERM;
}

SEC("lsm/task_setrlimit")
int BPF_PROG(weir_task_setrlimit, struct task_struct *target, unsigned int resource)
{
	if (!is_collector(target))
		return 0;
	WEIR_ANSWER(refuse_member(WEIR_HOOK_TASK_SETRLIMIT, WEIR_OP_PRLIMIT, WEIR_KIND_TAMPER,
				  resource));
}

/* "kernel/ftrace_enabled", as the words that the name's bytes make. */
#define FTRACE_WORD_0 0x662f6c656e72656bull
#define FTRACE_WORD_1 0x6e655f6563617274ull
#define FTRACE_WORD_2 0x00000064656c6261ull

/* kernel.ftrace_enabled=0 silently switches off all programs above, for everybody who
 * may write it; refused while a run is active. Returns 1 to allow, 0 to refuse. */
SEC("cgroup/sysctl")
int weir_sysctl(struct bpf_sysctl *ctx)
{
	__u64 name[4] = {};

	if (!ctx->write || weir_state->host.runs == 0)
		return 1;
	if (bpf_sysctl_get_name(ctx, (char *)name, sizeof(name), 0) <= 0)
		return 1;
	if (name[0] == FTRACE_WORD_0 && name[1] == FTRACE_WORD_1 && name[2] == FTRACE_WORD_2)
		return 0;
	return 1;
}
