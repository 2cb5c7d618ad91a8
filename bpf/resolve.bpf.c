/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Source "syscall": where a path led, found in the kernel's own tree of names right after the
 * call that used it. What a call has just walked is in memory still; what is not is unknown, and
 * said to be. Global functions, so that each is verified once for a program. Addresses are plain
 * numbers here, and all is read with care.
 */
#include "bpf/lib/frame.bpf.h"

#define LINKS_MAX 40
#define SIBLINGS_MAX 65536
#define CHAIN_MAX 4096
#define MOUNTS_MAX 8192
#define NAME_WORDS (WEIR_NAME_MAX / 8)

/* Before 6.8 (da549bdd15c2) children are on a list. */
struct dentry___old {
	struct list_head d_child;
	struct list_head d_subdirs;
} __attribute__((preserve_access_index));

enum dentry_flags___weir {
	DCACHE_MOUNTED___weir,
};

/* Addresses as what they are of: a cast inside a read would be taken for a part of the path. */
static __always_inline struct dentry *as_dentry(__u64 address)
{
	return (struct dentry *)address;
}

static __always_inline struct mount *as_mount(__u64 address)
{
	return (struct mount *)address;
}

struct looker {
	struct weir_frame *f;
	__u64 node;
	__u64 end;
	__u32 offset; /* of the node in its dentry */
};

/* Is it the name that is looked for, in the directory, alive? */
static __always_inline bool is_child(struct weir_frame *f, __u64 address)
{
	struct dentry *d = as_dentry(address);
	__u32 len = f->spot.len;

	if (BPF_CORE_READ(d, d_name.len) != len || (__u64)BPF_CORE_READ(d, d_parent) != f->at ||
	    !BPF_CORE_READ(d, d_inode) || !BPF_CORE_READ(d, d_hash.pprev))
		return false;
	if (len == 0 || len >= WEIR_NAME_MAX)
		return false;
	f->other[(len >> 3) & (NAME_WORDS - 1)] = 0;
	if (bpf_probe_read_kernel(f->other, len, BPF_CORE_READ(d, d_name.name)))
		return false;
	for (__u32 i = 0; i < NAME_WORDS; i++) {
		if (i * 8 >= len)
			break;
		if (f->other[i] != f->spot.name[i])
			return false;
	}
	return true;
}

static long child_step(__u32 i, void *arg)
{
	struct looker *l = arg;
	struct weir_frame *f = l->f;
	__u64 next = 0;

	if (l->node == l->end || !l->node || !f)
		return 1;
	if (is_child(f, l->node - l->offset)) {
		f->child = l->node - l->offset;
		return 1;
	}
	/* both kinds of list begin a node with the next one */
	if (bpf_probe_read_kernel(&next, sizeof(next), (void *)l->node))
		return 1;
	l->node = next;
	return 0;
}

/* One entry of a chain of the table of names. */
static long chain_step(__u32 i, void *arg)
{
	struct looker *l = arg;
	struct weir_frame *f = l->f;
	struct dentry *d;

	if (!l->node || !f)
		return 1;
	d = as_dentry(l->node - bpf_core_field_offset(struct dentry, d_hash));
	if (BPF_CORE_READ(d, d_name.hash) == (__u32)l->end && is_child(f, (__u64)d)) {
		f->child = (__u64)d;
		return 1;
	}
	l->node = (__u64)BPF_CORE_READ(d, d_hash.next);
	return 0;
}

static __always_inline __u32 hash_of(struct weir_frame *f)
{
	__u64 x = 0, y = f->at;
	__u32 len = f->spot.len;

	for (__u32 i = 0; i < NAME_WORDS; i++) {
		if (i * 8 + 8 > len)
			return weir_dcache_fold(
				x, y, len & 7 ? f->spot.name[weir_below(i, NAME_WORDS)] : 0);
		weir_dcache_mix(&x, &y, f->spot.name[weir_below(i, NAME_WORDS)]);
	}
	return 0;
}

/* File systems that make hashes of their own (not minding case, say): DCACHE_OP_HASH. */
#define OWN_HASH 1

/* Looks the name up as the kernel does. Returns 1 if the answer is not final. */
__noinline __u32 weir_find_hashed(struct weir_frame *f)
{
	__u32 zero = 0;
	struct weir_dcache *dcache = bpf_map_lookup_elem(&weir_dcache, &zero);
	struct looker l = { .f = f };
	struct dentry *dir;

	if (!f || !dcache || !dcache->table)
		return 1;
	dir = as_dentry(f->at);
	if (BPF_CORE_READ(dir, d_flags) & OWN_HASH)
		return 1;
	l.end = hash_of(f);
	bpf_probe_read_kernel(&l.node, sizeof(l.node),
			      (void *)(dcache->table + 8 * (l.end >> (dcache->shift & 31))));
	/* the lowest bit is a lock */
	l.node &= ~1ull;
	bpf_loop(CHAIN_MAX, chain_step, &l, 0);
	return 0;
}

