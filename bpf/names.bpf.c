/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Classes of names: global functions, verified once for a program whatever calls them. */
#include "bpf/lib/walk.bpf.h"

#define WORDS 4
#define CHUNK (8 * WORDS)

struct hasher {
	__u64 hash;
	__u64 name;
	__u32 len;
};

/* Hashes 16 bytes of a name, which most names are not longer than. */
static long hash_chunk(__u32 i, void *arg)
{
	struct hasher *h = arg;
	__u64 words[2] = {};
	__u32 at = i * sizeof(words), count = h->len - at;

	if (at >= h->len)
		return 1;
	if (count > sizeof(words))
		count = sizeof(words);
	if (bpf_probe_read_kernel(words, count, (void *)(h->name + at))) {
		h->hash = 0;
		return 1;
	}
	h->hash = weir_hash_secret(h->hash, words[0], weir_state->host.seed);
	h->hash = weir_hash_secret(h->hash, words[1], weir_state->host.seed);
	return 0;
}

__noinline __u64 weir_name_hash(struct weir_name *name)
{
	struct hasher h = {};

	if (!name || name->len >= WEIR_NAME_MAX)
		return 0;
	h.hash = weir_state->host.seed ^ name->len;
	h.name = name->bytes;
	h.len = name->len;
	bpf_loop(WEIR_NAME_MAX / 16, hash_chunk, &h, 0);
	return h.hash;
}

/* Class of a hash; a function of its own, so that nobody branches on what it finds. */
__noinline __u32 weir_control_of(__u64 hash)
{
	__u32 *class = bpf_map_lookup_elem(&weir_control, &hash);

	return class ? *class : WEIR_NAME_PLAIN;
}

/* The class of a hash as a bit. */
static __always_inline __u32 bit_of(__u64 hash)
{
	return 1u << (weir_control_of(hash) & 31);
}

/* Of a control name, in lower case. */
static __always_inline __u64 hash_words(const __u64 words[WORDS])
{
	__u64 hash = WEIR_FNV_BASIS;

	for (__u32 i = 0; i < WORDS; i++)
		hash = weir_hash_word(hash, weir_fold_word(words[i]));
	return hash;
}

/* ".pth", in any case: Python runs what such a file says. */
#define PTH 0x6874702eu
/* ".git" */
#define GIT 0x7469672eu

__noinline __u32 weir_name_class(struct weir_name *name)
{
	__u64 words[WORDS] = {};
	__u32 len, class, tail = 0;
	__u64 bytes, hash;

	if (!name)
		return WEIR_NAME_CONTROL;
	bytes = name->bytes;
	len = name->len;
	if (len >= 4 && bpf_probe_read_kernel(&tail, 4, (void *)(bytes + len - 4)) == 0 &&
	    weir_fold_word(tail) == PTH)
		return WEIR_NAME_CONTROL;
	if (len >= WEIR_CTLNAME_MAX || bpf_probe_read_kernel(words, len, (void *)bytes) ||
	    (words[0] & 0xff) != '.')
		return WEIR_NAME_PLAIN;
	hash = hash_words(words);
	class = weir_control_of(hash);
	/* .Git is git's own directory on some systems, and nobody's business here */
	if (class == WEIR_NAME_GIT && words[0] != GIT)
		return WEIR_NAME_CONTROL;
	return class;
}

/* The three components right below .git, the highest first. */
struct finder {
	__u64 dentry;
	__u32 git_level;
	__u32 nested; /* levels below .git that have a name of WEIR_GIT_NESTED; 31: or deeper */
	__u64 hash[4];
};

/* min(number, limit) for a limit that is a power of two less one, and numbers below 128. Like
 * all of find_step without a branch, each of which would double what is to be verified. */
static __always_inline __u32 at_most(__u32 number, __u32 limit)
{
	__u32 beyond = ((number & ~limit) + 127) >> 7;

	return (number & limit) | beyond * limit;
}

static long find_step(__u32 i, void *arg)
{
	struct finder *f = arg;
	struct dentry *d = (struct dentry *)f->dentry;
	__u32 below = f->git_level - 1 - i, len;
	__u64 words[WORDS] = {};
	__u64 hash;

	if (i >= f->git_level)
		return 1;
	len = BPF_CORE_READ(d, d_name.len);
	bpf_probe_read_kernel(words, len & (CHUNK - 1), BPF_CORE_READ(d, d_name.name));
	/* a name that is too long is none of the table's */
	hash = hash_words(words) ^ len >> 5;
	f->nested |= (bit_of(hash) >> WEIR_NAME_GITNEST & 1) << at_most(below & 127, 31);
	f->hash[weir_below(at_most(below & 127, 3), 4)] = hash;
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

#define BIT(class) (1u << (class))

__noinline __u32 weir_git_class(struct weir_place *place)
{
	struct finder f = {};
	__u64 one, two, any;
	__u32 level;

	/* an operation on .git itself is one on its control */
	if (!place || place->git_level == 0)
		return WEIR_NAME_CONTROL;
	level = place->git_level;
	f.dentry = place->dentry;
	f.git_level = level;
	bpf_loop(WEIR_DEPTH_MAX, find_step, &f, 0);
	one = chain(WEIR_FNV_BASIS, f.hash[0]);
	two = chain(one, f.hash[1]);
	any = chain(one, WEIR_NAME_ANY);
	if ((bit_of(one) | bit_of(two) | bit_of(chain(two, f.hash[2])) |
	     bit_of(chain(any, f.hash[2]))) &
	    BIT(WEIR_NAME_GITSUB))
		return WEIR_NAME_CONTROL;
	if (bit_of(one) & BIT(WEIR_NAME_GITKEEP))
		return f.nested & BELOW_MODULES ? WEIR_NAME_CONTROL : WEIR_NAME_GITABOVE;
	if (bit_of(chain(any, f.hash[2])) & BIT(WEIR_NAME_GITKEEP))
		return f.nested & BELOW_WORKTREE_MODULES ? WEIR_NAME_CONTROL : WEIR_NAME_GITABOVE;
	/* a directory on the way to a control file, itself */
	if ((level == 1 && (bit_of(one) & BIT(WEIR_NAME_GITABOVE))) ||
	    (level == 2 && ((bit_of(two) | bit_of(any)) & BIT(WEIR_NAME_GITABOVE))))
		return WEIR_NAME_GITABOVE;
	return WEIR_NAME_PLAIN;
}
