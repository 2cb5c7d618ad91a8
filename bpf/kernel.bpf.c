/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's own state, and all that no hook sees but the question for a capability:
 * which power a call needs is told by its number. A refusal that the kernel makes before
 * anybody is asked is seen on the way out of security_capable, and recorded.
 */
#include "bpf/lib/demand.bpf.h"

#define CAP_NET_ADMIN 12
#define CAP_SYS_MODULE 16
#define CAP_SYS_RAWIO 17
#define CAP_SYS_PACCT 20
#define CAP_SYS_BOOT 22
#define CAP_SYS_TIME 25
#define CAP_SYSLOG 34

#define SOL_SOCKET 1

/* A call asks several times within this time, and again only after it. In ns. */
#define SAME_CALL 2000000

/* power, operation and kind of a call in one number; 0: none */
#define CALL(power, op, kind) ((WEIR_KIND_##kind) << 16 | (WEIR_OP_##op) << 8 | WEIR_POWER_##power)
/* no policy grants it */
#define WEIR_POWER_BPF 63
#define CALL_POWER(call) WEIR_POWER_BIT((call)&63)
#define CALL_OP(call) ((call) >> 8 & 0xff)
#define CALL_KIND(call) ((call) >> 16 & 0xff)

__noinline __u32 weir_call_power(__u32 nr)
{
	switch (nr) {
	case NR_UNSHARE:
	case NR_CLONE:
	case NR_CLONE3:
		return CALL(NS_MOUNT, NAMESPACE, NAMESPACE);
	case NR_SETNS:
		return CALL(NS_JOIN, SETNS, NAMESPACE);
	case NR_MOUNT_SETATTR:
	case NR_OPEN_TREE_ATTR:
		return CALL(MOUNT_REMOUNT, REMOUNT, MOUNT);
	case NR_INIT_MODULE:
	case NR_FINIT_MODULE:
	case NR_DELETE_MODULE:
		return CALL(MODULE, MODULE, MODULE);
	case NR_KEXEC_LOAD:
	case NR_KEXEC_FILE_LOAD:
		return CALL(KEXEC, KEXEC, MODULE);
	case NR_SETTIMEOFDAY:
	case NR_CLOCK_SETTIME:
	case NR_ADJTIMEX:
	case NR_CLOCK_ADJTIME:
		return CALL(SETTIME, SETTIME, KERNEL_TUNABLE);
	case NR_SETHOSTNAME:
	case NR_SETDOMAINNAME:
		return CALL(HOSTNAME, HOSTNAME, KERNEL_TUNABLE);
	case NR_REBOOT:
		return CALL(REBOOT, REBOOT, KERNEL_TUNABLE);
	case NR_SWAPON:
	case NR_SWAPOFF:
		return CALL(SWAP, SWAP, KERNEL_TUNABLE);
	case NR_ACCT:
		return CALL(ACCOUNTING, ACCOUNTING, KERNEL_TUNABLE);
	case NR_QUOTACTL:
	case NR_QUOTACTL_FD:
		return CALL(QUOTA, QUOTA, KERNEL_TUNABLE);
	case NR_SYSLOG:
		return CALL(SYSLOG, SYSLOG, KERNEL_TUNABLE);
	case NR_FANOTIFY_INIT:
		return CALL(FANOTIFY, FANOTIFY, KERNEL_TUNABLE);
	case NR_IOPL:
	case NR_IOPERM:
	case NR_MADVISE: /* MADV_HWPOISON: the page is everybody's */
		return CALL(RAWIO, RAWIO, KERNEL_TUNABLE);
	}
	return 0;
}

/* Calls that have hooks of their own, but ask for a capability before. */
__noinline __u32 weir_call_refused(__u32 nr)
{
	switch (nr) {
	case NR_BPF:
		return CALL(BPF, BPF, BPF);
	case NR_UMOUNT2:
		return CALL(MOUNT_UMOUNT, UMOUNT, MOUNT);
	case NR_MOVE_MOUNT:
		return CALL(MOUNT_MOVE, MOVE_MOUNT, MOUNT);
	case NR_FSOPEN:
		return CALL(MOUNT_NEW, MOUNT, MOUNT);
	case NR_PIVOT_ROOT:
		return CALL(MOUNT_PIVOT, PIVOT_ROOT, MOUNT);
	case NR_FANOTIFY_INIT:
	case NR_QUOTACTL:
	case NR_QUOTACTL_FD:
	case NR_SYSLOG:
		/* goes on without it */
		return 0;
	}
	return weir_call_power(nr);
}

