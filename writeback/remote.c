/* SPDX-License-Identifier: MIT */
#include "writeback/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/history.h"
#include "writeback/reason.h"
#include "writeback/record.h"
#include "writeback/remotegit.h"

/* A ref here and there; zero: it is not there. */
struct pair {
	const char *ref;
	git_oid ours;
	git_oid theirs;
};

struct pairs {
	struct pair *items;
	size_t count;
};

bool remote_is_used(const struct gate_config *c)
{
	return c->mode && strcmp(c->mode, "push") == 0;
}

static int no_answer(const struct gate_config *c, int status, const struct buf *complaint,
		     struct weir_err *e)
{
	if (status < 0)
		return status;
	return err_code(e, -EIO, "remote", "%s: git says (status %d): %s", c->remote, status,
			complaint->len ? buf_str(complaint) : "nothing");
}

/* "ID\tREF" lines. */
static void read_list(const struct buf *out, struct pairs *p)
{
	for (size_t i = 0; i < p->count; i++) {
		cleanup_buf struct buf tail = { 0 };
		const char *at = buf_str(out), *found;

		p->items[i].theirs = (git_oid){ 0 };
		buf_addf(&tail, "\t%s\n", p->items[i].ref);
		found = strstr(at, buf_str(&tail));
		if (found && found - at >= OID_HEX - 1)
			git_oid_fromstrn(&p->items[i].theirs, found - (OID_HEX - 1), OID_HEX - 1);
	}
}

static int list(const struct gate_config *c, const struct repo *r, struct pairs *p,
		struct weir_err *e)
{
	cleanup_remotegit struct remotegit g = { .count = 0 };
	cleanup_buf struct buf out = { 0 };
	cleanup_buf struct buf complaint = { 0 };
	int status;

	remotegit_add(&g, "ls-remote");
	remotegit_add(&g, "--refs");
	remotegit_add(&g, "--");
	remotegit_add(&g, "%s", c->remote);
	for (size_t i = 0; i < p->count; i++)
		remotegit_add(&g, "%s", p->items[i].ref);
	status = remotegit_run(c, r, &g, &out, &complaint, e);
	if (status != 0)
		return no_answer(c, status, &complaint, e);
	read_list(&out, p);
	return 0;
}

/* Objects only: refs are ours to move. */
static int fetch(const struct gate_config *c, const struct repo *r, const struct pairs *p,
		 struct weir_err *e)
{
	cleanup_remotegit struct remotegit g = { .count = 0 };
	cleanup_buf struct buf out = { 0 };
	cleanup_buf struct buf complaint = { 0 };
	size_t wanted = 0;
	int status;

	remotegit_add(&g, "fetch");
	remotegit_add(&g, "--quiet");
	remotegit_add(&g, "--no-tags");
	remotegit_add(&g, "--no-write-fetch-head");
	remotegit_add(&g, "--no-recurse-submodules");
	remotegit_add(&g, "--refmap=");
	remotegit_add(&g, "--");
	remotegit_add(&g, "%s", c->remote);
	for (size_t i = 0; i < p->count; i++) {
		const struct pair *pair = &p->items[i];

		if (git_oid_is_zero(&pair->theirs) || repo_has(r, &pair->theirs))
			continue;
		remotegit_add(&g, "%s", pair->ref);
		wanted++;
	}
	if (wanted == 0)
		return 0;
	status = remotegit_run(c, r, &g, &out, &complaint, e);
	if (status != 0)
		return no_answer(c, status, &complaint, e);
	if (git_odb_refresh(r->odb) < 0)
		return repo_error(e, "reading what was fetched");
	for (size_t i = 0; i < p->count; i++)
		if (!git_oid_is_zero(&p->items[i].theirs) && !repo_has(r, &p->items[i].theirs))
			return err_code(e, -EAGAIN, "remote", "%s: %s moved meanwhile; try again",
					c->remote, p->items[i].ref);
	return 0;
}

/* The last commit of the records, of a promotion that is unfinished, may be here alone: it is
 * written anew. */
static int only_last(const struct repo *r, const struct pair *p, struct weir_err *e)
{
	struct repo_commit head;
	int err = repo_read_commit(r, &p->ours, &head, e);

	if (err < 0)
		return err;
	return head.parents == 1 ? history_reaches(r, &p->theirs, &head.parent, e) : 0;
}

