/* SPDX-License-Identifier: MIT */
/* Step 0, nonce: whose run is this, and what was it started for. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/approval.h"
#include "writeback/promotion.h"
#include "writeback/reason.h"
#include "writeback/rebase.h"

static int read_input(const struct promotion *p, enum run_file file, const char *name, size_t max,
		      struct buf *ret_text, struct weir_err *e)
{
	int err;

	if (p->files[file] < 0)
		return refuse(e, REASON_STATEMENT, "the run has no %s", name);
	err = fsio_read_fd(p->files[file], max, ret_text);
	if (err == -EFBIG)
		return refuse(e, REASON_STATEMENT, "%s is larger than %zu bytes", name, max);
	return err < 0 ? err_errno(e, err, "%s", name) : 0;
}

static int check_nonce(const struct promotion *p, struct weir_err *e)
{
	const struct nonce *n = &p->nonce;
	const struct statement *s = &p->statement;

	if (n->used)
		return refuse(e, REASON_NONCE_USED, "nonce %s was used for commit %s", n->id,
			      n->promoted);
	if (n->issued > time(NULL) + APPROVAL_SKEW_S)
		return refuse(e, REASON_CLOCK, "nonce %s was issued in the future", n->id);
	if (strcmp(n->repo_id, p->config->id) != 0 ||
	    strcmp(n->repository, p->config->repository) != 0)
		return refuse(e, REASON_NONCE_MISMATCH, "nonce %s is for repository %s", n->id,
			      n->repository);
	if (strcmp(s->ref, n->ref) != 0 || strcmp(s->commit, n->commit) != 0 ||
	    strcmp(s->repository, n->repository) != 0)
		return refuse(e, REASON_NONCE_MISMATCH,
			      "nonce %s is for %s at %.12s, the run says %s at %.12s", n->id,
			      n->ref, n->commit, s->ref, s->commit);
	if (n->dev != s->dev || n->ino != s->ino ||
	    (!p->resumed && (n->dev != p->ws_dev || n->ino != p->ws_ino)))
		return refuse(e, REASON_NONCE_MISMATCH,
			      "nonce %s is for the workspace %s (inode %llu), not for this one",
			      n->id, n->workspace, (unsigned long long)n->ino);
	return 0;
}

int run_nonce(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	int err = read_input(p, RUN_STATEMENT, "statement.json", STATEMENT_MAX, &p->statement_text,
			     e);

	(void)ret_answer;
	if (err == 0)
		err = read_input(p, RUN_SIGNATURE, "statement.sig", 1024, &p->signature_text, e);
	if (err == 0)
		err = statement_parse(buf_str(&p->statement_text), p->statement_text.len,
				      &p->statement, e);
	if (err == 0)
		err = statement_check(&p->statement, buf_str(&p->statement_text),
				      p->statement_text.len, buf_str(&p->signature_text),
				      &p->config->hosts, e);
	if (err == 0)
		err = nonce_load(p->statement.nonce, &p->nonce, e);
	if (err == 0)
		err = check_nonce(p, e);
	if (err < 0)
		return err;
	if (git_oid_fromstr(&p->began_commit, p->nonce.commit) < 0)
		return refuse(e, REASON_NONCE_MISMATCH, "nonce %s names no commit", p->nonce.id);
	err = rebase_find_base(p, e);
	if (err == 0)
		err = promotion_check_ref(p, e);
	if (err == 0)
		err = repo_read_commit(&p->repo, &p->began_commit, &p->began_head, e);
	return err < 0 ? err : repo_read_commit(&p->repo, &p->base_commit, &p->base_head, e);
}
