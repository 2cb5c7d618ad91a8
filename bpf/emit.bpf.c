/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Composes records in a claimed buffer, numbers them and puts them into the run's ring. */
#include "bpf/lib/emit.bpf.h"

/* Wake the collector for this much unread data, or for a finding; else it looks every
 * 100 ms. A wake-up for each record costs sixteen times more. */
#define WAKE_BYTES 65536
#define CLAIM_TRIES 8

struct climb {
	__u64 dentry;
	__u64 root;
	__u32 index;  /* of the scratch buffer */
	__u32 offset; /* in data, from the end of the fixed part */
	__u32 limit;
	__u32 base;
	__u32 truncated;
	__u32 unresolved;
	__u32 broken; /* this path is disconnected */
};

static __always_inline struct weir_scratch_buf *scratch_at(__u32 index)
{
	return bpf_map_lookup_elem(&weir_scratch, &index);
}

static __always_inline struct weir_scratch_buf *claim(__u32 *ret_index)
{
	__u32 cpu = bpf_get_smp_processor_id();

	for (__u32 i = 0; i < CLAIM_TRIES; i++) {
		__u32 index = (cpu * CLAIM_TRIES + i) % WEIR_SCRATCH_MAX;
		struct weir_scratch_buf *buf = scratch_at(index);

		if (buf && __sync_val_compare_and_swap(&buf->busy, 0, 1) == 0) {
			*ret_index = index;
			return buf;
		}
	}
	return 0;
}

static __always_inline void release(struct weir_scratch_buf *buf)
{
	__sync_val_compare_and_swap(&buf->busy, 1, 0);
}

static __always_inline void fill_head(struct weir_head *head, __u16 type, __u32 slot, __u64 task)
{
	struct task_struct *t = (struct task_struct *)task;
	struct task_struct *leader = BPF_CORE_READ(t, group_leader);
	struct pid *pid = BPF_CORE_READ(leader, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);

	head->version = WEIR_ABI_VERSION;
	head->type = type;
	head->ts_ns = bpf_ktime_get_boot_ns();
	head->slot = slot;
	head->tgid = BPF_CORE_READ(t, tgid);
	head->pid = BPF_CORE_READ(t, pid);
	head->uid = BPF_CORE_READ(t, real_cred, uid.val);
	head->ppid = BPF_CORE_READ(t, real_parent, tgid);
	head->start_ns = BPF_CORE_READ(leader, start_boottime);
	head->ns_tgid = 0;
	bpf_probe_read_kernel(&head->ns_tgid, 4, &pid->numbers[level & 31].nr);
}

/* Numbers and outputs what buf holds; on failure counts and marks the loss. */
static __always_inline int submit(struct weir_scratch_buf *buf, __u32 slot, __u32 hook, __u32 size,
				  bool wake)
{
	struct weir_run *run = weir_run_of(slot);
	void *ring = bpf_map_lookup_elem(&weir_rings, &slot);
	struct weir_hookstat *stat;
	__u64 flags = BPF_RB_NO_WAKEUP;
	__u32 end = size & 0x7fff;
	long err = -1;

	if (!run)
		return 1;
	stat = weir_stat_of(run, hook);
	/* the padding must not show what the buffer held before */
	if (end <= sizeof(buf->bytes) - 8)
		__builtin_memset(&buf->bytes[end], 0, 8);
	size = (size + 7) & ~7u;
	if (size > sizeof(buf->bytes))
		size = sizeof(buf->bytes);
	buf->head.size = size;
	buf->head.seq = __sync_fetch_and_add(&run->seq, 1) + 1;
	if (ring) {
		if (wake || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= WAKE_BYTES)
			flags = BPF_RB_FORCE_WAKEUP;
		err = bpf_ringbuf_output(ring, buf->bytes, size, flags);
	}
	if (err) {
		__sync_fetch_and_add(&stat->dropped, 1);
		__sync_fetch_and_or(&run->trouble, WEIR_TROUBLE_RING);
		return 1;
	}
	__sync_fetch_and_add(&stat->emitted, 1);
	return 0;
}

static __always_inline int no_buffer(__u32 slot, __u32 hook)
{
	struct weir_run *run = weir_run_of(slot);

	if (run) {
		__sync_fetch_and_add(&weir_stat_of(run, hook)->dropped, 1);
		__sync_fetch_and_or(&run->trouble, WEIR_TROUBLE_SCRATCH);
	}
	return 1;
}

