/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Questions about plain numbers and memory: global functions, verified once for a program. */
#include "bpf/lib/decide.bpf.h"

/* Neighbours in the array belong to one processor, as long as there are enough. */
#define CLAIM_NEAR 8

struct claim {
	__u32 from;
	__u32 range;
	__u32 claimed;
};

static long claim_step(__u32 i, void *arg)
{
	struct claim *c = arg;
	__u64 index = ((c->from + i) & (c->range - 1)) | c->range;

	index = weir_below(index, WEIR_CLAIMS_MAX);
	if (__sync_val_compare_and_swap(&weir_state->claims[index], 0, 1) != 0)
		return 0;
	c->claimed = index;
	return 1;
}

__noinline __u32 weir_claim(__u32 range)
{
	struct claim c = {
		.from = bpf_get_smp_processor_id() * CLAIM_NEAR,
		.range = range,
	};

	bpf_loop(WEIR_DESKS_MAX, claim_step, &c, 0);
	return c.claimed;
}

__noinline bool weir_is_kernel_fs(__u32 magic)
{
	switch (magic) {
	case PROC_MAGIC:
	case SYSFS_MAGIC:
	case CGROUP_MAGIC:
	case CGROUP2_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
	case SECURITYFS_MAGIC:
	case BINFMTFS_MAGIC:
	case CONFIGFS_MAGIC:
		return true;
	}
	return false;
}

#define MINOR(rdev) ((rdev)&0xfffff)
#define MAJOR(rdev) ((rdev) >> 20)

/* null, zero, full, random, urandom, tty, ptmx, pseudo terminals. */
static __always_inline bool is_harmless_device(__u32 rdev)
{
	__u32 major = MAJOR(rdev), minor = MINOR(rdev);

	if (major == 1)
		return minor == 3 || minor == 5 || minor == 7 || minor == 8 || minor == 9;
	if (major == 5)
		return minor == 0 || minor == 2;
	return major >= 136 && major <= 143;
}

__noinline bool weir_is_harmless(__u32 mode, __u32 rdev, __u32 magic)
{
	switch (magic) {
	case PIPEFS_MAGIC:
	case SOCKFS_MAGIC:
	case ANON_INODE_MAGIC:
	case PIDFS_MAGIC:
	case NSFS_MAGIC:
		return true;
	}
	if ((mode & S_IFMT) == S_IFCHR)
		return is_harmless_device(rdev);
	return (mode & S_IFMT) == S_IFSOCK;
}

#ifdef WEIR_STUBS
__noinline bool weir_home_read(struct weir_task *member, struct weir_at *at)
{
	if (!member || !at)
		return false;
	return weir_is_home_read(member, WEIR_PLAIN(dentry, (void *)at->dentry), at);
}
#endif
