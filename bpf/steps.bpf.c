/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The large steps of almost every program, as programs of their own: the kernel verifies them
 * once, and lets them take the place of the stub of that name in each program
 * (BPF_PROG_TYPE_EXT). They see plain memory only: kernel objects come as numbers.
 */
#include "bpf/lib/demand.bpf.h"

SEC("freplace/weir_judge")
int weir_judge_step(struct weir_work *work, struct weir_at *at)
{
	if (!work || !at)
		return 1;
	return weir_judge_at(work, WEIR_PLAIN(dentry, (void *)at->dentry), at);
}

SEC("freplace/weir_tell")
int weir_tell_step(struct weir_note *note, struct weir_objects *objects)
{
	if (!note || !objects)
		return 1;
	return weir_tell_here(note, objects);
}

SEC("freplace/weir_do")
int weir_do_step(struct weir_plain_op *p, struct weir_at *at)
{
	if (!p || !at)
		return 1;
	return weir_do_here(p, WEIR_PLAIN(dentry, (void *)at->dentry));
}

SEC("freplace/weir_need")
int weir_need_step(struct weir_demand *d)
{
	if (!d)
		return 1;
	return weir_need_here(d);
}
