/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What stands where bpf/steps.bpf.c takes its place. If somebody took that away, nothing can be
 * judged: members are refused, and so is whatever an outsider does in a watched tree.
 */
#include "bpf/lib/demand.bpf.h"

/* 1, which no caller may know: the compiler would believe that nothing else is ever returned. */
static __always_inline int refused(void)
{
	int ret = 1;

	asm volatile("" : "+r"(ret));
	return ret;
}

__noinline int weir_judge(struct weir_work *work, struct weir_at *at)
{
	if (!work || !at)
		return refused();
	if (work->role == WEIR_OUTSIDER) {
		weir_unplaced();
		return refused();
	}
	work->note.flags |= work->bad;
	work->note.kind = WEIR_KIND_TAMPER;
	return refused();
}

__noinline int weir_tell(struct weir_note *note, struct weir_objects *objects)
{
	struct weir_run *run = note ? weir_run_of(note->slot) : 0;

	if (!run || !objects)
		return refused();
	weir_lost(run, note->hook, WEIR_TROUBLE_RING);
	return refused();
}

static __always_inline void lose(struct weir_run *run, __u16 hook)
{
	__sync_fetch_and_add(&weir_stat_of(run, hook)->seen, 1);
	weir_lost(run, hook, WEIR_TROUBLE_RING);
}

__noinline int weir_do(struct weir_plain_op *p, struct weir_at *at)
{
	struct weir_task *member = weir_member();
	struct weir_run *run = member ? weir_run_of(member->slot) : 0;

	if (!run || !p || !at)
		weir_unplaced();
	else
		lose(run, p->hook);
	return refused();
}

/* Nobody calls it but for a member. */
__noinline int weir_need(struct weir_demand *d)
{
	struct weir_task *member = weir_member();
	struct weir_run *run = member ? weir_run_of(member->slot) : 0;

	if (run && d)
		lose(run, d->hook);
	return refused();
}
