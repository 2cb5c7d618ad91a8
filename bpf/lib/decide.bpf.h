/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one place that decides. A program calls
 *
 *	enter -> look (once or twice) -> leave
 *
 * enter: is this a member's operation, or an outsider's in a watched tree?
 * look:  which rights does the object have, which are missing?
 * leave: latch the finding, then write the record, then say yes or no.
 *
 * The latch comes before the record, so that no loss can lose a violation; every
 * error leaves a mark in the run that makes it indeterminate.
 */
#ifndef WEIR_LIB_DECIDE_H
#define WEIR_LIB_DECIDE_H

#include "bpf/lib/emit.bpf.h"
#include "bpf/lib/walk.bpf.h"

struct weir_ask {
	struct weir_task *member; /* NULL: an outsider in a watched tree */
	struct weir_run *run;
	struct weir_note note;
	bool rooted;   /* default rights apply where no rule does */
	__u32 control; /* WHERE_ABOVE as well if a directory or a link comes or goes */
};

/*
 * Begins a decision. Returns false when the operation is nobody's business: an outsider
 * while nothing is watched, or an overlay at work below a decision made already.
 */
static __always_inline bool weir_enter(struct weir_ask *ask, __u16 hook, __u16 op)
{
	struct weir_host *host = weir_host_state();

	__builtin_memset(ask, 0, sizeof(*ask));
	if (!host || host->runs == 0)
		return false;
	ask->member = weir_member();
	ask->note.hook = hook;
	ask->note.op = op;
	ask->rooted = true;
	ask->control = WHERE_CONTROL;
	if (!ask->member)
		return host->watched != 0;
	ask->note.slot = ask->member->slot;
	ask->run = weir_run_of(ask->note.slot);
	if (ask->run)
		__sync_fetch_and_add(&weir_stat_of(ask->run, hook)->seen, 1);
	return true;
}

/* Ends a decision that needs no record. Always allows. */
static __always_inline int weir_pass(struct weir_ask *ask)
{
	if (ask->run)
		__sync_fetch_and_add(&weir_stat_of(ask->run, ask->note.hook)->aggregated, 1);
	return 0;
}

static __always_inline bool weir_dev_watched(__u32 dev)
{
	struct weir_host *host = weir_host_state();

	if (!host || host->wide)
		return true;
	return dev == host->dev[0] || dev == host->dev[1] || dev == host->dev[2] ||
	       dev == host->dev[3];
}

/* Kind of finding for a missing right, from where the object lives. */
static __always_inline __u16 weir_kind_at(struct weir_where *where, __u32 magic, __u32 missing)
{
	if (where->rule.flags & WEIR_RULE_TAMPER)
		return WEIR_KIND_TAMPER;
	if (missing == WEIR_RIGHT_CONTROL)
		return WEIR_KIND_FILE_CONTROL;
	if (missing & WEIR_RIGHT_EXEC)
		return WEIR_KIND_EXEC_NEW_BINARY;
	if ((missing & WEIR_RIGHT_READ) && (where->rule.flags & WEIR_RULE_CREDENTIAL))
		return WEIR_KIND_CREDENTIAL_READ;
	switch (magic) {
	case PROC_MAGIC:
	case SYSFS_MAGIC:
	case CGROUP_MAGIC:
	case CGROUP2_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
	case SECURITYFS_MAGIC:
	case BINFMTFS_MAGIC:
	case CONFIGFS_MAGIC:
		return WEIR_KIND_KERNEL_TUNABLE;
	case BPF_FS_MAGIC:
		return WEIR_KIND_TAMPER;
	}
	return WEIR_KIND_FILE_OUTSIDE;
}