/* The name in f->spot in the directory f->at: f->child, 0 if it is not there. */
__noinline __u32 weir_find_child(struct weir_frame *f)
{
	struct looker l = { .f = f };
	struct dentry___old *old;
	struct dentry *dir;

	if (!f)
		return 1;
	f->child = 0;
	if (!weir_find_hashed(f))
		return 0;
	dir = as_dentry(f->at);
	old = (void *)dir;
	if (bpf_core_field_exists(((struct dentry *)0)->d_children)) {
		l.node = (__u64)BPF_CORE_READ(dir, d_children.first);
		l.offset = bpf_core_field_offset(struct dentry, d_sib);
	} else {
		l.node = (__u64)BPF_CORE_READ(old, d_subdirs.next);
		l.end = f->at + bpf_core_field_offset(struct dentry___old, d_subdirs);
		l.offset = bpf_core_field_offset(struct dentry___old, d_child);
	}
	bpf_loop(SIBLINGS_MAX, child_step, &l, 0);
	return 0;
}

static __always_inline bool may_be_mounted_on(__u64 dentry)
{
	struct dentry *d = as_dentry(dentry);
	__u32 flags = BPF_CORE_READ(d, d_flags);

	/* the bit has moved, and has no name before 6.13 */
	if (!bpf_core_enum_value_exists(enum dentry_flags___weir, DCACHE_MOUNTED___weir))
		return true;
	return flags & bpf_core_enum_value(enum dentry_flags___weir, DCACHE_MOUNTED___weir);
}

/* Mounts on the mount of f that are mounted on f->at: one on top of the other. */
static long cross_step(__u32 i, void *arg)
{
	struct looker *l = arg;
	struct weir_frame *f = l->f;
	struct mount *m;

	if (l->node == l->end || !l->node || !f)
		return 1;
	m = (struct mount *)(l->node - bpf_core_field_offset(struct mount, mnt_child));
	if ((__u64)BPF_CORE_READ(m, mnt_mountpoint) != f->at) {
		l->node = (__u64)BPF_CORE_READ(m, mnt_child.next);
		return 0;
	}
	f->mount = (__u64)m;
	f->at = (__u64)BPF_CORE_READ(m, mnt.mnt_root);
	l->node = (__u64)BPF_CORE_READ(m, mnt_mounts.next);
	l->end = (__u64)m + bpf_core_field_offset(struct mount, mnt_mounts);
	return 0;
}

/* From a mount point to what is mounted there. */
__noinline __u32 weir_cross(struct weir_frame *f)
{
	struct looker l = { .f = f };
	struct mount *m;

	if (!f || !may_be_mounted_on(f->at))
		return 0;
	m = as_mount(f->mount);
	l.node = (__u64)BPF_CORE_READ(m, mnt_mounts.next);
	l.end = f->mount + bpf_core_field_offset(struct mount, mnt_mounts);
	bpf_loop(MOUNTS_MAX, cross_step, &l, 0);
	return 0;
}

static long up_step(__u32 i, void *arg)
{
	struct looker *l = arg;
	struct weir_frame *f = l->f;
	struct mount *m, *above;
	struct dentry *at;

	if (!f || (f->at == f->root && f->mount == f->root_mount))
		return 1;
	m = as_mount(f->mount);
	at = as_dentry(f->at);
	if (at != BPF_CORE_READ(m, mnt.mnt_root)) {
		f->at = (__u64)BPF_CORE_READ(at, d_parent);
		return 1;
	}
	above = BPF_CORE_READ(m, mnt_parent);
	if (above == m)
		return 1;
	f->at = (__u64)BPF_CORE_READ(m, mnt_mountpoint);
	f->mount = (__u64)above;
	return 0;
}

__noinline __u32 weir_go_up(struct weir_frame *f)
{
	struct looker l = { .f = f };

	bpf_loop(64, up_step, &l, 0);
	weir_cross(f);
	return 0;
}

/* Puts the target of the link f->child in front of what is left of the text. Returns 0, or 1
 * when only the file system knows where it leads. */
