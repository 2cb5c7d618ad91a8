/* SPDX-License-Identifier: MIT */
/* What a promotion asks of people; contract in approve.h. */
#include "writeback/approve.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/glob.h"
#include "writeback/digest.h"
#include "writeback/promotion.h"
#include "writeback/reason.h"
#include "writeback/signedtext.h"

bool approve_wanted(const struct policy *policy)
{
	return policy->approvals.pos.line &&
	       (policy->tiers.count > 0 || policy->approvals.value > 0);
}

static int add_producer(struct promotion *p, const char *name)
{
	return gate_texts_have(&p->producers, name) ? 0 : gate_texts_add(&p->producers, name);
}

static int add_login(struct promotion *p, uid_t uid, const char *what, struct weir_err *e)
{
	char buffer[4096];
	struct passwd pw, *found = NULL;
	const struct person *person;
	const char *login;

	if (getpwuid_r(uid, &pw, buffer, sizeof(buffer), &found) != 0)
		found = NULL;
	login = found ? found->pw_name : NULL;
	person = roles_by_login(&p->people.roles, uid, login);
	if (!person)
		return refuse(e, REASON_PRODUCER_UNKNOWN,
			      "%s is uid %u (%s), who is no person of .weir/roles.yaml", what, uid,
			      login ? login : "no name");
	return add_producer(p, person->name) < 0 ? err_errno(e, -ENOMEM, "producers") : 0;
}

/* With a stolen key or a foreign agent's memory, anybody of this host may have signed. */
static bool had_credentials(const struct verdict *v)
{
	return verdict_kind_count(v, WEIR_KIND_CREDENTIAL_READ) > 0 ||
	       verdict_kind_count(v, WEIR_KIND_MEMORY_ACCESS) > 0 ||
	       verdict_kind_count(v, WEIR_KIND_TAMPER) > 0;
}

static int add_author(struct promotion *p)
{
	cleanup_free char *email = NULL;
	const char *from = p->author ? strrchr(p->author, '<') : NULL;
	const struct person *person;

	if (!from)
		return 0;
	email = strndup(from + 1, strcspn(from + 1, ">"));
	if (!email)
		return -ENOMEM;
	person = roles_by_principal(&p->people.roles, email);
	return person ? add_producer(p, person->name) : 0;
}

/* A proposal that goes on has them; who calls now changes nothing about that. */
static int restore_producers(struct promotion *p, struct weir_err *e)
{
	static const char key[] = "\nproducer ";
	const char *at = buf_str(&p->pending.promotion);

	cleanup_buf struct buf proposal = { 0 };

	if (digest_find(at, "proposal", &proposal) < 0 || proposal.len != sizeof(p->proposal) - 1)
		return refuse(e, REASON_VOID, "the proposal has no number");
	memcpy(p->proposal, proposal.data, sizeof(p->proposal));
	while ((at = strstr(at, key))) {
		cleanup_free char *name = NULL;

		at += sizeof(key) - 1;
		name = strndup(at, strcspn(at, "\n"));
		if (!name || gate_texts_add(&p->producers, name) < 0)
			return err_errno(e, -ENOMEM, "producers");
	}
	return 0;
}

int approve_find_producers(struct promotion *p, struct weir_err *e)
{
	const struct roles *roles = &p->people.roles;
	unsigned char number[(sizeof(p->proposal) - 1) / 2];
	int err = 0;

	if (p->producers.count > 0)
		return 0;
	if (p->resumed)
		return restore_producers(p, e);
	err = digest_random(number, sizeof(number));
	if (err < 0)
		return err_errno(e, err, "proposing");
	digest_hex(number, sizeof(number), p->proposal);
	err = add_login(p, p->caller, "who proposes this", e);
	if (err == 0 && kind_of(p->kind)->has_run)
		err = add_login(p, p->ws_uid, "the workspace's owner", e);
	if (p->uids.overflow && err == 0)
		err = refuse(e, REASON_PRODUCER_UNKNOWN, "the run acted as more than %d users",
			     UIDS_MAX);
	for (unsigned int i = 0; err == 0 && i < p->uids.count; i++)
		err = add_login(p, p->uids.items[i], "a process of the run", e);
	if (err < 0)
		return err;
	err = add_author(p);
	for (size_t i = 0; err == 0 && had_credentials(&p->verdict) && i < roles->count; i++)
		if (roles->people[i].logins.count > 0)
			err = add_producer(p, roles->people[i].name);
	gate_texts_sort(&p->producers);
	return err < 0 ? err_errno(e, err, "producers") : 0;
}

static void raise_need(unsigned int *need, enum role role, uint64_t count)
{
	if (role < ROLE_COUNT && count > need[role])
		need[role] = (unsigned int)count;
}

