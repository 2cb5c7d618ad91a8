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

/* A kernel string. Addresses travel in records on the stack (see emit.bpf.h). */
struct weir_name {
	__u64 bytes;
	__u32 len;
	__u32 fold; /* hash it as lower case */
};

/* What a walk found. The verifier follows the value of each word that starts at a multiple
 * of 8, and would go round the loop once for each combination of flags: numbers that
 * change in the loop therefore stand in the other halves. */
struct weir_where {
	struct weir_rule rule;
	__u32 pad0;
	__u32 flags;
	__u32 pad1;
	__u32 levels;
	__u32 pad2;
	__u32 git_level; /* components passed when the highest .git was met */
};

/* A place below .git: the object, and how many components up .git stands. */
struct weir_place {
	__u64 dentry;
	__u32 git_level;
	__u32 pad;
};

struct weir_climb {
	struct dentry *at;
	struct dentry *root;
	struct weir_where *where;
	__u32 slot;
	__u32 dev;
	bool names; /* check names (mutations) */
};

/* 64-bit FNV-1a of a name; 0 if unreadable. */
__u64 weir_name_hash(struct weir_name *name);
/* enum weir_name_class of one component. */
__u32 weir_name_class(struct weir_name *name);
/* enum weir_name_class of a place below .git. */
__u32 weir_git_class(struct weir_place *place);

/* salt 0: the inode has a rule; 1: it is a directory with a named rule. */
static __always_inline bool weir_bloom_test(__u64 ino, __u32 salt)
{
	__u32 zero = 0;
	struct weir_bloom_bits *bloom = bpf_map_lookup_elem(&weir_bloom, &zero);
	__u32 bit = weir_bloom_bit(ino, salt);

	if (!bloom)
		return true;
	return (bloom->word[(bit >> 6) & (WEIR_BLOOM_SIZE / 64 - 1)] >> (bit & 63)) & 1;
}

static __always_inline void weir_key_of(struct weir_objkey *key, struct inode *inode, __u32 dev,
					__u32 slot)
{
	key->inode = (__u64)inode;
	key->ino = inode->i_ino;
	key->dev = dev;
	key->gen = inode->i_generation;
	key->slot = slot;
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

/* The object's own rule. Returns true when the climb ends here. */
static __always_inline bool weir_at_rule(struct weir_climb *c, struct inode *inode)
{
	struct weir_objkey key;
	struct weir_rule *rule;

	if (!weir_bloom_test(inode->i_ino, 0))
		return false;
	weir_key_of(&key, inode, c->dev, c->slot);
	rule = bpf_map_lookup_elem(&weir_rules, &key);
	if (!rule)
		return false;
	if (c->where->levels == 0 && (rule->flags & (WEIR_RULE_ROOT | WEIR_RULE_ANCESTOR)))
		c->where->flags |= WHERE_FIXED;
	if (rule->flags & WEIR_RULE_ANCESTOR)
		return false;
	c->where->rule = *rule;
	c->where->flags |= WHERE_FOUND;
	if (c->where->levels == 0)
		c->where->flags |= WHERE_OWN_RULE;
	return true;
}

/* A rule for this name in its directory. Returns true when the climb ends here. */
static __always_inline bool weir_at_name(struct weir_climb *c, struct dentry *d, struct inode *dir)
{
	struct weir_name name = { .bytes = (__u64)d->d_name.name, .len = d->d_name.len };
	struct weir_namekey key;
	struct weir_rule *rule;

	if (!weir_bloom_test(dir->i_ino, 1))
		return false;
	weir_key_of(&key.dir, dir, c->dev, c->slot);
	key.hash = weir_name_hash(&name);
	rule = bpf_map_lookup_elem(&weir_names, &key);
	if (!rule)
		return false;
	c->where->rule = *rule;
	c->where->flags |= WHERE_FOUND;
	return true;
}

static __always_inline void weir_note_name(struct weir_where *w, struct dentry *d)
{
	struct weir_name name = { .bytes = (__u64)d->d_name.name, .len = d->d_name.len };
	__u32 class = WEIR_NAME_PLAIN;

	if (weir_first_byte(d) == '.' || w->levels == 0)
		class = weir_name_class(&name);
	if (class == WEIR_NAME_CONTROL)
		w->flags |= WHERE_CONTROL;
	if (class == WEIR_NAME_GIT) {
		/* a second .git on the way up: the lower one was nested */
		if (w->flags & WHERE_GIT)
			w->flags |= WHERE_CONTROL;
		w->flags |= WHERE_GIT;
		w->git_level = w->levels;
	}
}

static long weir_climb_step(__u32 i, void *arg)
{
	struct weir_climb *c = arg;
	struct dentry *d = c->at;
	struct inode *inode = d->d_inode;
	struct dentry *parent = d->d_parent;
	struct inode *dir;

	if (inode && weir_at_rule(c, inode))
		return 1;
	if (d == c->root)
		return 1;
	if (parent == d) {
		c->where->flags |= WHERE_DISCONNECTED;
		return 1;
	}
	dir = parent->d_inode;
	if (dir && weir_at_name(c, d, dir))
		return 1;
	if (c->names)
		weir_note_name(c->where, d);
	c->where->levels++;
	c->at = parent;
	return 0;
}

/*
 * Finds the rule for dentry in slot. A name that does not exist yet starts at itself
 * and takes its directory's rights.
 */
static __always_inline void weir_walk(struct weir_where *where, struct dentry *dentry, __u32 slot,
				      bool names)
{
	struct super_block *sb = dentry->d_sb;
	struct weir_climb c = {
		.at = dentry,
		.root = sb->s_root,
		.where = where,
		.slot = slot,
		.dev = sb->s_dev,
		.names = names,
	};

	__builtin_memset(where, 0, sizeof(*where));
	where->rule.flags = where->flags = where->levels = where->git_level = weir_zero();
	if (bpf_loop(WEIR_DEPTH_MAX, weir_climb_step, &c, 0) == WEIR_DEPTH_MAX)
		where->flags |= WHERE_TOO_DEEP;
	if (where->flags & WHERE_GIT) {
		struct weir_place place = {
			.dentry = (__u64)dentry,
			.git_level = where->git_level,
		};
		bool own = (where->flags & WHERE_FOUND) &&
			   (where->rule.flags & WEIR_RULE_WORKSPACE) &&
			   where->git_level + 1 == where->levels;

		__u32 class = own ? weir_git_class(&place) : WEIR_NAME_CONTROL;

		if (class == WEIR_NAME_CONTROL)
			where->flags |= WHERE_CONTROL;
		else if (class == WEIR_NAME_GITABOVE)
			where->flags |= WHERE_ABOVE;
	}
}

#endif