/* Default rights, for objects on file systems that were there when the run started. */
static __always_inline __u32 weir_default_rights(struct weir_ask *ask, struct weir_where *where,
						 __u32 dev)
{
	struct weir_sbkey key = { .dev = dev, .slot = ask->note.slot };

	if (!ask->run || !ask->rooted || (where->flags & (WHERE_DISCONNECTED | WHERE_TOO_DEEP)))
		return 0;
	if (!bpf_map_lookup_elem(&weir_supers, &key))
		return 0;
	return ask->run->rights;
}

/* Names that the run did not make give no right to change the object behind them. */
static __always_inline bool weir_foreign_links(struct weir_ask *ask, struct weir_where *where,
					       struct dentry *dentry)
{
	struct inode *inode = dentry->d_inode;
	struct weir_linkkey key;
	struct weir_links *links;

	if (!inode || inode->i_nlink <= 1 || (inode->i_mode & S_IFMT) == S_IFDIR ||
	    (where->flags & WHERE_OWN_RULE))
		return false;
	weir_link_key(&key, inode);
	links = bpf_map_lookup_elem(&weir_links, &key);
	return !links || links->slot != ask->note.slot || inode->i_nlink > links->made + 1;
}

static __always_inline void weir_look_member(struct weir_ask *ask, struct dentry *dentry,
					     __u32 want, __u32 bad)
{
	struct super_block *sb = dentry->d_sb;
	bool mutate = want & (WEIR_RIGHTS_MUTATE | WEIR_RIGHT_DEVICE);
	struct weir_where where;
	__u32 have, missing;

	weir_walk(&where, dentry, ask->note.slot, mutate);
	have = where.flags & WHERE_FOUND ? where.rule.rights
					 : weir_default_rights(ask, &where, sb->s_dev);
	/* the canary's place is the canary's alone */
	if ((where.rule.flags & WEIR_RULE_TAMPER) && ask->member->role != WEIR_ROLE_CANARY)
		have = 0;
	if (!(where.flags & WHERE_FOUND))
		ask->note.flags |= WEIR_EV_UNMARKED;
	if (mutate && weir_foreign_links(ask, &where, dentry)) {
		ask->note.flags |= WEIR_EV_HARDLINK;
		have &= ~(__u32)WEIR_RIGHTS_MUTATE;
	}
	if ((want & WEIR_RIGHT_DELETE) && (where.flags & WHERE_FIXED))
		have &= ~(__u32)WEIR_RIGHT_DELETE;
	if (mutate && (where.flags & ask->control) && !(want & ~have))
		want |= WEIR_RIGHT_CONTROL;
	missing = want & ~have;
	ask->note.want |= want;
	if (missing) {
		ask->note.flags |= bad;
		if (ask->note.kind == WEIR_KIND_NONE) {
			ask->note.kind = weir_kind_at(&where, sb->s_magic, missing);
			ask->note.have = have;
			ask->note.rule = where.rule.id;
		}
	} else if (!(ask->note.flags & (WEIR_EV_BAD_FIRST | WEIR_EV_BAD_SECOND))) {
		ask->note.have = have;
		ask->note.rule = where.rule.id;
	}
}

/* An outsider's change: does it lie in a run's workspace, or in a sealed tree? */
static __always_inline void weir_look_outsider(struct weir_ask *ask, struct dentry *dentry,
					       __u32 want)
{
	struct super_block *sb = dentry->d_sb;
	struct weir_where where;

	if (!(want & WEIR_RIGHTS_MUTATE) || !weir_dev_watched(sb->s_dev))
		return;
	weir_walk(&where, dentry, WEIR_SLOT_SEAL, false);
	if (!(where.flags & WHERE_FOUND))
		return;
	ask->run = weir_run_of(where.rule.id);
	/* a seal ends with whoever holds it */
	if (ask->run && (ask->run->flags & WEIR_RUN_DEAD)) {
		ask->run = 0;
		return;
	}
	ask->note.slot = where.rule.id;
	ask->note.want |= want;
	ask->note.kind = WEIR_KIND_GATE_RACE;
	ask->note.flags |= WEIR_EV_OUTSIDER | WEIR_EV_BAD_FIRST;
	if (where.rule.flags & WEIR_RULE_SEAL)
		ask->note.flags |= WEIR_EV_SEALED;
}

