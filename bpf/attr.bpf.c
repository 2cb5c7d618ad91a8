/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Metadata: mode, owner, times, extended attributes, ACLs, and the ioctls that change
 * a file. Hooks that gained an argument in 6.12 come twice; the loader takes the one
 * whose argument count is the running kernel's.
 */
#include "bpf/lib/demand.bpf.h"

/* A memfd, a pipe, a descriptor of a process or a namespace: no file of anybody. A socket or a
 * device file is one. */
static __always_inline bool is_nobodys(struct dentry *dentry)
{
	return weir_is_memfd(dentry) || weir_is_harmless(0, 0, dentry->d_sb->s_magic);
}

static __always_inline int change_attr(struct dentry *dentry, struct iattr *attr)
{
	__u32 valid = attr->ia_valid;
	__u16 op = WEIR_OP_UTIMES;

	/* truncation has hooks of its own; forced changes are the kernel's (set-id bits) */
	if ((valid & (ATTR_SIZE | ATTR_FORCE)) || is_nobodys(dentry))
		return 0;
	if (valid & (ATTR_UID | ATTR_GID))
		op = WEIR_OP_CHOWN;
	else if (valid & ATTR_MODE)
		op = WEIR_OP_CHMOD;
	return weir_one(WEIR_HOOK_INODE_SETATTR, op, dentry, WEIR_RIGHT_ATTR, valid);
}

static __always_inline int change_xattr(struct dentry *dentry, __u16 hook, __u16 op)
{
	return is_nobodys(dentry) ? 0 : weir_one(hook, op, dentry, WEIR_RIGHT_ATTR, 0);
}

SEC("lsm/inode_setattr")
int BPF_PROG(weir_setattr_2, struct dentry *dentry, struct iattr *attr)
{
	WEIR_ANSWER(change_attr(WEIR_PLAIN(dentry, dentry), WEIR_PLAIN(iattr, attr)));
}

SEC("lsm/inode_setattr")
int BPF_PROG(weir_setattr_3, struct mnt_idmap *idmap, struct dentry *dentry, struct iattr *attr)
{
	WEIR_ANSWER(change_attr(WEIR_PLAIN(dentry, dentry), WEIR_PLAIN(iattr, attr)));
}

SEC("lsm/inode_setxattr")
int BPF_PROG(weir_setxattr_6, void *idmap, struct dentry *dentry)
{
	WEIR_ANSWER(change_xattr(WEIR_PLAIN(dentry, dentry), WEIR_HOOK_INODE_SETXATTR,
				 WEIR_OP_SETXATTR));
}

SEC("lsm/inode_removexattr")
int BPF_PROG(weir_removexattr_3, void *idmap, struct dentry *dentry)
{
	WEIR_ANSWER(change_xattr(WEIR_PLAIN(dentry, dentry), WEIR_HOOK_INODE_REMOVEXATTR,
				 WEIR_OP_REMOVEXATTR));
}

SEC("lsm/inode_set_acl")
int BPF_PROG(weir_set_acl, void *idmap, struct dentry *dentry)
{
	WEIR_ANSWER(
		change_xattr(WEIR_PLAIN(dentry, dentry), WEIR_HOOK_INODE_SET_ACL, WEIR_OP_SETACL));
}

SEC("lsm/inode_remove_acl")
int BPF_PROG(weir_remove_acl, void *idmap, struct dentry *dentry)
{
	WEIR_ANSWER(change_xattr(WEIR_PLAIN(dentry, dentry), WEIR_HOOK_INODE_REMOVE_ACL,
				 WEIR_OP_SETACL));
}

/* Commands that read, or that change the descriptor only; anything else needs the rights
 * to change the file, also through a read-only descriptor. */
static __always_inline bool is_reading_ioctl(__u32 cmd)
{
	switch (cmd) {
	case 0x5401:	 /* TCGETS */
	case 0x5413:	 /* TIOCGWINSZ */
	case 0x5421:	 /* FIONBIO */
	case 0x541b:	 /* FIONREAD */
	case 0x5450:	 /* FIONCLEX */
	case 0x5451:	 /* FIOCLEX */
	case 0x5452:	 /* FIOASYNC */
	case 0x5460:	 /* FIOQSIZE */
	case 0x540f:	 /* TIOCGPGRP */
	case 0x2:	 /* FIGETBSZ */
	case 0x80086601: /* FS_IOC_GETFLAGS */
	case 0x80046601: /* FS_IOC32_GETFLAGS */
	case 0x80087601: /* FS_IOC_GETVERSION */
	case 0x80047601: /* FS_IOC32_GETVERSION */
	case 0x801c581f: /* FS_IOC_FSGETXATTR */
	case 0x81009431: /* FS_IOC_GETFSLABEL */
	case 0xc020660b: /* FS_IOC_FIEMAP */
	case 0x80111500: /* FS_IOC_GETFSUUID */
	case 0x802c542a: /* TCGETS2 */
	case 0xc0709411: /* BTRFS_IOC_TREE_SEARCH_V2 */
	case 0x9408:	 /* BTRFS_IOC_SYNC */
		return true;
	}
	return false;
}

/* TIOCSTI and TIOCLINUX type into a terminal what its next reader takes for the user's. */
#define TIOCSTI 0x5412
#define TIOCLINUX 0x541c

static __always_inline int type_into(struct file *file, __u32 cmd, __u16 hook)
{
	struct weir_demand d = WEIR_DEMAND(TERMINAL, hook, WEIR_OP_IOCTL);

	d.object = file->f_path.dentry;
	d.aux = cmd;
	return weir_demand(&d);
}

static __always_inline int file_command(struct file *file, __u32 cmd, __u16 hook)
{
	struct inode *inode = file->f_inode;
	__u32 type = inode->i_mode & S_IFMT;

	if (type == S_IFCHR && (cmd == TIOCSTI || cmd == TIOCLINUX))
		return type_into(file, cmd, hook);
	if (type != S_IFREG && type != S_IFDIR && type != S_IFBLK)
		return 0;
	if (is_reading_ioctl(cmd) || inode->i_sb->s_magic == PROC_MAGIC ||
	    is_nobodys(file->f_path.dentry))
		return 0;
	return weir_one(hook, WEIR_OP_IOCTL, file->f_path.dentry,
			WEIR_RIGHT_WRITE | WEIR_RIGHT_ATTR |
				(type == S_IFBLK ? WEIR_RIGHT_DEVICE : 0),
			cmd);
}

SEC("lsm/file_ioctl")
int BPF_PROG(weir_file_ioctl, struct file *file, unsigned int cmd)
{
	WEIR_ANSWER(file_command(WEIR_PLAIN(file, file), cmd, WEIR_HOOK_FILE_IOCTL));
}

SEC("lsm/file_ioctl_compat")
int BPF_PROG(weir_file_ioctl_compat, struct file *file, unsigned int cmd)
{
	WEIR_ANSWER(file_command(WEIR_PLAIN(file, file), cmd, WEIR_HOOK_FILE_IOCTL_COMPAT));
}

/* file_setattr(2), 6.17, changes by name what the ioctls change through a descriptor. */
SEC("lsm/inode_file_setattr")
int BPF_PROG(weir_inode_file_setattr, struct dentry *dentry)
{
	dentry = WEIR_PLAIN(dentry, dentry);
	if (is_nobodys(dentry))
		return 0;
	WEIR_ANSWER(weir_one(WEIR_HOOK_INODE_FILE_SETATTR, WEIR_OP_IOCTL, dentry,
			     WEIR_RIGHT_WRITE | WEIR_RIGHT_ATTR, 0));
}
