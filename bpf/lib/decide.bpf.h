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

#include "bpf/lib/record.bpf.h"
#include "bpf/lib/walk.bpf.h"

/* weir_work.role of whoever is no member */
#define WEIR_OUTSIDER WEIR_ROLE_NONE

/* What is known so far. Lies in a map, where the verifier does not follow its values: in the
 * entry of the member that acts (only the task itself gets there), else on a claimed desk. */
struct weir_work {
	struct weir_note note;
	struct weir_where where;
	__u32 slot;	       /* whose rules hold */
	__u32 want;	       /* rights, of the object looked at */
	__u32 mutations;       /* rights for which names matter */
	__u32 existed;	       /* a creation is taken back with this open */
	__u32 rooted;	       /* default rights apply where no rule does */
	__u32 control;	       /* WHERE_ABOVE as well if a directory or a link comes or goes */
	__u32 role;	       /* of the member that acts, or WEIR_OUTSIDER */
	__u32 bad;	       /* what the record says when a right is missing */
} __attribute__((aligned(8))); /* set to zero in words */
_Static_assert(sizeof(struct weir_work) <= 8 * WEIR_WORK_WORDS, "work fits into an entry");

struct weir_ask {
	struct weir_task *member; /* NULL: an outsider in a watched tree */
	struct weir_run *run;
	struct weir_work *work;
	struct weir_desk *desk; /* what was claimed for work, NULL for a member */
	struct weir_at at;	/* of the object looked at */
	bool deny;		/* the answer where there is nothing to decide */
};

static __always_inline bool weir_dev_watched(struct weir_host *host, __u32 dev)
{
	return host->wide || dev == host->dev[0] || dev == host->dev[1] || dev == host->dev[2] ||
	       dev == host->dev[3];
}

static __always_inline struct weir_desk *weir_desk(void)
{
	__u32 claim = weir_claim(WEIR_DESKS_MAX);
	struct weir_desk *desk = &weir_state->desks[weir_below(claim, WEIR_DESKS_MAX)];

	if (!claim)
		return 0;
	desk->claim = claim;
	return desk;
}

static __always_inline void weir_begin(struct weir_ask *ask, void *work, __u16 hook, __u16 op)
{
	/* in words, not in the halves of one that the compiler believes it can rely on */
	ask->work = __builtin_assume_aligned(work, 8);
	__builtin_memset(ask->work, 0, sizeof(*ask->work));
	ask->work->note.hook = hook;
	ask->work->note.op = op;
	ask->work->rooted = 1;
	ask->work->control = WHERE_CONTROL;
}

/* An outsider's change that can't be placed may lie in a workspace. Refused where a tree is
 * sealed, since nobody looks at that one again. */
static __always_inline bool weir_unplaced(void)
{
	struct weir_host *host = &weir_state->host;

	__sync_fetch_and_add(&host->unjudged, 1);
	return host->sealed;
}

/* An outsider's change on a device that holds a watched tree. */
static __always_inline bool weir_enter_outsider(struct weir_ask *ask, __u16 hook, __u16 op)
{
	ask->desk = weir_desk();
	if (!ask->desk) {
		ask->deny = weir_unplaced();
		return false;
	}
	weir_begin(ask, ask->desk->work, hook, op);
	ask->work->slot = WEIR_SLOT_SEAL;
	return true;
}

static __always_inline void weir_begin_member(struct weir_ask *ask, void *work, __u16 hook,
					      __u16 op)
{
	weir_begin(ask, work, hook, op);
	ask->work->slot = ask->work->note.slot = ask->member->slot;
	ask->work->note.ns_tgid = ask->member->ns_tgid;
	ask->work->role = ask->member->role;
	ask->work->mutations = WEIR_RIGHTS_MUTATE | WEIR_RIGHT_DEVICE;
}

static __always_inline bool weir_enter_member(struct weir_ask *ask, __u16 hook)
{
	__u32 slot = ask->member->slot;

	ask->run = weir_run_of(slot);
	if (!ask->run) {
		ask->deny = true;
		return false;
	}
	__sync_fetch_and_add(&weir_stat_of(ask->run, hook)->seen, 1);
	return true;
}

/* Whose operation is it? Like weir_enter, but for a member ask->work is still to begin. */
static __always_inline bool weir_who(struct weir_ask *ask, __u16 hook, __u16 op,
				     struct dentry *place)
{
	struct weir_host *host = &weir_state->host;

