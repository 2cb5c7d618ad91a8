/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Content: opens, received descriptors, truncation. There is no hook for each write:
 * every writable descriptor of a member passed here once.
 */
#include "bpf/lib/spec.bpf.h"

#define MINOR(rdev) ((rdev)&0xfffff)
#define MAJOR(rdev) ((rdev) >> 20)

/* null, zero, full, random, urandom, tty, ptmx, pseudo terminals. */
static __always_inline bool is_harmless_device(struct inode *inode)
{
	__u32 major = MAJOR(inode->i_rdev), minor = MINOR(inode->i_rdev);

	if ((inode->i_mode & S_IFMT) != S_IFCHR)
		return false;
	if (major == 1)
		return minor == 3 || minor == 5 || minor == 7 || minor == 8 || minor == 9;
	if (major == 5)
		return minor == 0 || minor == 2;
	return major >= 136 && major <= 143;
}

/* An entry below /proc/PID of a process of the same run. */
static __always_inline bool is_own_proc(struct inode *inode, __u32 slot)
{
	struct proc_inode *proc = container_of(inode, struct proc_inode, vfs_inode);
	struct pid *pid = BPF_CORE_READ(proc, pid);
	struct hlist_node *node;
	struct weir_task *entry;
	__u64 task;

	if (!pid)
		return false;
	node = BPF_CORE_READ(pid, tasks[PIDTYPE_PID].first);
	if (!node)
		return false;
	task = (__u64)node - bpf_core_field_offset(struct task_struct, pid_links[PIDTYPE_PID]);
	entry = bpf_map_lookup_elem(&weir_tasks, &task);
	return entry && entry->slot == slot && entry->role != WEIR_ROLE_COLLECTOR;
}

static __always_inline __u32 device_right(struct weir_ask *ask, struct inode *inode)
{
	__u32 type = inode->i_mode & S_IFMT;

	if (type == S_IFCHR || type == S_IFBLK)
		return WEIR_RIGHT_DEVICE;
	if (type == S_IFIFO)
		ask->rooted = false;
	return 0;
}

/* Rights that using file needs; 0 when no decision is to be made. */
static __always_inline __u32 rights_of_open(struct weir_ask *ask, struct file *file,
					    struct inode *inode, __u32 magic)
{
	__u32 mode = (__u32)file->f_mode, want = 0;

	if (weir_is_private_kind(inode) || is_harmless_device(inode))
		return 0;
	if ((mode & FMODE_WRITE) || (file->f_flags & O_TRUNC))
		want |= WEIR_RIGHT_WRITE;
	else if ((inode->i_mode & S_IFMT) == S_IFDIR)
		return file->f_flags & O_TMPFILE_BIT ? WEIR_RIGHT_CREATE : 0;
	if (mode & FMODE_READ)
		want |= WEIR_RIGHT_READ;
	if (magic == PROC_MAGIC &&
	    (!(want & WEIR_RIGHT_WRITE) || is_own_proc(inode, ask->note.slot)))
		return 0;
	/* access mode 3 gives neither, but a descriptor for ioctls */
	return mode & FMODE_PATH ? 0 : want | device_right(ask, inode);
}

static __always_inline int use_file(struct file *file, __u16 hook, __u16 op)
{
	struct inode *inode = file->f_inode;
	struct dentry *dentry = file->f_path.dentry;
	struct weir_ask ask;
	bool existed = false;
	__u32 want;

	if (!weir_enter(&ask, hook, op))
		return 0;
	if (!ask.member) {
		if (!((__u32)file->f_mode & FMODE_WRITE))
			return 0;
	} else if (weir_is_overlay_layer()) {
		return weir_pass(&ask);
	}
	if (ask.member)
		ask.member->trunc_inode = file->f_flags & O_TRUNC ? (__u64)inode : 0;
	if (hook == WEIR_HOOK_FILE_OPEN)
		existed = weir_settle_open(&ask, dentry, file->f_flags);
	want = rights_of_open(&ask, file, inode, inode->i_sb->s_magic);
	if (weir_is_memfd(dentry))
		want = 0;
	ask.note.first = (__u64)dentry;
	ask.note.inode = (__u64)inode;
	ask.note.aux = file->f_flags;
	if (!want) {
		/* a record all the same if a creation is to be taken back */
		ask.note.op = WEIR_OP_NONE;
		return existed ? weir_leave(&ask) : weir_pass(&ask);
	}
	if (want == WEIR_RIGHT_READ && op == WEIR_OP_WRITE)
		ask.note.op = WEIR_OP_READ;
	if (file->f_flags & O_TMPFILE_BIT && (inode->i_mode & S_IFMT) != S_IFDIR) {
		want |= WEIR_RIGHT_CREATE;
		ask.note.op = WEIR_OP_TMPFILE;
		ask.note.first = (__u64)dentry->d_parent;
		ask.note.inode = 0;
	}
	weir_look(&ask, dentry, want, WEIR_EV_BAD_FIRST);
	/* allowed reads are no mutation */
	if (want == WEIR_RIGHT_READ && ask.note.kind == WEIR_KIND_NONE && !existed && ask.run &&
	    !(ask.run->flags & WEIR_RUN_DEAD))
		return weir_pass(&ask);
	return weir_leave(&ask);
}

