/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The only way into a ring buffer: composes a record in a claimed buffer, numbers it, and
 * puts it into the run's ring. A loss is counted and the run marked.
 */
#ifndef WEIR_LIB_EMIT_H
#define WEIR_LIB_EMIT_H

#include "bpf/lib/task.bpf.h"

/* Wake the collector for this much unread data, or for a finding; else it looks every
 * 100 ms. A wake-up for each record costs sixteen times more. */
#define WAKE_BYTES 65536

/* Claims one of range things (WEIR_SCRATCH_MAX buffers, WEIR_DESKS_MAX desks). Returns its index
 * in claims, which is range and more; 0: none is free. Global functions of plain numbers are
 * verified once, whatever calls them. */
__u32 weir_claim(__u32 range);

static __always_inline void weir_unclaim(__u32 claim)
{
	__sync_val_compare_and_swap(&weir_state->claims[weir_below(claim, WEIR_CLAIMS_MAX)], 1, 0);
}

static __always_inline struct weir_scratch_buf *weir_buffer(void)
{
	__u32 claim = weir_claim(WEIR_SCRATCH_MAX);
	struct weir_scratch_buf *buf = &weir_state->scratch[weir_below(claim, WEIR_SCRATCH_MAX)];

	if (!claim)
		return 0;
	buf->claim = claim;
	return buf;
}

static __always_inline void weir_release(struct weir_scratch_buf *buf)
{
	weir_unclaim(buf->claim);
}

/* The current task acts. ns_tgid: from its entry, 0 for an outsider. */
static __always_inline void weir_put_head(struct weir_head *head, __u16 type, __u32 slot,
					  __u32 ns_tgid)
{
	struct task_struct *task = WEIR_PLAIN(task_struct, bpf_get_current_task_btf());
	const struct cred *cred = task->real_cred;

	head->version = WEIR_ABI_VERSION;
	head->type = type;
	head->ts_ns = bpf_ktime_get_boot_ns();
	head->slot = slot;
	head->tgid = task->tgid;
	head->pid = task->pid;
	head->uid = cred ? cred->uid.val : 0;
	head->ppid = task->real_parent->tgid;
	head->start_ns = task->group_leader->start_boottime;
	head->ns_tgid = ns_tgid ? ns_tgid : weir_ns_tgid(task);
}

static __always_inline int weir_lost(struct weir_run *run, __u32 hook, __u32 trouble)
{
	__sync_fetch_and_add(&weir_stat_of(run, hook)->dropped, 1);
	__sync_fetch_and_or(&run->trouble, trouble);
	return 1;
}

/* Numbers and outputs the size bytes that buf holds. Returns 1 if they were lost. */
static __always_inline int weir_submit(struct weir_scratch_buf *buf, struct weir_run *run,
				       __u32 hook, __u32 size, bool wake)
{
	__u32 slot = buf->head.slot;
	void *ring = bpf_map_lookup_elem(&weir_rings, &slot);
	__u64 flags = BPF_RB_NO_WAKEUP;
	__u32 end = size & 0x7fff;

	/* the padding must not show what the buffer held before */
	if (end <= sizeof(buf->bytes) - 8)
		__builtin_memset(&buf->bytes[end], 0, 8);
	size = (size + 7) & ~7u;
	if (size > sizeof(buf->bytes))
		size = sizeof(buf->bytes);
	buf->head.size = size;
	buf->head.seq = __sync_fetch_and_add(&run->seq, 1) + 1;
	if (!ring)
		return weir_lost(run, hook, WEIR_TROUBLE_RING);
	if (wake || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= WAKE_BYTES)
		flags = BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(ring, buf->bytes, size, flags))
		return weir_lost(run, hook, WEIR_TROUBLE_RING);
	__sync_fetch_and_add(&weir_stat_of(run, hook)->emitted, 1);
	return 0;
}

struct weir_pathwalk {
	struct dentry *at;
	struct dentry *root;
	struct weir_scratch_buf *buf;
	__u64 broken; /* disconnected */
};

/* Appends one component; the walk ends at the root of the file system. A name that a rename
 * changes meanwhile is read again in the next round. */
static long weir_path_step(__u32 i, void *arg)
{
	struct weir_pathwalk *c = arg;
	struct weir_scratch_buf *buf = c->buf;
	struct dentry *d = c->at;
	__u32 before = d->d_seq.seqcount.sequence;
	struct dentry *parent = d->d_parent;
	__u32 len = d->d_name.len, at = buf->offset;

	if (d == c->root)
		return 1;
	if (len >= WEIR_NAME_MAX || at + len + 1 > buf->limit) {
		/* FUSE allows longer names */
		buf->flags |= WEIR_EV_TRUNCATED;
		return 1;
	}
	if (at > sizeof(buf->bytes) - WEIR_NAME_MAX)
		return 1;
	if (bpf_probe_read_kernel(&buf->bytes[at], len + 1, d->d_name.name)) {
		buf->flags |= WEIR_EV_TRUNCATED;
		return 1;
	}
	if ((before & 1) || d->d_seq.seqcount.sequence != before)
		return 0;
	buf->offset = at + len + 1;
	c->at = parent;
	if (parent == d) {
		buf->flags |= WEIR_EV_UNRESOLVED;
		c->broken = 1;
		return 1;
	}
	return 0;
}

/* Appends the path of dentry to what buf holds. Returns its length in bytes. */
static __always_inline __u32 weir_put_path(struct weir_scratch_buf *buf, struct dentry *dentry)
{
	struct super_block *sb = dentry->d_sb;
	struct weir_pathwalk c = { .at = dentry, .root = sb->s_root, .buf = buf };
	__u32 start = buf->offset;

	buf->limit = start + WEIR_PATH_MAX;
	bpf_loop(WEIR_DEPTH_MAX, weir_path_step, &c, 0);
	if (c.at != c.root && !c.broken)
		buf->flags |= WEIR_EV_TRUNCATED;
	return buf->offset - start;
}

static __always_inline void weir_put_object(struct weir_object *o, struct inode *inode,
					    struct super_block *sb)
{
	__builtin_memset(o, 0, sizeof(*o));
	o->dev = sb->s_dev;
	o->magic = sb->s_magic;
	if (!inode)
		return;
	o->ino = inode->i_ino;
	o->size = inode->i_size;
	o->gen = inode->i_generation;
	o->mode = inode->i_mode;
	o->uid = inode->i_uid.val;
	o->nlink = inode->i_nlink;
	o->rdev = inode->i_rdev;
}

#endif
