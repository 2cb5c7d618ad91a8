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
	__u32 pad;
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
 * have another. */
struct weir_objects {
	struct dentry *first;
	struct inode *inode;
	struct dentry *second;
};

static __always_inline void weir_put_objects(struct weir_scratch_buf *buf, struct weir_objects *o)
{
	buf->offset = sizeof(struct weir_opev);
	buf->flags = 0;
	if (o->first) {
		struct inode *inode = o->inode;

		if (!inode)
			inode = o->first->d_inode;
		weir_put_object(&buf->op.first, inode, o->first->d_sb);
		buf->op.first_len = weir_put_path(buf, o->first);
	} else {
		__builtin_memset(&buf->op.first, 0, sizeof(buf->op.first));
	}
	if (o->second) {
		weir_put_object(&buf->op.second, o->second->d_inode, o->second->d_sb);
		buf->op.second_len = weir_put_path(buf, o->second);
	} else {
		__builtin_memset(&buf->op.second, 0, sizeof(buf->op.second));
	}
	buf->op.flags |= buf->flags;
}

/* Writes one operation record. entry: of the current task, NULL for an outsider. Returns 0, or
 * 1 when it could not be written. */
static __noinline int weir_emit_op(struct weir_run *run, struct weir_note *note,
				   struct weir_task *entry, struct weir_objects *objects)
{
	struct weir_scratch_buf *buf = weir_buffer();
	int ret;

	if (!buf)
		return weir_lost(run, note->hook, WEIR_TROUBLE_SCRATCH);
	weir_put_head(&buf->head, WEIR_RECORD_OP, note->slot, entry);
	weir_put_note(&buf->op, note);
	weir_put_objects(buf, objects);
	ret = weir_submit(buf, run, note->hook, buf->offset, note->flags & WEIR_EV_FINDING);
	weir_release(buf);
	return ret;
}

#endif
