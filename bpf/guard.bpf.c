/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Self-protection, in every mode: members don't touch the collector, its programs, or
 * the switch that would silently turn enforcement off.
 */
#include "bpf/lib/demand.bpf.h"

/* A member acted on the guarded thing: latch, record, refuse. May run in an interrupt. */
static __always_inline int refuse_member(__u16 hook, __u16 op, __u16 kind, __u32 aux)
{
	struct weir_objects objects = {};
	struct weir_ask ask;

	if (!weir_enter_aside(&ask, hook, op, kind, WEIR_POWER_NEVER))
		return ask.deny;
	ask.work->note.aux = aux;
	return weir_leave(&ask, &objects);
}

SEC("lsm/bpf")
int BPF_PROG(weir_bpf, int cmd)
{
	WEIR_ANSWER(refuse_member(WEIR_HOOK_BPF, WEIR_OP_BPF, WEIR_KIND_BPF, cmd));
}

/* "kernel/ftrace_enabled", as the words that the name's bytes make. */
#define FTRACE_WORD_0 0x662f6c656e72656bull
#define FTRACE_WORD_1 0x6e655f6563617274ull
#define FTRACE_WORD_2 0x00000064656c6261ull

/* kernel.ftrace_enabled=0 silently switches off all programs above, for everybody who
 * may write it; refused while a run is active. Returns 1 to allow, 0 to refuse. */
SEC("cgroup/sysctl")
int weir_sysctl(struct bpf_sysctl *ctx)
{
	__u64 name[4] = {};

	if (!ctx->write || weir_state->host.runs == 0)
		return 1;
	if (bpf_sysctl_get_name(ctx, (char *)name, sizeof(name), 0) <= 0)
		return 1;
	if (name[0] == FTRACE_WORD_0 && name[1] == FTRACE_WORD_1 && name[2] == FTRACE_WORD_2)
		return 0;
	return 1;
}
