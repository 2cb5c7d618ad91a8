/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs that the collector runs itself (BPF_PROG_RUN): look at an object by
 * descriptor, give a task a role. They cost nobody else anything.
 */
#include "bpf/lib/task.bpf.h"

#define EBADF 9
#define ESRCH 3
#define ENOSPC 28

static __always_inline struct file *file_of(__u32 fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd);
	struct file *file = 0;

	if (fd >= BPF_CORE_READ(table, max_fds))
		return 0;
	bpf_probe_read_kernel(&file, sizeof(file), &files[fd]);
	return file;
}

/* Writers into an overlay's file show on the inode of its upper layer. */
static __always_inline void add_upper(struct inode *inode, struct weir_bind *ctx)
{
	struct ovl_inode___weir *oi;
	struct inode *upper;

	if (!bpf_core_field_exists(((struct ovl_inode___weir *)0)->__upperdentry))
		return;
	oi = (struct ovl_inode___weir *)((__u64)inode -
					 bpf_core_field_offset(struct ovl_inode___weir, vfs_inode));
	upper = BPF_CORE_READ(oi, __upperdentry, d_inode);
	if (!upper)
		return;
	ctx->ret_writecount += BPF_CORE_READ(upper, i_writecount.counter);
	ctx->ret_mapcount += BPF_CORE_READ(upper, i_mapping, i_mmap_writable.counter);
}

SEC("syscall")
int weir_bind(struct weir_bind *ctx)
{
	struct file *file = file_of(ctx->fd);
	struct inode *inode;
	struct super_block *sb;
	struct weir_object *o = &ctx->ret_object;

	ctx->ret_err = -EBADF;
	if (!file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	sb = BPF_CORE_READ(file, f_path.dentry, d_sb);
	if (!inode || !sb)
		return 0;
	o->ino = BPF_CORE_READ(inode, i_ino);
	o->size = BPF_CORE_READ(inode, i_size);
	o->dev = BPF_CORE_READ(sb, s_dev);
	o->gen = BPF_CORE_READ(inode, i_generation);
	o->magic = BPF_CORE_READ(sb, s_magic);
	o->mode = BPF_CORE_READ(inode, i_mode);
	o->uid = BPF_CORE_READ(inode, i_uid.val);
	o->nlink = BPF_CORE_READ(inode, i_nlink);
	o->rdev = BPF_CORE_READ(inode, i_rdev);
	ctx->ret_key.inode = (__u64)inode;
	ctx->ret_key.ino = o->ino;
	ctx->ret_key.dev = o->dev;
	ctx->ret_key.gen = o->gen;
	ctx->ret_key.slot = ctx->slot;
	ctx->ret_writecount = BPF_CORE_READ(inode, i_writecount.counter);
	ctx->ret_mapcount = BPF_CORE_READ(inode, i_mapping, i_mmap_writable.counter);
	ctx->ret_cred = 0;
	if (o->magic == OVERLAYFS_MAGIC &&
	    bpf_core_field_exists(((struct ovl_fs___weir *)0)->creator_cred)) {
		struct ovl_fs___weir *ofs = BPF_CORE_READ(sb, s_fs_info);

		ctx->ret_cred = (__u64)BPF_CORE_READ(ofs, creator_cred);
		add_upper(inode, ctx);
	}
	ctx->ret_err = 0;
	return 0;
}

/* The caller's newest child, or the caller itself. */
static __always_inline __u64 subject(__u32 pid)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct list_head *last;

	if (pid == 0)
		return (__u64)task;
	last = BPF_CORE_READ(task, children.prev);
	task = (struct task_struct *)((__u64)last -
				      bpf_core_field_offset(struct task_struct, sibling));
	return BPF_CORE_READ(task, pid) == pid ? (__u64)task : 0;
}

SEC("syscall")
int weir_adopt(struct weir_adopt *ctx)
{
	__u64 key = subject(ctx->pid);
	struct task_struct *task = (struct task_struct *)key;
	struct weir_task entry = { .slot = ctx->slot, .role = ctx->role };
	struct weir_run *run = weir_run_of(ctx->slot);

	ctx->ret_err = -ESRCH;
	if (!key || !run)
		return 0;
	if (ctx->role == WEIR_ROLE_NONE) {
		weir_entry_remove(key);
		ctx->ret_err = 0;
		return 0;
	}
	entry.tgid = BPF_CORE_READ(task, tgid);
	entry.pid = BPF_CORE_READ(task, pid);
	entry.ns_tgid = weir_ns_tgid(task);
	entry.start_ns = BPF_CORE_READ(task, start_boottime);
	ctx->ret_err = -ENOSPC;
	if (weir_entry_add(key, &entry))
		return 0;
	if (ctx->role != WEIR_ROLE_COLLECTOR) {
		__sync_fetch_and_add(&run->live, 1);
		__sync_fetch_and_add(&run->members, 1);
	} else {
		run->mnt_ns = (__u64)BPF_CORE_READ(task, nsproxy, mnt_ns);
		run->uts_ns = (__u64)BPF_CORE_READ(task, nsproxy, uts_ns);
	}
	ctx->ret_err = 0;
	return 0;
}
