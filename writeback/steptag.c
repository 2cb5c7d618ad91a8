/* SPDX-License-Identifier: MIT */
/*
 * Steps 2 to 4 of a tag. It brings no content: what it names must have come through the gate, all of
 * it, as anybody could verify it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/keyhist.h"
#include "writeback/promotion.h"
#include "writeback/publish.h"
#include "writeback/quarantine.h"
#include "writeback/reason.h"
#include "writeback/signers.h"
#include "writeback/verify.h"

/* A branch that may be promoted to reaches it: what was rewound is no release. */
static int check_reached(const struct promotion *p, struct weir_err *e)
{
	for (size_t i = 0; i < p->config->refs.count; i++) {
		struct weir_err none = { 0 };
		git_oid tip;
		int reaches;

		if (repo_read_ref(&p->repo, p->config->refs.items[i], &tip, &none) < 0)
			continue;
		reaches = repo_reaches(&p->repo, &tip, &p->object, e);
		if (reaches != 0)
			return reaches < 0 ? reaches : 0;
	}
	return refuse(e, REASON_TAG_COMMIT, "no promotable branch reaches %s", p->order.object);
}

int tag_crosscheck(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	cleanup_buf struct buf signers = { 0 };
	cleanup_keyhist struct keyhist keys = { 0 };
	cleanup_verify struct verify v = { .repo = &p->repo,
					   .ledger_key = &p->ledger->log.key,
					   .ledger = &p->ledger->log,
					   .commit = p->object };
	struct weir_err cause = { 0 };
	int err = check_reached(p, e);

	(void)ret_answer;
	if (err == 0)
		err = fsio_read_file(AT_FDCWD, p->config->signers, SIGNERS_MAX, &signers, e);
	if (err == 0)
		err = keyhist_load_cached(&p->ledger->log, &p->repo, &keys, e);
	if (err < 0)
		return err;
	v.keys = &keys;
	v.signers = buf_str(&signers);
	if (verify_run(&v, &cause) == 0)
		return 0;
	return cause.exit_code == GATE_EXIT_REFUSED
		       ? refuse(e, REASON_TAG_COMMIT, "%.12s: %.300s", p->order.object, cause.text)
		       : err_set(e, -EIO, "%s", cause.text);
}

int tag_inspect(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	(void)ret_answer;
	(void)e;
	git_oid_cpy(&p->tree, &p->base_head.tree);
	return 0;
}

int tag_quarantine(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	int err = publish_open_quarantine(&p->repo, p->nonce.id, &p->quarantine, e);

	(void)ret_answer;
	return err < 0 ? err : quarantine_empty(p, e);
}
