/* SPDX-License-Identifier: MIT */
#include "writeback/audit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/glass.h"
#include "writeback/ledgerentry.h"
#include "writeback/oidset.h"
#include "writeback/verify.h"

#define NOTHING SIZE_MAX

static const char *const names[] = {
#define WEIR_X(id, name) name,
	AUDIT_STATES(WEIR_X)
#undef WEIR_X
};

const char *audit_name(enum audit_state state)
{
	return names[state];
}

void audit_done(struct audit *a)
{
	for (size_t i = 0; i < a->count; i++)
		free(a->commits[i].why);
	free(a->commits);
	free(a->parents);
	buf_done(&a->ledger_why);
}

bool audit_good(const struct audit *a)
{
	return a->counts[AUDIT_UNATTESTED] == 0 && a->counts[AUDIT_BROKEN] == 0 &&
	       a->ledger_why.len == 0;
}

/* A commit whose parents are being walked. */
struct frame {
	git_oid id;
	git_commit *commit;
	unsigned int next; /* parent to go to */
	size_t *parents;
};

struct walk {
	struct audit *audit;
	const struct repo *repo;
	struct oidset *seen; /* commits that have a number */
	struct frame *stack;
	size_t depth;
	size_t room;
	size_t parent_count;
	size_t parent_room;
	size_t commit_room;
};

static void *grow(void *items, size_t *room, size_t need, size_t size)
{
	size_t more = *room ? *room : 64;
	void *out;

	while (more < need)
		more *= 2;
	if (more == *room)
		return items;
	out = reallocarray(items, more, size);
	if (out)
		*room = more;
	return out;
}

static void frame_done(struct frame *f)
{
	git_commit_free(f->commit);
	free(f->parents);
}

static int push(struct walk *w, const git_oid *id, struct weir_err *e)
{
	struct frame *stack = grow(w->stack, &w->room, w->depth + 1, sizeof(*stack));
	struct frame *f;

	if (!stack)
		return err_errno(e, -ENOMEM, "walking the history");
	w->stack = stack;
	f = &stack[w->depth];
	*f = (struct frame){ .id = *id };
	if (git_commit_lookup(&f->commit, w->repo->git, id) < 0)
		return repo_error(e, "walking the history");
	f->parents = calloc(git_commit_parentcount(f->commit) + 1, sizeof(*f->parents));
	w->depth++;
	return f->parents ? 0 : err_errno(e, -ENOMEM, "walking the history");
}

/* All parents have numbers: the commit gets the next one. */
static int pop(struct walk *w, size_t *ret_number, struct weir_err *e)
{
	struct frame *f = &w->stack[w->depth - 1];
	struct audit *a = w->audit;
	size_t count = git_commit_parentcount(f->commit);
	struct audit_commit *commits;
	size_t *parents;

	if (a->count >= AUDIT_COMMITS_MAX)
		return err_set(e, -E2BIG, "%s reaches more than %u commits", a->ref,
			       AUDIT_COMMITS_MAX);
	commits = grow(a->commits, &w->commit_room, a->count + 1, sizeof(*commits));
	if (commits)
		a->commits = commits;
	parents = grow(a->parents, &w->parent_room, w->parent_count + count, sizeof(*parents));
	if (parents)
		a->parents = parents;
	if (!commits || (count > 0 && !parents) || oidset_put(w->seen, &f->id, a->count) < 0)
		return err_errno(e, -ENOMEM, "walking the history");
	commits[a->count] = (struct audit_commit){ .id = f->id,
						   .parents = w->parent_count,
						   .parent_count = count };
	if (count > 0)
		memcpy(parents + w->parent_count, f->parents, count * sizeof(*parents));
	w->parent_count += count;
	*ret_number = a->count++;
	frame_done(f);
	w->depth--;
	return 0;
}

/* Depth first, without recursion: ancestors get smaller numbers. */
static int walk_all(struct walk *w, const git_oid *tip, struct weir_err *e)
{
	size_t number = NOTHING;
	int err = push(w, tip, e);

	while (err == 0 && w->depth > 0) {
		struct frame *f = &w->stack[w->depth - 1];
		const git_oid *parent;

		if (number != NOTHING)
			f->parents[f->next++] = number;
		number = NOTHING;
		if (f->next >= git_commit_parentcount(f->commit)) {
			err = pop(w, &number, e);
			continue;
		}
		parent = git_commit_parent_id(f->commit, f->next);
		if (!oidset_get(w->seen, parent, &number))
			err = push(w, parent, e);
	}
	return err;
}

static bool is_ours(const struct verify *v)
{
	return v->record.promotion.len > 0 || strstr(buf_str(&v->raw), "\nWeir-Promotion: ");
}

static int tell_glass(struct audit_commit *c, const struct glass *g)
{
	cleanup_buf struct buf text = { 0 };

	buf_addf(&text, "by ");
	buf_add_escaped(&text, g->entry.by, strlen(g->entry.by));
	buf_addf(&text, ": ");
	buf_add_escaped(&text, g->entry.why, strlen(g->entry.why));
	c->why = strdup(buf_str(&text));
	return text.failed || !c->why ? -ENOMEM : 0;
}

