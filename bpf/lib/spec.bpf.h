/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Creations that were none. The kernel asks about a creation (path_mknod) before it looks
 * whether the name exists. What comes next in the same call tells: an open of that very
 * name, or, where the name is a symbolic link, whatever the link leads to.
 *
 * A real creation must never be taken back by a later open of what it made. mknod(2) looks
 * first, so what it asks about is one; and an open that creates but fails afterwards (before
 * 6.3 with O_DIRECTORY) has changed the directory.
 */
#ifndef WEIR_LIB_SPEC_H
#define WEIR_LIB_SPEC_H

#include "bpf/lib/decide.bpf.h"

/* Whatever adds a name changes one of these. */
static __always_inline __u64 weir_dir_stamp(__u64 dir)
{
	struct inode *inode = BPF_CORE_READ((struct dentry *)dir, d_inode);

	/* the lowest bit of i_version only says that somebody looked */
	return weir_ctime(inode) ^ ((__u64)BPF_CORE_READ(inode, i_size) << 32) ^
	       ((__u64)BPF_CORE_READ(inode, i_version.counter) >> 1);
}

/* Only an open asks while it walks a path. */
static __always_inline bool weir_in_open(void)
{
	return WEIR_PLAIN(task_struct, bpf_get_current_task_btf())->nameidata != 0;
}

/* Is the remembered name still there, and a symbolic link? Its address may be in use for
 * something else by now, so it is read with care and compared by place and name. */
static __always_inline bool weir_spec_is_link(struct weir_task *member)
{
	struct dentry *spec = (struct dentry *)member->spec_dentry;
	struct inode *inode;

	if ((__u64)BPF_CORE_READ(spec, d_parent) != member->spec_parent ||
	    BPF_CORE_READ(spec, d_name.hash) != member->spec_name)
		return false;
	inode = BPF_CORE_READ(spec, d_inode);
	return inode && (BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFLNK;
}

static __always_inline bool weir_spec_is(struct weir_task *member, struct dentry *dentry)
{
	return member->spec_dentry == (__u64)dentry &&
	       member->spec_parent == (__u64)dentry->d_parent &&
	       member->spec_name == dentry->d_name.hash;
}

/* Takes back what the latch counted for a name that existed; the record to come says so. */
static __always_inline void weir_take_back(struct weir_ask *ask)
{
	struct weir_task *member = ask->member;
	__u32 kind = member->spec_kind;

	member->spec_dentry = 0;
	member->spec_kind = 0;
	if (kind)
		__sync_fetch_and_add(&ask->run->latch[kind & 31], -1);
	ask->work->note.flags |= WEIR_EV_EXISTED;
	ask->work->note.error = kind;
	ask->work->existed = 1;
}

/* A creation is asked about: was the one before a link that led here? */
static __always_inline void weir_settle_create(struct weir_ask *ask)
{
	struct weir_task *member = ask->member;

	if (member && member->spec_dentry && weir_in_open() && weir_spec_is_link(member) &&
	    weir_dir_stamp(member->spec_parent) == member->spec_stamp)
		weir_take_back(ask);
}

/* dentry is opened, and was not created by this call: was it the name that was judged as a
 * creation? */
static __always_inline void weir_settle_open(struct weir_ask *ask, struct dentry *dentry,
					     __u32 open_flags)
{
	struct weir_task *member = ask->member;

	if (!(open_flags & O_CREAT) || !member->spec_dentry)
		return;
	if (!weir_spec_is(member, dentry) && !weir_spec_is_link(member))
		return;
	if (weir_dir_stamp(member->spec_parent) != member->spec_stamp)
		return;
	weir_take_back(ask);
}

static __always_inline void weir_remember_create(struct weir_ask *ask, struct dentry *dentry)
{
	struct weir_task *member = ask->member;

	member->spec_dentry = ask->work->note.flags & WEIR_EV_SPECULATIVE ? (__u64)dentry : 0;
	member->spec_parent = (__u64)dentry->d_parent;
	member->spec_stamp = weir_dir_stamp(member->spec_parent);
	member->spec_name = dentry->d_name.hash;
	member->spec_kind = ask->work->note.flags & WEIR_EV_FINDING ? ask->work->note.kind : 0;
}

#endif