__noinline __u32 weir_call_of_32(__u32 nr)
{
	switch (nr) {
	case 5:
		return NR_OPEN;
	case 8:
		return NR_CREAT;
	case 295:
		return NR_OPENAT;
	case 25: /* stime */
	case 79:
		return NR_SETTIMEOFDAY;
	case 51:
		return NR_ACCT;
	case 22: /* umount */
	case 52:
		return NR_UMOUNT2;
	case 54:
		return NR_IOCTL;
	case 74:
		return NR_SETHOSTNAME;
	case 87:
		return NR_SWAPON;
	case 88:
		return NR_REBOOT;
	case 101:
		return NR_IOPERM;
	case 102: /* socketcall: what of is in memory, and no number of it is SOL_SOCKET's */
	case 366:
		return NR_SETSOCKOPT;
	case 103:
		return NR_SYSLOG;
	case 110:
		return NR_IOPL;
	case 115:
		return NR_SWAPOFF;
	case 120:
		return NR_CLONE;
	case 121:
		return NR_SETDOMAINNAME;
	case 124:
		return NR_ADJTIMEX;
	case 128:
		return NR_INIT_MODULE;
	case 129:
		return NR_DELETE_MODULE;
	case 131:
		return NR_QUOTACTL;
	case 217:
		return NR_PIVOT_ROOT;
	case 219:
		return NR_MADVISE;
	case 264:
	case 404: /* clock_settime64 */
		return NR_CLOCK_SETTIME;
	case 283:
		return NR_KEXEC_LOAD;
	case 287:
		return NR_REQUEST_KEY;
	case 288:
		return NR_KEYCTL;
	case 310:
		return NR_UNSHARE;
	case 338:
		return NR_FANOTIFY_INIT;
	case 343:
	case 405: /* clock_adjtime64 */
		return NR_CLOCK_ADJTIME;
	case 346:
		return NR_SETNS;
	case 349:
		return NR_KCMP;
	case 350:
		return NR_FINIT_MODULE;
	}
	return nr >= 424 ? nr : 0;
}

/* Powers for new namespaces, by the flags of the call. */
static __always_inline __u64 powers_of_flags(__u64 flags)
{
	__u64 powers = 0;

	if (flags & 0x00000080)
		powers |= WEIR_POWER(NS_TIME);
	if (flags & 0x00020000)
		powers |= WEIR_POWER(NS_MOUNT);
	if (flags & 0x02000000)
		powers |= WEIR_POWER(NS_CGROUP);
	if (flags & 0x04000000)
		powers |= WEIR_POWER(NS_UTS);
	if (flags & 0x08000000)
		powers |= WEIR_POWER(NS_IPC);
	if (flags & 0x20000000)
		powers |= WEIR_POWER(NS_PID);
	if (flags & 0x40000000)
		powers |= WEIR_POWER(NS_NET);
	return powers;
}

/* Those of a fork are what task_alloc saw: the caller's memory can change. */
static __always_inline __u64 clone_flags_of(struct weir_task *member, struct weir_trap *call)
{
	return call->nr == NR_CLONE || call->nr == NR_CLONE3 ? member->clone_flags : call->arg[0];
}

/* Was this very call judged already? Another one that looks the same may follow at once, and a member
 * can make one look like any other: so it must need the same as the one that was told. */
static __always_inline bool is_same_call(struct weir_task *member, struct weir_trap *call,
					 __u64 powers, __u32 what)
{
	__u64 mark = (call->ip ^ call->nr) + call->arg[0] * 31 + call->arg[1] * 37 + 1;
	__u64 now = bpf_ktime_get_boot_ns();
	bool same = member->call == mark && now - member->call_ns < SAME_CALL &&
		    member->call_powers == powers && member->call_what == what;

	member->call = mark;
	member->call_powers = powers;
	member->call_what = what;
	if (!same)
		member->call_ns = now;
	return same;
}

/* A capability that the call is about, not one that it asks for by the way. */
static __always_inline bool is_telling(int cap)
{
	return cap == CAP_SYS_ADMIN || cap == CAP_SYS_MODULE || cap == CAP_SYS_RAWIO ||
	       cap == CAP_SYS_PACCT || cap == CAP_SYS_BOOT || cap == CAP_SYS_TIME ||
	       cap == CAP_SYSLOG;
}

static __always_inline int judge_call(struct weir_task *member, struct weir_trap *call, __u32 what,
				      __u16 hook, __u16 outcome, bool here)
{
	struct weir_demand d = {
		.powers = CALL_POWER(what),
		.kind = CALL_KIND(what),
		.op = CALL_OP(what),
		.hook = hook,
		.outcome = outcome,
		.error = outcome == WEIR_OUTCOME_REFUSED ? EPERM : 0,
	};

	if (d.op == WEIR_OP_NAMESPACE) {
		__u64 flags = clone_flags_of(member, call);

		d.powers = powers_of_flags(flags);
		d.aux = flags;
		if (!d.powers)
			return weir_needless(hook);
	}
	return is_same_call(member, call, d.powers, what | (__u32)outcome << 24)
		       ? weir_demand_again(&d)
		       : weir_demand_by(&d, here);
}