static int follow_one(const struct gate_config *c, const struct repo *r, const struct pair *p,
		      bool unfinished, struct weir_err *e)
{
	struct reflock l = { .old = p->ours, .new_id = p->theirs };
	int err = 1;

	if (git_oid_equal(&p->ours, &p->theirs))
		return 0;
	if (git_oid_is_zero(&p->theirs))
		return refuse(e, REASON_REMOTE, "%s has no %s, which the gate's copy has",
			      c->remote, p->ref);
	if (!git_oid_is_zero(&p->ours))
		err = history_reaches(r, &p->theirs, &p->ours, e);
	if (err == 0 && unfinished && strcmp(p->ref, RECORD_REF) == 0)
		err = only_last(r, p, e);
	if (err == 0)
		err = refuse(e, REASON_REMOTE, "%s has lost commits of %s that the gate knows",
			     c->remote, p->ref);
	if (err < 0)
		return err;
	l.ref = strdup(p->ref);
	err = l.ref ? reflock_prepare(r, &l, REFLOCK_OTHER, e) : err_errno(e, -ENOMEM, "remote");
	if (err == 0)
		err = reflock_take(r, &l, e);
	if (err == 0)
		err = reflock_publish(r, &l, e);
	reflock_drop(r, &l);
	reflock_done(&l);
	return err;
}

static int read_ours(const struct repo *r, struct pair *p, struct weir_err *e)
{
	struct weir_err cause = { 0 };
	int err = repo_read_ref(r, p->ref, &p->ours, &cause);

	if (err == 0 || err == -ENOENT)
		return 0;
	*e = cause;
	return err;
}

int remote_follow(const struct gate_config *c, const struct repo *r, bool unfinished,
		  struct weir_err *e)
{
	struct pairs p = { .items = calloc(c->refs.count + 1, sizeof(*p.items)) };
	int err = p.items ? 0 : err_errno(e, -ENOMEM, "remote");

	/* records first: they are about what the branches then have */
	for (size_t i = 0; err == 0 && i <= c->refs.count; i++) {
		struct pair *pair = &p.items[p.count++];

		pair->ref = i == 0 ? RECORD_REF : c->refs.items[i - 1];
		err = read_ours(r, pair, e);
	}
	if (err == 0)
		err = list(c, r, &p, e);
	if (err == 0)
		err = fetch(c, r, &p, e);
	for (size_t i = 0; err == 0 && i < p.count; i++)
		err = follow_one(c, r, &p.items[i], unfinished, e);
	free(p.items);
	return err;
}

/* What became of a push that git calls failed. */
static int ask(const struct gate_config *c, const struct repo *r, const struct reflock *refs,
	       size_t count, const struct buf *complaint, struct weir_err *e)
{
	struct pairs p = { .items = calloc(count, sizeof(*p.items)), .count = count };
	struct weir_err cause = { 0 };
	size_t there = 0, old = 0;
	int err;

	if (!p.items)
		return err_code(e, -EAGAIN, "remote", "out of memory after a push");
	for (size_t i = 0; i < count; i++)
		p.items[i].ref = refs[i].ref;
	err = list(c, r, &p, &cause);
	for (size_t i = 0; err == 0 && i < count; i++) {
		there += git_oid_equal(&p.items[i].theirs, &refs[i].new_id);
		old += git_oid_equal(&p.items[i].theirs, &refs[i].old);
	}
	free(p.items);
	if (err < 0)
		return err_code(e, -EAGAIN, "remote",
				"nobody knows whether the push went well (%.300s); run the same "
				"again",
				cause.text);
	if (there == count)
		return 0;
	if (old < count)
		return refuse(e, REASON_BASE_MOVED, "%s has moved", c->remote);
	return refuse(e, REASON_PUSH, "%s: %s", c->remote,
		      complaint->len ? buf_str(complaint) : "git says nothing");
}

int remote_push(const struct gate_config *c, const struct repo *r, const struct reflock *refs,
		size_t count, struct weir_err *e)
{
	cleanup_remotegit struct remotegit g = { .count = 0 };
	cleanup_buf struct buf out = { 0 };
	cleanup_buf struct buf complaint = { 0 };
	char hex[OID_HEX];
	int status;

	remotegit_add(&g, "push");
	remotegit_add(&g, "--quiet");
	remotegit_add(&g, "--atomic");
	remotegit_add(&g, "--no-verify");
	remotegit_add(&g, "--no-follow-tags");
	remotegit_add(&g, "--recurse-submodules=no");
	for (size_t i = 0; i < count; i++) {
		git_oid_tostr(hex, sizeof(hex), &refs[i].old);
		remotegit_add(&g, "--force-with-lease=%s:%s", refs[i].ref,
			      git_oid_is_zero(&refs[i].old) ? "" : hex);
	}
	remotegit_add(&g, "--");
	remotegit_add(&g, "%s", c->remote);
	for (size_t i = 0; i < count; i++) {
		git_oid_tostr(hex, sizeof(hex), &refs[i].new_id);
		remotegit_add(&g, "%s:%s", hex, refs[i].ref);
	}
	status = remotegit_run(c, r, &g, &out, &complaint, e);
	if (status < 0)
		return status;
	return status == 0 ? 0 : ask(c, r, refs, count, &complaint, e);
}