SEC("lsm/file_open")
int BPF_PROG(weir_file_open, struct file *file)
{
	/* created by this very call: judged by path_mknod */
	if ((__u32)file->f_mode & FMODE_CREATED) {
		struct weir_ask ask;

		if (!weir_enter(&ask, WEIR_HOOK_FILE_OPEN, WEIR_OP_CREATE) || !ask.member)
			return 0;
		ask.member->spec_dentry = 0;
		return weir_pass(&ask);
	}
	WEIR_ANSWER(use_file(file, WEIR_HOOK_FILE_OPEN, WEIR_OP_WRITE));
}

/* A ring acts for the process that made it: one from outside would act as an outsider. */
static __always_inline bool is_foreign_ring(struct file *file, struct weir_ask *ask)
{
	char name[8] = {};

	if (file->f_inode->i_sb->s_magic != ANON_INODE_MAGIC ||
	    bpf_probe_read_kernel(name, sizeof(name), file->f_path.dentry->d_name.name) ||
	    name[0] != '[' || name[1] != 'i' || name[2] != 'o' || name[3] != '_')
		return false;
	return weir_enter(ask, WEIR_HOOK_FILE_RECEIVE, WEIR_OP_RECEIVE) && ask->member;
}

SEC("lsm/file_receive")
int BPF_PROG(weir_file_receive, struct file *file)
{
	struct weir_ask ask;

	if (is_foreign_ring(file, &ask)) {
		ask.note.kind = WEIR_KIND_IPC;
		ask.note.first = (__u64)file->f_path.dentry;
		ask.note.inode = (__u64)file->f_inode;
		ask.note.flags |= WEIR_EV_BAD_FIRST;
		WEIR_ANSWER(weir_leave(&ask));
	}
	WEIR_ANSWER(use_file(file, WEIR_HOOK_FILE_RECEIVE, WEIR_OP_RECEIVE));
}

/* A memfd, or an entry of a process of the run: opens of these are not judged either. */
static __always_inline bool is_own_object(struct weir_ask *ask, struct dentry *dentry,
					  struct inode *inode)
{
	if (inode->i_sb->s_magic == PROC_MAGIC)
		return is_own_proc(inode, ask->note.slot);
	return weir_is_memfd(dentry);
}

/* The truncation of an open with O_TRUNC is one operation with it: judged again, but not
 * told twice. */
static __always_inline int truncate_at(struct dentry *dentry, struct inode *inode, __u16 hook)
{
	struct weir_ask ask;
	bool opened;

	if (!weir_enter(&ask, hook, WEIR_OP_TRUNCATE))
		return 0;
	if (ask.member && (weir_is_overlay_layer() || is_own_object(&ask, dentry, inode)))
		return weir_pass(&ask);
	ask.note.first = (__u64)dentry;
	weir_look(&ask, dentry, WEIR_RIGHT_WRITE, WEIR_EV_BAD_FIRST);
	opened = ask.member && ask.member->trunc_inode == (__u64)inode;
	if (ask.member)
		ask.member->trunc_inode = 0;
	if (opened && !weir_refuses(&ask))
		return weir_pass(&ask);
	return weir_leave(&ask);
}

SEC("lsm/path_truncate")
int BPF_PROG(weir_path_truncate, struct path *path)
{
	struct dentry *dentry = path->dentry;

	WEIR_ANSWER(truncate_at(dentry, dentry->d_inode, WEIR_HOOK_PATH_TRUNCATE));
}

SEC("lsm/file_truncate")
int BPF_PROG(weir_file_truncate, struct file *file)
{
	WEIR_ANSWER(truncate_at(file->f_path.dentry, file->f_inode, WEIR_HOOK_FILE_TRUNCATE));
}