/* Interfaces, routes and filters are changed by netlink, and by commands and options of any socket. */
static __always_inline __u32 network_power(struct weir_trap *call)
{
	if (call->nr == NR_IOCTL)
		return CALL(NETLINK, IOCTL, NETWORK);
	/* those of the socket level are about the socket alone */
	if (call->nr == NR_SETSOCKOPT && call->arg[1] != SOL_SOCKET)
		return CALL(NETLINK, SOCKET, NETWORK);
	/* a ring does the same, and its registration sets up queues of interfaces */
	if (call->nr == NR_IO_URING_ENTER || call->nr == NR_IO_URING_REGISTER)
		return CALL(NETLINK, SOCKET, NETWORK);
	return 0;
}

SEC("lsm/capable")
int BPF_PROG(weir_capable, const struct cred *cred, struct user_namespace *ns, int cap)
{
	struct weir_task *member;
	struct weir_trap call;
	__u32 what;

	if (weir_state->host.runs == 0 || !(is_telling(cap) || cap == CAP_NET_ADMIN))
		return 0;
	member = weir_member();
	if (!member)
		return 0;
	weir_read_call(&call);
	what = cap == CAP_NET_ADMIN ? network_power(&call) : weir_call_power(call.nr);
	/* the file of a module is told by kernel_read_file */
	if (!what || call.nr == NR_FINIT_MODULE)
		return 0;
	WEIR_ANSWER(
		judge_call(member, &call, what, WEIR_HOOK_CAPABLE, WEIR_OUTCOME_PASSED, WEIR_HERE));
}

SEC("fexit/security_capable")
int BPF_PROG(weir_refused, const struct cred *cred, struct user_namespace *ns, int cap,
	     unsigned int opts, int ret)
{
	struct weir_task *member;
	struct weir_trap call;
	__u32 what;

	if (ret == 0 || weir_state->host.runs == 0 || !is_telling(cap))
		return 0;
	member = weir_member();
	if (!member)
		return 0;
	weir_read_call(&call);
	what = weir_call_refused(call.nr);
	/* of bpf, what is refused before the hook for it */
	if (!what ||
	    (call.nr == NR_BPF && call.arg[0] != BPF_MAP_CREATE && call.arg[0] != BPF_PROG_LOAD))
		return 0;
	/* no step can take a place in a program that looks at a function's end */
	judge_call(member, &call, what, WEIR_HOOK_SECURITY_CAPABLE, WEIR_OUTCOME_REFUSED, true);
	return 0;
}

/* The question comes several times; the first is for the call itself. */
static __always_inline int open_perf(__u32 type)
{
	struct weir_demand d = WEIR_DEMAND(PERF, WEIR_HOOK_PERF_EVENT_OPEN, WEIR_OP_PERF);

	if (weir_state->host.runs == 0 || !weir_member())
		return 0;
	if (type != 0)
		return weir_needless(WEIR_HOOK_PERF_EVENT_OPEN);
	return weir_demand(&d);
}

SEC("lsm/perf_event_open")
int BPF_PROG(weir_perf_2, struct perf_event_attr *attr, int type)
{
	WEIR_ANSWER(open_perf(type));
}

SEC("lsm/perf_event_open")
int BPF_PROG(weir_perf_1, int type)
{
	WEIR_ANSWER(open_perf(type));
}

/* The kernel would start modprobe, outside of the run. Ordinary programs cause it by asking for a
 * kind of socket or file system: refused without a finding. */
SEC("lsm/kernel_module_request")
int BPF_PROG(weir_module_request, char *name)
{
	struct weir_demand d =
		WEIR_DEMAND(MODULE_REQUEST, WEIR_HOOK_MODULE_REQUEST, WEIR_OP_MODULE_REQUEST);

	d.name = name;
	WEIR_ANSWER(weir_demand(&d));
}

/* Modules by descriptor; other files that the kernel reads were opened by a member, or not for it. */
SEC("lsm/kernel_read_file")
int BPF_PROG(weir_kernel_read_file, struct file *file, enum kernel_read_file_id id)
{
	struct weir_demand d = WEIR_DEMAND(MODULE, WEIR_HOOK_KERNEL_READ_FILE, WEIR_OP_MODULE);

	if (weir_state->host.runs == 0 || !weir_member())
		return 0;
	/* one that is compressed has an id of its own since 6.17 */
	if ((id != READING_MODULE && weir_call_nr() != NR_FINIT_MODULE) || !file)
		return weir_needless(WEIR_HOOK_KERNEL_READ_FILE);
	d.object = WEIR_PLAIN(file, file)->f_path.dentry;
	WEIR_ANSWER(weir_demand(&d));
}