static __always_inline void weir_look(struct weir_ask *ask, struct dentry *dentry, __u32 want,
				      __u32 bad)
{
	if (ask->member)
		weir_look_member(ask, dentry, want, bad);
	else
		weir_look_outsider(ask, dentry, want);
}

/* Is the operation to be refused? Every error counts as yes in enforce mode. */
static __always_inline bool weir_refuses(struct weir_ask *ask)
{
	if (ask->note.flags & WEIR_EV_SEALED)
		return true;
	if (!ask->member)
		return false;
	if (!ask->run || (ask->run->flags & WEIR_RUN_DEAD))
		return true;
	if (ask->note.kind == WEIR_KIND_NONE)
		return false;
	return ask->run->mode == WEIR_MODE_ENFORCE || ask->member->role == WEIR_ROLE_CANARY ||
	       ask->note.kind == WEIR_KIND_TAMPER || ask->note.kind == WEIR_KIND_BPF;
}

static __always_inline void weir_latch(struct weir_ask *ask)
{
	if (ask->note.flags & WEIR_EV_CANARY)
		return;
	if (ask->run->mode == WEIR_MODE_TRACE && ask->note.kind != WEIR_KIND_TAMPER &&
	    ask->note.kind != WEIR_KIND_BPF)
		return;
	ask->note.flags |= WEIR_EV_FINDING;
	__sync_fetch_and_add(&ask->run->latch[ask->note.kind & 31], 1);
}

/*
 * Latches and records. Returns 0 to allow, 1 to deny. The caller turns that into an
 * errno with WEIR_ANSWER, because newer verifiers want to see the constant.
 */
static __always_inline int weir_leave(struct weir_ask *ask)
{
	bool refuse;
	int lost;

	if (!ask->member) {
		if (ask->note.kind == WEIR_KIND_NONE)
			return 0;
		if (ask->run)
			__sync_fetch_and_add(&weir_stat_of(ask->run, ask->note.hook)->seen, 1);
	}
	refuse = weir_refuses(ask);
	if (!ask->run)
		return refuse;
	if (ask->member && ask->member->role == WEIR_ROLE_CANARY)
		ask->note.flags |= WEIR_EV_CANARY;
	if (ask->note.kind != WEIR_KIND_NONE)
		weir_latch(ask);
	ask->note.outcome = refuse ? WEIR_OUTCOME_DENIED : WEIR_OUTCOME_PASSED;
	lost = weir_emit_op(&ask->note);
	if (lost && ask->member && (ask->run->flags & WEIR_RUN_LOSSLESS))
		return 1;
	return refuse;
}

/* One record for a plain operation on one object. control: see struct weir_ask. */
static __always_inline int weir_one_of(__u16 hook, __u16 op, struct dentry *dentry, __u32 want,
				       __u32 aux, __u32 control)
{
	struct weir_ask ask;

	if (!weir_enter(&ask, hook, op))
		return 0;
	if (ask.member && weir_is_overlay_layer())
		return weir_pass(&ask);
	ask.note.first = (__u64)dentry;
	ask.note.aux = aux;
	ask.control = control;
	weir_look(&ask, dentry, want, WEIR_EV_BAD_FIRST);
	return weir_leave(&ask);
}

static __always_inline int weir_one(__u16 hook, __u16 op, struct dentry *dentry, __u32 want,
				    __u32 aux)
{
	return weir_one_of(hook, op, dentry, want, aux, WHERE_CONTROL);
}

/* The barrier keeps the two constants apart: 6.12 refuses their arithmetic form. */
#define WEIR_ANSWER(deny) \
	do { \
		if (!(deny)) \
			return 0; \
		asm volatile("" ::: "memory"); \
		return -EPERM; \
	} while (0)

#endif
