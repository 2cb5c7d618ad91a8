/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Privileges that a member takes: users, groups, capabilities, keys. Giving up what one
 * has, and going to and fro between the ids that one has, needs no power.
 */
#include "bpf/lib/demand.bpf.h"

static __always_inline bool has_uid(const struct cred *cred, __u32 uid)
{
	return uid == cred->uid.val || uid == cred->euid.val || uid == cred->suid.val;
}

static __always_inline bool has_gid(const struct cred *cred, __u32 gid)
{
	return gid == cred->gid.val || gid == cred->egid.val || gid == cred->sgid.val;
}

static __always_inline bool is_members(void)
{
	return weir_state->host.runs != 0 && weir_member();
}

SEC("lsm/task_fix_setuid")
int BPF_PROG(weir_setuid, struct cred *new, const struct cred *old)
{
	struct weir_demand d = WEIR_DEMAND(SETUID, WEIR_HOOK_TASK_FIX_SETUID, WEIR_OP_SETUID);

	if (!is_members())
		return 0;
	new = WEIR_PLAIN(cred, new);
	old = WEIR_PLAIN(cred, old);
	if (has_uid(old, new->uid.val) && has_uid(old, new->euid.val) &&
	    has_uid(old, new->suid.val) &&
	    (new->fsuid.val == old->fsuid.val || has_uid(old, new->fsuid.val)))
		return weir_needless(WEIR_HOOK_TASK_FIX_SETUID);
	d.aux = new->euid.val;
	WEIR_ANSWER(weir_demand(&d));
}

SEC("lsm/task_fix_setgid")
int BPF_PROG(weir_setgid, struct cred *new, const struct cred *old)
{
	struct weir_demand d = WEIR_DEMAND(SETGID, WEIR_HOOK_TASK_FIX_SETGID, WEIR_OP_SETGID);

	if (!is_members())
		return 0;
	new = WEIR_PLAIN(cred, new);
	old = WEIR_PLAIN(cred, old);
	if (has_gid(old, new->gid.val) && has_gid(old, new->egid.val) &&
	    has_gid(old, new->sgid.val) &&
	    (new->fsgid.val == old->fsgid.val || has_gid(old, new->fsgid.val)))
		return weir_needless(WEIR_HOOK_TASK_FIX_SETGID);
	d.aux = new->egid.val;
	WEIR_ANSWER(weir_demand(&d));
}

SEC("lsm/task_fix_setgroups")
int BPF_PROG(weir_setgroups, struct cred *new, const struct cred *old)
{
	struct weir_demand d =
		WEIR_DEMAND(SETGROUPS, WEIR_HOOK_TASK_FIX_SETGROUPS, WEIR_OP_SETGROUPS);
	struct group_info *have, *want;

	if (!is_members())
		return 0;
	want = BPF_CORE_READ(new, group_info);
	have = BPF_CORE_READ(old, group_info);
	if (want == have ||
	    (BPF_CORE_READ(want, ngroups) == 0 && BPF_CORE_READ(have, ngroups) == 0))
		return weir_needless(WEIR_HOOK_TASK_FIX_SETGROUPS);
	d.aux = BPF_CORE_READ(want, ngroups);
	WEIR_ANSWER(weir_demand(&d));
}

/* 64 bits on every kernel; a structure of its own before 6.3. */
static __always_inline __u64 caps_at(const void *caps)
{
	__u64 bits = 0;

	bpf_probe_read_kernel(&bits, sizeof(bits), caps);
	return bits;
}
#define CAPS(who, set) caps_at((char *)(who) + bpf_core_field_offset(struct cred, set))

SEC("lsm/capset")
int BPF_PROG(weir_capset, struct cred *new, const struct cred *old, const kernel_cap_t *effective,
	     const kernel_cap_t *inheritable, const kernel_cap_t *permitted)
{
	struct weir_demand d = WEIR_DEMAND(CAPSET, WEIR_HOOK_CAPSET, WEIR_OP_CAPSET);
	__u64 gained;

	if (!is_members())
		return 0;
	gained = (caps_at(effective) & ~CAPS(old, cap_effective)) |
		 (caps_at(inheritable) & ~CAPS(old, cap_inheritable)) |
		 (caps_at(permitted) & ~CAPS(old, cap_permitted));
	if (!gained)
		return weir_needless(WEIR_HOOK_CAPSET);
	d.peer.number = gained;
	WEIR_ANSWER(weir_demand(&d));
}

/* A program with a set-id bit or file capabilities. Root keeps what its bounding set has. */
SEC("lsm/bprm_creds_from_file")
int BPF_PROG(weir_bprm_creds, struct linux_binprm *bprm, struct file *file)
{
	struct weir_demand d = WEIR_DEMAND(SETID_EXEC, WEIR_HOOK_BPRM_CREDS, WEIR_OP_EXEC);
	const struct cred *old, *new;
	bool ids, caps;

	if (!is_members())
		return 0;
	old = WEIR_PLAIN(task_struct, bpf_get_current_task_btf())->cred;
	new = WEIR_PLAIN(linux_binprm, bprm)->cred;
	ids = new->euid.val != old->euid.val || new->egid.val != old->egid.val;
	caps = old->euid.val != 0 && (CAPS(new, cap_permitted) & ~CAPS(old, cap_permitted));
	if (!ids && !caps)
		return weir_needless(WEIR_HOOK_BPRM_CREDS);
	d.object = WEIR_PLAIN(file, file)->f_path.dentry;
	d.aux = new->euid.val;
	WEIR_ANSWER(weir_demand(&d));
}

/* Its first argument is of a type that kernels before 7 don't let programs read. */
SEC("lsm/key_permission")
int BPF_PROG(weir_key_permission)
{
	struct weir_demand d = WEIR_DEMAND(KEYRING, WEIR_HOOK_KEY_PERMISSION, WEIR_OP_KEYCTL);

	WEIR_ANSWER(weir_demand(&d));
}

/* Session keyrings, and keys that a program of the kernel's would have to make. */
SEC("lsm/key_alloc")
int BPF_PROG(weir_key_alloc, struct key *key)
{
	struct weir_demand d = WEIR_DEMAND(KEYRING, WEIR_HOOK_KEY_ALLOC, WEIR_OP_KEYCTL);
	__u32 nr = weir_call_nr();

	if (!is_members())
		return 0;
	if (nr != NR_KEYCTL && nr != NR_REQUEST_KEY)
		return weir_needless(WEIR_HOOK_KEY_ALLOC);
	WEIR_ANSWER(weir_demand(&d));
}
