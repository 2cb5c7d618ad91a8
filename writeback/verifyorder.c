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

int verifyorder_check(const struct verify *v, struct weir_err *e)
{
	static int (*const checks[KIND_COUNT])(const struct verify *v, const struct order *o,
					       struct weir_err *e) = {
		[KIND_REVERT] = check_revert,
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
