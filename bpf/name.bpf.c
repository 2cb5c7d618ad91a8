/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names: create, remove, move, link. The path_* hooks are called once for an operation,
 * whatever layers (overlays) it goes through; the inode_* ones once for each layer.
 */
#include "bpf/lib/spec.bpf.h"

/* The kernel asks before it knows whether the name exists; file_open tells. */
static __always_inline int create_file(struct dentry *dentry, __u32 mode)
{
	struct weir_ask ask;
	int deny;

	if (!weir_enter(&ask, WEIR_HOOK_PATH_MKNOD, WEIR_OP_CREATE))
		return 0;
	if (ask.member && weir_is_overlay_layer())
		return weir_pass(&ask);
	ask.note.first = (__u64)dentry;
	ask.note.aux = mode;
	weir_settle_create(&ask);
	if (weir_in_open())
		ask.note.flags |= WEIR_EV_SPECULATIVE;
	weir_look(&ask, dentry, WEIR_RIGHT_CREATE, WEIR_EV_BAD_FIRST);
	deny = weir_leave(&ask);
	weir_remember_create(&ask, dentry);
	return deny;
}

SEC("lsm/path_mknod")
int BPF_PROG(weir_path_mknod, struct path *dir, struct dentry *dentry, umode_t mode,
	     unsigned int dev)
{
	__u32 type = mode & S_IFMT;
	__u32 want = WEIR_RIGHT_CREATE;
	__u16 op = WEIR_OP_MKNOD;

	if (type == 0 || type == S_IFREG)
		WEIR_ANSWER(create_file(dentry, mode));
	if (type == S_IFCHR || type == S_IFBLK)
		want |= WEIR_RIGHT_DEVICE;
	WEIR_ANSWER(weir_one(WEIR_HOOK_PATH_MKNOD, op, dentry, want, mode));
}

SEC("lsm/path_mkdir")
int BPF_PROG(weir_path_mkdir, struct path *dir, struct dentry *dentry, umode_t mode)
{
	WEIR_ANSWER(weir_one(WEIR_HOOK_PATH_MKDIR, WEIR_OP_MKDIR, dentry, WEIR_RIGHT_CREATE, mode));
}

SEC("lsm/path_symlink")
int BPF_PROG(weir_path_symlink, struct path *dir, struct dentry *dentry, const char *target)
{
	WEIR_ANSWER(weir_one_of(WEIR_HOOK_PATH_SYMLINK, WEIR_OP_SYMLINK, dentry, WEIR_RIGHT_CREATE,
				0, WHERE_CONTROL | WHERE_ABOVE));
}

SEC("lsm/path_unlink")
int BPF_PROG(weir_path_unlink, struct path *dir, struct dentry *dentry)
{
	WEIR_ANSWER(weir_one(WEIR_HOOK_PATH_UNLINK, WEIR_OP_UNLINK, dentry, WEIR_RIGHT_DELETE, 0));
}

SEC("lsm/path_rmdir")
int BPF_PROG(weir_path_rmdir, struct path *dir, struct dentry *dentry)
{
	WEIR_ANSWER(weir_one(WEIR_HOOK_PATH_RMDIR, WEIR_OP_RMDIR, dentry, WEIR_RIGHT_DELETE, 0));
}

/* Remembers a link that a member was allowed to make to an inode with no other names but
 * the ones that it made. */
static __always_inline void remember_link(struct weir_ask *ask, struct inode *inode)
{
	struct weir_links first = { .slot = ask->note.slot, .made = 1 };
	struct weir_linkkey key;
	struct weir_links *links;

	weir_link_key(&key, inode);
	links = bpf_map_lookup_elem(&weir_links, &key);
	if (links && links->slot == ask->note.slot && inode->i_nlink <= links->made + 1) {
		links->made = inode->i_nlink;
		return;
	}
	if (inode->i_nlink != 1)
		return;
	if (bpf_map_update_elem(&weir_links, &key, &first, BPF_ANY) && ask->run)
		__sync_fetch_and_or(&ask->run->trouble, WEIR_TROUBLE_LINKS);
}

static __always_inline int link_names(struct dentry *old, struct dentry *new)
{
	struct inode *inode = old->d_inode;
	struct weir_ask ask;
	int deny;

	if (!weir_enter(&ask, WEIR_HOOK_PATH_LINK, WEIR_OP_LINK))
		return 0;
	if (ask.member && weir_is_overlay_layer())
		return weir_pass(&ask);
	ask.note.first = (__u64)old;
	ask.note.second = (__u64) new;
	/* a nameless temporary file has no place that could object */
	if (inode && inode->i_nlink > 0)
		weir_look(&ask, old, WEIR_RIGHT_LINK, WEIR_EV_BAD_FIRST);
	else
		ask.note.first = 0;
	weir_look(&ask, new, WEIR_RIGHT_CREATE, WEIR_EV_BAD_SECOND);
	if (ask.member && inode && ask.note.kind == WEIR_KIND_NONE)
		remember_link(&ask, inode);
	deny = weir_leave(&ask);
	return deny;
}

SEC("lsm/path_link")
int BPF_PROG(weir_path_link, struct dentry *old, struct path *dir, struct dentry *new)
{
	WEIR_ANSWER(link_names(old, new));
}

/* WHERE_ABOVE if the name stands for more than itself: a directory or a symbolic link. Has
 * no branch, which would double what the verifier has to follow. */
static __always_inline __u32 tree_mask(struct dentry *dentry)
{
	const __u32 trees = 1u << (S_IFDIR >> 12) | 1u << (S_IFLNK >> 12);
	__u32 mode = BPF_CORE_READ(dentry, d_inode, i_mode);

	return (trees >> (mode >> 12 & 15) & 1) * WHERE_ABOVE;
}

static __always_inline int rename_names(struct dentry *old, struct dentry *new, __u32 flags)
{
	__u32 source = WEIR_RIGHT_DELETE, target = WEIR_RIGHT_CREATE;
	struct weir_ask ask;

	if (!weir_enter(&ask, WEIR_HOOK_PATH_RENAME, WEIR_OP_RENAME))
		return 0;
	if (ask.member && weir_is_overlay_layer())
		return weir_pass(&ask);
	if (new->d_inode)
		target |= WEIR_RIGHT_DELETE;
	if (flags & RENAME_EXCHANGE)
		ask.note.op = WEIR_OP_EXCHANGE;
	/* something stays behind: the other, or a whiteout */
	if (flags & (RENAME_EXCHANGE | RENAME_WHITEOUT))
		source |= WEIR_RIGHT_CREATE;
	ask.control |= tree_mask(old) | tree_mask(new);
	ask.note.first = (__u64)old;
	ask.note.second = (__u64) new;
	ask.note.aux = flags;
	weir_look(&ask, old, source, WEIR_EV_BAD_FIRST);
	weir_look(&ask, new, target, WEIR_EV_BAD_SECOND);
	return weir_leave(&ask);
}

SEC("lsm/path_rename")
int BPF_PROG(weir_path_rename, struct path *old_dir, struct dentry *old, struct path *new_dir,
	     struct dentry *new, unsigned int flags)
{
	WEIR_ANSWER(rename_names(old, new, flags));
}