	__builtin_memset(ask, 0, sizeof(*ask));
	if (host->runs == 0)
		return false;
	ask->member = weir_member();
	if (!ask->member) {
		if (!place || !host->watched || !weir_dev_watched(host, place->d_sb->s_dev))
			return false;
		return weir_enter_outsider(ask, hook, op);
	}
	return weir_enter_member(ask, hook);
}

/*
 * Begins a decision. Returns false when the operation is nobody's business; the answer is
 * then ask->deny. place: where a change by an outsider would be a foreign write, NULL: not
 * a change.
 */
static __always_inline bool weir_enter(struct weir_ask *ask, __u16 hook, __u16 op,
				       struct dentry *place)
{
	if (!weir_who(ask, hook, op, place))
		return false;
	if (ask->member)
		weir_begin_member(ask, ask->member->work, hook, op);
	return true;
}

/* May the operation be somebody's business? Quick, and certain only when it says no. */
static __always_inline bool weir_concerns(struct dentry *place)
{
	struct weir_host *host = &weir_state->host;

	if (host->runs == 0)
		return false;
	return weir_is_crowded(bpf_get_current_task()) ||
	       (host->watched && weir_dev_watched(host, place->d_sb->s_dev));
}

/* The same for hooks that can be called from an interrupt: the member may be in the middle of
 * another decision. kind: of the finding that it is where one of the powers is missing. */
static __always_inline bool weir_enter_aside(struct weir_ask *ask, __u16 hook, __u16 op, __u16 kind,
					     __u64 powers)
{
	__builtin_memset(ask, 0, sizeof(*ask));
	if (weir_state->host.runs == 0)
		return false;
	ask->member = weir_member();
	if (!ask->member || !weir_enter_member(ask, hook))
		return false;
	/* a canary is refused whatever members may do */
	if (!(powers & ~ask->run->powers) && ask->member->role != WEIR_ROLE_CANARY)
		kind = WEIR_KIND_NONE;
	ask->desk = weir_desk();
	if (!ask->desk) {
		if (kind != WEIR_KIND_NONE && ask->member->role != WEIR_ROLE_CANARY)
			__sync_fetch_and_add(&ask->run->latch[kind & 31], 1);
		ask->deny = weir_lost(ask->run, hook, WEIR_TROUBLE_SCRATCH);
		return false;
	}
	weir_begin_member(ask, ask->desk->work, hook, op);
	ask->work->note.kind = kind;
	if (kind != WEIR_KIND_NONE)
		ask->work->note.flags |= WEIR_EV_BAD_FIRST;
	return true;
}

static __always_inline void weir_end(struct weir_ask *ask)
{
	if (ask->desk)
		weir_unclaim(ask->desk->claim);
}

/* Ends a decision that needs no record. Always allows. */
static __always_inline int weir_pass(struct weir_ask *ask, __u16 hook)
{
	if (ask->member)
		__sync_fetch_and_add(&weir_stat_of(ask->run, hook)->aggregated, 1);
	weir_end(ask);
	return 0;
}

/* A file system whose files are the kernel's switches. */
bool weir_is_kernel_fs(__u32 magic);
/* A file of a kind of its own (pipe, socket, descriptor of the kernel's), or a device that
 * does no harm. */
bool weir_is_harmless(__u32 mode, __u32 rdev, __u32 magic);

/* Kind of finding for a missing right, from where the object lives. */
static __always_inline __u16 weir_kind_at(struct weir_where *where, __u32 magic, __u32 missing)
{
	if (where->rule.flags & WEIR_RULE_TAMPER)
		return WEIR_KIND_TAMPER;
	if (missing == WEIR_RIGHT_CONTROL)
		return WEIR_KIND_FILE_CONTROL;
	if (where->rule.flags & WEIR_RULE_SHARED)
		return WEIR_KIND_IPC;
	if (missing & WEIR_RIGHT_EXEC)
		return WEIR_KIND_EXEC_NEW_BINARY;
	if ((missing & WEIR_RIGHT_READ) && (where->rule.flags & WEIR_RULE_CREDENTIAL))
		return WEIR_KIND_CREDENTIAL_READ;
	if (magic == BPF_FS_MAGIC)
		return WEIR_KIND_TAMPER;
	if (weir_is_kernel_fs(magic))
		return WEIR_KIND_KERNEL_TUNABLE;
	return WEIR_KIND_FILE_OUTSIDE;
}