/* Appends one component; the loop ends at the root of the file system. */
static long climb_step(__u32 i, void *arg)
{
	struct climb *c = arg;
	struct weir_scratch_buf *buf = scratch_at(c->index);
	struct dentry *d = (struct dentry *)c->dentry;
	__u32 at = c->offset;
	__u64 parent;
	long len;

	if (!buf)
		return 1;
	if (c->dentry == c->root)
		return 1;
	parent = (__u64)BPF_CORE_READ(d, d_parent);
	if (parent == c->dentry)
		c->broken = 1;
	if (at + WEIR_NAME_MAX > c->limit) {
		c->truncated = 1;
		return 1;
	}
	at = (at + c->base) & 0x7fff;
	if (at > sizeof(buf->bytes) - WEIR_NAME_MAX)
		return 1;
	len = bpf_probe_read_kernel_str(&buf->bytes[at], WEIR_NAME_MAX,
					BPF_CORE_READ(d, d_name.name));
	/* a name that fills the room was cut: FUSE allows more than NAME_MAX */
	if (len <= 0 || len >= WEIR_NAME_MAX + 1 || BPF_CORE_READ(d, d_name.len) >= WEIR_NAME_MAX) {
		c->truncated = 1;
		return 1;
	}
	c->offset += len;
	c->dentry = parent;
	if (c->broken)
		return 1;
	return 0;
}

/* Writes the path of dentry behind base + start. Returns its length in bytes. */
static __always_inline __u32 put_path(struct climb *c, __u64 dentry, __u32 start)
{
	struct dentry *d = (struct dentry *)dentry;

	c->dentry = dentry;
	c->root = (__u64)BPF_CORE_READ(d, d_sb, s_root);
	c->offset = start + weir_zero();
	c->limit = start + WEIR_PATH_MAX;
	c->broken = 0;
	bpf_loop(WEIR_DEPTH_MAX, climb_step, c, 0);
	if (c->broken)
		c->unresolved = 1;
	else if (c->dentry != c->root)
		c->truncated = 1;
	return c->offset - start;
}

static __always_inline void put_object(struct weir_object *o, __u64 dentry, __u64 inode)
{
	struct dentry *d = (struct dentry *)dentry;
	struct inode *in = (struct inode *)inode;
	struct super_block *sb = 0;

	__builtin_memset(o, 0, sizeof(*o));
	if (dentry) {
		sb = BPF_CORE_READ(d, d_sb);
		if (!in)
			in = BPF_CORE_READ(d, d_inode);
	}
	if (in) {
		if (!sb)
			sb = BPF_CORE_READ(in, i_sb);
		o->ino = BPF_CORE_READ(in, i_ino);
		o->size = BPF_CORE_READ(in, i_size);
		o->gen = BPF_CORE_READ(in, i_generation);
		o->mode = BPF_CORE_READ(in, i_mode);
		o->uid = BPF_CORE_READ(in, i_uid.val);
		o->nlink = BPF_CORE_READ(in, i_nlink);
		o->rdev = BPF_CORE_READ(in, i_rdev);
	}
	if (sb) {
		o->dev = BPF_CORE_READ(sb, s_dev);
		o->magic = BPF_CORE_READ(sb, s_magic);
	}
}

static __always_inline void put_op(struct weir_opev *op, struct weir_note *note)
{
	op->op = note->op;
	op->hook = note->hook;
	op->kind = note->kind;
	op->outcome = note->outcome;
	op->flags = note->flags;
	op->want = note->want;
	op->have = note->have;
	op->rule = note->rule;
	op->aux = note->aux;
	op->error = note->error;
	op->first_len = 0;
	op->second_len = 0;
}

__noinline int weir_emit_op(struct weir_note *note)
{
	struct climb c = {};
	struct weir_scratch_buf *buf;
	__u32 len;
	int ret;

	if (!note)
		return 1;
	buf = claim(&c.index);
	if (!buf)
		return no_buffer(note->slot, note->hook);
	c.base = sizeof(struct weir_opev);
	fill_head(&buf->head, WEIR_RECORD_OP, note->slot, (__u64)bpf_get_current_task());
	put_op(&buf->op, note);
	put_object(&buf->op.first, note->first, note->inode);
	put_object(&buf->op.second, note->second, 0);
	if (note->first)
		buf->op.first_len = put_path(&c, note->first, 0);
	len = buf->op.first_len;
	if (note->second)
		buf->op.second_len = put_path(&c, note->second, len);
	if (c.truncated)
		buf->op.flags |= WEIR_EV_TRUNCATED;
	if (c.unresolved)
		buf->op.flags |= WEIR_EV_UNRESOLVED;
	len = sizeof(struct weir_opev) + buf->op.first_len + buf->op.second_len;
	ret = submit(buf, note->slot, note->hook, len, note->flags & WEIR_EV_FINDING);
	release(buf);
	return ret;
}

