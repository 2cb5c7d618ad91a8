/* SPDX-License-Identifier: MIT */
/*
 * Steps 0 and 1 of a promotion that no run made: its order is whole, for this repository, and its
 * nonce unused; policy and people are those of the base commit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/promotion.h"
#include "writeback/reason.h"

#define POLICY_PATH ".weir/policy.yaml"

static int take_order(struct promotion *p, struct weir_err *e)
{
	struct statement *s = &p->statement;
	const struct order *o = &p->order;
	int err = order_parse(buf_str(&p->statement_text), p->statement_text.len, &p->order, e);

	if (err < 0)
		return err;
	if (o->kind != p->kind || strcmp(o->repository, p->config->id) != 0)
		return refuse(e, REASON_ORDER_TEXT, "it is for another repository or kind");
	s->run = strdup(o->id);
	s->nonce = strdup(o->nonce);
	s->ref = strdup(o->ref);
	s->commit = strdup(o->base);
	if (!s->run || !s->nonce || !s->ref || !s->commit)
		return err_errno(e, -ENOMEM, "reading the order");
	memcpy(s->sha256, o->sha256, sizeof(s->sha256));
	if (git_oid_fromstr(&p->base_commit, o->base) < 0 ||
	    git_oid_fromstr(&p->object, o->object) < 0)
		return refuse(e, REASON_ORDER_TEXT, "it names no commits");
	git_oid_tostr(p->base_hex, sizeof(p->base_hex), &p->base_commit);
	return nonce_load(o->nonce, &p->nonce, e);
}

static int check_nonce(const struct promotion *p, struct weir_err *e)
{
	const struct nonce *n = &p->nonce;
	const struct order *o = &p->order;

	if (n->used)
		return refuse(e, REASON_NONCE_USED, "nonce %s was used for %s", n->id, n->promoted);
	if (strcmp(n->repo_id, o->repository) != 0 || strcmp(n->ref, o->ref) != 0 ||
	    strcmp(n->commit, o->base) != 0 || n->ino != 0)
		return refuse(e, REASON_NONCE_MISMATCH, "nonce %s is for something else", n->id);
	return 0;
}

int order_nonce(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	int err = take_order(p, e);

	(void)ret_answer;
	if (err == 0)
		err = check_nonce(p, e);
	if (err == 0)
		err = promotion_check_ref(p, e);
	return err < 0 ? err : repo_read_commit(&p->repo, &p->base_commit, &p->base_head, e);
}

static int read_policy(struct promotion *p, struct weir_err *e)
{
	struct weir_err cause = { 0 };
	uint32_t mode = 0;
	git_oid oid;
	int err = repo_find(&p->repo, &p->base_head.tree, POLICY_PATH, &oid, &mode, &cause);

	if (err == 0 && mode != GIT_MODE_FILE && mode != GIT_MODE_EXEC)
		err = -ENOENT;
	if (err == -ENOENT)
		return refuse(e, REASON_POLICY, "the base commit has no " POLICY_PATH);
	if (err == 0)
		err = repo_read_object(&p->repo, &oid, GIT_OBJECT_BLOB, POLICY_TEXT_MAX,
				       &p->policy_text, &cause);
	if (err < 0)
		return err_set(e, err, "%s", cause.text);
	if (policy_load(POLICY_PATH, buf_str(&p->policy_text), p->policy_text.len, &p->policy,
			&cause) < 0)
		return refuse(e, REASON_POLICY, "%s", cause.text);
	digest_hex(p->policy->sha256, DIGEST_SIZE, p->statement.policy);
	p->policy_source = "base commit";
	return 0;
}

int order_open(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	int err = read_policy(p, e);

	(void)ret_answer;
	if (err == 0 && promotion_asks_people(p))
		err = people_load(p->config, &p->repo, &p->base_head.tree, &p->people, e);
	return err;
}
