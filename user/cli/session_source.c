/* SPDX-License-Identifier: MIT */
/* What a run wants, against what its source can keep. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>

#include "user/base/cleanup.h"
#include "user/cli/cmd.h"
#include "user/cli/session.h"

/* Powers with which a member could change what a collector sees that can't refuse anything. */
static void doubt_powers(struct session *s)
{
	static const unsigned int powers[] = { CAP_DAC_OVERRIDE, CAP_SYS_ADMIN };

	if (!s->policy)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(powers); i++)
		if (s->policy->capabilities.value >> powers[i] & 1)
			session_doubt(s,
				      "members have %s, against which source syscall can't protect "
				      "the collector",
				      policy_capability_name(powers[i]));
	if (!s->policy->no_new_privs.value)
		session_doubt(s, "members may gain privileges (no_new_privs: false), against "
				 "which source syscall can't protect the collector");
}

/* Limits that need a cgroup, where there is none. */
static int check_limits(const struct session *s, const struct kern_probe *probe, struct weir_err *e)
{
	bool stated = s->opt->memory || s->opt->processes;

	if (probe->cgroup2)
		return 0;
	if (stated)
		return err_set(e, -EOPNOTSUPP,
			       "--memory and --processes need cgroup2 at /sys/fs/cgroup: boot with "
			       "systemd.unified_cgroup_hierarchy=1, or leave them out");
	if (s->policy && (s->policy->memory_bytes.value || s->policy->processes.value) &&
	    !s->opt->quiet)
		fprintf(stderr, "weir: no cgroup2 at /sys/fs/cgroup: the policy's limits of memory "
				"and processes are not kept\n");
	return 0;
}

/* Where a program can be preempted, others slip past it: it judges, but stops nobody. */
static int check_fmod(const struct session *s, struct weir_err *e)
{
	struct kern_probe probe;

	kern_probe(&probe);
	if (s->mode != WEIR_MODE_ENFORCE || !probe.preemptible)
		return 0;
	e->exit_code = CLI_FAILED;
	return err_set(
		e, -EOPNOTSUPP,
		"cannot enforce here by fmod_ret, since the kernel is preemptible (%s): boot "
		"with preempt=none, or with bpf in lsm=, or judge only with --observe",
		*probe.preempt ? probe.preempt
			       : "unknown: mount -t debugfs debugfs "
				 "/sys/kernel/debug tells");
}

int session_source(struct session *s, struct weir_err *e)
{
	struct kern_probe probe;

	if (s->opt->source == KERN_SOURCE_FMOD_RET)
		return check_fmod(s, e);
	if (s->opt->source != KERN_SOURCE_SYSCALL)
		return 0;
	kern_probe(&probe);
	if (s->mode == WEIR_MODE_ENFORCE) {
		e->exit_code = CLI_FAILED;
		return err_set(e, -EOPNOTSUPP,
			       "cannot enforce here, where system calls can only be looked at when "
			       "they have ended (%s); judge only with --observe",
			       *probe.missing ? probe.missing : "--source syscall");
	}
	if (s->policy && s->policy->lossless.value) {
		e->exit_code = CLI_FAILED;
		return err_set(e, -EOPNOTSUPP,
			       "lossless: true can't be kept by source syscall, which refuses "
			       "nothing: set it to false");
	}
	doubt_powers(s);
	if (!s->opt->quiet)
		fprintf(stderr,
			"weir: source syscall: judging after each call; see coverage for what it "
			"can't see\n");
	return check_limits(s, &probe, e);
}
