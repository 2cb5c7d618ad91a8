/* SPDX-License-Identifier: MIT */
#include "writeback/proposal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/json.h"
#include "writeback/publish.h"
#include "writeback/reason.h"
#include "writeback/statement.h"

error_t proposal_option(struct proposal_args *a, int key, char *arg)
{
	switch (key) {
	case PROPOSAL_RUN:
		a->run = arg;
		return 0;
	case PROPOSAL_NONCE:
		a->too_long = strlen(arg) >= sizeof(a->nonce);
		snprintf(a->nonce, sizeof(a->nonce), "%s", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int proposal_find_nonce(struct proposal_args *a, struct weir_err *e)
{
	cleanup_close int dir = -1;
	cleanup_buf struct buf text = { 0 };
	cleanup_json json_t *root = NULL;
	struct weir_err cause = { 0 };

	if (a->nonce[0] && !a->too_long)
		return 0;
	if (!a->run) {
		e->exit_code = GATE_EXIT_USAGE;
		return err_set(e, -EINVAL, "--run DIR or --nonce N (32 hex digits) is missing");
	}
	dir = open(a->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_errno(e, -errno, "run %s", a->run);
	if (fsio_read_file(dir, "statement.json", STATEMENT_MAX, &text, &cause) == 0)
		root = json_read(text.data, text.len, "statement.json", &cause);
	if (!root || json_take_fixed(root, "nonce", a->nonce, sizeof(a->nonce)) < 0)
		return refuse(e, REASON_STATEMENT, "run %s has no readable statement.json", a->run);
	return 0;
}

void proposal_done(struct proposal *x)
{
	pending_done(&x->pending);
	people_done(&x->people);
	policy_free(x->policy);
	approve_tally_done(&x->tally);
	x->policy = NULL;
}

int proposal_open_repo(const struct gate_config *c, struct repo *ret_repo, int *ret_lock,
		       struct weir_err *e)
{
	int err = repo_open(c->repository, true, ret_repo, e);

	if (err < 0)
		return err;
	*ret_lock = publish_lock(ret_repo, e);
	return *ret_lock < 0 ? *ret_lock : pending_expire(c, ret_repo, e);
}

int proposal_load(const struct gate_config *c, struct repo *repo, const char *nonce,
		  struct proposal *ret_proposal, struct weir_err *e)
{
	struct proposal *x = ret_proposal;
	struct weir_err cause = { 0 };
	int err = pending_open(repo, nonce, &x->pending, e);

	if (err == -ENOENT)
		return refuse(e, REASON_PENDING, "nothing waits under nonce %.32s", nonce);
	if (err < 0)
		return err;
	err = policy_load("policy.yaml", buf_str(&x->pending.policy), x->pending.policy.len,
			  &x->policy, &cause);
	if (err < 0)
		return refuse(e, REASON_VOID, "%s", cause.text);
	err = approve_people(c, repo, &x->pending, &x->people, e);
	return err < 0 ? err : approve_count(&x->pending, &x->people, time(NULL), &x->tally, e);
}
