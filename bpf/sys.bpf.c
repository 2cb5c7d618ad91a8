/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Source "syscall", for hosts where neither LSM nor fmod_ret programs load: what came of a call of
 * a member is looked at when it ends. Descriptors lead to the very objects; names are followed
 * once more. The decisions are those of the other sources, but nothing can be refused any more.
 */
#include "bpf/lib/frame.bpf.h"

#define TS_COMPAT 0x0002
#define MSG_RIGHTS_MAX 253
#define SOL_SOCKET 1
#define SCM_RIGHTS 1

/* Numbers of another ABI would be taken for other calls. */
static __always_inline bool is_foreign_abi(void)
{
#if defined(__TARGET_ARCH_x86)
	struct task_struct *task = bpf_get_current_task_btf();

	return task->thread_info.status & TS_COMPAT;
#else
	return false;
#endif
}

SEC("tp_btf/sys_exit")
int BPF_PROG(weir_sys_exit, struct pt_regs *regs, long ret)
{
	struct weir_call *call;
	__u32 nr;

	if (weir_state->host.runs == 0 || !weir_sys_member())
		return 0;
	nr = WEIR_CALL_NUMBER(regs);
	/* a call that a signal cuts short, and rt_sigreturn, have no number */
	if (nr == (__u32)-1)
		return 0;
	call = bpf_map_lookup_elem(&weir_calls, &nr);
	if (!call || is_foreign_abi()) {
		weir_unknown(WEIR_TROUBLE_ABI);
		return 0;
	}
	if (call->handler == WEIR_HANDLER_NONE ||
	    (ret < 0 && ret >= -4095 && !(call->traits & WEIR_CALL_ATTEMPT)))
		return 0;
	bpf_tail_call(ctx, &weir_handlers, call->handler);
	weir_unknown(WEIR_TROUBLE_ABI);
	return 0;
}

/* Flags of a call, from where it has them. */
static __always_inline __u32 flags_of(struct weir_frame *f)
{
	__u64 flags = weir_arg(f, f->call.flags);

	if ((f->call.traits & WEIR_CALL_HOW) &&
	    bpf_probe_read_user(&flags, sizeof(flags), (void *)flags)) {
		weir_unknown(WEIR_TROUBLE_UNKNOWN);
		return 0;
	}
	return (__u32)flags | f->call.set;
}

/* Memory of a process, below /proc: the right to open it was the question. */
static __always_inline bool is_memory(struct dentry *dentry, struct inode *inode)
{
	__u32 name = 0;

	return inode->i_sb->s_magic == PROC_MAGIC && inode->i_mode == (S_IFREG | 0600) &&
	       bpf_probe_read_kernel(&name, sizeof(name), dentry->d_name.name) == 0 &&
	       name == 0x006d656du; /* "mem" */
}

static __always_inline void open_memory(struct inode *inode)
{
	__u64 task = task_of_proc(inode);

	if (!task) {
		weir_unknown(WEIR_TROUBLE_UNKNOWN);
		return;
	}
	look_at_target(task);
}

