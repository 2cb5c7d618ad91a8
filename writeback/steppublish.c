/* SPDX-License-Identifier: MIT */
/* Step 9, publish: from quarantine to branch; order in publish.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/journal.h"
#include "writeback/promotion.h"
#include "writeback/publish.h"
#include "writeback/reason.h"
#include "writeback/record.h"
#include "writeback/remote.h"

/* The bytes on disk must still be those that were hashed on the way in. */
static int check_pack(const struct promotion *p, struct weir_err *e)
{
	cleanup_close int fd = openat(p->quarantine, "pack", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	unsigned char sha256[DIGEST_SIZE];
	int err = fd < 0 ? -errno : pack_hash_file(fd, sha256);

	if (err < 0)
		return err_errno(e, err, "reading the quarantined pack");
	if (memcmp(sha256, p->pack.sha256, DIGEST_SIZE) != 0)
		return refuse(e, REASON_QUARANTINE, "the quarantined pack has other bytes");
	return 0;
}

static int rename_pack(const struct promotion *p, const char *from, const char *suffix,
		       struct weir_err *e)
{
	char name[2 * PACK_ID + 1], path[128];

	digest_hex(p->pack.name, PACK_ID, name);
	snprintf(path, sizeof(path), "objects/pack/pack-%s.%s", name, suffix);
	if (renameat(p->quarantine, from, p->repo.fd, path) < 0)
		return err_errno(e, -errno, "%s/%s", p->repo.path, path);
	return 0;
}

/* The other side sees the record before the ledger says done: it gets the intent. */
static int prove_intent(const struct promotion *p, uint64_t intent, struct buf proofs[3],
			struct weir_err *e)
{
	int err = ledger_read(&p->ledger->log, intent, &proofs[0], e);

	if (err == 0)
		err = ledger_prove(&p->ledger->log, intent, &proofs[1], e);
	return err < 0 ? err : ledger_prove_prefix(&p->ledger->log, intent, &proofs[2], e);
}

static int write_record(struct promotion *p, const git_oid *tip, const struct buf proofs[3],
			git_oid *ret_tip, struct weir_err *e)
{
	cleanup_buf struct buf keys = { 0 };
	int err = p->keys.count ? keyhist_format(&p->keys, &p->ledger->log, &keys, e) : 0;
	struct record_write w = { .commit = p->commit,
				  .tip = *tip,
				  .name = p->config->name,
				  .email = p->config->email,
				  .subject = "Promotion of",
				  .object = &p->commit_data,
				  .is_tag = kind_of(p->kind)->is_tag };

	if (err < 0)
		return err;
	record_add(&w, "promotion", &p->digest_text);
	record_add(&w, "changes", &p->changes_text);
	record_add(&w, "statement.json", &p->statement_text);
	if (p->signature_text.len > 0)
		record_add(&w, "statement.sig", &p->signature_text);
	if (p->tally.bundle.len > 0)
		record_add(&w, "approvals", &p->tally.bundle);
	if (p->exceptions.bundle.len > 0)
		record_add(&w, "exceptions", &p->exceptions.bundle);
	for (enum attest_kind kind = 0; kind < ATTEST_KIND_COUNT; kind++)
		if (kind_attests(p->kind, kind))
			record_add(&w, attest_file(kind), &p->attestations.envelopes[kind]);
	if (kind_of(p->kind)->has_run) {
		record_add(&w, ATTEST_READS, &p->attestations.reads);
		record_add(&w, ATTEST_LINK, &p->attestations.link);
	}
	if (keys.len > 0)
		record_add(&w, KEYHIST_FILE, &keys);
	if (proofs[0].len > 0) {
		record_add(&w, "intent", &proofs[0]);
		record_add(&w, "intent.tlog-proof", &proofs[1]);
		record_add(&w, "intent.consistency", &proofs[2]);
	}
	return record_write(&p->repo, &w, ret_tip, e);
}

static int publish_objects(struct promotion *p, const git_oid *record_tip, uint64_t intent,
			   git_oid *ret_tip, struct weir_err *e)
{
	struct buf proofs[3] = { { 0 } };
	cleanup_close int dir = -1;
	int err = 0;

	if (p->pack.objects > 0) {
		err = rename_pack(p, "pack", "pack", e);
		if (err == 0)
			err = rename_pack(p, "idx", "idx", e);
		if (err < 0)
			return err;
		dir = openat(p->repo.fd, "objects/pack", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0 || fsync(dir) < 0)
			return err_errno(e, -errno, "%s/objects/pack", p->repo.path);
		if (git_odb_refresh(p->repo.odb) < 0)
			return repo_error(e, "reading the new pack");
	}
	if (!repo_has(&p->repo, &p->tree))
		return err_set(e, -EIO, "the new tree is not in the repository after publishing");
	if (remote_is_used(p->config))
		err = prove_intent(p, intent, proofs, e);
	if (err == 0)
		err = write_record(p, record_tip, proofs, ret_tip, e);
	for (size_t i = 0; i < ARRAY_SIZE(proofs); i++)
		buf_done(&proofs[i]);
	return err;
}

static int fill_journal(const struct promotion *p, struct journal *j, struct weir_err *e)
{
	struct reflock *record = &j->refs[0], *branch = &j->refs[1];
	struct weir_err none = { 0 };
	int err;

	memcpy(j->nonce.id, p->nonce.id, sizeof(j->nonce.id));
	memcpy(j->nonce.statement, p->statement.sha256, sizeof(j->nonce.statement));
	git_oid_tostr(j->nonce.promoted, sizeof(j->nonce.promoted), &p->commit);
	j->nonce.run = strdup(p->statement.run);
	record->ref = strdup(RECORD_REF);
	branch->ref = strdup(p->target);
	j->dir = kind_of(p->kind)->is_dir ? strdup(p->dir.name) : NULL;
	if (!j->nonce.run || !record->ref || !branch->ref || (kind_of(p->kind)->is_dir && !j->dir))
		return err_errno(e, -ENOMEM, "publishing");
	/* a tag is new: zero */
	if (kind_of(p->kind)->is_dir)
		branch->old = p->old_dir;
	else if (!kind_of(p->kind)->is_tag)
		branch->old = p->base_commit;
	branch->new_id = p->commit;
	err = repo_read_ref(&p->repo, RECORD_REF, &record->old, &none);
	if (err == -ENOENT)
		return 0;
	if (err < 0)
		*e = none;
	return err;
}

/* The branch's lock is prepared with its content. The record's tip is known only once the
 * objects are written, which is after the branch was compared: its lock comes then. */
static int add_intent(struct promotion *p, struct weir_err *e)
{
	char commit[OID_HEX], tree[OID_HEX];
	const struct ledger_entry n = { .kind = LEDGER_INTENT,
					.repository = p->config->id,
					.ref = (char *)(uintptr_t)p->target,
					.base = p->base_hex,
					.tree = tree,
					.commit = commit,
					.promotion = p->digest,
					.statement = p->statement.sha256,
					.run = p->statement.run,
					.nonce = p->nonce.id,
					.attestations = p->bundle_sha256 };

	git_oid_tostr(commit, sizeof(commit), &p->commit);
	git_oid_tostr(tree, sizeof(tree), &p->tree);
	return gateledger_add(p->ledger, &n, NULL, e);
}

/* The next directory is made when all its blobs are durable, and the old one is as it should be. */
static int prepare_dir(const struct promotion *p, struct journal *j, struct weir_err *e)
{
	cleanup_buf struct buf bundle = { 0 };
	const struct dirs_want want = { .changes = buf_str(&p->changes_text),
					.from = p->dir.from,
					.bundle = p->dir.bundle,
					.envelopes = &bundle };
	int err = dirs_bundle(&p->attestations, &bundle);

	if (err < 0)
		return err_errno(e, err, "publishing");
	err = dirsdisk_check_old(&p->repo, &p->dir, &p->old_dir, &j->swap.old_ino, e);
	return err < 0 ? err : dirsdisk_stage(&p->repo, &p->dir, &want, &j->swap.new_ino, e);
}

/* Nothing of the directory may stay when its ref does not move. Returns: 0 or a negative errno. */
static int undo_dir(const struct promotion *p, const struct journal *j)
{
	struct weir_err none = { 0 };
	int err = j->dir && j->ready ? dirsdisk_swap_back(&p->dir, &j->swap, &none) : 0;

	return err < 0 || !j->dir ? err : dirsdisk_clean(&p->dir, &none);
}

static int publish_refs(struct promotion *p, struct journal *j, struct weir_err *e)
{
	struct reflock *record = &j->refs[0], *branch = &j->refs[1];
	int err = reflock_take(&p->repo, record, e);

	if (err == 0 && remote_is_used(p->config))
		err = remote_push(p->config, &p->repo, j->refs, JOURNAL_REFS, e);
	if (err == 0)
		err = reflock_publish(&p->repo, record, e);
	if (err == 0 && j->dir)
		err = dirsdisk_swap(&p->dir, &j->swap, e);
	return err < 0 ? err : reflock_publish(&p->repo, branch, e);
}

static int publish(struct promotion *p, struct journal *j, struct weir_err *e)
{
	struct reflock *record = &j->refs[0], *branch = &j->refs[1];
	int err = reflock_prepare(&p->repo, branch, 1, e);

	j->intent = p->ledger->log.checkpoint.size;

	if (err == 0)
		err = journal_write(&p->repo, j, e);
	if (err == 0)
		err = reflock_take(&p->repo, branch, e);
	if (err == 0)
		err = add_intent(p, e);
	if (err == 0)
		err = publish_objects(p, &record->old, j->intent, &record->new_id, e);
	if (err == 0)
		err = reflock_prepare(&p->repo, record, 0, e);
	if (err == 0 && j->dir)
		err = prepare_dir(p, j, e);
	if (err < 0)
		return err;
	j->ready = true;
	err = journal_write(&p->repo, j, e);
	return err < 0 ? err : publish_refs(p, j, e);
}

/* The proof is made from the log as it is now: a later one proves the same. */
static int write_proof(const struct repo *r, const struct gate_config *c, struct gateledger *g,
		       const struct journal *j, const git_oid *tip, git_oid *ret_tip,
		       struct weir_err *e)
{
	struct record_write w = {
		.tip = *tip, .name = c->name, .email = c->email, .subject = "Ledger: done, of"
	};
	cleanup_buf struct buf entry = { 0 };
	cleanup_buf struct buf proof = { 0 };
	cleanup_buf struct buf consistency = { 0 };
	int err = ledger_read(&g->log, j->intent + 1, &entry, e);

	if (err == 0)
		err = ledger_prove(&g->log, j->intent + 1, &proof, e);
	if (err == 0)
		err = ledger_prove_prefix(&g->log, j->intent, &consistency, e);
	if (err == 0 && git_oid_fromstr(&w.commit, j->nonce.promoted) < 0)
		err = repo_error(e, "the journal's commit");
	record_add(&w, "done", &entry);
	record_add(&w, "done.tlog-proof", &proof);
	record_add(&w, "done.consistency", &consistency);
	return err < 0 ? err : record_write(r, &w, ret_tip, e);
}

int publish_end(const struct repo *r, const struct gate_config *c, struct gateledger *g,
		struct journal *j, struct weir_err *e)
{
	struct reflock *record = &j->refs[0];
	cleanup_record struct record there = { 0 };
	git_oid commit, tip;
	int err = gateledger_end(g, j->intent, j->nonce.promoted, LEDGER_DONE, NULL, NULL, e);

	if (err == 0 && git_oid_fromstr(&commit, j->nonce.promoted) < 0)
		err = repo_error(e, "the journal's commit");
	if (err == 0)
		err = record_read(r, &commit, &there, e);
	if (err == 0)
		err = repo_read_ref(r, RECORD_REF, &tip, e);
	if (err < 0 || there.proof.len > 0)
		return err;
	free(record->file);
	record->file = NULL;
	record->old = tip;
	err = write_proof(r, c, g, j, &tip, &record->new_id, e);
	if (err == 0)
		err = reflock_prepare(r, record, 0, e);
	if (err == 0)
		err = journal_write(r, j, e);
	if (err == 0)
		err = reflock_take(r, record, e);
	if (err == 0)
		err = reflock_publish(r, record, e);
	if (err == 0 && remote_is_used(c))
		err = remote_push(c, r, record, 1, e);
	reflock_drop(r, record);
	return err;
}

/* The branch is as it was. The journal stays where the ledger can't say so: the next gate
 * will. */
static int abort_intent(struct promotion *p, const struct journal *j, const struct weir_err *e)
{
	struct weir_err other = { 0 };
	int err = gateledger_end(p->ledger, j->intent, j->nonce.promoted, LEDGER_ABORTED,
				 e->code[0] ? e->code : "failed", e->text, &other);

	p->recorded = err == 0 && p->ledger->log.checkpoint.size > j->intent;
	return err < 0 ? err : journal_remove(&p->repo, &other);
}

static int use_nonce(struct promotion *p, const struct journal *j, struct weir_err *e)
{
	free(p->nonce.run);
	p->nonce.run = strdup(j->nonce.run);
	if (!p->nonce.run)
		return err_errno(e, -ENOMEM, "marking the nonce");
	memcpy(p->nonce.statement, j->nonce.statement, sizeof(p->nonce.statement));
	memcpy(p->nonce.promoted, j->nonce.promoted, sizeof(p->nonce.promoted));
	return nonce_use(&p->nonce, e);
}

int step_publish(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	cleanup_journal struct journal j = { 0 };
	bool swapped;
	int err = check_pack(p, e);

	(void)ret_answer;
	if (err == 0)
		err = fill_journal(p, &j, e);
	if (err < 0)
		return err;
	err = publish(p, &j, e);
	swapped = j.ready && !j.refs[JOURNAL_REFS - 1].held;
	for (unsigned int i = 0; i < JOURNAL_REFS; i++)
		reflock_drop(&p->repo, &j.refs[i]);
	if (err < 0) {
		/* no later gate may move the branch for a failed one, unless nobody knows */
		if (!swapped && err != -EAGAIN && undo_dir(p, &j) == 0)
			abort_intent(p, &j, e);
		return err;
	}
	err = publish_end(&p->repo, p->config, p->ledger, &j, e);
	if (err == 0)
		err = use_nonce(p, &j, e);
	if (err == 0 && j.dir)
		err = dirsdisk_clean(&p->dir, e);
	if (err == 0)
		err = journal_remove(&p->repo, e);
	if (err == 0)
		return 0;
	/* no refusal: the branch has moved */
	e->exit_code = GATE_EXIT_FAILED;
	return err_wrap(e, "the promotion is published, but its bookkeeping failed");
}
