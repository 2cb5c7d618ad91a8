/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What differs between kernels, and kernel constants that BTF does not carry.
 */
#ifndef WEIR_LIB_COMPAT_H
#define WEIR_LIB_COMPAT_H

#include "bpf/abi/casts.h"
#include "bpf/lib/maps.bpf.h"

#define EPERM 1
#define EAGAIN 11
#define EACCES 13
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
#define FMODE_PATH 0x4000
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
#define RENAME_WHITEOUT 4
#define CLONE_THREAD 0x00010000
#define CLONE_INTO_CGROUP 0x200000000ull

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
#define MQUEUE_MAGIC 0x19800202
#define TMPFS_MAGIC 0x01021994
#define OVERLAYFS_MAGIC 0x794c7630
#define HUGETLBFS_MAGIC 0x958458f6
#define BTRFS_MAGIC 0x9123683e

/* Fields that have had several shapes, as one type: each type that is named costs a search.
 * dentry.d_iname became d_shortname.string in 6.14 (58cf9c383c5c); both hold short names. */
union shortname_store___weir {
	unsigned char string[40];
} __attribute__((preserve_access_index));
struct dentry___weir {
	unsigned char d_iname[32];
	union shortname_store___weir d_shortname;
} __attribute__((preserve_access_index));

/* Who gets a file's signals was part of it before 6.12 (1934b212615d), a pointer since. */
struct file___weir {
	struct fown_struct f_owner;
} __attribute__((preserve_access_index));

/* The change time of an inode (6.6: 12cd44023651, 6.11: 3aa63a569c64). */
struct inode___weir {
	struct timespec64 i_ctime;
	struct timespec64 __i_ctime;
	time64_t i_ctime_sec;
	__u32 i_ctime_nsec;
} __attribute__((preserve_access_index));

static __always_inline __u64 weir_ctime(struct inode *inode)
{
	struct inode___weir *in = (void *)inode;

	if (bpf_core_field_exists(in->i_ctime_sec))
		return BPF_CORE_READ(in, i_ctime_sec) * 1000000000ull +
		       BPF_CORE_READ(in, i_ctime_nsec);
	if (bpf_core_field_exists(in->__i_ctime))
		return BPF_CORE_READ(in, __i_ctime.tv_sec) * 1000000000ull +
		       BPF_CORE_READ(in, __i_ctime.tv_nsec);
	return BPF_CORE_READ(in, i_ctime.tv_sec) * 1000000000ull +
	       BPF_CORE_READ(in, i_ctime.tv_nsec);
}

/* 6.2 and later trust some pointers more than others, and search all of the kernel's types for
 * each field that is read through a trusted one: 2 million instructions a time before 6.19.
 * Nothing here needs the trust, so arguments of hooks are taken as what 6.1 knew. */
const volatile __u32 weir_casts[WEIR_CAST_COUNT] = {};

#ifdef WEIR_STUBS
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym;

static __always_inline void *weir_plain(const void *object, __u32 type)
{
	return bpf_rdonly_cast(object, type);
}
#else
enum special_kfunc_type___weir {
	KF_bpf_rdonly_cast___weir,
};
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;

static __always_inline void *weir_plain(const void *object, __u32 type)
{
	if (bpf_core_enum_value_exists(enum special_kfunc_type___weir, KF_bpf_rdonly_cast___weir))
		return bpf_rdonly_cast(object, type);
	return (void *)object;
}
#endif
#define WEIR_PLAIN(type, object) ((struct type *)weir_plain(object, weir_casts[WEIR_CAST_##type]))

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
	struct dentry___weir *d = (void *)dentry;

	return bpf_core_field_exists(d->d_shortname) ? d->d_shortname.string[0] : d->d_iname[0];
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
