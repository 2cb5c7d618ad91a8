/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names: create, remove, move, link. The path_* hooks are called once for an operation,
 * whatever layers (overlays) it goes through; the inode_* ones once for each layer.
 */
#include "bpf/lib/spec.bpf.h"

/* The kernel asks before it knows whether the name exists; file_open tells. */
static __always_inline int create_file(struct dentry *dentry, __u32 mode)
{
	struct weir_objects objects = { .first = dentry };
	struct weir_ask ask;
	int deny;

	if (!weir_enter(&ask, WEIR_HOOK_PATH_MKNOD, WEIR_OP_CREATE, dentry))
		return ask.deny;
	if (ask.member && weir_is_overlay_layer(ask.run))
		return weir_pass(&ask, WEIR_HOOK_PATH_MKNOD);
	ask.work->note.aux = mode;
	weir_settle_create(&ask);
	if (weir_in_open())
		ask.work->note.flags |= WEIR_EV_SPECULATIVE;
	weir_look(&ask, dentry, WEIR_RIGHT_CREATE, WEIR_EV_BAD_FIRST);
	deny = weir_leave(&ask, &objects);
	if (ask.member)
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

	dentry = WEIR_PLAIN(dentry, dentry);
	if (type == 0 || type == S_IFREG)
		WEIR_ANSWER(create_file(dentry, mode));
	if (type == S_IFCHR || type == S_IFBLK)
		want |= WEIR_RIGHT_DEVICE;
	WEIR_ANSWER(weir_one(WEIR_HOOK_PATH_MKNOD, op, dentry, want, mode));
}

SEC("lsm/path_mkdir")
int BPF_PROG(weir_path_mkdir, struct path *dir, struct dentry *dentry, umode_t mode)
{
	WEIR_ANSWER(weir_one(WEIR_HOOK_PATH_MKDIR, WEIR_OP_MKDIR, WEIR_PLAIN(dentry, dentry),
			     WEIR_RIGHT_CREATE, mode));
}

SEC("lsm/path_symlink")
int BPF_PROG(weir_path_symlink, struct path *dir, struct dentry *dentry, const char *target)
{
	WEIR_ANSWER(weir_one_of(WEIR_HOOK_PATH_SYMLINK, WEIR_OP_SYMLINK, WEIR_PLAIN(dentry, dentry),
				WEIR_RIGHT_CREATE, 0, WHERE_CONTROL | WHERE_ABOVE));
}

SEC("lsm/path_unlink")
int BPF_PROG(weir_path_unlink, struct path *dir, struct dentry *dentry)
{
	WEIR_ANSWER(weir_one(WEIR_HOOK_PATH_UNLINK, WEIR_OP_UNLINK, WEIR_PLAIN(dentry, dentry),
			     WEIR_RIGHT_DELETE, 0));
}

SEC("lsm/path_rmdir")
int BPF_PROG(weir_path_rmdir, struct path *dir, struct dentry *dentry)
{
	WEIR_ANSWER(weir_one(WEIR_HOOK_PATH_RMDIR, WEIR_OP_RMDIR, WEIR_PLAIN(dentry, dentry),
			     WEIR_RIGHT_DELETE, 0));
}

/* Remembers a link that a member was allowed to make to an inode with no other names but
 * the ones that it made. */
static __always_inline void remember_link(struct weir_ask *ask, struct inode *inode)
{
	__u32 slot = ask->work->note.slot;
	struct weir_links first = { .slot = slot, .made = 1 };
	struct weir_linkkey key;
	struct weir_links *links;

	weir_link_key(&key, inode);
	links = bpf_map_lookup_elem(&weir_links, &key);
	if (links && links->slot == slot && inode->i_nlink <= links->made + 1) {
		links->made = inode->i_nlink;
		return;
	}
	if (inode->i_nlink != 1)
		return;
	if (bpf_map_update_elem(&weir_links, &key, &first, BPF_ANY))
		__sync_fetch_and_or(&ask->run->trouble, WEIR_TROUBLE_LINKS);
}

static __always_inline int link_names(struct dentry *old, struct dentry *new)
{
	struct inode *inode = old->d_inode;
	struct weir_objects objects = { .second = new };
	struct weir_ask ask;

	if (!weir_enter(&ask, WEIR_HOOK_PATH_LINK, WEIR_OP_LINK, new))
		return ask.deny;
	if (ask.member && weir_is_overlay_layer(ask.run))
		return weir_pass(&ask, WEIR_HOOK_PATH_LINK);
	/* a nameless temporary file has no place that could object */
	if (inode && inode->i_nlink > 0) {
		objects.first = old;
		weir_look(&ask, old, WEIR_RIGHT_LINK, WEIR_EV_BAD_FIRST);
	}
	weir_look(&ask, new, WEIR_RIGHT_CREATE, WEIR_EV_BAD_SECOND);
	if (ask.member && inode && ask.work->note.kind == WEIR_KIND_NONE)
		remember_link(&ask, inode);
	return weir_leave(&ask, &objects);
}

SEC("lsm/path_link")
int BPF_PROG(weir_path_link, struct dentry *old, struct path *dir, struct dentry *new)
{
	WEIR_ANSWER(link_names(WEIR_PLAIN(dentry, old), WEIR_PLAIN(dentry, new)));
}

/* Does the name stand for more than itself? */
static __always_inline bool is_tree(struct dentry *dentry)
{
	struct inode *inode = dentry->d_inode;
	__u32 type = inode ? inode->i_mode & S_IFMT : 0;

	return type == S_IFDIR || type == S_IFLNK;
}

static __always_inline int rename_names(struct dentry *old, struct dentry *new, __u32 flags)
{
	__u32 source = WEIR_RIGHT_DELETE, target = WEIR_RIGHT_CREATE;
	struct weir_objects objects = { .first = old, .second = new };
	struct weir_ask ask;

	if (!weir_enter(&ask, WEIR_HOOK_PATH_RENAME, WEIR_OP_RENAME, old))
		return ask.deny;
	if (ask.member && weir_is_overlay_layer(ask.run))
		return weir_pass(&ask, WEIR_HOOK_PATH_RENAME);
	if (new->d_inode)
		target |= WEIR_RIGHT_DELETE;
	if (flags & RENAME_EXCHANGE)
		ask.work->note.op = WEIR_OP_EXCHANGE;
	/* something stays behind: the other, or a whiteout */
	if (flags & (RENAME_EXCHANGE | RENAME_WHITEOUT))
		source |= WEIR_RIGHT_CREATE;
	if (is_tree(old) || is_tree(new))
		ask.work->control |= WHERE_ABOVE;
	ask.work->note.aux = flags;
	weir_look(&ask, old, source, WEIR_EV_BAD_FIRST);
	weir_look(&ask, new, target, WEIR_EV_BAD_SECOND);
	return weir_leave(&ask, &objects);
}

SEC("lsm/path_rename")
int BPF_PROG(weir_path_rename, struct path *old_dir, struct dentry *old, struct path *new_dir,
	     struct dentry *new, unsigned int flags)
{
	WEIR_ANSWER(rename_names(WEIR_PLAIN(dentry, old), WEIR_PLAIN(dentry, new), flags));
}
