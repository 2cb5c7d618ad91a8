/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where an object really lives, and the rights it has there: those of its nearest
 * ancestor with a rule, climbing dentry parents inside its own file system. Mounts
 * are not crossed, so a bind mount changes nothing. On the way the names are checked
 * against named rules and control names.
 *
 * Runs in non-sleepable programs only: they hold RCU, which keeps the dentries alive.
 */
#ifndef WEIR_LIB_WALK_H
#define WEIR_LIB_WALK_H

#include "bpf/lib/task.bpf.h"

/* weir_where.flags */
#define WHERE_FOUND (1u << 0)	     /* a rule applies */
#define WHERE_DISCONNECTED (1u << 1) /* no path to the root: no rights */
#define WHERE_TOO_DEEP (1u << 2)     /* more levels than a walk climbs: no rights */
#define WHERE_OWN_RULE (1u << 3)     /* the rule is the object's own */
#define WHERE_CONTROL (1u << 4)	     /* a control name on the way */
#define WHERE_FIXED (1u << 5)	     /* root of a rule or above one: must stay in place */
#define WHERE_GIT (1u << 6)	     /* .git on the way: place decides (internal) */
#define WHERE_ABOVE (1u << 7)	     /* control files can lie below: no tree is put here */

/* A kernel string. Addresses travel in records on the stack, because a global function takes
 * no kernel pointers as plain arguments. */
struct weir_name {
	__u64 bytes;
	__u32 len;
	__u32 pad;
};

/* What a walk found. Lies in a map: the verifier follows each value on the stack, and would
 * go round the loop, and on from there, once for each combination of flags. */
struct weir_where {
	struct weir_rule rule;
	__u32 flags;
	__u32 levels;
	__u32 git_level; /* components passed when the highest .git was met */
	__u32 slot;
	__u32 dev;
	__u32 names; /* check control names (mutations) */
	__u64 inode; /* the one asked about, as a number */
} __attribute__((aligned(8)));

/* A place below .git: the object, and how many components up .git stands. */
struct weir_place {
	__u64 dentry;
	__u32 git_level;
	__u32 pad;
};

struct weir_climb {
	struct dentry *at;
	struct dentry *below; /* where the walk came from */
	struct dentry *root;
	struct weir_where *where;
	__u64 bloom; /* WEIR_BLOOM_* of where passing ended */
};

/* Where an object is, and what has been passed on its way up: addresses. */
struct weir_at {
	__u64 dentry;
	__u64 from;  /* the walk goes on here, 0: at dentry */
	__u64 below; /* where it came from */
	__u64 levels;
};

/* Hash of a name of a rule; 0 if unreadable. */
__u64 weir_name_hash(struct weir_name *name);
/* enum weir_name_class of one component. */
__u32 weir_name_class(struct weir_name *name);
/* enum weir_name_class of a place below .git. */
__u32 weir_git_class(struct weir_place *place);

static __always_inline void weir_key_of(struct weir_objkey *key, struct inode *inode,
					struct weir_where *where)
{
	key->inode = (__u64)inode;
	key->ino = inode->i_ino;
	key->dev = where->dev;
	key->gen = inode->i_generation;
	key->slot = where->slot;
	key->pad = 0;
}

static __always_inline void weir_link_key(struct weir_linkkey *key, struct inode *inode)
{
	struct super_block *sb = inode->i_sb;

	key->inode = sb->s_magic == BTRFS_MAGIC ? (__u64)inode : 0;
	key->ino = inode->i_ino;
	key->dev = sb->s_dev;
	key->gen = inode->i_generation;
}

static __always_inline struct weir_rule *weir_rule_of(struct weir_where *w, struct inode *inode)
{
	struct weir_run *run = weir_run_of(w->slot);
	struct weir_objkey key;

	if (run && run->home == (__u64)inode)
		return &run->home_rule;
	weir_key_of(&key, inode, w);
	return bpf_map_lookup_elem(&weir_rules, &key);
}

/* The object's own rule. Returns true when the climb ends here. */
static __always_inline bool weir_at_rule(struct weir_where *w, struct inode *inode)
{
	struct weir_rule *rule = weir_rule_of(w, inode);

	if (!rule)
		return false;
	if (w->levels == 0 && (rule->flags & (WEIR_RULE_ROOT | WEIR_RULE_ANCESTOR)))
		w->flags |= WHERE_FIXED;
	if (rule->flags & WEIR_RULE_ANCESTOR)
		return false;
	w->rule = *rule;
	w->flags |= w->levels == 0 ? WHERE_FOUND | WHERE_OWN_RULE : WHERE_FOUND;
	return true;
}

/* A rule for the name that the walk came from in this directory. Returns true when the climb
 * ends here. */
static __always_inline bool weir_at_name(struct weir_where *w, struct dentry *d, struct inode *dir)
{
	struct weir_name name = { .bytes = (__u64)d->d_name.name, .len = d->d_name.len };
	struct weir_namekey key;
	struct weir_rule *rule;

	weir_key_of(&key.dir, dir, w);
	key.hash = weir_name_hash(&name);
	rule = bpf_map_lookup_elem(&weir_names, &key);
	if (!rule)
		return false;
	w->rule = *rule;
	w->flags |= WHERE_FOUND;
	return true;
}

/* Notes the name that the walk came from. */
static __always_inline void weir_note_name(struct weir_where *w, struct dentry *d)
{
	struct weir_name name = { .bytes = (__u64)d->d_name.name, .len = d->d_name.len };
	__u32 class;

	if (weir_first_byte(d) != '.' && w->levels != 1)
		return;
	class = weir_name_class(&name);
	if (class == WEIR_NAME_CONTROL)
		w->flags |= WHERE_CONTROL;
	if (class == WEIR_NAME_GIT) {
		/* a second .git on the way up: the lower one was nested */
		if (w->flags & WHERE_GIT)
			w->flags |= WHERE_CONTROL;
		w->flags |= WHERE_GIT;
		w->git_level = w->levels - 1;
	}
}

