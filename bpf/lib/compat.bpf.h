/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What differs between kernels, and kernel constants that BTF does not carry.
 */
#ifndef WEIR_LIB_COMPAT_H
#define WEIR_LIB_COMPAT_H

#include "bpf/lib/maps.bpf.h"

#define EPERM 1
#define EAGAIN 11
#define EROFS 30

#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define S_IFLNK 0120000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFDIR 0040000
#define S_IFCHR 0020000
#define S_IFIFO 0010000

#define FMODE_READ 0x1
#define FMODE_WRITE 0x2
#define FMODE_CREATED 0x100000
#define O_CREAT 0100
#define O_TRUNC 01000
#define O_TMPFILE_BIT 020000000

#define ATTR_MODE (1 << 0)
#define ATTR_UID (1 << 1)
#define ATTR_GID (1 << 2)
#define ATTR_SIZE (1 << 3)
#define ATTR_FORCE (1 << 9)

#define CAP_SYS_ADMIN 21

#define PTRACE_MODE_ATTACH 0x02
#define PTRACE_MODE_NOAUDIT 0x04
#define RENAME_EXCHANGE 2
#define CLONE_THREAD 0x00010000

#define PROC_MAGIC 0x9fa0
#define SYSFS_MAGIC 0x62656572
#define CGROUP_MAGIC 0x27e0eb
#define CGROUP2_MAGIC 0x63677270
#define DEBUGFS_MAGIC 0x64626720
#define TRACEFS_MAGIC 0x74726163
#define SECURITYFS_MAGIC 0x73636673
#define BPF_FS_MAGIC 0xcafe4a11
#define BINFMTFS_MAGIC 0x42494e4d
#define CONFIGFS_MAGIC 0x62656570
#define PIPEFS_MAGIC 0x50495045
#define SOCKFS_MAGIC 0x534f434b
#define ANON_INODE_MAGIC 0x09041934
#define PIDFS_MAGIC 0x50494446
#define NSFS_MAGIC 0x6e736673
#define TMPFS_MAGIC 0x01021994
#define OVERLAYFS_MAGIC 0x794c7630
#define HUGETLBFS_MAGIC 0x958458f6

/* dentry.d_iname became d_shortname.string in 6.14 (58cf9c383c5c); both hold short names. */
struct dentry___iname {
	unsigned char d_iname[32];
} __attribute__((preserve_access_index));
union shortname_store___new {
	unsigned char string[40];
} __attribute__((preserve_access_index));
struct dentry___shortname {
	union shortname_store___new d_shortname;
} __attribute__((preserve_access_index));

/* A memfd: on a tmpfs or hugetlbfs that is mounted nowhere, below no directory. */
static __always_inline bool weir_is_memfd(struct dentry *dentry)
{
	struct super_block *sb = dentry->d_sb;

	return dentry->d_parent == dentry && dentry != sb->s_root &&
	       (sb->s_magic == TMPFS_MAGIC || sb->s_magic == HUGETLBFS_MAGIC);
}

/* First byte of a short name. For a name of 32 bytes or more it may be anything. */
static __always_inline unsigned char weir_first_byte(struct dentry *dentry)
{
	if (bpf_core_field_exists(((struct dentry___shortname *)0)->d_shortname))
		return ((struct dentry___shortname *)dentry)->d_shortname.string[0];
	return ((struct dentry___iname *)dentry)->d_iname[0];
}

/* fs/overlayfs is a module on Debian; its type is found in the module's BTF. */
struct ovl_fs___weir {
	const struct cred *creator_cred;
} __attribute__((preserve_access_index));

struct ovl_inode___weir {
	struct inode vfs_inode;
	struct dentry *__upperdentry;
} __attribute__((preserve_access_index));

#endif