/* Default rights, for objects on file systems that were there when the run started. */
static __always_inline __u32 weir_default_rights(struct weir_work *work)
{
	struct weir_where *where = &work->where;
	struct weir_sbkey key = { .dev = where->dev, .slot = where->slot };
	struct weir_run *run = weir_run_of(work->slot);

	if (!run || !work->rooted || (where->flags & (WHERE_DISCONNECTED | WHERE_TOO_DEEP)))
		return 0;
	if (!bpf_map_lookup_elem(&weir_supers, &key))
		return 0;
	return run->rights;
}

/* Names that the run did not make give no right to change the object behind them. */
static __always_inline bool weir_foreign_links(struct weir_where *where, struct dentry *dentry)
{
	struct inode *inode = dentry->d_inode;
	struct weir_linkkey key;
	struct weir_links *links;

	if (!inode || inode->i_nlink <= 1 || (inode->i_mode & S_IFMT) == S_IFDIR ||
	    (where->flags & WHERE_OWN_RULE))
		return false;
	weir_link_key(&key, inode);
	links = bpf_map_lookup_elem(&weir_links, &key);
	return !links || links->slot != where->slot || inode->i_nlink > links->made + 1;
}

/* Rights to POSIX shared memory, semaphores and queues: with the power, those that members made
 * are theirs. */
static __always_inline __u32 weir_shared_rights(struct weir_work *work, struct dentry *dentry)
{
	struct weir_run *run = weir_run_of(work->slot);
	struct inode *inode = dentry->d_inode;
	struct weir_made made;

	if (!run || !(run->powers & WEIR_POWER(POSIX)))
		return 0;
	if (inode) {
		weir_made_file(&made, inode);
		if (!weir_made_by(&made, work->slot))
			return 0;
	}
	return WEIR_RIGHTS_MUTATE | WEIR_RIGHT_READ;
}

static __always_inline void weir_judge_member(struct weir_work *work, struct dentry *dentry)
{
	struct weir_note *note = &work->note;
	struct weir_where *where = &work->where;
	__u32 want = work->want, have, missing;

	if ((where->flags & WHERE_FOUND) && !(where->flags & WHERE_TOO_DEEP)) {
		have = where->rule.rights;
	} else {
		have = weir_default_rights(work);
		note->flags |= WEIR_EV_UNMARKED;
	}
	if (dentry->d_sb->s_magic == MQUEUE_MAGIC)
		where->rule.flags |= WEIR_RULE_SHARED;
	if (where->rule.flags & WEIR_RULE_SHARED)
		have |= weir_shared_rights(work, dentry);
	/* the canary's place is the canary's alone */
	if ((where->rule.flags & WEIR_RULE_TAMPER) && work->role != WEIR_ROLE_CANARY)
		have = 0;
	if (where->names && weir_foreign_links(where, dentry)) {
		note->flags |= WEIR_EV_HARDLINK;
		have &= ~(__u32)WEIR_RIGHTS_MUTATE;
	}
	if ((want & WEIR_RIGHT_DELETE) && (where->flags & WHERE_FIXED))
		have &= ~(__u32)WEIR_RIGHT_DELETE;
	if ((where->flags & work->control) && !(want & ~have))
		want |= WEIR_RIGHT_CONTROL;
	missing = want & ~have;
	note->want |= want;
	if (missing) {
		note->flags |= work->bad;
		if (note->kind == WEIR_KIND_NONE) {
			note->kind = weir_kind_at(where, dentry->d_sb->s_magic, missing);
			note->have = have;
			note->rule = where->rule.id;
		}
	} else if (!(note->flags & (WEIR_EV_BAD_FIRST | WEIR_EV_BAD_SECOND))) {
		note->have = have;
		note->rule = where->rule.id;
	}
}

/* An outsider's change: does it lie in a run's workspace, or in a sealed tree? Returns whether it
 * is refused for want of an answer. */
static __always_inline bool weir_judge_outsider(struct weir_work *work)
{
	struct weir_note *note = &work->note;
	struct weir_where *where = &work->where;
	struct weir_run *run;

	if (!(where->flags & WHERE_FOUND))
		return (where->flags & (WHERE_DISCONNECTED | WHERE_TOO_DEEP)) && weir_unplaced();
	run = weir_run_of(where->rule.id);
	/* a seal ends with whoever holds it */
	if (!run || (run->flags & WEIR_RUN_DEAD))
		return false;
	note->slot = where->rule.id;
	note->want |= work->want;
	note->kind = WEIR_KIND_GATE_RACE;
	note->flags |= WEIR_EV_OUTSIDER | WEIR_EV_BAD_FIRST;
	if (where->rule.flags & WEIR_RULE_SEAL)
		note->flags |= WEIR_EV_SEALED;
	return false;
}

