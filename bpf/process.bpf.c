/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What members do to other processes: memory, signals, priority, limits. Against the
 * collector it is refused in every mode; against other outsiders, and for memory against
 * other members too, it needs a power.
 */
#include "bpf/lib/demand.bpf.h"

/* Whom a member acts on. */
enum target {
	TARGET_NONE,   /* the actor is no member */
	TARGET_ITSELF, /* or shares its memory */
	TARGET_FELLOW,
	TARGET_COLLECTOR,
	TARGET_OUTSIDER,
};

static __always_inline enum target target_of(struct task_struct *task)
{
	struct task_struct *self = WEIR_PLAIN(task_struct, bpf_get_current_task_btf());
	struct weir_task *member, *entry;

	if (weir_state->host.runs == 0)
		return TARGET_NONE;
	member = weir_member();
	if (!member)
		return TARGET_NONE;
	entry = weir_entry_of(weir_address(task));
	if (entry && entry->role == WEIR_ROLE_COLLECTOR)
		return TARGET_COLLECTOR;
	if (!entry || entry->slot != member->slot)
		return TARGET_OUTSIDER;
	task = WEIR_PLAIN(task_struct, task);
	return task->tgid == self->tgid || task->mm == self->mm ? TARGET_ITSELF : TARGET_FELLOW;
}

static __always_inline int act_by(struct weir_demand *d, struct task_struct *target,
				  enum target whom, bool here)
{
	if (whom == TARGET_COLLECTOR) {
		/* refused in every mode; its program is nobody's business */
		d->powers = WEIR_POWER_NEVER;
		d->kind = WEIR_KIND_TAMPER;
		weir_put_target(&d->peer, target);
	} else {
		d->target = target;
	}
	return weir_demand_by(d, here);
}

static __always_inline int act_on(struct weir_demand *d, struct task_struct *target,
				  enum target whom)
{
	return act_by(d, target, whom, WEIR_HERE);
}

/* Priority, processors, limits: among members nobody minds. */
static __always_inline int schedule(struct task_struct *target, __u16 hook, __u16 op, __u32 aux)
{
	struct weir_demand d = WEIR_DEMAND(SCHEDULE_OUTSIDERS, hook, op);
	enum target whom = target_of(target);

	d.aux = aux;
	if (whom == TARGET_NONE)
		return 0;
	return whom >= TARGET_COLLECTOR ? act_on(&d, target, whom) : weir_needless(hook);
}

/* Memory and all else that ptrace can reach. refused: by the kernel, so it is told and no more. */
static __always_inline int attach(struct task_struct *target, __u16 hook, __u32 aux, bool refused)
{
	struct weir_demand d = WEIR_DEMAND(MEMORY_OUTSIDERS, hook, WEIR_OP_PTRACE);
	enum target whom = target_of(target);

	d.aux = aux;
	if (refused) {
		d.outcome = WEIR_OUTCOME_REFUSED;
		d.error = EPERM;
	}
	if (whom == TARGET_FELLOW)
		d.powers = WEIR_POWER(MEMORY_MEMBERS);
	if (whom == TARGET_NONE)
		return 0;
	if (whom < TARGET_FELLOW)
		return weir_needless(hook);
	return act_by(&d, target, whom, refused || WEIR_HERE);
}

static __always_inline int attach_to(struct task_struct *target)
{
	return attach(target, WEIR_HOOK_PTRACE, 0, false);
}

static __always_inline bool is_collector(struct task_struct *task)
{
	struct weir_task *entry = weir_task_of(task);

	return entry && entry->role == WEIR_ROLE_COLLECTOR;
}

/* Signal 0 only asks whether the process is there. */
SEC("lsm/task_kill")
int BPF_PROG(weir_task_kill, struct task_struct *target, struct kernel_siginfo *info, int sig)
{
	struct weir_demand d = WEIR_DEMAND(SIGNAL_OUTSIDERS, WEIR_HOOK_TASK_KILL, WEIR_OP_SIGNAL);
	enum target whom = target_of(target);

	d.aux = sig;
	if (whom == TARGET_NONE)
		return 0;
	if (whom == TARGET_COLLECTOR || (whom == TARGET_OUTSIDER && sig != 0))
		WEIR_ANSWER(act_on(&d, target, whom));
	return weir_needless(WEIR_HOOK_TASK_KILL);
}

/* Calls that ask for less than attaching, but work on the other process's memory. */
static __always_inline bool works_on_memory(void)
{
	__u32 nr = weir_call_nr();

	return nr == NR_KCMP || nr == NR_PROCESS_MADVISE;
}

/* Reading or writing another process: ptrace, /proc/PID/mem, process_vm_*, pidfd_getfd. ps looks at
 * everybody, but does not attach: of the collector it sees nothing, yet that is no finding. */
SEC("lsm/ptrace_access_check")
int BPF_PROG(weir_ptrace, struct task_struct *target, unsigned int mode)
{
	bool attaches = (mode & PTRACE_MODE_ATTACH) && !(mode & PTRACE_MODE_NOAUDIT);
	struct weir_task *member;

	if (weir_state->host.runs == 0)
		return 0;
	member = weir_member();
	if (!member)
		return 0;
	if (attaches || works_on_memory()) {
		int deny = attach_to(target);

		if (deny)
			member->told = weir_address(target);
		WEIR_ANSWER(deny);
	}
	if (!is_collector(target))
		return 0;
	asm volatile("" ::: "memory");
	return -EPERM;
}

