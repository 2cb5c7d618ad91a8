/* SPDX-License-Identifier: MIT */
#include "writeback/verifyorder.h"

#include <errno.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/order.h"

static int check_revert(const struct verify *v, const struct order *o, struct weir_err *e)
{
	struct repo_commit undone, before;
	char parent[OID_HEX];
	int err = repo_read_commit(v->repo, &v->head.parent, &undone, e);

	if (err == 0)
		err = repo_read_commit(v->repo, &undone.parent, &before, e);
	if (err < 0)
		return err;
	git_oid_tostr(parent, sizeof(parent), &v->head.parent);
	if (strcmp(o->object, parent) != 0 || undone.parents != 1)
		return err_set(e, -EBADMSG, "it does not undo its parent");
	return git_oid_equal(&before.tree, &v->head.tree)
		       ? 0
		       : err_set(e, -EBADMSG, "its tree is not the one before what it undoes");
}

/* The commit that it names was promoted as well. */
static int check_tag(const struct verify *v, const struct order *o, struct weir_err *e)
{
	cleanup_verify struct verify commit = { .repo = v->repo,
						.signers = v->signers,
						.ledger_key = v->ledger_key,
						.keys = v->keys,
						.keys_why = v->keys_why,
						.ledger = v->ledger,
						.deep = v->deep,
						.commit = v->head.parent };
	struct weir_err cause = { 0 };
	char hex[OID_HEX];

	git_oid_tostr(hex, sizeof(hex), &v->head.parent);
	if (strcmp(o->object, hex) != 0 || strcmp(o->base, hex) != 0)
		return err_set(e, -EBADMSG, "it names another commit");
	if (strncmp(o->ref, "refs/tags/", 10) != 0 ||
	    strcmp(o->ref + 10, buf_str(&v->tag_name)) != 0)
		return err_set(e, -EBADMSG, "it has another name than its ref");
	if (verify_run(&commit, &cause) < 0)
		return err_set(e, -EBADMSG, "its commit %.12s: %s", hex, cause.text);
	return 0;
}

int verifyorder_check(const struct verify *v, struct weir_err *e)
{
	static int (*const checks[KIND_COUNT])(const struct verify *v, const struct order *o,
					       struct weir_err *e) = {
		[KIND_REVERT] = check_revert,
		[KIND_TAG] = check_tag,
	};
	cleanup_order struct order o = { 0 };
	const struct buf *text = &v->record.statement;
	cleanup_buf struct buf ref = { 0 };
	int err = order_parse(buf_str(text), text->len, &o, e);

	if (err < 0)
		return err;
	buf_add_escaped(&ref, o.ref, strlen(o.ref));
	if (o.kind != v->kind || !verify_promotion_says(v, "statement", o.sha256) ||
	    !verify_promotion_says(v, "run", o.id) || !verify_promotion_says(v, "nonce", o.nonce) ||
	    !verify_promotion_says(v, "repository", o.repository) ||
	    !verify_promotion_says(v, "ref", buf_str(&ref)) ||
	    !verify_promotion_says(v, "base", o.base) ||
	    !verify_promotion_says(v, "object", o.object))
		return err_set(e, -EBADMSG, "the order is of another promotion");
	return checks[o.kind] ? checks[o.kind](v, &o, e)
			      : err_set(e, -EBADMSG, "nothing is ordered that way");
}