/* Where does the object live, and has work->slot the rights work->want there? Returns whether an
 * outsider is refused for want of an answer. */
static __always_inline bool weir_judge_at(struct weir_work *work, struct dentry *dentry,
					  struct weir_at *at)
{
	weir_walk(&work->where, dentry, at, work->slot, work->want & work->mutations);
	if (work->role == WEIR_OUTSIDER)
		return weir_judge_outsider(work);
	weir_judge_member(work, dentry);
	return false;
}

/*
 * The large steps, which almost all programs take: in a program of its own kind (here), or by a
 * call. What is called is loaded once, and takes the place of a function in each program
 * (bpf/steps.bpf.c); what stands there before is in bpf/stubs.bpf.c.
 */
#ifdef WEIR_STUBS
#define WEIR_HERE false
#else
#define WEIR_HERE true
#endif
int weir_judge(struct weir_work *work, struct weir_at *at);
int weir_tell(struct weir_note *note, struct weir_objects *objects);

/* Most of what a member opens: a file to be read below the home of its run, and nothing on the way
 * that may apply but the home's own rule. Says yes where weir_judge_member would; else nothing is
 * said, and the walk goes on from where it is. Before the member's work begins. */
static __always_inline bool weir_is_home_read(struct weir_task *member, struct dentry *dentry,
					      struct weir_at *at)
{
	struct weir_work *work = __builtin_assume_aligned(member->work, 8);
	struct weir_run *run = weir_run_of(member->slot);
	struct dentry *top;

	if (!run || weir_pass_up(&work->where, dentry, at) != WEIR_BLOOM_RULE)
		return false;
	top = WEIR_PLAIN(dentry, (void *)at->from);
	return run->home == (__u64)top->d_inode && (run->home_rule.rights & WEIR_RIGHT_READ) &&
	       !(run->home_rule.flags & (WEIR_RULE_ANCESTOR | WEIR_RULE_TAMPER)) &&
	       !(run->flags & WEIR_RUN_DEAD) && member->role == WEIR_ROLE_MEMBER;
}

#ifdef WEIR_STUBS
/* A function of its own: else the verifier goes on once for each way out of the walk. */
bool weir_home_read(struct weir_task *member, struct weir_at *at);
#else
#define weir_home_read(member, at) false
#endif

static __always_inline bool weir_reads_at_home(struct weir_ask *ask, struct dentry *dentry)
{
	ask->at.dentry = (__u64)dentry;
	return WEIR_HERE ? weir_is_home_read(ask->member, dentry, &ask->at)
			 : weir_home_read(ask->member, &ask->at);
}

static __noinline int weir_tell_here(struct weir_note *note, struct weir_objects *objects)
{
	return weir_emit_op(note, objects);
}

static __always_inline void weir_look_by(struct weir_ask *ask, struct dentry *dentry, __u32 want,
					 __u32 bad, bool here)
{
	struct weir_work *work = ask->work;
	bool deny;

	if (ask->at.dentry != (__u64)dentry)
		ask->at.from = 0;
	ask->at.dentry = (__u64)dentry;
	work->want = want;
	work->bad = bad;
	/* from here on no constant, which the verifier would follow */
	asm volatile("" ::: "memory");
	deny = here ? weir_judge_at(work, dentry, &ask->at) : weir_judge(work, &ask->at) != 0;
	if (ask->member)
		return;
	if (deny)
		ask->deny = true;
	if (work->note.flags & WEIR_EV_OUTSIDER)
		ask->run = weir_run_of(work->note.slot);
}

/* Has ask the rights want on dentry? bad: what a record says when not. Names are checked for
 * members that change something. */
static __always_inline void weir_look(struct weir_ask *ask, struct dentry *dentry, __u32 want,
				      __u32 bad)
{
	weir_look_by(ask, dentry, want, bad, WEIR_HERE);
}

/* Is a member's operation with a finding of this kind (or none) to be refused? */
static __always_inline bool weir_refuses_member(struct weir_run *run, struct weir_task *member,
						__u32 kind)
{
	if (run->flags & (WEIR_RUN_DEAD | WEIR_RUN_AFTER))
		return !(run->flags & WEIR_RUN_AFTER);
	if (kind == WEIR_KIND_NONE)
		return false;
	return run->mode == WEIR_MODE_ENFORCE || member->role == WEIR_ROLE_CANARY ||
	       kind == WEIR_KIND_TAMPER || kind == WEIR_KIND_BPF;
}