/* PTRACE_TRACEME: the parent gets power over the member. */
SEC("lsm/ptrace_traceme")
int BPF_PROG(weir_ptrace_traceme, struct task_struct *parent)
{
	WEIR_ANSWER(attach(parent, WEIR_HOOK_PTRACE_TRACEME, 0, false));
}

/* move_pages, migrate_pages */
SEC("lsm/task_movememory")
int BPF_PROG(weir_task_movememory, struct task_struct *target)
{
	struct weir_demand d =
		WEIR_DEMAND(MEMORY_OUTSIDERS, WEIR_HOOK_TASK_MOVEMEMORY, WEIR_OP_PTRACE);
	enum target whom = target_of(target);

	if (whom == TARGET_NONE)
		return 0;
	if (whom >= TARGET_COLLECTOR)
		WEIR_ANSWER(act_on(&d, target, whom));
	return weir_needless(WEIR_HOOK_TASK_MOVEMEMORY);
}

SEC("lsm/task_setrlimit")
int BPF_PROG(weir_task_setrlimit, struct task_struct *target, unsigned int resource)
{
	WEIR_ANSWER(schedule(target, WEIR_HOOK_TASK_SETRLIMIT, WEIR_OP_PRLIMIT, resource));
}

SEC("lsm/task_setnice")
int BPF_PROG(weir_task_setnice, struct task_struct *target, int nice)
{
	WEIR_ANSWER(schedule(target, WEIR_HOOK_TASK_SETNICE, WEIR_OP_SCHEDULE, nice));
}

SEC("lsm/task_setioprio")
int BPF_PROG(weir_task_setioprio, struct task_struct *target, int ioprio)
{
	WEIR_ANSWER(schedule(target, WEIR_HOOK_TASK_SETIOPRIO, WEIR_OP_SCHEDULE, ioprio));
}

SEC("lsm/task_setscheduler")
int BPF_PROG(weir_task_setscheduler, struct task_struct *target)
{
	WEIR_ANSWER(schedule(target, WEIR_HOOK_TASK_SETSCHEDULER, WEIR_OP_SCHEDULE, 0));
}

/* A member says who gets the signals of a file (F_SETOWN, FIOSETOWN): remembered, since the hook
 * can't refuse and is not told whom. An outsider's own choice takes the place of it. */
SEC("lsm/file_set_fowner")
int BPF_PROG(weir_file_set_fowner, struct file *file)
{
	struct weir_task *member;
	struct weir_run *run;
	__u64 key = (__u64)file;
	__u32 slot;

	if (weir_state->host.runs == 0)
		return 0;
	member = weir_member();
	if (!member) {
		bpf_map_delete_elem(&weir_owned, &key);
		return 0;
	}
	slot = member->slot;
	run = weir_run_of(slot);
	/* more of them would make the table forget the first */
	if (run && member->role != WEIR_ROLE_CANARY)
		__sync_fetch_and_add(&run->owned, 1);
	if (run && (bpf_map_update_elem(&weir_owned, &key, &slot, BPF_ANY) ||
		    run->owned > WEIR_OWNED_OF_RUN))
		__sync_fetch_and_or(&run->trouble, WEIR_TROUBLE_OWNED);
	return weir_needless(WEIR_HOOK_FILE_SET_FOWNER);
}

/* Run of the member that chose the receiver of a file's signals; NULL: none did. */
static __always_inline struct weir_run *owner_run(struct fown_struct *fown)
{
	__u64 key;
	__u32 *slot;

	/* a pointer since 6.12; before, the structure was in the file */
	if (bpf_core_field_exists(fown->file))
		key = (__u64)BPF_CORE_READ(fown, file);
	else
		key = (__u64)fown - bpf_core_field_offset(struct file___weir, f_owner);
	slot = bpf_map_lookup_elem(&weir_owned, &key);
	return slot ? weir_run_of(*slot) : 0;
}

/* F_SETOWN and F_SETSIG make the kernel send a signal that task_kill never sees, from whatever
 * task makes the file ready. The collector uses no such signals, so whoever asked is refused. */
SEC("lsm/file_send_sigiotask")
int BPF_PROG(weir_sigio, struct task_struct *target, struct fown_struct *fown, int sig)
{
	struct weir_demand d = WEIR_DEMAND(SIGNAL_OUTSIDERS, WEIR_HOOK_SIGIO, WEIR_OP_SIGNAL);
	struct weir_task *entry = weir_task_of(target);
	struct weir_run *run;

	d.aux = sig;
	if (entry && entry->role == WEIR_ROLE_COLLECTOR) {
		act_on(&d, target, TARGET_COLLECTOR);
		asm volatile("" ::: "memory");
		return -EPERM;
	}
	if (weir_state->host.runs == 0)
		return 0;
	run = owner_run(fown);
	if (!run || (entry && weir_run_of(entry->slot) == run))
		return 0;
	if (weir_member())
		WEIR_ANSWER(act_on(&d, target, TARGET_OUTSIDER));
	/* sent for a member by somebody else, who is not to blame: counted, without a record */
	if (run->mode == WEIR_MODE_TRACE || (run->powers & WEIR_POWER(SIGNAL_OUTSIDERS)))
		return 0;
	__sync_fetch_and_add(&run->latch[WEIR_KIND_IPC], 1);
	if (run->mode != WEIR_MODE_ENFORCE)
		return 0;
	asm volatile("" ::: "memory");
	return -EPERM;
}
