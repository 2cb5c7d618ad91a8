/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The record of an operation on one or two objects. */
#ifndef WEIR_LIB_RECORD_H
#define WEIR_LIB_RECORD_H

#include "bpf/lib/emit.bpf.h"

/* What is to be said about an operation. */
struct weir_note {
	__u32 slot;
	__u16 op;
	__u16 hook;
	__u16 kind;
	__u16 outcome;
	__u32 flags;
	__u32 want;
	__u32 have;
	__u32 rule;
	__u32 aux;
	__u32 error;
	__u32 ns_tgid; /* of the member that acts, 0: an outsider */
};

static __always_inline void weir_put_note(struct weir_opev *op, struct weir_note *note)
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

/* The objects of an operation; each may be NULL. inode: of the first, where its dentry may
 * have another. name: kernel memory, name_len bytes of it; 0: up to its NUL. */
struct weir_objects {
	struct dentry *first;
	struct inode *inode;
	struct dentry *second;
	struct weir_peer *peer;
	__u64 powers;
	const char *name;
	__u32 name_len;
};

static __always_inline void weir_put_name(struct weir_scratch_buf *buf, struct weir_objects *o)
{
	__u32 at = buf->offset, len = o->name_len;
	long got = 0;

	if (at > sizeof(buf->bytes) - WEIR_LABEL_MAX)
		return;
	if (len > WEIR_LABEL_MAX)
		len = WEIR_LABEL_MAX;
	if (len)
		got = bpf_probe_read_kernel(&buf->bytes[at], len, o->name) ? 0 : len;
	else
		got = bpf_probe_read_kernel_str(&buf->bytes[at], WEIR_LABEL_MAX, o->name) - 1;
	if (got <= 0 || got > WEIR_LABEL_MAX)
		return;
	buf->op.name_len = got;
	buf->offset = at + got;
}

static __always_inline void weir_put_peer(struct weir_scratch_buf *buf, struct weir_objects *o)
{
	struct weir_opev *op = &buf->op;

	op->powers = o->powers;
	op->name_len = 0;
	op->pad = 0;
	/* a number where a step tells */
	if (!o->peer || bpf_probe_read_kernel(&op->peer, sizeof(op->peer), o->peer))
		__builtin_memset(&op->peer, 0, sizeof(op->peer));
}

static __always_inline void weir_put_objects(struct weir_scratch_buf *buf, struct weir_objects *o)
{
	buf->offset = sizeof(struct weir_opev);
	buf->flags = 0;
	if (o->first) {
		struct dentry *first = WEIR_PLAIN(dentry, o->first);
		struct inode *inode = o->inode ? WEIR_PLAIN(inode, o->inode) : first->d_inode;

		weir_put_object(&buf->op.first, inode, first->d_sb);
		buf->op.first_len = weir_put_path(buf, first);
	} else {
		__builtin_memset(&buf->op.first, 0, sizeof(buf->op.first));
	}
	if (o->second) {
		struct dentry *second = WEIR_PLAIN(dentry, o->second);

		weir_put_object(&buf->op.second, second->d_inode, second->d_sb);
		buf->op.second_len = weir_put_path(buf, second);
	} else {
		__builtin_memset(&buf->op.second, 0, sizeof(buf->op.second));
	}
	buf->op.flags |= buf->flags;
	weir_put_peer(buf, o);
	if (o->name)
		weir_put_name(buf, o);
}

/* Writes one operation record. Returns 0, or 1 when it could not be written. */
static __always_inline int weir_emit_op(struct weir_note *note, struct weir_objects *objects)
{
	struct weir_run *run = weir_run_of(note->slot);
	struct weir_scratch_buf *buf = weir_buffer();
	int ret;

	if (!buf || !run) {
		if (buf)
			weir_release(buf);
		return run ? weir_lost(run, note->hook, WEIR_TROUBLE_SCRATCH) : 1;
	}
	weir_put_head(&buf->head, WEIR_RECORD_OP, note->slot, note->ns_tgid);
	weir_put_note(&buf->op, note);
	weir_put_objects(buf, objects);
	ret = weir_submit(buf, run, note->hook, buf->offset, note->flags & WEIR_EV_FINDING);
	weir_release(buf);
	return ret;
}

#endif
