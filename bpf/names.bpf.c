/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Classes of names: global functions, verified once for a program whatever calls them. */
#include "bpf/lib/walk.bpf.h"

#define NAME_HASH_STEPS 256

struct hasher {
	__u64 hash;
	__u64 name;
	__u32 len;
	__u32 fold;
	__u32 failed;
};

static long hash_step(__u32 i, void *arg)
{
	struct hasher *h = arg;
	unsigned char byte = 0;

	if (i >= h->len)
		return 1;
	if (bpf_probe_read_kernel(&byte, 1, (void *)(h->name + i))) {
		h->failed = 1;
		return 1;
	}
	if (h->fold)
		h->hash = weir_fold_step(h->hash, byte);
	else
		h->hash = (h->hash ^ byte) * WEIR_FNV_PRIME;
	return 0;
}

__noinline __u64 weir_name_hash(struct weir_name *name)
{
	struct hasher h = { .hash = WEIR_FNV_BASIS };

	if (!name || name->len == 0)
		return 0;
	h.name = name->bytes;
	h.len = name->len;
	h.fold = name->fold;
	bpf_loop(NAME_HASH_STEPS, hash_step, &h, 0);
	return h.failed ? 0 : h.hash;
}

static __always_inline __u32 control_of(__u64 hash)
{
	__u32 *class = bpf_map_lookup_elem(&weir_control, &hash);

	return class ? *class : WEIR_NAME_PLAIN;
}

__noinline __u32 weir_name_class(struct weir_name *name)
{
	struct weir_name folded;
	char tail[4] = {};
	char first = 0;
	__u64 bytes, hash;
	__u32 len, class;

	if (!name)
		return WEIR_NAME_CONTROL;
	bytes = name->bytes;
	len = name->len;
	if (len >= 4 && bpf_probe_read_kernel(tail, 4, (void *)(bytes + len - 4)) == 0 &&
	    tail[0] == '.' && (tail[1] | 0x20) == 'p' && (tail[2] | 0x20) == 't' &&
	    (tail[3] | 0x20) == 'h')
		return WEIR_NAME_CONTROL;
	if (len >= WEIR_CTLNAME_MAX || bpf_probe_read_kernel(&first, 1, (void *)bytes) ||
	    first != '.')
		return WEIR_NAME_PLAIN;
	folded.bytes = bytes;
	folded.len = len;
	folded.fold = 1;
	hash = weir_name_hash(&folded);
	class = control_of(hash);
	if (class != WEIR_NAME_GIT)
		return class;
	/* .Git is git's own directory on some systems, and nobody's business here */
	folded.fold = 0;
	return weir_name_hash(&folded) == hash ? WEIR_NAME_GIT : WEIR_NAME_CONTROL;
}

/* The three components right below .git, the highest first. */
struct finder {
	__u64 dentry;
	__u32 git_level;
	__u32 nested; /* levels below .git that have a name of WEIR_GIT_NESTED; 31: or deeper */
	__u64 hash[3];
};

static long find_step(__u32 i, void *arg)
{
	struct finder *f = arg;
	struct dentry *d = (struct dentry *)f->dentry;
	__u32 below = f->git_level - 1 - i;
	struct weir_name name = { .fold = 1 };
	__u64 hash;

	if (i >= f->git_level)
		return 1;
	name.bytes = (__u64)BPF_CORE_READ(d, d_name.name);
	name.len = BPF_CORE_READ(d, d_name.len);
	hash = weir_name_hash(&name);
	if (control_of(hash) == WEIR_NAME_GITNEST)
		f->nested |= 1u << (below < 31 ? below : 31);
	if (below == 0)
		f->hash[0] = hash;
	else if (below == 1)
		f->hash[1] = hash;
	else if (below == 2)
		f->hash[2] = hash;
	f->dentry = (__u64)BPF_CORE_READ(d, d_parent);
	return 0;
}

/* Levels at which a nested git's own files can lie: below the keep and one name. */
#define BELOW_MODULES 0xfffffffcu	   /* modules/NAME/... */
#define BELOW_WORKTREE_MODULES 0xfffffff0u /* worktrees/NAME/modules/NAME/... */

/* One hash for up to three names; user space builds the table the same way. */
static __always_inline __u64 chain(__u64 hash, __u64 next)
{
	return (hash ^ next) * WEIR_FNV_PRIME;
}

__noinline __u32 weir_git_class(struct weir_place *place)
{
	struct finder f = {};
	__u64 one, two, any;

	/* an operation on .git itself is one on its control */
	if (!place || place->git_level == 0)
		return WEIR_NAME_CONTROL;
	f.dentry = place->dentry;
	f.git_level = place->git_level;
	bpf_loop(WEIR_DEPTH_MAX, find_step, &f, 0);
	one = chain(WEIR_FNV_BASIS, f.hash[0]);
	two = chain(one, f.hash[1]);
	any = chain(one, WEIR_NAME_ANY);
	if (control_of(one) == WEIR_NAME_GITSUB || control_of(two) == WEIR_NAME_GITSUB ||
	    control_of(chain(two, f.hash[2])) == WEIR_NAME_GITSUB ||
	    control_of(chain(any, f.hash[2])) == WEIR_NAME_GITSUB)
		return WEIR_NAME_CONTROL;
	if (control_of(one) == WEIR_NAME_GITKEEP)
		return f.nested & BELOW_MODULES ? WEIR_NAME_CONTROL : WEIR_NAME_GITABOVE;
	if (control_of(chain(any, f.hash[2])) == WEIR_NAME_GITKEEP)
		return f.nested & BELOW_WORKTREE_MODULES ? WEIR_NAME_CONTROL : WEIR_NAME_GITABOVE;
	/* a directory on the way to a control file, itself */
	if ((place->git_level == 1 && control_of(one) == WEIR_NAME_GITABOVE) ||
	    (place->git_level == 2 &&
	     (control_of(two) == WEIR_NAME_GITABOVE || control_of(any) == WEIR_NAME_GITABOVE)))
		return WEIR_NAME_GITABOVE;
	return WEIR_NAME_PLAIN;
}
