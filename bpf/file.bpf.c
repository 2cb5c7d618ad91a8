/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Content: opens, received descriptors, truncation. There is no hook for each write:
 * every writable descriptor of a member passed here once.
 */
#include "bpf/lib/reach.bpf.h"
#include "bpf/lib/spec.bpf.h"

/* The task that an entry below /proc/PID belongs to, 0 if none. */
static __always_inline __u64 task_of_proc(struct inode *inode)
{
	struct proc_inode *proc = container_of(inode, struct proc_inode, vfs_inode);
	struct pid *pid = BPF_CORE_READ(proc, pid);
	struct hlist_node *node;

	if (!pid)
		return 0;
	node = BPF_CORE_READ(pid, tasks[PIDTYPE_PID].first);
	if (!node)
		return 0;
	return (__u64)node - bpf_core_field_offset(struct task_struct, pid_links[PIDTYPE_PID]);
}

/* An entry below /proc/PID of a process of the same run. */
static __always_inline bool is_own_proc(struct inode *inode, __u32 slot)
{
	__u64 task = task_of_proc(inode);
	struct weir_task *entry;

	if (!task)
		return false;
	entry = weir_entry_of(task);
	return entry && entry->slot == slot && entry->role != WEIR_ROLE_COLLECTOR;
}

/* maps, smaps, smaps_rollup, numa_maps: the first four letters as a number. */
#define NAME_MAPS 0x7370616du
#define NAME_SMAP 0x70616d73u
#define NAME_NUMA 0x616d756eu

/* Below /proc/PID: what only the owner may read (environment, auxiliary vector, page map), and
 * the maps. */
static __always_inline bool tells_of_memory(struct dentry *dentry, struct inode *inode)
{
	__u32 name = 0;

	if (inode->i_mode == (S_IFREG | 0400))
		return true;
	if (inode->i_mode != (S_IFREG | 0444) ||
	    bpf_probe_read_kernel(&name, sizeof(name), dentry->d_name.name))
		return false;
	return name == NAME_MAPS || name == NAME_SMAP || name == NAME_NUMA;
}

/* Environment or maps of a collector. 7.2 lets some capabilities read these without a question
 * to ptrace_access_check (which refuses them without a finding, as here: ps looks at everybody). */
static __always_inline bool is_collectors(struct dentry *dentry, struct inode *inode, __u32 magic)
{
	struct weir_task *entry;
	__u64 task;

	if (magic != PROC_MAGIC || !tells_of_memory(dentry, inode))
		return false;
	task = task_of_proc(inode);
	if (!task)
		return false;
	entry = weir_entry_of(task);
	return entry && entry->role == WEIR_ROLE_COLLECTOR;
}

#define NAME_MEM 0x006d656du

/* Memory, environment or maps of a process that is no member: told as such. Its memory is not,
 * which ptrace_access_check sees. */
static __always_inline bool is_outsiders(struct weir_ask *ask, struct weir_objects *objects)
{
	struct inode *inode = objects->inode;
	struct weir_task *entry;
	__u64 task;

	if (inode->i_sb->s_magic != PROC_MAGIC || !tells_of_memory(objects->first, inode))
		return false;
	task = task_of_proc(inode);
	if (!task)
		return false;
	entry = weir_entry_of(task);
	return !entry || entry->slot != ask->work->note.slot;
}

static __always_inline bool is_mem(struct dentry *dentry)
{
	__u32 name = 0;

	bpf_probe_read_kernel(&name, sizeof(name), dentry->d_name.name);
	return name == NAME_MEM;
}

/* "host", "doma", as the words that the names' bytes make. */
#define NAME_HOST 0x74736f68u
#define NAME_DOMA 0x616d6f64u
#define NAME_KERN 0x6e72656bu

/* The name of the host, in a namespace of the run's own: nobody else has it. Not where a table of
 * descriptors is shared, which may reach into another namespace. */
