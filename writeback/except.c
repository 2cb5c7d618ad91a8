/* SPDX-License-Identifier: MIT */
#include "writeback/except.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/event/names.h"
#include "writeback/approval.h"
#include "writeback/exceptstore.h"
#include "writeback/promotion.h"
#include "writeback/reason.h"
#include "writeback/runfindings.h"

#define NS_PER_S 1000000000ull

void except_use_done(struct except_use *u)
{
	gate_texts_done(&u->used);
	gate_texts_done(&u->accepted);
	buf_done(&u->bundle);
	*u = (struct except_use){ 0 };
}

int except_add_lines(const struct except_use *u, struct buf *ret_text)
{
	for (size_t i = 0; i < u->used.count; i++)
		buf_addf(ret_text, "exception %s\n", u->used.items[i]);
	for (size_t i = 0; i < u->accepted.count; i++)
		buf_addf(ret_text, "accepted %s\n", u->accepted.items[i]);
	return ret_text->failed ? -ENOMEM : 0;
}

/* Whether an exception speaks of a finding of this promotion; whether it holds is another matter. */
static bool names_finding(const struct promotion *p, const struct held *h, const char *id)
{
	return !h->x.revoke && strcmp(h->x.repository, p->config->id) == 0 &&
	       exception_holds(&h->x, p->statement.run, p->nonce.ref) &&
	       gate_texts_have(&h->x.findings, id);
}

static int use(struct promotion *p, const struct held *h)
{
	struct except_use *u = &p->exceptions;

	if (gate_texts_have(&u->used, h->name))
		return 0;
	buf_add(&u->bundle, h->text.data, h->text.len);
	for (size_t i = 0; i < h->armor_count; i++)
		buf_add(&u->bundle, h->armors[i].data, h->armors[i].len);
	if (u->bundle.failed || gate_texts_add(&u->used, h->name) < 0)
		return -ENOMEM;
	gate_texts_sort(&u->used);
	return 0;
}

static int need_people(struct promotion *p, struct weir_err *e)
{
	int err = 0;

	if (!p->people.loaded)
		err = people_load(p->config, &p->repo, &p->base_head.tree, &p->people, e);
	return err < 0 ? err : approve_find_producers(p, e);
}

/* Returns: 1 when an exception that holds names the finding; 0 when none does, the last one that
 * names it and does not hold leaving its reason in ret_why; or a negative errno with e. */
static int is_accepted(struct promotion *p, struct held_list *all, const char *id,
		       struct weir_err *ret_why, struct weir_err *e)
{
	for (size_t i = 0; id[0] && i < all->count; i++) {
		struct held *h = all->items[i];
		struct held_context c = {
			.repository = p->config->id,
			.people = &p->people,
			.producers = &p->producers,
			.span_s = (int64_t)(p->policy->exception_span_ns.value / NS_PER_S),
			.now = time(NULL),
		};
		int err;

		if (!names_finding(p, h, id))
			continue;
		err = need_people(p, e);
		if (err == 0)
			err = held_judge(all, h, &c, e);
		if (err < 0)
			return err;
		if (!h->why.code[0])
			return use(p, h) < 0 ? err_errno(e, -ENOMEM, "exceptions") : 1;
		*ret_why = h->why;
	}
	return 0;
}

int except_accept_hazards(struct promotion *p, struct weir_err *e)
{
	cleanup_held struct held_list all = { 0 };
	struct weir_err why = { 0 };
	int got = p->hazards.count > 0 ? held_load(&p->repo, &all, e) : 0;

	if (got < 0)
		return got;
	for (size_t i = 0; all.count > 0 && i < p->hazards.count; i++) {
		struct hazard *item = &p->hazards.items[i];

		got = is_accepted(p, &all, item->id, &why, e);
		if (got < 0)
			return got;
		item->accepted = got == 1;
		/* its own reason says more than that the finding refuses */
		if (got == 0 && why.code[0] &&
		    hazard_refuses(item->kind, p->policy->strict.value != 0)) {
			*e = why;
			return why.err;
		}
	}
	return 0;
}

static int refuse_run(const struct promotion *p, const struct run_finding *f,
		      const struct weir_err *why, struct weir_err *e)
{
	cleanup_buf struct buf kinds = { 0 };

	if (why->code[0]) {
		*e = *why;
		return why->err;
	}
	for (unsigned int kind = 0; kind < WEIR_KIND_COUNT; kind++) {
		uint64_t count = verdict_kind_count(&p->verdict, kind);

		if (count > 0)
			buf_addf(&kinds, "%s%s (%llu)", kinds.len ? ", " : "", names_kind(kind),
				 (unsigned long long)count);
	}
	return refuse(e, REASON_VIOLATED,
		      "the run broke its policy: %s; no exception covers %.200s", buf_str(&kinds),
		      f && f->id[0] ? f->id : "what has no id");
}

static int accept_finding(struct promotion *p, struct held_list *all, const struct run_finding *f,
			  struct weir_err *e)
{
	cleanup_buf struct buf line = { 0 };
	struct weir_err why = { 0 };
	int got = is_accepted(p, all, f->id, &why, e);

	if (got == 0)
		return refuse_run(p, f, &why, e);
	if (got < 0)
		return got;
	buf_addf(&line, "%s %llu", f->id, (unsigned long long)f->count);
	return gate_texts_add(&p->exceptions.accepted, buf_str(&line)) < 0
		       ? err_errno(e, -ENOMEM, "exceptions")
		       : 0;
}

