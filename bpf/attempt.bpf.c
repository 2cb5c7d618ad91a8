/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attempts: what the kernel refuses by owner and mode before it asks any other hook. Seen at the
 * end of two functions that hardly anybody comes to who is not refused. Which of them count as
 * findings is up to the policy (weir_run.attempts); the others are on record.
 */
#include "bpf/lib/demand.bpf.h"

#define CAP_DAC_OVERRIDE 1
#define O_ACCMODE 3
#define O_DIRECTORY 0200000

/* What a call by name wants to do, as enum weir_op; 0: it only asks, or it is none. Where a file
 * is opened, flags say more. */
__noinline __u32 weir_call_by_name(__u32 nr)
{
	switch (nr) {
	case NR_OPEN:
	case NR_OPENAT:
	case NR_OPENAT2:
	case NR_IO_URING_ENTER:
		return WEIR_OP_READ;
	case NR_CREAT:
		return WEIR_OP_WRITE;
	case NR_TRUNCATE:
		return WEIR_OP_TRUNCATE;
	case NR_RENAME:
	case NR_RENAMEAT:
	case NR_RENAMEAT2:
		return WEIR_OP_RENAME;
	case NR_MKDIR:
	case NR_MKDIRAT:
		return WEIR_OP_MKDIR;
	case NR_RMDIR:
		return WEIR_OP_RMDIR;
	case NR_LINK:
	case NR_LINKAT:
		return WEIR_OP_LINK;
	case NR_SYMLINK:
	case NR_SYMLINKAT:
		return WEIR_OP_SYMLINK;
	case NR_UNLINK:
	case NR_UNLINKAT:
		return WEIR_OP_UNLINK;
	case NR_CHMOD:
	case NR_FCHMODAT:
	case NR_FCHMODAT2:
		return WEIR_OP_CHMOD;
	case NR_CHOWN:
	case NR_LCHOWN:
	case NR_FCHOWNAT:
		return WEIR_OP_CHOWN;
	}
	return 0;
}

/* The right that an operation would have needed. */
static __always_inline __u32 right_of(__u32 op)
{
	if (op == WEIR_OP_READ)
		return WEIR_RIGHT_READ;
	if (op == WEIR_OP_CHMOD || op == WEIR_OP_CHOWN)
		return WEIR_RIGHT_ATTR;
	if (op == WEIR_OP_UNLINK || op == WEIR_OP_RMDIR || op == WEIR_OP_RENAME)
		return WEIR_RIGHT_DELETE;
	return op == WEIR_OP_WRITE || op == WEIR_OP_TRUNCATE ? WEIR_RIGHT_WRITE : WEIR_RIGHT_CREATE;
}

/* Flags of an open; those of openat2 and io_uring are in the caller's memory. */
static __always_inline __u32 open_flags(struct weir_trap *call)
{
	if (call->nr == NR_OPEN)
		return call->arg[1];
	return call->nr == NR_OPENAT ? call->arg[2] : 0;
}

/* The kernel's own walk along the name says at which object it ended. What the caller wrote is
 * told as a label. */
static __always_inline int refuse_file(struct dentry *dentry, struct filename *label, __u32 op,
				       __u32 flags)
{
	struct weir_objects objects = { .first = dentry, .name = label ? label->name : 0 };
	struct weir_ask ask;

	if (!weir_enter(&ask, WEIR_HOOK_INODE_CAPABLE, op, 0))
		return 0;
	ask.work->note.aux = flags;
	ask.work->note.outcome = WEIR_OUTCOME_REFUSED;
	ask.work->note.error = EACCES;
	/* whoever lists directories is after no file of them */
	if (!(flags & O_DIRECTORY))
		weir_look_by(&ask, dentry, right_of(op), WEIR_EV_BAD_FIRST, true);
	weir_weigh_attempt(ask.run, &ask.work->note);
	weir_leave_by(&ask, &objects, true);
	return 0;
}

/* The last question before the answer is no. Where the mode allows it, nobody comes here. */
SEC("fexit/capable_wrt_inode_uidgid")
int BPF_PROG(weir_inode_refused, void *idmap, struct inode *inode, int cap)
{
	struct nameidata *walk;
	struct dentry *dentry;
	struct weir_trap call;
	__u32 op, flags;
	__u64 ret = 0;

	if (cap != CAP_DAC_OVERRIDE || weir_state->host.runs == 0 || !weir_member())
		return 0;
	if (bpf_get_func_ret(ctx, &ret) || (ret & 0xff))
		return 0;
	weir_read_call(&call);
	op = weir_call_by_name(call.nr);
	walk = WEIR_PLAIN(task_struct, bpf_get_current_task_btf())->nameidata;
	if (!op || !walk)
		return 0;
	dentry = walk->path.dentry;
	/* not a layer of an overlay, which is asked for another inode */
	if (!dentry || dentry->d_inode != inode)
		return 0;
	flags = open_flags(&call);
	if (op == WEIR_OP_READ && (flags & O_ACCMODE))
		op = WEIR_OP_WRITE;
	return refuse_file(dentry, walk->name, op, flags);
}

/* Memory of a process, refused by owner, by its being not dumpable, or by another LSM that was
 * asked before. What we refused ourselves is told. */
SEC("fexit/__ptrace_may_access")
int BPF_PROG(weir_ptrace_refused, struct task_struct *target, unsigned int mode)
{
	bool attaches = (mode & PTRACE_MODE_ATTACH) && !(mode & PTRACE_MODE_NOAUDIT);
	struct weir_task *member;
	__u64 ret = 0, told;

	if (weir_state->host.runs == 0)
		return 0;
	member = weir_member();
	if (!member)
		return 0;
	told = member->told;
	member->told = 0;
	if (told == weir_address(target))
		return weir_needless(WEIR_HOOK_PTRACE_REFUSED);
	if (bpf_get_func_ret(ctx, &ret) || (__u32)ret == 0)
		return 0;
	if (attaches || works_on_memory())
		attach(target, WEIR_HOOK_PTRACE_REFUSED, 0, true);
	return 0;
}
