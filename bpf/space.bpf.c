/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * User namespaces and mounts, by the old and the new API. What only asks for a capability
 * (other namespaces, mount_setattr) is in kernel.bpf.c.
 */
#include "bpf/lib/demand.bpf.h"

#define MS_REMOUNT 32
#define MS_BIND 4096
#define MS_MOVE 8192
#define MS_PROPAGATION (15ul << 17) /* unbindable, private, slave, shared */
#define MS_NO_SHARED (7ul << 17)
#define CLONE_NEWUSER 0x10000000

SEC("lsm/userns_create")
int BPF_PROG(weir_userns_create, const struct cred *cred)
{
	struct weir_demand d = WEIR_DEMAND(NS_USER, WEIR_HOOK_USERNS_CREATE, WEIR_OP_NAMESPACE);

	d.aux = CLONE_NEWUSER;
	WEIR_ANSWER(weir_demand(&d));
}

/* Mounts of a namespace that the run made are its own: nobody else sees what becomes of them,
 * once they are no longer shared. */
static __always_inline bool in_own_mounts(void)
{
	struct task_struct *task = WEIR_PLAIN(task_struct, bpf_get_current_task_btf());
	struct weir_task *member = weir_member();
	struct weir_run *run = member ? weir_run_of(member->slot) : 0;
	struct nsproxy *ns = task->nsproxy;

	return run && ns && (__u64)ns->mnt_ns != run->mnt_ns;
}

SEC("lsm/sb_mount")
int BPF_PROG(weir_sb_mount, const char *source, const struct path *path, const char *type,
	     unsigned long flags)
{
	struct weir_demand d = WEIR_DEMAND(MOUNT_NEW, WEIR_HOOK_SB_MOUNT, WEIR_OP_MOUNT);

	if (weir_state->host.runs == 0 || !weir_member())
		return 0;
	d.name = type;
	if (flags & MS_REMOUNT) {
		d.powers = WEIR_POWER(MOUNT_REMOUNT);
		d.op = WEIR_OP_REMOUNT;
		d.name = 0;
	} else if (flags & MS_BIND) {
		d.powers = WEIR_POWER(MOUNT_BIND);
		d.op = WEIR_OP_BIND_MOUNT;
		d.name = source;
	} else if (flags & MS_PROPAGATION) {
		if (!(flags & MS_PROPAGATION & ~MS_NO_SHARED) && in_own_mounts())
			return weir_needless(WEIR_HOOK_SB_MOUNT);
		d.powers = WEIR_POWER(MOUNT_REMOUNT);
		d.op = WEIR_OP_REMOUNT;
		d.name = 0;
	} else if (flags & MS_MOVE) {
		d.powers = WEIR_POWER(MOUNT_MOVE);
		d.op = WEIR_OP_MOVE_MOUNT;
		d.name = source;
	}
	d.aux = flags;
	d.object = WEIR_PLAIN(path, path)->dentry;
	WEIR_ANSWER(weir_demand(&d));
}

SEC("lsm/sb_umount")
int BPF_PROG(weir_sb_umount, struct vfsmount *mnt, int flags)
{
	struct weir_demand d = WEIR_DEMAND(MOUNT_UMOUNT, WEIR_HOOK_SB_UMOUNT, WEIR_OP_UMOUNT);

	if (weir_state->host.runs == 0 || !weir_member())
		return 0;
	d.aux = flags;
	d.object = WEIR_PLAIN(vfsmount, mnt)->mnt_root;
	WEIR_ANSWER(weir_demand(&d));
}

/* mount(2) was judged by sb_mount; here come fspick and fsconfig. */
SEC("lsm/sb_remount")
int BPF_PROG(weir_sb_remount, struct super_block *sb)
{
	struct weir_demand d = WEIR_DEMAND(MOUNT_REMOUNT, WEIR_HOOK_SB_REMOUNT, WEIR_OP_REMOUNT);

	if (weir_state->host.runs == 0 || !weir_member())
		return 0;
	if (weir_call_nr() != NR_FSCONFIG)
		return weir_needless(WEIR_HOOK_SB_REMOUNT);
	d.object = WEIR_PLAIN(super_block, sb)->s_root;
	WEIR_ANSWER(weir_demand(&d));
}

SEC("lsm/sb_kern_mount")
int BPF_PROG(weir_sb_kern_mount, struct super_block *sb)
{
	struct weir_demand d = WEIR_DEMAND(MOUNT_NEW, WEIR_HOOK_SB_KERN_MOUNT, WEIR_OP_MOUNT);

	if (weir_state->host.runs == 0 || !weir_member())
		return 0;
	if (weir_call_nr() != NR_FSCONFIG)
		return weir_needless(WEIR_HOOK_SB_KERN_MOUNT);
	d.name = BPF_CORE_READ(sb, s_type, name);
	WEIR_ANSWER(weir_demand(&d));
}

SEC("lsm/move_mount")
int BPF_PROG(weir_move_mount, const struct path *from, const struct path *to)
{
	struct weir_demand d = WEIR_DEMAND(MOUNT_MOVE, WEIR_HOOK_MOVE_MOUNT, WEIR_OP_MOVE_MOUNT);

	if (weir_state->host.runs == 0 || !weir_member())
		return 0;
	d.object = WEIR_PLAIN(path, to)->dentry;
	WEIR_ANSWER(weir_demand(&d));
}

SEC("lsm/sb_pivotroot")
int BPF_PROG(weir_sb_pivotroot, const struct path *old, const struct path *new)
{
	struct weir_demand d = WEIR_DEMAND(MOUNT_PIVOT, WEIR_HOOK_SB_PIVOTROOT, WEIR_OP_PIVOT_ROOT);

	if (weir_state->host.runs == 0 || !weir_member())
		return 0;
	d.object = WEIR_PLAIN(path, new)->dentry;
	WEIR_ANSWER(weir_demand(&d));
}