static __always_inline void opened(struct weir_frame *f)
{
	struct file *file = weir_file_of(f->ret);
	__u32 mode, flags = flags_of(f), traits = f->call.traits;

	if (!file) {
		weir_unknown(WEIR_TROUBLE_UNKNOWN);
		return;
	}
	file = WEIR_PLAIN(file, file);
	mode = (__u32)file->f_mode;
	if (mode & FMODE_CREATED) {
		if (traits & WEIR_CALL_NO_CREATE)
			return;
		weir_one(WEIR_HOOK_PATH_MKNOD, WEIR_OP_CREATE, file->f_path.dentry,
			 WEIR_RIGHT_CREATE, mode);
		return;
	}
	if (!(traits & WEIR_CALL_NO_USE))
		use_file_as(file, mode, flags, WEIR_HOOK_FILE_OPEN, WEIR_OP_WRITE);
	if (!(traits & WEIR_CALL_NO_MEMORY) && is_memory(file->f_path.dentry, file->f_inode))
		open_memory(file->f_inode);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(weir_sys_open, struct pt_regs *regs, long ret)
{
	struct weir_frame *f = weir_frame_take(regs, ret);

	if (!f)
		return 0;
	opened(f);
	weir_frame_give(f);
	return 0;
}

/* An operation on what a descriptor stands for. */
static __always_inline void changed_file(struct weir_frame *f, __u32 fd)
{
	struct file *file = weir_file_of(fd);
	struct dentry *dentry;

	if (!file) {
		weir_unknown(WEIR_TROUBLE_UNKNOWN);
		return;
	}
	file = WEIR_PLAIN(file, file);
	dentry = file->f_path.dentry;
	if (f->call.op == WEIR_OP_IOCTL)
		file_command(file, weir_arg(f, f->call.flags), WEIR_HOOK_FILE_IOCTL);
	else if (f->call.op == WEIR_OP_TRUNCATE)
		truncate_at(dentry, file->f_inode, WEIR_HOOK_FILE_TRUNCATE);
	else if (!is_nobodys(dentry))
		weir_one(f->call.hook, f->call.op, dentry, f->call.want, 0);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(weir_sys_fd, struct pt_regs *regs, long ret)
{
	struct weir_frame *f = weir_frame_take(regs, ret);

	if (!f)
		return 0;
	changed_file(f, weir_arg(f, f->call.dir[0]));
	weir_frame_give(f);
	return 0;
}

/* Is a link as the last component meant itself? */
static __always_inline bool follows(struct weir_frame *f, __u32 flags)
{
	__u32 traits = f->call.traits;

	if (traits & WEIR_CALL_LINKAT)
		return flags & AT_SYMLINK_FOLLOW;
	if (traits & WEIR_CALL_NOFOLLOW)
		return false;
	return !((traits & WEIR_CALL_AT) && (flags & AT_SYMLINK_NOFOLLOW));
}

/* What mknod made decides about the right, and about what it is called. */
static __always_inline void adapt_mknod(struct weir_frame *f, __u32 mode)
{
	__u32 type = mode & S_IFMT;

	if (type == 0 || type == S_IFREG)
		f->call.op = WEIR_OP_CREATE;
	if (type == S_IFCHR || type == S_IFBLK)
		f->call.want |= WEIR_RIGHT_DEVICE;
}

static __always_inline void adapt_call(struct weir_frame *f, __u32 flags)
{
	if (f->call.traits & WEIR_CALL_MODE)
		adapt_mknod(f, flags);
	if (f->call.op == WEIR_OP_UNLINK && (f->call.traits & WEIR_CALL_AT) &&
	    (flags & AT_REMOVEDIR)) {
		f->call.op = WEIR_OP_RMDIR;
		f->call.hook = WEIR_HOOK_PATH_RMDIR;
	}
}

static __always_inline void judge_name(struct weir_frame *f)
{
	struct weir_objects objects = { .first = weir_dentry_at(&f->spot) };
	struct weir_ask ask;

	if ((f->call.want & WEIR_RIGHT_ATTR) && f->spot.dentry && is_nobodys(objects.first))
		return;
	if (!weir_enter(&ask, f->call.hook, f->call.op, 0))
		return;
	weir_note_unknown(&ask, &f->spot);
	if (f->call.op == WEIR_OP_SYMLINK)
		ask.work->control |= WHERE_ABOVE;
	weir_look(&ask, objects.first, f->call.want, WEIR_EV_BAD_FIRST);
	weir_leave(&ask, &objects);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(weir_sys_name, struct pt_regs *regs, long ret)
{
	struct weir_frame *f = weir_frame_take(regs, ret);
	__u32 flags;

	if (!f)
		return 0;
	flags = flags_of(f);
	adapt_call(f, flags);
	f->follow = follows(f, flags);
	/* without a path it is about the descriptor */
	if (!weir_arg(f, f->call.path[0])) {
		changed_file(f, weir_arg(f, f->call.dir[0]));
		goto out;
	}
	weir_resolve(f, f->call.dir[0], f->call.path[0]);
	if (f->call.traits & WEIR_CALL_GONE)
		f->spot.dentry = 0;
	/* an existing name, that is there no more */
	else if (!f->spot.dentry && f->follow)
		f->spot.unknown = 1;
	weir_fake(f);
	judge_name(f);
out:
	weir_frame_give(f);
	return 0;
}

/* The first name of two is kept while the second one is followed. */
static __always_inline void keep_first(struct weir_frame *f)
{
	weir_fake(f);
	__builtin_memcpy(&f->first, &f->spot, sizeof(f->first));
	*(__u64 *)((char *)f->first.fake + bpf_core_field_offset(struct dentry, d_name.name)) =
		(__u64)f->first.name;
}

/* remember_link() of a link that is there already. */
static __always_inline void remember_made_link(struct weir_ask *ask, struct inode *inode)
{
	__u32 slot = ask->work->note.slot, before = inode->i_nlink - 1;
	struct weir_links first = { .slot = slot, .made = 1 };
	struct weir_linkkey key;
	struct weir_links *links;

	weir_link_key(&key, inode);
	links = bpf_map_lookup_elem(&weir_links, &key);
	if (links && links->slot == slot && before <= links->made + 1) {
		links->made = before;
		return;
	}
	if (before == 1 && bpf_map_update_elem(&weir_links, &key, &first, BPF_ANY))
		__sync_fetch_and_or(&ask->run->trouble, WEIR_TROUBLE_LINKS);
}

static __always_inline void judge_link(struct weir_frame *f)
{
	struct dentry *new = weir_dentry_at(&f->spot), *old = weir_dentry_at(&f->first);
	struct weir_objects objects = { .first = old, .second = new };
	struct inode *inode = new->d_inode;
	struct weir_ask ask;

	if (!weir_enter(&ask, f->call.hook, f->call.op, 0))
		return;
	weir_note_unknown(&ask, &f->first);
	weir_note_unknown(&ask, &f->spot);
	/* one that was there before counts for the old name, one that the run made doesn't */
	if (ask.work->note.kind == WEIR_KIND_NONE && inode && inode->i_nlink > 1)
		remember_made_link(&ask, inode);
	if (!inode || inode->i_nlink > 1)
		weir_look(&ask, old, WEIR_RIGHT_LINK, WEIR_EV_BAD_FIRST);
	weir_look(&ask, new, WEIR_RIGHT_CREATE, WEIR_EV_BAD_SECOND);
	weir_leave(&ask, &objects);
}

static __always_inline void judge_rename(struct weir_frame *f, __u32 flags)
{
	struct weir_objects objects = { .first = weir_dentry_at(&f->first),
					.second = weir_dentry_at(&f->spot) };
	__u32 source = WEIR_RIGHT_DELETE, target = WEIR_RIGHT_CREATE;
	struct weir_ask ask;

	if (!weir_enter(&ask, f->call.hook, f->call.op, 0))
		return;
	weir_note_unknown(&ask, &f->first);
	weir_note_unknown(&ask, &f->spot);
	if (flags & RENAME_EXCHANGE) {
		ask.work->note.op = WEIR_OP_EXCHANGE;
		target |= WEIR_RIGHT_DELETE;
	}
	if (flags & (RENAME_EXCHANGE | RENAME_WHITEOUT))
		source |= WEIR_RIGHT_CREATE;
	if (is_tree(objects.second))
		ask.work->control |= WHERE_ABOVE;
	ask.work->note.aux = flags;
	weir_look(&ask, objects.first, source, WEIR_EV_BAD_FIRST);
	weir_look(&ask, objects.second, target, WEIR_EV_BAD_SECOND);
	/* what must stay in place has moved here */
	if ((ask.work->where.flags & WHERE_FIXED) && ask.work->note.kind == WEIR_KIND_NONE) {
		ask.work->note.kind = WEIR_KIND_FILE_OUTSIDE;
		ask.work->note.flags |= WEIR_EV_BAD_SECOND;
	}
	weir_leave(&ask, &objects);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(weir_sys_two, struct pt_regs *regs, long ret)
{
	struct weir_frame *f = weir_frame_take(regs, ret);
	__u32 flags;

	if (!f)
		return 0;
	flags = flags_of(f);
	f->follow = follows(f, flags);
	weir_resolve(f, f->call.dir[0], f->call.path[0]);
	if (f->call.op == WEIR_OP_RENAME && !(flags & RENAME_EXCHANGE))
		f->spot.dentry = 0;
	keep_first(f);
	f->follow = 0;
	weir_resolve(f, f->call.dir[1], f->call.path[1]);
	weir_fake(f);
	if (f->call.op == WEIR_OP_LINK)
		judge_link(f);
	else
		judge_rename(f, flags);
	weir_frame_give(f);
	return 0;
}

struct receiver {
	struct weir_frame *f;
	__u64 fds; /* address of the numbers in user memory */
	__u32 count;
	__u32 pad;
};

/* A received descriptor counts like an open. In a global function of its own, so that it is
 * verified outside of the loop. */
__noinline __u32 weir_received(__u32 fd)
{
	struct file *file = weir_file_of(fd);

	if (!file) {
		weir_unknown(WEIR_TROUBLE_UNKNOWN);
		return 1;
	}
	file = WEIR_PLAIN(file, file);
	if (is_ring(file))
		weir_unknown(WEIR_TROUBLE_URING);
	use_file_as(file, (__u32)file->f_mode, file->f_flags, WEIR_HOOK_FILE_RECEIVE,
		    WEIR_OP_RECEIVE);
	return 0;
}

static long receive_step(__u32 i, void *arg)
{
	struct receiver *r = arg;
	__u32 fd = 0;

	if (i >= r->count)
		return 1;
	if (bpf_probe_read_user(&fd, sizeof(fd), (void *)(r->fds + 4ull * i))) {
		weir_unknown(WEIR_TROUBLE_UNKNOWN);
		return 1;
	}
	weir_received(fd);
	return 0;
}

/* The message that recvmsg filled: descriptors come in one piece, after credentials if those
 * were asked for. */
static __always_inline void received(__u64 address)
{
	struct receiver r = {};
	struct user_msghdr msg = {};
	struct cmsghdr head = {};
	__u64 at, end;

	if (bpf_probe_read_user(&msg, sizeof(msg), (void *)address)) {
		weir_unknown(WEIR_TROUBLE_UNKNOWN);
		return;
	}
	at = (__u64)msg.msg_control;
	end = at + msg.msg_controllen;
	for (int i = 0; i < 4; i++) {
		if (!at || at + sizeof(head) > end)
			return;
		if (bpf_probe_read_user(&head, sizeof(head), (void *)at) ||
		    head.cmsg_len < sizeof(head)) {
			weir_unknown(WEIR_TROUBLE_UNKNOWN);
			return;
		}
		if (head.cmsg_level == SOL_SOCKET && head.cmsg_type == SCM_RIGHTS) {
			r.fds = at + sizeof(head);
			r.count = (head.cmsg_len - sizeof(head)) / 4;
			bpf_loop(MSG_RIGHTS_MAX, receive_step, &r, 0);
			return;
		}
		at += (head.cmsg_len + 7) & ~7ull;
	}
}

SEC("tp_btf/sys_exit")
int BPF_PROG(weir_sys_receive, struct pt_regs *regs, long ret)
{
	struct weir_frame *f = weir_frame_take(regs, ret);
	__u64 message;

	if (!f)
		return 0;
	message = weir_arg(f, f->call.path[0]);
	/* pidfd_getfd gives a descriptor itself */
	if (!f->call.path[0])
		weir_received(ret);
	weir_frame_give(f);
	if (message)
		received(message);
	return 0;
}

/* A call whose use alone says it all. */
SEC("tp_btf/sys_exit")
int BPF_PROG(weir_sys_act, struct pt_regs *regs, long ret)
{
	struct weir_frame *f = weir_frame_take(regs, ret);
	struct weir_call call;
	__u32 flags;

	if (!f)
		return 0;
	call = f->call;
	flags = flags_of(f);
	weir_frame_give(f);
	if (call.traits & WEIR_CALL_BLIND)
		weir_unknown(call.set);
	else
		refuse_member(call.hook, call.op, call.kind, flags);
	return 0;
}
