/* SPDX-License-Identifier: MIT */
#include "writeback/promotion.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "user/base/glob.h"
#include "writeback/reason.h"
#include "writeback/remote.h"

#define TAGS "refs/tags/"
#define TAG_NAME_MAX 200
#define TAG_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-"

void promotion_done(struct promotion *p)
{
	repo_close(&p->repo);
	buf_done(&p->statement_text);
	buf_done(&p->signature_text);
	statement_done(&p->statement);
	nonce_done(&p->nonce);
	order_done(&p->order);
	dirs_done(&p->dir);
	buf_done(&p->policy_text);
	policy_free(p->policy);
	mutations_free(p->mutations);
	manifest_free(p->before);
	manifest_free(p->after);
	base_done(&p->base);
	changes_done(&p->changes);
	changes_done(&p->left);
	hazards_done(&p->hazards);
	if (p->quarantine >= 0)
		close(p->quarantine);
	pending_done(&p->pending);
	people_done(&p->people);
	gate_texts_done(&p->producers);
	keyhist_done(&p->keys);
	approve_tally_done(&p->tally);
	reads_done(&p->reads);
	attestations_done(&p->attestations);
	except_use_done(&p->exceptions);
	buf_done(&p->changes_text);
	buf_done(&p->digest_text);
	buf_done(&p->commit_data);
}

bool promotion_asks_people(const struct promotion *p)
{
	return p->kind == KIND_REVERT || approve_wanted(p->policy);
}

static bool is_tag_name(const struct gate_config *c, const char *name)
{
	size_t len = strlen(name);
	int valid = 0;

	if (len > TAG_NAME_MAX || name[0] == '-' || name[strspn(name, TAG_LETTERS)] != '\0')
		return false;
	for (size_t i = 0; i < c->tags.count; i++)
		if (glob_match(c->tags.items[i], name, len)) {
			char ref[TAG_NAME_MAX + sizeof(TAGS)];

			snprintf(ref, sizeof(ref), TAGS "%s", name);
			return git_reference_name_is_valid(&valid, ref) == 0 && valid;
		}
	return false;
}

/* Neither itself nor anything below it, loose or packed. */
static int check_tag(const struct promotion *p, struct weir_err *e)
{
	const char *name =
		strncmp(p->target, TAGS, strlen(TAGS)) == 0 ? p->target + strlen(TAGS) : "";
	struct weir_err none = { 0 };
	git_strarray below = { 0 };
	char glob[TAG_NAME_MAX + 4];
	bool there;
	git_oid oid;
	int err;

	if (remote_is_used(p->config))
		return refuse(e, REASON_REF, "a gate in mode push makes no tags");
	if (!is_tag_name(p->config, name))
		return refuse(e, REASON_REF, "%.200s is no tag that gate.yaml allows", name);
	err = repo_read_ref(&p->repo, p->target, &oid, &none);
	if (err != -ENOENT)
		return refuse(e, REASON_TAG_EXISTS, "%s", p->target);
	snprintf(glob, sizeof(glob), "%s/*", name);
	if (git_tag_list_match(&below, glob, p->repo.git) < 0)
		return repo_error(e, p->target);
	there = below.count > 0;
	git_strarray_dispose(&below);
	return there ? refuse(e, REASON_TAG_EXISTS, "%s/...", p->target) : 0;
}

/* The directory has a ref of its own; the branch must still have what the run was made from. */
static int check_dir(struct promotion *p, struct weir_err *e)
{
	struct weir_err none = { 0 };
	git_oid tip;
	int err = repo_read_ref(&p->repo, p->nonce.ref, &tip, e);

	p->target = p->dir.ref;
	if (err == 0)
		err = repo_reaches(&p->repo, &tip, &p->base_commit, e);
	if (err == 0)
		return refuse(e, REASON_BASE_MOVED, "%s does not reach %s any more", p->nonce.ref,
			      p->nonce.commit);
	if (err < 0)
		return err;
	err = repo_read_ref(&p->repo, p->dir.ref, &p->old_dir, &none);
	if (err < 0 && err != -ENOENT)
		*e = none;
	return err == -ENOENT ? 0 : err;
}

int promotion_check_ref(struct promotion *p, struct weir_err *e)
{
	char now[OID_HEX];
	git_oid tip;
	int err;

	p->target = p->nonce.ref;
	if (kind_of(p->kind)->is_tag)
		return check_tag(p, e);
	if (!gate_texts_have(&p->config->refs, p->target))
		return refuse(e, REASON_REF, "%s is no promotable ref", p->target);
	if (kind_of(p->kind)->is_dir)
		return check_dir(p, e);
	err = repo_read_ref(&p->repo, p->target, &tip, e);
	if (err < 0)
		return err;
	if (git_oid_equal(&tip, &p->base_commit))
		return 0;
	git_oid_tostr(now, sizeof(now), &tip);
	return refuse(e, REASON_BASE_MOVED, "%s moved from %s to %s", p->target, p->base_hex, now);
}

void promotion_record_refusal(struct promotion *p, struct weir_err *e)
{
	struct ledger_entry n = { .kind = LEDGER_ABORTED,
				  .intent = -1,
				  .ref = p->target ? (char *)(uintptr_t)p->target : p->nonce.ref,
				  .run = p->statement.run,
				  .nonce = p->nonce.id,
				  .promotion = p->digest,
				  .reason = e->code,
				  .why = e->text };
	struct weir_err other = { 0 };

	/* a proposal that waits is no refusal */
	if (strcmp(e->code, reason_code(REASON_APPROVALS_MISSING)) == 0)
		return;
	if (p->recorded || e->exit_code != GATE_EXIT_REFUSED ||
	    gateledger_add(p->ledger, &n, NULL, &other) == 0)
		return;
	err_wrap(e, "not in the ledger (%.200s)", other.text);
}