/* WEIR_BLOOM_* of an address. The verifier forbids to multiply a pointer; what comes back from
 * memory is none. */
static __always_inline __u32 weir_bloom_at(struct weir_where *w, struct inode *inode)
{
	*(volatile __u64 *)&w->inode = (__u64)inode;
	return weir_state->bloom[weir_spread(*(volatile __u64 *)&w->inode, WEIR_BLOOM_BITS)];
}

/* WEIR_BLOOM_* of an inode; a name that does not exist yet has none. */
static __always_inline __u32 weir_bloom_of(struct weir_where *w, struct inode *inode)
{
	return inode ? weir_bloom_at(w, inode) : 0;
}

/* One level: the rule for the name that the walk came from, that name itself, and then the
 * object's own rule. */
static long weir_climb_step(__u32 i, void *arg)
{
	struct weir_climb *c = arg;
	struct weir_where *w = c->where;
	struct dentry *d = c->at;
	struct dentry *parent = d->d_parent;
	struct inode *inode = d->d_inode;
	__u32 bloom = weir_bloom_of(w, inode);

	if (w->levels) {
		if ((bloom & WEIR_BLOOM_NAMED) && weir_at_name(w, c->below, inode))
			return 1;
		if (w->names)
			weir_note_name(w, c->below);
	}
	if ((bloom & WEIR_BLOOM_RULE) && weir_at_rule(w, inode))
		return 1;
	if (d == c->root)
		return 1;
	if (parent == d) {
		w->flags |= WHERE_DISCONNECTED;
		return 1;
	}
	w->levels++;
	c->below = d;
	c->at = parent;
	return 0;
}

/* Is a place below .git one of its control files? */
static __always_inline void weir_look_git(struct weir_where *w, struct dentry *dentry)
{
	struct weir_place place = { .dentry = (__u64)dentry, .git_level = w->git_level };
	bool own = (w->flags & WHERE_FOUND) && (w->rule.flags & WEIR_RULE_WORKSPACE) &&
		   w->git_level + 1 == w->levels;
	__u32 class = own ? weir_git_class(&place) : WEIR_NAME_CONTROL;

	if (class == WEIR_NAME_CONTROL)
		w->flags |= WHERE_CONTROL;
	else if (class == WEIR_NAME_GITABOVE)
		w->flags |= WHERE_ABOVE;
}

/* Levels of one step: what a call costs is shared by them. Divides WEIR_DEPTH_MAX. */
#define PASS_LEVELS 4
_Static_assert(WEIR_DEPTH_MAX % PASS_LEVELS == 0, "passing ends where climbing ends");

/* Levels where nothing can apply; ends where the walk has to look closer: at a rule, maybe, or at
 * the top, which is its own parent. A name without an object counts as whatever has hash 0. */
static long weir_pass_step(__u32 i, void *arg)
{
	struct weir_climb *c = arg;
	struct dentry *d = c->at, *below = c->below;
	__u32 passed, bloom = 0;
	long end = 0;

#pragma unroll
	for (passed = 0; passed < PASS_LEVELS; passed++) {
		struct dentry *parent = d->d_parent;

		bloom = weir_bloom_at(c->where, d->d_inode);
		if (bloom || parent == d) {
			end = 1;
			break;
		}
		below = d;
		d = parent;
	}
	c->bloom = bloom;
	c->where->levels += passed;
	c->below = below;
	c->at = d;
	return end;
}

/* Passes what lies above dentry until something may apply; tells at where that is, and no more. Returns its
 * WEIR_BLOOM_*, 0 at the top. */
static __always_inline __u32 weir_pass_up(struct weir_where *w, struct dentry *dentry,
					  struct weir_at *at)
{
	struct weir_climb c = { .at = dentry, .below = dentry, .where = w };

	w->levels = 0;
	bpf_loop(WEIR_DEPTH_MAX / PASS_LEVELS, weir_pass_step, &c, 0);
	at->from = (__u64)c.at;
	at->below = (__u64)c.below;
	at->levels = w->levels;
	return c.bloom;
}

/*
 * Finds the rule for dentry in slot. A name that does not exist yet starts at itself
 * and takes its directory's rights. at: what has been passed already.
 */
static __always_inline void weir_walk(struct weir_where *w, struct dentry *dentry,
				      struct weir_at *at, __u32 slot, __u32 names)
{
	struct super_block *sb = dentry->d_sb;
	struct weir_climb c = {
		.at = dentry,
		.below = dentry,
		.root = sb->s_root,
		.where = w,
	};

	__builtin_memset(w, 0, sizeof(*w));
	w->slot = slot;
	w->dev = sb->s_dev;
	w->names = names;
	if (!names && at->from) {
		c.at = WEIR_PLAIN(dentry, (void *)at->from);
		c.below = WEIR_PLAIN(dentry, (void *)at->below);
		w->levels = at->levels;
	} else if (!names) {
		bpf_loop(WEIR_DEPTH_MAX / PASS_LEVELS, weir_pass_step, &c, 0);
	}
	bpf_loop(WEIR_DEPTH_MAX, weir_climb_step, &c, 0);
	if (w->levels >= WEIR_DEPTH_MAX)
		w->flags |= WHERE_TOO_DEEP;
	if (w->flags & WHERE_GIT)
		weir_look_git(w, dentry);
}

#endif
