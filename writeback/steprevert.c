/* SPDX-License-Identifier: MIT */
/*
 * Steps 2 to 4 of a revert. What it restores is the tree of the tip's parent, whole, and nothing
 * else: that is the cross-check, and a verifier makes it again. What comes back is inspected like
 * what a run made: it may have been removed for a reason. Nothing of .weir/ ever comes back that
 * way: there an older file could make a revoked key good again.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "writeback/intake.h"
#include "writeback/names.h"
#include "writeback/promotion.h"
#include "writeback/publish.h"
#include "writeback/quarantine.h"
#include "writeback/reason.h"

#define CONTROL ".weir"

int revert_crosscheck(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	struct repo_commit parent;
	int err;

	(void)ret_answer;
	if (!git_oid_equal(&p->object, &p->base_commit))
		return refuse(e, REASON_REVERT, "only the tip of %s can be reverted", p->target);
	if (p->base_head.parents != 1)
		return refuse(e, REASON_REVERT,
			      "%.12s has %u parents: there is no one tree before it",
			      p->nonce.commit, p->base_head.parents);
	err = repo_read_commit(&p->repo, &p->base_head.parent, &parent, e);
	if (err == 0)
		git_oid_cpy(&p->tree, &parent.tree);
	return err;
}

static bool is_control(const struct change *c)
{
	size_t len = strcspn(c->path, "/");

	return name_is_like(c->path, len, CONTROL);
}

static int check_changes(const struct promotion *p, struct weir_err *e)
{
	if (p->changes.count == 0)
		return refuse(e, REASON_NOTHING, "the tip has the tree of its parent");
	for (size_t i = 0; i < p->changes.count; i++) {
		const struct change *c = &p->changes.items[i];

		if (is_control(c))
			return refuse(e, REASON_REVERT_CONTROL,
				      "it would bring back an older %s (people, keys, policy)",
				      c->path);
		if (c->old_mode == GIT_MODE_COMMIT || c->new_mode == GIT_MODE_COMMIT)
			return refuse(e, REASON_REVERT,
				      "%s is a submodule, whose content is not here", c->path);
	}
	return 0;
}

int revert_inspect(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	cleanup_base struct base restored = { 0 };
	int err = base_load(&p->repo, &p->base_head.tree, &p->base, e);

	(void)ret_answer;
	if (err == 0)
		err = base_load(&p->repo, &p->tree, &restored, e);
	if (err == 0)
		err = changes_between(&p->repo, &p->base, &restored, &p->changes, e);
	if (err == 0)
		err = check_changes(p, e);
	return err < 0 ? err : inspect_findings(p, e);
}

/* The objects are in the repository; what is read again are their bytes. */
static int scan_all(struct promotion *p, struct weir_err *e)
{
	__attribute__((__cleanup__(intake_done))) struct intake in = { .repo = &p->repo,
								       .hazards = &p->hazards };
	int err = intake_init(&in);

	if (err < 0)
		return err_errno(e, err, "inspecting");
	for (size_t i = 0; err == 0 && i < p->changes.count; i++)
		if (p->changes.items[i].new_mode != 0)
			err = intake_blob(&in, &p->changes.items[i], e);
	return err;
}

int revert_quarantine(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	int err = publish_open_quarantine(&p->repo, p->nonce.id, &p->quarantine, e);

	(void)ret_answer;
	if (err == 0)
		err = scan_all(p, e);
	if (err == 0)
		err = except_accept_hazards(p, e);
	if (err == 0)
		err = hazards_judge(&p->hazards, p->policy->strict.value != 0, e);
	return err < 0 ? err : quarantine_empty(p, e);
}
