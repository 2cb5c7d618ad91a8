/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Source "syscall": what a program knows of the call that has just ended, and where its names
 * led. Each processor has one frame. Programs at the end of a call run with preemption off; where
 * a kernel does that differently, the second user finds the frame taken, and the run is told.
 */
#ifndef WEIR_LIB_FRAME_H
#define WEIR_LIB_FRAME_H

#include "bpf/abi/syscalls.h"
#include "bpf/lib/decide.bpf.h"

#define AT_FDCWD (-100)
#define AT_SYMLINK_NOFOLLOW 0x100
#define AT_REMOVEDIR 0x200
#define AT_SYMLINK_FOLLOW 0x400

/* Text of a path; begins in the middle, because the targets of links are put in front of it. */
#define WEIR_TEXT_START 4096
#define WEIR_TEXT_SIZE 8192
#define WEIR_TEXT_SLACK 4096

/* Bytes for what looks like a struct dentry; it has 192. */
#define WEIR_FAKE_SIZE 512

/* Where a path led. */
struct weir_spot {
	__u64 dir;     /* dentry of the directory that holds the name; 0: none, see dentry */
	__u64 dentry;  /* the object, 0: there is none */
	__u32 len;     /* of the name, 0: the path ended in no name ("/", "..") */
	__u32 unknown; /* it could not be followed to the end: the name is where that was */
	__u64 name[WEIR_NAME_MAX / 8];
	__u64 fake[WEIR_FAKE_SIZE / 8]; /* a dentry for a name that is not there */
};

struct weir_frame {
	__u32 busy;
	__u32 follow; /* a link as the last component */
	__u64 args[5];
	__s64 ret;
	struct weir_call call;
	/* The way: a byte of the text at a time. */
	__u64 root_mount, root;
	__u64 mount, at;
	__u64 child;
	__u32 pos;
	__u32 links;
	__u64 other[WEIR_NAME_MAX / 8]; /* name of somebody that is compared */
	struct weir_spot spot;
	struct weir_spot first; /* of a call with two */
	char text[WEIR_TEXT_SIZE + WEIR_TEXT_SLACK];
};

struct weir_frames_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct weir_frame);
};
WEIR_MAP(weir_frames_map, weir_frames);

/* By number of the call. */
struct weir_calls_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WEIR_CALLS_MAX);
	__type(key, __u32);
	__type(value, struct weir_call);
};
WEIR_MAP(weir_calls_map, weir_calls);

struct weir_dcache_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct weir_dcache);
};
WEIR_MAP(weir_dcache_map, weir_dcache);

/* By enum weir_handler. */
struct weir_handlers_map {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u32);
};
WEIR_MAP(weir_handlers_map, weir_handlers);
_Static_assert(WEIR_HANDLER_COUNT <= 16, "all handlers have a place");

#if defined(__TARGET_ARCH_x86)
#define WEIR_CALL_NUMBER(regs) BPF_CORE_READ(regs, orig_ax)
#else
#define WEIR_CALL_NUMBER(regs) ((__u64)BPF_CORE_READ(regs, syscallno))
#endif

/* The object behind a descriptor of the current task, or 0. */
static __always_inline struct file *weir_file_of(__u32 fd)
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

/* The current task's entry, if it is a member's. Nothing refuses a member that came without one, so
 * an entry must also be of this very task, and not of one that had its address before. */
static __always_inline struct weir_task *weir_sys_member(void)
{
	struct weir_task *member = weir_member();
	struct task_struct *task;

	if (!member)
		return 0;
	task = bpf_get_current_task_btf();
	return member->start_ns == task->start_boottime ? member : 0;
}

/* What the current call did can't be known. */
static __always_inline void weir_unknown(__u32 trouble)
{
	struct weir_task *member = weir_member();
	struct weir_run *run = member ? weir_run_of(member->slot) : 0;

	if (run)
		__sync_fetch_and_or(&run->trouble, trouble);
}

/* Takes the frame. Returns NULL if there is none or it is no member's call. */
static __always_inline struct weir_frame *weir_frame_take(struct pt_regs *regs, long ret)
{
	__u32 zero = 0, nr = WEIR_CALL_NUMBER(regs);
	struct weir_frame *f = bpf_map_lookup_elem(&weir_frames, &zero);
	struct weir_call *call = bpf_map_lookup_elem(&weir_calls, &nr);

	if (!f || !call || __sync_val_compare_and_swap(&f->busy, 0, 1) != 0) {
		weir_unknown(WEIR_TROUBLE_SCRATCH);
		return 0;
	}
	f->call = *call;
	f->ret = ret;
	f->args[0] = PT_REGS_PARM1_CORE_SYSCALL(regs);
	f->args[1] = PT_REGS_PARM2_CORE_SYSCALL(regs);
	f->args[2] = PT_REGS_PARM3_CORE_SYSCALL(regs);
	f->args[3] = PT_REGS_PARM4_CORE_SYSCALL(regs);
	f->args[4] = PT_REGS_PARM5_CORE_SYSCALL(regs);
	return f;
}

static __always_inline void weir_frame_give(struct weir_frame *f)
{
	__sync_val_compare_and_swap(&f->busy, 1, 0);
}

/* An argument by its number from 1; 0 for none. */
static __always_inline __u64 weir_arg(struct weir_frame *f, __u32 number)
{
	__u64 index = number - 1;

	asm volatile("" : "+r"(index));
	return index < 5 ? f->args[index] : 0;
}

/* The object at a spot; if there is none, a dentry that stands for its name. */
static __always_inline struct dentry *weir_dentry_at(struct weir_spot *spot)
{
	__u64 at = spot->dentry ? spot->dentry : (__u64)spot->fake;

	asm volatile("" : "+r"(at));
	return WEIR_PLAIN(dentry, (void *)at);
}

/* Tells that it is not known where the path led. */
static __always_inline void weir_note_unknown(struct weir_ask *ask, struct weir_spot *spot)
{
	if (!spot->unknown)
		return;
	ask->work->note.flags |= WEIR_EV_UNRESOLVED;
	__sync_fetch_and_or(&ask->run->trouble, WEIR_TROUBLE_UNKNOWN);
}

/* Follows the path of argument path, from the directory of argument dir, to f->spot.
 * Returns 0, or 1 if the object is the descriptor's own. */
__u32 weir_resolve(struct weir_frame *f, __u32 dir, __u32 path);
/* The same for a path of the kernel's own, from the current directory. */
__u32 weir_resolve_kernel(struct weir_frame *f, __u64 text);
/* Puts a dentry for the name in f->spot that nobody has. */
__u32 weir_fake(struct weir_frame *f);

#endif