__noinline int weir_emit_fork(struct weir_life *life)
{
	struct weir_scratch_buf *buf;
	struct task_struct *t;
	__u32 index = 0, slot;
	int ret;

	if (!life)
		return 1;
	slot = life->slot;
	t = (struct task_struct *)life->task;
	buf = claim(&index);
	if (!buf)
		return no_buffer(slot, WEIR_HOOK_TASK_NEWTASK);
	fill_head(&buf->head, WEIR_RECORD_FORK, slot, (__u64)bpf_get_current_task());
	buf->fork.child_tgid = BPF_CORE_READ(t, tgid);
	buf->fork.child_pid = BPF_CORE_READ(t, pid);
	buf->fork.child_start_ns = BPF_CORE_READ(t, group_leader, start_boottime);
	buf->fork.clone_flags = life->flags;
	ret = submit(buf, slot, WEIR_HOOK_TASK_NEWTASK, sizeof(struct weir_forkev), false);
	release(buf);
	return ret;
}

/* Arguments are a label only: the process can rewrite them. */
static __always_inline void put_args(struct weir_scratch_buf *buf, __u64 task, __u32 path_len)
{
	struct mm_struct *mm = BPF_CORE_READ((struct task_struct *)task, mm);
	__u64 start = BPF_CORE_READ(mm, arg_start);
	__u64 end = BPF_CORE_READ(mm, arg_end);
	__u32 at = (sizeof(struct weir_execev) + path_len) & 0x7fff;
	__u64 len = end - start;

	buf->exec.args_total = len > 0xffffffff ? 0xffffffff : len;
	buf->exec.args_len = 0;
	if (len > WEIR_ARGS_MAX)
		len = WEIR_ARGS_MAX;
	if (at > sizeof(buf->bytes) - WEIR_ARGS_MAX || len == 0)
		return;
	if (bpf_probe_read_user(&buf->bytes[at], (__u32)len, (void *)start) == 0)
		buf->exec.args_len = len;
}

__noinline int weir_emit_exec(struct weir_life *life)
{
	struct climb c = {};
	struct weir_scratch_buf *buf;
	__u32 len, slot;
	int ret;

	if (!life)
		return 1;
	slot = life->slot;
	buf = claim(&c.index);
	if (!buf)
		return no_buffer(slot, WEIR_HOOK_PROCESS_EXEC);
	c.base = sizeof(struct weir_execev);
	fill_head(&buf->head, WEIR_RECORD_EXEC, slot, life->task);
	put_object(&buf->exec.exe, life->dentry, 0);
	buf->exec.path_len = put_path(&c, life->dentry, 0);
	buf->exec.flags =
		(c.truncated ? WEIR_EV_TRUNCATED : 0) | (c.unresolved ? WEIR_EV_UNRESOLVED : 0);
	put_args(buf, life->task, buf->exec.path_len);
	len = sizeof(struct weir_execev) + buf->exec.path_len + buf->exec.args_len;
	ret = submit(buf, slot, WEIR_HOOK_PROCESS_EXEC, len, false);
	release(buf);
	return ret;
}

__noinline int weir_emit_exit(struct weir_life *life)
{
	struct weir_scratch_buf *buf;
	__u32 index = 0, slot;
	int ret;

	if (!life)
		return 1;
	slot = life->slot;
	buf = claim(&index);
	if (!buf)
		return no_buffer(slot, WEIR_HOOK_PROCESS_EXIT);
	fill_head(&buf->head, WEIR_RECORD_EXIT, slot, life->task);
	buf->exit.code = life->code;
	buf->exit.pad = 0;
	ret = submit(buf, slot, WEIR_HOOK_PROCESS_EXIT, sizeof(struct weir_exitev), false);
	release(buf);
	return ret;
}