__noinline __u32 weir_expand(struct weir_frame *f)
{
	struct dentry *link;
	struct inode *inode;
	char *target;
	__u32 len, pos;

	if (!f)
		return 1;
	link = as_dentry(f->child);
	inode = BPF_CORE_READ(link, d_inode);
	target = BPF_CORE_READ(inode, i_link);
	len = BPF_CORE_READ(inode, i_size);
	pos = f->pos;
	f->links++;
	if (!target || len == 0 || len >= WEIR_TEXT_SLACK || len > pos || f->links > LINKS_MAX)
		return 1;
	pos = (pos - len) & (WEIR_TEXT_SIZE - 1);
	if (bpf_probe_read_kernel(&f->text[pos], len & (WEIR_TEXT_SLACK - 1), target))
		return 1;
	f->pos = pos;
	if (f->text[pos] == '/') {
		f->at = f->root;
		f->mount = f->root_mount;
	}
	return 0;
}

static __always_inline bool is_link(__u64 dentry)
{
	struct dentry *d = as_dentry(dentry);
	struct inode *inode = BPF_CORE_READ(d, d_inode);

	return (BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFLNK;
}

/* "." and "..", as numbers. */
#define DOT 0x2eull
#define DOTS 0x2e2eull

/* The way ends at the directory f->at itself. */
static __always_inline long end_at(struct weir_frame *f)
{
	f->spot.len = 0;
	f->spot.dir = 0;
	f->spot.dentry = f->at;
	return 1;
}

/* The way ends at a name in f->at. */
static __always_inline long end_name(struct weir_frame *f, __u64 dentry, __u32 unknown)
{
	f->spot.dir = f->at;
	f->spot.dentry = dentry;
	f->spot.unknown = unknown;
	return 1;
}

/* One whole component, in f->spot. Returns 1 when the way ends. */
__noinline __u32 weir_component(struct weir_frame *f, __u32 last)
{
	__u32 len;

	if (!f)
		return 1;
	len = f->spot.len;
	if (len == 1 && f->spot.name[0] == DOT)
		return last ? end_at(f) : 0;
	if (len == 2 && f->spot.name[0] == DOTS) {
		weir_go_up(f);
		return last ? end_at(f) : 0;
	}
	weir_find_child(f);
	if (f->child && (!last || f->follow) && is_link(f->child))
		return weir_expand(f) ? end_name(f, 0, 1) : 0;
	if (last && (!f->follow || !f->child))
		return end_name(f, f->child, 0);
	if (!f->child)
		return end_name(f, 0, 1);
	f->spot.dir = f->at;
	f->at = f->child;
	weir_cross(f);
	if (!last)
		return 0;
	if (f->at != f->child)
		return end_at(f);
	f->spot.dentry = f->child;
	return 1;
}

static __always_inline void clear_name(struct weir_frame *f)
{
	f->spot.len = 0;
	__builtin_memset(f->spot.name, 0, sizeof(f->spot.name));
}

static long text_step(__u32 i, void *arg)
{
	struct looker *l = arg;
	struct weir_frame *f = l->f;
	__u32 pos, len;
	char byte, next;

	if (!f)
		return 1;
	pos = f->pos & (WEIR_TEXT_SIZE - 1);
	byte = f->text[pos];
	len = f->spot.len;
	if (byte && byte != '/') {
		if (len >= WEIR_NAME_MAX - 1)
			return end_name(f, 0, 1);
		((char *)f->spot.name)[len & (WEIR_NAME_MAX - 1)] = byte;
		f->spot.len = len + 1;
		f->pos = pos + 1;
		return 0;
	}
	next = byte ? f->text[pos + 1] : 0;
	if (len == 0 && !byte)
		return end_at(f);
	if (len == 0 || (byte && (next == '/' || !next))) {
		/* slashes in a row, or at the end */
		f->pos = pos + 1;
		return 0;
	}
	if (weir_component(f, !byte))
		return 1;
	clear_name(f);
	return 0;
}

static __always_inline void begin_at(struct weir_frame *f, struct vfsmount *mnt, struct dentry *d)
{
	f->at = (__u64)d;
	f->mount = (__u64)mnt - bpf_core_field_offset(struct mount, mnt);
}

static __always_inline void begin(struct weir_frame *f)
{
	struct task_struct *task = bpf_get_current_task_btf();

	begin_at(f, BPF_CORE_READ(task, fs, root.mnt), BPF_CORE_READ(task, fs, root.dentry));
	f->root = f->at;
	f->root_mount = f->mount;
	f->pos = WEIR_TEXT_START;
	f->links = 0;
	f->spot.dir = f->spot.dentry = 0;
	f->spot.unknown = 0;
	clear_name(f);
}

static __always_inline void walk_text(struct weir_frame *f)
{
	struct looker l = { .f = f };

	/* two of 4095 bytes, and what links bring along */
	if (bpf_loop(4 * WEIR_TEXT_SIZE, text_step, &l, 0) == 4 * WEIR_TEXT_SIZE)
		end_name(f, 0, 1);
}

static __always_inline void begin_in_cwd(struct weir_frame *f)
{
	struct task_struct *task = bpf_get_current_task_btf();

	begin_at(f, BPF_CORE_READ(task, fs, pwd.mnt), BPF_CORE_READ(task, fs, pwd.dentry));
}

/* The directory of argument dir. Returns 1 if there is none. */
static __always_inline __u32 begin_in(struct weir_frame *f, __u32 dir)
{
	__s32 fd = dir ? (__s32)weir_arg(f, dir) : AT_FDCWD;
	struct file *file;

	if (fd == AT_FDCWD) {
		begin_in_cwd(f);
		return 0;
	}
	file = weir_file_of(fd);
	if (!file)
		return 1;
	begin_at(f, BPF_CORE_READ(file, f_path.mnt), BPF_CORE_READ(file, f_path.dentry));
	return 0;
}

__noinline __u32 weir_resolve(struct weir_frame *f, __u32 dir, __u32 path)
{
	const char *from;
	long len = 1;

	if (!f)
		return 0;
	begin(f);
	from = (const char *)weir_arg(f, path);
	if (from)
		len = bpf_probe_read_user_str(&f->text[WEIR_TEXT_START], 4096, from);
	if (len < 1 || len >= 4096) {
		end_name(f, 0, 1);
		return 0;
	}
	if (f->text[WEIR_TEXT_START] != '/' || len == 1) {
		if (begin_in(f, dir)) {
			end_name(f, 0, 1);
			return 0;
		}
	}
	if (len == 1) {
		end_at(f);
		return 1;
	}
	walk_text(f);
	return 0;
}

__noinline __u32 weir_resolve_kernel(struct weir_frame *f, __u64 text)
{
	long len;

	if (!f)
		return 0;
	begin(f);
	f->follow = 1;
	len = bpf_probe_read_kernel_str(&f->text[WEIR_TEXT_START], 4096, (const char *)text);
	if (len <= 1 || len >= 4096) {
		end_name(f, 0, 1);
		return 0;
	}
	if (f->text[WEIR_TEXT_START] != '/')
		begin_in_cwd(f);
	walk_text(f);
	return 0;
}

#define FAKE(f, field) \
	((void *)((char *)(f)->spot.fake + bpf_core_field_offset(struct dentry, field)))

__noinline __u32 weir_fake(struct weir_frame *f)
{
	struct dentry *dir;
	__u64 at;

	if (!f)
		return 1;
	at = f->spot.dir ? f->spot.dir : f->root;
	dir = as_dentry(at);
	if (bpf_core_type_size(struct dentry) > WEIR_FAKE_SIZE)
		return 1;
	*(__u64 *)FAKE(f, d_parent) = at;
	*(__u64 *)FAKE(f, d_sb) = (__u64)BPF_CORE_READ(dir, d_sb);
	*(__u64 *)FAKE(f, d_name.name) = (__u64)f->spot.name;
	*(__u32 *)FAKE(f, d_name.len) = f->spot.len;
	if (bpf_core_field_exists(((struct dentry___weir *)0)->d_shortname))
		*(char *)((char *)f->spot.fake +
			  bpf_core_field_offset(struct dentry___weir, d_shortname)) =
			(char)f->spot.name[0];
	else
		*(char *)((char *)f->spot.fake +
			  bpf_core_field_offset(struct dentry___weir, d_iname)) =
			(char)f->spot.name[0];
	return 0;
}

SEC("syscall")
int weir_sys_sample(struct weir_sample *ctx)
{
	struct file *file = weir_file_of(ctx->fd);
	char name[sizeof(ctx->name)] = {};
	struct dentry *d;

	ctx->ret_err = -1;
	if (!file)
		return 0;
	d = BPF_CORE_READ(file, f_path.dentry);
	ctx->hash = BPF_CORE_READ(d, d_name.hash);
	ctx->len = BPF_CORE_READ(d, d_name.len);
	ctx->parent = (__u64)BPF_CORE_READ(d, d_parent);
	ctx->link = (__u64)BPF_CORE_READ(d, d_hash.pprev);
	if (ctx->len >= sizeof(name) ||
	    bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(d, d_name.name)) < 0)
		return 0;
	__builtin_memcpy(ctx->name, name, sizeof(name));
	ctx->ret_err = 0;
	return 0;
}