/* A commit that verify does not accept. */
static int judge_other(struct audit_commit *c, const struct verify *v, struct verifysource *s,
		       const struct weir_err *cause)
{
	cleanup_glass struct glass g = { 0 };
	struct weir_err why = { 0 };
	int err = glass_check(&s->repo, &c->id, &s->key, &g, &why);

	if (err == 0) {
		c->state = AUDIT_GLASS;
		return tell_glass(c, &g);
	}
	if (err == -ENOMEM)
		return err;
	c->state = is_ours(v) || err != -ENOENT ? AUDIT_BROKEN
		   : c->after			? AUDIT_UNATTESTED
						: AUDIT_BEFORE;
	if (c->state != AUDIT_BROKEN)
		return 0;
	c->why = strdup(is_ours(v) ? cause->text : why.text);
	return c->why ? 0 : -ENOMEM;
}

static int judge(struct audit *a, struct audit_commit *c, struct verifysource *s,
		 struct weir_err *e)
{
	cleanup_verify struct verify v = { .repo = &s->repo,
					   .signers = buf_str(&s->signers),
					   .ledger_key = &s->key,
					   .ledger = s->has_ledger ? &s->ledger : NULL,
					   .keys = s->has_ledger ? &s->keys : NULL,
					   .keys_why = s->keys_why.text,
					   .commit = c->id,
					   .reached = true };
	struct weir_err cause = { 0 };
	int err = verify_run(&v, &cause);

	for (size_t i = 0; i < c->parent_count; i++) {
		const struct audit_commit *parent = &a->commits[a->parents[c->parents + i]];

		c->after |= parent->after || parent->state == AUDIT_ATTESTED ||
			    parent->state == AUDIT_BROKEN || parent->state == AUDIT_GLASS ||
			    (!git_oid_is_zero(&a->since) && git_oid_equal(&parent->id, &a->since));
	}
	if (err < 0 && cause.exit_code == 0) {
		*e = cause;
		return err;
	}
	if (err == 0)
		c->state = AUDIT_ATTESTED;
	else if (judge_other(c, &v, s, &cause) < 0)
		return err_errno(e, -ENOMEM, "audit");
	a->counts[c->state]++;
	return 0;
}

struct ledger_audit {
	struct audit *audit;
	const struct oidset *seen;
	uint64_t open; /* an intent that was not ended; UINT64_MAX: none */
};

static void complain(struct audit *a, uint64_t index, const char *what)
{
	buf_addf(&a->ledger_why, "entry %llu %s\n", (unsigned long long)index, what);
}

static int check_entry(uint64_t index, const struct tlog_entry *entry, void *arg,
		       struct weir_err *e)
{
	cleanup_ledger_entry struct ledger_entry n = { 0 };
	struct ledger_audit *l = arg;
	struct audit *a = l->audit;
	struct weir_err cause = { 0 };
	size_t number;
	git_oid id;

	(void)e;
	if (ledger_entry_parse(entry->data, entry->len, &n, &cause) < 0) {
		complain(a, index, "is none of weir's");
		return 0;
	}
	if (l->open != UINT64_MAX && (n.intent < 0 || (uint64_t)n.intent != l->open))
		complain(a, l->open, "is an intent that was never ended");
	else if (l->open == UINT64_MAX && n.intent >= 0)
		complain(a, index, "ends an intent that is not the entry before it");
	l->open = n.kind == LEDGER_INTENT ? index : UINT64_MAX;
	if (!n.ref || strcmp(n.ref, a->ref) != 0)
		return 0;
	a->done += n.kind == LEDGER_DONE;
	a->aborted += n.kind == LEDGER_ABORTED;
	if ((n.kind == LEDGER_DONE || n.kind == LEDGER_GLASS) &&
	    (git_oid_fromstr(&id, n.commit) < 0 || !oidset_get(l->seen, &id, &number)))
		complain(a, index,
			 n.kind == LEDGER_DONE
				 ? "is done, and the branch does not reach its commit"
				 : "is break-glass, and the branch does not reach its commit");
	return 0;
}

static int check_ledger(struct audit *a, struct verifysource *s, const struct oidset *seen,
			struct weir_err *e)
{
	struct ledger_audit l = { a, seen, UINT64_MAX };
	int err = ledger_walk(&s->ledger, check_entry, &l, e);

	if (err == 0 && l.open != UINT64_MAX)
		complain(a, l.open, "is an intent that was never ended");
	return err;
}

int audit_run(struct audit *a, struct verifysource *s, struct weir_err *e)
{
	struct walk w = { .audit = a, .repo = &s->repo, .seen = oidset_new() };
	git_oid tip;
	int err =
		w.seen ? repo_read_ref(&s->repo, a->ref, &tip, e) : err_errno(e, -ENOMEM, "audit");

	if (err == 0)
		err = walk_all(&w, &tip, e);
	while (w.depth > 0)
		frame_done(&w.stack[--w.depth]);
	free(w.stack);
	for (size_t i = 0; err == 0 && i < a->count; i++)
		err = judge(a, &a->commits[i], s, e);
	if (err == 0 && s->has_ledger)
		err = check_ledger(a, s, w.seen, e);
	oidset_free(w.seen);
	return err;
}