static bool tier_covers(const struct policy_tier *t, const struct change *c)
{
	for (size_t i = 0; i < t->paths.count; i++)
		if (glob_match(t->paths.items[i].text, c->path, c->len))
			return true;
	return false;
}

static int need_of_tiers(const struct promotion *p, unsigned int *need, struct weir_err *e)
{
	const struct policy_tiers *tiers = &p->policy->tiers;

	for (size_t i = 0; i < p->changes.count; i++) {
		bool covered = false;

		for (size_t k = 0; k < tiers->count; k++) {
			const struct policy_tier *t = &tiers->items[k];

			if (!tier_covers(t, &p->changes.items[i]))
				continue;
			covered = true;
			raise_need(need, (enum role)t->role.value, t->count.value);
		}
		if (!covered)
			return refuse(e, REASON_APPROVALS,
				      "no rule of writeback.approvals covers %s",
				      p->changes.items[i].path);
	}
	return 0;
}

/* A tag is about all paths. */
static void need_of_all(const struct policy *policy, unsigned int *need)
{
	for (size_t i = 0; i < policy->tiers.count; i++)
		raise_need(need, (enum role)policy->tiers.items[i].role.value,
			   policy->tiers.items[i].count.value);
}

static int find_need(const struct promotion *p, unsigned int *need, struct weir_err *e)
{
	const struct policy *policy = p->policy;
	int err = 0;

	if (p->kind == KIND_REVERT)
		raise_need(need, (enum role)policy->revert.value, 1);
	else if (policy->tiers.count > 0 && kind_of(p->kind)->is_tag)
		need_of_all(policy, need);
	else if (policy->tiers.count > 0)
		err = need_of_tiers(p, need, e);
	else
		raise_need(need, ROLE_APPROVER, policy->approvals.value);
	for (size_t i = 0; i < p->hazards.count; i++) {
		enum hazard_role role = hazard_role(p->hazards.items[i].kind);

		raise_need(need, role_find(hazard_role_name(role)), 1);
	}
	return err;
}

int approve_add_lines(const struct promotion *p, struct buf *ret_text, struct weir_err *e)
{
	const struct people *people = &p->people;
	unsigned int need[ROLE_COUNT] = { 0 };
	int err;

	signed_add(ret_text, "review", promotion_asks_people(p) ? "required" : "none");
	if (!people->loaded)
		return 0;
	err = promotion_asks_people(p) ? find_need(p, need, e) : 0;
	if (err < 0)
		return err;
	signed_add(ret_text, "proposal", p->proposal);
	signed_add(ret_text, "people", people->signers_sha256);
	signed_add(ret_text, "roles", people->roles_sha256);
	signed_add(ret_text, "revoked", people->krl_sha256);
	signed_add(ret_text, "host-revoked", people->host_krl_sha256);
	signed_add(ret_text, "signer-root", people->root_sha256);
	for (size_t i = 0; i < p->producers.count; i++)
		signed_add(ret_text, "producer", p->producers.items[i]);
	for (unsigned int i = 0; i < ROLE_COUNT; i++)
		if (need[i] > 0)
			buf_addf(ret_text, "need %s %u\n", role_name((enum role)i), need[i]);
	return ret_text->failed ? err_errno(e, -ENOMEM, "approvals") : 0;
}

static bool says(const struct pending *p, const char *key, const char *value)
{
	cleanup_buf struct buf found = { 0 };

	return digest_find(buf_str(&p->promotion), key, &found) == 0 &&
	       strcmp(buf_str(&found), value[0] ? value : "-") == 0;
}

int approve_people(const struct gate_config *c, const struct repo *r, const struct pending *p,
		   struct people *ret_people, struct weir_err *e)
{
	cleanup_buf struct buf base = { 0 };
	const struct people *people = ret_people;
	struct repo_commit head;
	git_oid commit;
	int err;

	if (digest_find(buf_str(&p->promotion), "base", &base) < 0 ||
	    git_oid_fromstr(&commit, buf_str(&base)) < 0)
		return refuse(e, REASON_VOID, "the proposal names no base commit");
	err = repo_read_commit(r, &commit, &head, e);
	if (err == 0)
		err = people_load(c, r, &head.tree, ret_people, e);
	if (err < 0)
		return err;
	if (!says(p, "people", people->signers_sha256) || !says(p, "roles", people->roles_sha256) ||
	    !says(p, "revoked", people->krl_sha256) ||
	    !says(p, "host-revoked", people->host_krl_sha256) ||
	    !says(p, "signer-root", people->root_sha256))
		return refuse(e, REASON_VOID,
			      "people or revocations changed since it was proposed");
	return 0;
}