/* Is the operation to be refused? */
static __always_inline bool weir_refuses(struct weir_ask *ask)
{
	__u32 kind = ask->work->note.kind;

	if (ask->work->note.flags & WEIR_EV_SEALED)
		return true;
	/* two questions: as one sum the verifier of 6.1 doesn't learn that there is a member */
	asm volatile("" ::: "memory");
	if (!ask->member)
		return false;
	return weir_refuses_member(ask->run, ask->member, kind);
}

/* An attempt that is refused without a word is on record, but no finding. */
static __always_inline void weir_latch(struct weir_run *run, struct weir_note *note)
{
	if ((note->flags & WEIR_EV_CANARY) || note->kind == WEIR_KIND_ATTEMPT)
		return;
	if (run->mode == WEIR_MODE_TRACE && note->kind != WEIR_KIND_TAMPER &&
	    note->kind != WEIR_KIND_BPF)
		return;
	note->flags |= WEIR_EV_FINDING;
	__sync_fetch_and_add(&run->latch[note->kind & 31], 1);
}

/* Refused by the kernel: does that speak against the run? If not, it is on record. */
static __always_inline void weir_weigh_attempt(struct weir_run *run, struct weir_note *note)
{
	if (!(run->attempts >> (note->kind & 31) & 1))
		note->kind = WEIR_KIND_ATTEMPT;
}

/*
 * Ends a decision: latches, and records. Returns 0 to allow, 1 to deny. The caller turns that
 * into an errno with WEIR_ANSWER, because newer verifiers want to see the constant.
 */
static __always_inline int weir_leave_by(struct weir_ask *ask, struct weir_objects *objects,
					 bool here)
{
	struct weir_note *note = &ask->work->note;
	int lost;

	if (!ask->run) {
		weir_end(ask);
		return ask->deny;
	}
	if (note->outcome != WEIR_OUTCOME_REFUSED)
		note->outcome = weir_refuses(ask) ? WEIR_OUTCOME_DENIED : WEIR_OUTCOME_PASSED;
	if (!ask->member)
		__sync_fetch_and_add(&weir_stat_of(ask->run, note->hook)->seen, 1);
	else if (ask->member->role == WEIR_ROLE_CANARY)
		note->flags |= WEIR_EV_CANARY;
	if (note->kind != WEIR_KIND_NONE)
		weir_latch(ask->run, note);
	asm volatile("" ::: "memory");
	lost = here ? weir_tell_here(note, objects) : weir_tell(note, objects);
	if (lost && ask->member && (ask->run->flags & WEIR_RUN_LOSSLESS))
		note->outcome = WEIR_OUTCOME_DENIED;
	ask->deny = note->outcome == WEIR_OUTCOME_DENIED;
	weir_end(ask);
	return ask->deny;
}

static __always_inline int weir_leave(struct weir_ask *ask, struct weir_objects *objects)
{
	return weir_leave_by(ask, objects, WEIR_HERE);
}

/* A plain operation on one object. */
struct weir_plain_op {
	__u16 hook;
	__u16 op;
	__u32 want;
	__u32 aux;
	__u32 control; /* see struct weir_work */
};

int weir_do(struct weir_plain_op *p, struct weir_at *at);

/* All of it: one decision, one record. */
static __always_inline int weir_do_here(const struct weir_plain_op *p, struct dentry *dentry)
{
	struct weir_objects objects = { .first = dentry };
	struct weir_ask ask;

	if (!weir_enter(&ask, p->hook, p->op, dentry))
		return ask.deny;
	if (ask.member && weir_is_overlay_layer(ask.run))
		return weir_pass(&ask, p->hook);
	ask.work->note.aux = p->aux;
	ask.work->control = p->control;
	weir_look_by(&ask, dentry, p->want, WEIR_EV_BAD_FIRST, true);
	return weir_leave_by(&ask, &objects, true);
}

static __always_inline int weir_one_of(__u16 hook, __u16 op, struct dentry *dentry, __u32 want,
				       __u32 aux, __u32 control)
{
	struct weir_plain_op p = { hook, op, want, aux, control };
	struct weir_at at = { .dentry = (__u64)dentry };

	if (WEIR_HERE)
		return weir_do_here(&p, dentry);
	return weir_concerns(dentry) ? weir_do(&p, &at) : 0;
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