static __always_inline bool is_own_hostname(struct weir_ask *ask, struct dentry *dentry)
{
	struct task_struct *task = WEIR_PLAIN(task_struct, bpf_get_current_task_btf());
	struct nsproxy *ns = task->nsproxy;
	struct files_struct *files = task->files;
	__u32 name = 0, dir = 0;

	bpf_probe_read_kernel(&name, sizeof(name), dentry->d_name.name);
	if (name != NAME_HOST && name != NAME_DOMA)
		return false;
	bpf_probe_read_kernel(&dir, sizeof(dir), dentry->d_parent->d_name.name);
	return dir == NAME_KERN && ns && files && files->count.counter == 1 &&
	       (__u64)ns->uts_ns != ask->run->uts_ns;
}

/* Rights that using a file needs; 0 when no decision is to be made. */
static __always_inline __u32 rights_of_open(struct weir_ask *ask, struct weir_objects *objects,
					    __u32 magic, __u32 mode)
{
	struct inode *inode = objects->inode;
	__u32 bits = inode->i_mode, type = bits & S_IFMT;
	__u32 rdev = type == S_IFCHR ? inode->i_rdev : 0;
	__u32 flags = ask->work->note.aux, want = 0;

	/* access mode 3 gives neither, but a descriptor for ioctls */
	if ((mode & FMODE_PATH) || weir_is_harmless(bits, rdev, magic))
		return 0;
	if ((mode & FMODE_WRITE) || (flags & O_TRUNC))
		want |= WEIR_RIGHT_WRITE;
	else if (type == S_IFDIR)
		return flags & O_TMPFILE_BIT ? WEIR_RIGHT_CREATE : 0;
	if (mode & FMODE_READ)
		want |= WEIR_RIGHT_READ;
	if (magic == PROC_MAGIC &&
	    (!(want & WEIR_RIGHT_WRITE) || is_own_proc(inode, ask->work->note.slot) ||
	     is_mem(objects->first) || (ask->member && is_own_hostname(ask, objects->first))))
		return 0;
	if (type == S_IFCHR || type == S_IFBLK)
		want |= WEIR_RIGHT_DEVICE;
	if (type == S_IFIFO)
		ask->work->rooted = 0;
	return want;
}

/* objects: the file. What is known is kept in ask->work, where the verifier doesn't follow it. */
static __always_inline int judge_file(struct weir_ask *ask, struct weir_objects *objects,
				      __u32 magic, __u32 mode, __u16 hook)
{
	struct dentry *dentry = objects->first;
	struct inode *inode = objects->inode;
	struct weir_work *work = ask->work;

	work->want = weir_is_memfd(dentry) ? 0 : rights_of_open(ask, objects, magic, mode);
	asm volatile("" ::: "memory");
	if (!work->want) {
		/* a record all the same if a creation is to be taken back */
		work->note.op = WEIR_OP_NONE;
		if (ask->member && is_outsiders(ask, objects)) {
			work->note.op = WEIR_OP_READ;
			objects->powers = WEIR_POWER(MEMORY_OUTSIDERS);
			if (objects->powers & ~ask->run->powers) {
				work->note.kind = WEIR_KIND_MEMORY_ACCESS;
				work->note.flags |= WEIR_EV_BAD_FIRST;
			}
			return weir_leave(ask, objects);
		}
		return work->existed ? weir_leave(ask, objects) : weir_pass(ask, hook);
	}
	if (work->want == WEIR_RIGHT_READ && hook == WEIR_HOOK_FILE_OPEN)
		work->note.op = WEIR_OP_READ;
	if ((work->note.aux & O_TMPFILE_BIT) && (inode->i_mode & S_IFMT) != S_IFDIR) {
		work->want |= WEIR_RIGHT_CREATE;
		work->note.op = WEIR_OP_TMPFILE;
		objects->first = dentry->d_parent;
		objects->inode = 0;
	}
	weir_look(ask, dentry, work->want, WEIR_EV_BAD_FIRST);
	/* allowed reads are no mutation */
	if (ask->member && work->want == WEIR_RIGHT_READ && work->note.kind == WEIR_KIND_NONE &&
	    !work->existed && !(ask->run->flags & WEIR_RUN_DEAD))
		return weir_pass(ask, hook);
	return weir_leave(ask, objects);
}

