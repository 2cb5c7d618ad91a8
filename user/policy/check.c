/* SPDX-License-Identifier: MIT */
#include "user/policy/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/glob.h"
#include "user/policy/path.h"
#include "user/policy/reach.h"
#include "user/policy/schema.h"

static int check_rule(const struct policy *p, const struct policy_rule *r, struct weir_err *e)
{
	if (!r->allow.value && !r->deny.value)
		return policy_error(
			p->file, r->pos, e,
			"the rule for '%s' neither allows nor denies; add allow or deny",
			policy_quote(r->path.text).text);
	for (const struct policy_choice *c = policy_right_names(); c->name; c++) {
		uint64_t left = c->value & ~r->deny.value;
		bool whole = c->value != WEIR_RIGHTS_MUTATE ||
			     (r->allow.value & WEIR_RIGHTS_MUTATE) == WEIR_RIGHTS_MUTATE;

		if (!whole || !(r->allow.value & c->value))
			continue;
		/* part of an allowed "write" may be denied, but not all of it */
		if (left || ((c->value & WEIR_RIGHTS_MUTATE) &&
			     (r->allow.value & WEIR_RIGHT_WRITE & ~r->deny.value)))
			continue;
		return policy_error(p->file, r->deny.pos, e,
				    "the rule for '%s' both allows (line %u) and denies (line %u) "
				    "'%s'; keep one",
				    policy_quote(r->path.text).text, r->allow.pos.line,
				    r->deny.pos.line, c->name);
	}
	return policy_check_variables(p, &r->path, true, e);
}

static int by_text(const void *a, const void *b)
{
	const struct policy_text *x = *(const struct policy_text *const *)a;
	const struct policy_text *y = *(const struct policy_text *const *)b;
	int order = strcmp(x->text, y->text);

	if (order)
		return order;
	return x->pos.line != y->pos.line ? (x->pos.line < y->pos.line ? -1 : 1)
					  : (x->pos.column < y->pos.column ? -1 : 1);
}

static int check_unique(const struct policy *p, const struct policy_text **texts, size_t count,
			const char *what, struct weir_err *e)
{
	qsort(texts, count, sizeof(texts[0]), by_text);
	for (size_t i = 1; i < count; i++)
		if (strcmp(texts[i - 1]->text, texts[i]->text) == 0)
			return policy_error(p->file, texts[i]->pos, e,
					    "%s '%s' stands in line %u already; remove one of them",
					    what, policy_quote(texts[i]->text).text,
					    texts[i - 1]->pos.line);
	return 0;
}

static int check_list(const struct policy *p, const struct policy_texts *list, const char *what,
		      struct weir_err *e)
{
	cleanup_free const struct policy_text **texts = calloc(list->count + 1, sizeof(*texts));

	if (!texts)
		return err_errno(e, -ENOMEM, "%s", p->file);
	for (size_t i = 0; i < list->count; i++)
		texts[i] = &list->items[i];
	return check_unique(p, texts, list->count, what, e);
}

static int check_environment(const struct policy *p, struct weir_err *e)
{
	size_t count = 0;
	cleanup_free const struct policy_text **texts =
		calloc(p->env_pass.count + p->env_set.count + 1, sizeof(*texts));

	if (!texts)
		return err_errno(e, -ENOMEM, "%s", p->file);
	for (size_t i = 0; i < p->env_pass.count; i++)
		texts[count++] = &p->env_pass.items[i];
	for (size_t i = 0; i < p->env_set.count; i++) {
		int err = policy_check_variables(p, &p->env_set.items[i].value, false, e);

		if (err < 0)
			return err;
		texts[count++] = &p->env_set.items[i].name;
	}
	return check_unique(p, texts, count, "environment: variable", e);
}

static int check_globs(const struct policy *p, const struct policy_texts *globs, struct weir_err *e)
{
	for (size_t i = 0; i < globs->count; i++) {
		const struct policy_text *t = &globs->items[i];
		struct weir_err why = { 0 };

		if (glob_check(t->text, &why) < 0)
			return policy_error(p->file, t->pos, e, "paths: '%s' %s",
					    policy_quote(t->text).text, why.text);
	}
	return check_list(p, globs, "paths:", e);
}

static int check_tiers(const struct policy *p, struct weir_err *e)
{
	if (p->approvals.pos.line && p->tiers.count == 0 &&
	    p->approvals.value > POLICY_APPROVALS_MAX)
		return policy_error(p->file, p->approvals.pos, e,
				    "approvals: more than %d; write a number of people",
				    POLICY_APPROVALS_MAX);
	for (size_t i = 0; i < p->tiers.count; i++) {
		const struct policy_tier *t = &p->tiers.items[i];
		int err;

		if (t->role.value == POLICY_ROLE_PRODUCER)
			return policy_error(p->file, t->role.pos, e,
					    "role: who produces a change can't approve it; name "
					    "another role");
		if (t->paths.count == 0)
			return policy_error(p->file, t->pos, e,
					    "paths: the list is empty; \"**\" means all");
		err = check_globs(p, &t->paths, e);
		if (err < 0)
			return err;
	}
	return 0;
}

static int check_powers(const struct policy *p, struct weir_err *e)
{
	const struct policy_value *allow = &p->powers.privileges;

	if ((allow->value & WEIR_POWER(SETID_EXEC)) && p->no_new_privs.value)
		return policy_error(p->file, allow->pos, e,
				    "allow: setid-exec is of no use with no_new_privs; add "
				    "`no_new_privs: false`, or drop it");
	return 0;
}

int policy_check(const struct policy *p, struct weir_err *e)
{
	int err = 0;

	if (p->owners.count == 0)
		return policy_error(p->file, p->owners.pos, e,
				    "owners: the list is empty; name who answers for this policy");
	err = check_list(p, &p->owners, "owners:", e);
	for (size_t i = 0; err == 0 && i < p->files.count; i++)
		err = check_rule(p, &p->files.items[i], e);
	for (size_t i = 0; err == 0 && i < p->credentials.count; i++)
		err = policy_check_variables(p, &p->credentials.items[i], true, e);
	if (err == 0)
		err = check_environment(p, e);
	if (err == 0)
		err = check_globs(p, &p->writeback_paths, e);
	if (err == 0)
		err = check_tiers(p, e);
	if (err == 0)
		err = check_powers(p, e);
	return err < 0 ? err : policy_check_reach(p, e);
}
