/* SPDX-License-Identifier: MIT */
#include "writeback/verifyapprove.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/approve.h"
#include "writeback/ledgerentry.h"
#include "writeback/verifyledger.h"

/* When it was published, by the ledger; the entry's proof is checked by a later link. */
static int read_time(const struct verify *v, int64_t *ret_time, struct weir_err *e)
{
	cleanup_ledger_entry struct ledger_entry n = { 0 };
	const struct buf *entry = verifyledger_of(v).entry;
	int err = ledger_entry_parse(buf_str(entry), entry->len, &n, e);

	*ret_time = n.time;
	return err;
}

static bool same(const struct verify *v, const char *key, const char *sha256)
{
	return verify_promotion_says(v, key, sha256[0] ? sha256 : "-");
}

static int count(const struct verify *v, const struct people *people, int64_t when,
		 const struct buf *bundle, struct weir_err *e)
{
	cleanup_tally struct approve_tally tally = { 0 };
	struct weir_err cause = { 0 };
	char text[256];

	if (approve_count_bundle(&v->record.promotion, bundle, people, when, &tally, &cause) < 0)
		return verify_fail(VERIFY_APPROVALS, e, cause.text);
	if (tally.rejected.len > 0)
		return verify_fail(VERIFY_APPROVALS, e, "somebody said no");
	if (tally.missing.len == 0)
		return 0;
	snprintf(text, sizeof(text), "missing: %.200s", buf_str(&tally.missing));
	return verify_fail(VERIFY_APPROVALS, e, text);
}

int verifyapprove_load(const struct verify *v, struct people *ret_people, int64_t *ret_time,
		       struct weir_err *e)
{
	const struct people *p = ret_people;
	struct repo_commit base;
	int err = read_time(v, ret_time, e);

	if (err == 0)
		err = repo_read_commit(v->repo, &v->head.parent, &base, e);
	if (err == 0)
		err = people_load_public(v->repo, &base.tree, ret_people, e);
	if (err < 0)
		return err;
	return same(v, "people", p->signers_sha256) && same(v, "roles", p->roles_sha256) &&
			       same(v, "revoked", p->krl_sha256)
		       ? 0
		       : err_set(e, -EBADMSG, "the parent commit has other people");
}

int verifyapprove_people(struct verify *v, struct weir_err *e)
{
	cleanup_people struct people people = { 0 };
	cleanup_buf struct buf bundle = { 0 };
	struct weir_err cause = { 0 };
	int64_t when = 0;
	int err;

	if (verify_promotion_says(v, "review", "none"))
		return 0;
	if (!verify_promotion_says(v, "review", "required"))
		return verify_fail(VERIFY_APPROVALS, e, "the promotion does not say who was asked");
	err = record_read_file(v->repo, &v->commit, "approvals", &bundle, &cause);
	if (err == 0)
		err = verifyapprove_load(v, &people, &when, &cause);
	if (err < 0)
		return verify_fail(VERIFY_APPROVALS, e, cause.text);
	return count(v, &people, when, &bundle, e);
}