/* Notes a member's new file in the root of a tmpfs, where POSIX objects are. */
static __always_inline void note_made(struct file *file, __u32 slot)
{
	struct inode *inode = file->f_inode;
	struct super_block *sb = inode->i_sb;
	struct weir_made made;

	if (sb->s_magic != TMPFS_MAGIC || file->f_path.dentry->d_parent != sb->s_root)
		return;
	weir_made_file(&made, inode);
	weir_remember(&made, slot);
}

/* A queue that inode_create saw this member ask for. */
static __always_inline void note_queue(struct weir_objects *objects, __u32 magic, __u32 slot)
{
	struct weir_made name = { .address = (__u64)objects->first, .number = WEIR_MADE_QUEUE };
	struct weir_made made;

	if (magic != MQUEUE_MAGIC || !weir_made_by(&name, slot))
		return;
	bpf_map_delete_elem(&weir_made, &name);
	weir_made_file(&made, objects->inode);
	weir_remember(&made, slot);
}

/* A regular file that is opened to be read, and that was there before. */
static __always_inline bool is_plain_read(struct inode *inode, __u32 mode, __u32 flags)
{
	return (mode & (FMODE_READ | FMODE_WRITE | FMODE_PATH)) == FMODE_READ &&
	       !(flags & (O_CREAT | O_TRUNC | O_TMPFILE_BIT)) &&
	       (inode->i_mode & S_IFMT) == S_IFREG;
}

/* mode, flags: of the file, as it is or was opened. */
static __always_inline int use_file_as(struct file *file, __u32 mode, __u32 flags, __u16 hook,
				       __u16 op)
{
	struct weir_objects objects = { .first = file->f_path.dentry };
	struct weir_ask ask;
	__u32 magic;

	if (!weir_who(&ask, hook, op, mode & FMODE_WRITE ? objects.first : 0))
		return ask.deny;
	objects.inode = file->f_inode;
	if (ask.member) {
		if (hook == WEIR_HOOK_FILE_OPEN && is_plain_read(objects.inode, mode, flags)) {
			ask.member->trunc_inode = 0;
			if (weir_reads_at_home(&ask, objects.first))
				return weir_pass(&ask, hook);
		}
		weir_begin_member(&ask, ask.member->work, hook, op);
	}
	magic = objects.inode->i_sb->s_magic;
	ask.work->note.aux = flags;
	if (ask.member) {
		if (weir_is_overlay_layer(ask.run))
			return weir_pass(&ask, hook);
		if (is_collectors(objects.first, objects.inode, magic)) {
			weir_pass(&ask, hook);
			return 1;
		}
		ask.member->trunc_inode = flags & O_TRUNC ? (__u64)objects.inode : 0;
		note_queue(&objects, magic, ask.member->slot);
		if (hook == WEIR_HOOK_FILE_OPEN)
			weir_settle_open(&ask, objects.first, flags);
	}
	return judge_file(&ask, &objects, magic, mode, hook);
}

/* Numbers are read through file as it came: there the processor needs no check. */
static __always_inline int use_file(struct file *file, __u16 hook, __u16 op)
{
	return use_file_as(WEIR_PLAIN(file, file), (__u32)file->f_mode, file->f_flags, hook, op);
}

SEC("lsm/file_open")
int BPF_PROG(weir_file_open, struct file *file)
{
	/* created by this very call: judged by path_mknod */
	if ((__u32)file->f_mode & FMODE_CREATED) {
		struct weir_ask ask;

		if (!weir_enter(&ask, WEIR_HOOK_FILE_OPEN, WEIR_OP_CREATE, 0))
			WEIR_ANSWER(ask.deny);
		if (ask.run->powers & WEIR_POWER(POSIX))
			note_made(WEIR_PLAIN(file, file), ask.member->slot);
		ask.member->spec_dentry = 0;
		return weir_pass(&ask, WEIR_HOOK_FILE_OPEN);
	}
	WEIR_ANSWER(use_file(file, WEIR_HOOK_FILE_OPEN, WEIR_OP_WRITE));
}