int except_cover_run(struct promotion *p, struct weir_err *e)
{
	cleanup_run_findings struct run_findings findings = { 0 };
	cleanup_held struct held_list all = { 0 };
	struct weir_err none = { 0 };
	int err = run_findings_read(p->files[RUN_TRACE], &findings, e);

	if (err == 0)
		err = held_load(&p->repo, &all, e);
	/* what was latched without a record could have been anything */
	for (unsigned int kind = 0; err == 0 && kind < WEIR_KIND_COUNT; kind++)
		if (p->verdict.latch[kind] > p->verdict.found[kind])
			err = refuse_run(p, NULL, &none, e);
	if (err == 0 && findings.count == 0)
		err = refuse_run(p, NULL, &none, e);
	for (size_t i = 0; err == 0 && i < findings.count; i++)
		err = accept_finding(p, &all, &findings.items[i], e);
	gate_texts_sort(&p->exceptions.accepted);
	return err;
}

int except_read(const struct repo *r, const char *name, struct buf *ret_text, struct weir_err *e)
{
	char path[DIGEST_HEX + 32];
	unsigned char hash[DIGEST_SIZE];

	if (digest_unhex(name, hash, sizeof(hash)) < 0)
		return -ENOENT;
	snprintf(path, sizeof(path), "weir/exceptions/%.64s/text", name);
	return fsio_read_file(r->fd, path, EXCEPTION_MAX, ret_text, e);
}

/* The same person once more changes nothing. */
static int check_twice(const struct held_list *all, const struct held *fresh,
		       const struct held_context *c, const struct person *person,
		       unsigned int *ret_missing, struct weir_err *e)
{
	const struct person *people[EXCEPT_SIGNED_MAX];
	struct weir_err why = { 0 };
	int need = exception_is_wide(&fresh->x) && !fresh->x.revoke ? 2 : 1, count = 0;

	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->items[i]->name, fresh->name) == 0)
			count = held_signers(all->items[i], c, people, &why);
	if (count < 0)
		return err_errno(e, count, "reading exceptions");
	for (int i = 0; i < count; i++)
		if (people[i] == person)
			return refuse(e, REASON_SIGNER_TWICE,
				      "%s has signed this exception already", person->name);
	*ret_missing = need > count + 1 ? (unsigned int)(need - count - 1) : 0;
	return 0;
}

static int check_revocation(const struct held_list *all, const struct exception *x,
			    struct weir_err *e)
{
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->items[i]->name, x->revokes) == 0)
			return all->items[i]->x.role == x->role
				       ? 0
				       : refuse(e, REASON_EXCEPTION_ROLE, "it was signed as %s",
						role_name(all->items[i]->x.role));
	return refuse(e, REASON_EXCEPTION, "there is no exception %.64s", x->revokes);
}

/* What was handed in, as the only one of a list. */
static int read_fresh(const struct except_signed *in, struct held_list *ret_list,
		      struct weir_err *e)
{
	struct held *h = calloc(1, sizeof(*h));
	unsigned char hash[DIGEST_SIZE];
	int err;

	ret_list->items = calloc(1, sizeof(*ret_list->items));
	if (!h || !ret_list->items) {
		free(h);
		return err_errno(e, -ENOMEM, "exceptions");
	}
	ret_list->items[ret_list->count++] = h;
	err = exception_parse(buf_str(in->text), in->text->len, &h->x);
	if (err < 0 && err != -ENOMEM)
		return refuse(e, REASON_EXCEPTION, "it is no " EXCEPTION_HEAD " text");
	if (err == 0)
		err = buf_add(&h->text, in->text->data, in->text->len);
	if (err == 0)
		err = buf_add(&h->armors[h->armor_count++], in->armor->data, in->armor->len);
	if (err == 0)
		err = digest_bytes(in->text->data, in->text->len, hash);
	if (err < 0)
		return err_errno(e, err, "exceptions");
	digest_hex(hash, sizeof(hash), h->name);
	return 0;
}

/* Judges it by itself; that a second person is missing is no fault of the first. */
static int judge_fresh(const struct held_list *one, const struct held_context *context,
		       struct weir_err *e)
{
	struct held *fresh = one->items[0];
	int err = held_judge(one, fresh, context, e);

	if (err < 0 || !fresh->why.code[0] ||
	    strcmp(fresh->why.code, reason_code(REASON_EXCEPTION_PERSONS)) == 0)
		return err;
	*e = fresh->why;
	return fresh->why.err;
}

int except_submit(const struct gate_config *c, const struct repo *r, const struct people *people,
		  const struct except_signed *in, struct except_taken *ret_taken,
		  struct weir_err *e)
{
	cleanup_held struct held_list all = { 0 };
	cleanup_held struct held_list one = { 0 };
	struct held_context context = { c->id, people, NULL, in->span_s, in->now };
	const struct person *signers[EXCEPT_SIGNED_MAX];
	struct except_taken taken = { 0 };
	struct held *fresh;
	int err = read_fresh(in, &one, e);

	if (err < 0)
		return err;
	fresh = one.items[0];
	memcpy(taken.name, fresh->name, sizeof(taken.name));
	if (strcmp(fresh->x.repository, c->id) != 0)
		return refuse(e, REASON_EXCEPTION, "it is for another repository");
	err = held_load(r, &all, e);
	if (err == 0 && fresh->x.revoke)
		err = check_revocation(&all, &fresh->x, e);
	if (err == 0)
		err = judge_fresh(&one, &context, e);
	if (err == 0 && held_signers(fresh, &context, signers, e) == 1)
		err = check_twice(&all, fresh, &context, signers[0], &taken.missing, e);
	if (err == 0)
		err = held_add(r, fresh->name, &fresh->text, &fresh->armors[0], e);
	if (err == 0)
		*ret_taken = taken;
	return err;
}