/* A ring acts for the process that made it: one from outside would act as an outsider. */
static __always_inline bool is_ring(struct file *file)
{
	struct file *plain = WEIR_PLAIN(file, file);
	char name[8] = {};

	return plain->f_inode->i_sb->s_magic == ANON_INODE_MAGIC &&
	       bpf_probe_read_kernel(name, sizeof(name), plain->f_path.dentry->d_name.name) == 0 &&
	       name[0] == '[' && name[1] == 'i' && name[2] == 'o' && name[3] == '_';
}

static __always_inline int receive_ring(struct file *file)
{
	struct file *plain = WEIR_PLAIN(file, file);
	struct weir_objects objects = { .first = plain->f_path.dentry, .inode = plain->f_inode };
	struct weir_ask ask;

	if (!weir_enter(&ask, WEIR_HOOK_FILE_RECEIVE, WEIR_OP_RECEIVE, 0))
		return ask.deny;
	ask.work->note.kind = WEIR_KIND_IPC;
	ask.work->note.flags |= WEIR_EV_BAD_FIRST;
	return weir_leave(&ask, &objects);
}

/* A socket that somebody else made may be connected to anywhere; members' own are free. */
static __always_inline int receive_socket(struct file *file)
{
	struct weir_demand d = WEIR_DEMAND(RECEIVE, WEIR_HOOK_FILE_RECEIVE, WEIR_OP_RECEIVE);
	struct weir_task *member = weir_state->host.runs ? weir_member() : 0;
	struct inode *inode = file->f_inode;
	struct weir_made made = { .address = (__u64)inode, .number = inode->i_ino };

	if (!member)
		return 0;
	if (weir_made_by(&made, member->slot))
		return weir_needless(WEIR_HOOK_FILE_RECEIVE);
	d.object = file->f_path.dentry;
	return weir_demand(&d);
}

SEC("lsm/file_receive")
int BPF_PROG(weir_file_receive, struct file *file)
{
	struct file *plain = WEIR_PLAIN(file, file);

	if (plain->f_inode->i_sb->s_magic == SOCKFS_MAGIC)
		WEIR_ANSWER(receive_socket(plain));
	if (is_ring(file))
		WEIR_ANSWER(receive_ring(file));
	WEIR_ANSWER(use_file(file, WEIR_HOOK_FILE_RECEIVE, WEIR_OP_RECEIVE));
}

/* A memfd, or an entry of a process of the run: opens of these are not judged either. */
static __always_inline bool is_own_object(struct weir_ask *ask, struct dentry *dentry,
					  struct inode *inode)
{
	if (inode->i_sb->s_magic == PROC_MAGIC)
		return is_own_proc(inode, ask->work->note.slot);
	return weir_is_memfd(dentry);
}

/* The truncation of an open with O_TRUNC is one operation with it: judged again, but not
 * told twice. */
static __always_inline int truncate_at(struct dentry *dentry, struct inode *inode, __u16 hook)
{
	struct weir_objects objects = { .first = dentry };
	struct weir_ask ask;
	bool opened = false;

	if (!weir_enter(&ask, hook, WEIR_OP_TRUNCATE, dentry))
		return ask.deny;
	if (ask.member && (weir_is_overlay_layer(ask.run) || is_own_object(&ask, dentry, inode)))
		return weir_pass(&ask, hook);
	weir_look(&ask, dentry, WEIR_RIGHT_WRITE, WEIR_EV_BAD_FIRST);
	if (ask.member) {
		opened = ask.member->trunc_inode == (__u64)inode;
		ask.member->trunc_inode = 0;
	}
	if (opened && !weir_refuses(&ask))
		return weir_pass(&ask, hook);
	return weir_leave(&ask, &objects);
}

SEC("lsm/path_truncate")
int BPF_PROG(weir_path_truncate, struct path *path)
{
	struct dentry *dentry = WEIR_PLAIN(path, path)->dentry;

	WEIR_ANSWER(truncate_at(dentry, dentry->d_inode, WEIR_HOOK_PATH_TRUNCATE));
}

SEC("lsm/file_truncate")
int BPF_PROG(weir_file_truncate, struct file *file)
{
	file = WEIR_PLAIN(file, file);
	WEIR_ANSWER(truncate_at(file->f_path.dentry, file->f_inode, WEIR_HOOK_FILE_TRUNCATE));
}
