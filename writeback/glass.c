/* SPDX-License-Identifier: MIT */
#include "writeback/glass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/history.h"
#include "writeback/pushcert.h"
#include "writeback/record.h"
#include "writeback/sshcert.h"
#include "writeback/sshpub.h"

#define LINE "\nbreak-glass "

void glass_voice_done(struct glass_voice *v)
{
	buf_done(&v->text);
	buf_done(&v->blob);
	buf_done(&v->key);
	free(v->ref);
	free(v->reason);
	free(v->nonce);
	*v = (struct glass_voice){ 0 };
}

void glass_done(struct glass *g)
{
	buf_done(&g->bundle);
	buf_done(&g->entry_text);
	buf_done(&g->proof_text);
	ledger_entry_done(&g->entry);
}

/* One key is one key, whatever certificate it comes with. */
static int plain_key(const struct buf *blob, struct buf *ret_key)
{
	cleanup_sshcert struct sshcert cert = { 0 };
	struct sshwire w = sshwire_of(blob);

	if (!sshcert_is(&w))
		return buf_add(ret_key, blob->data, blob->len);
	if (sshcert_read(&w, &cert) < 0)
		return -EBADMSG;
	return buf_add(ret_key, cert.plain.data, cert.plain.len);
}

int glass_hear(const char *text, size_t len, struct glass_voice *ret_voice, struct weir_err *e)
{
	cleanup_pushcert struct pushcert c = { 0 };
	struct glass_voice *v = ret_voice;
	int err = pushcert_parse(text, len, &c, e);

	if (err == 0)
		err = pushcert_verify(&c, text, &v->blob, e);
	if (err < 0)
		return err;
	err = plain_key(&v->blob, &v->key);
	if (err == 0)
		err = buf_add(&v->text, text, c.len);
	if (err < 0)
		return err_errno(e, err, "push certificate");
	v->ref = TAKE_PTR(c.ref);
	v->reason = TAKE_PTR(c.reason);
	v->nonce = TAKE_PTR(c.nonce);
	v->old = c.old;
	v->new_id = c.new_id;
	return 0;
}

int glass_agree(const struct glass_voice *a, const struct glass_voice *b, struct weir_err *e)
{
	struct sshwire x = sshwire_of(&a->key), y = sshwire_of(&b->key);

	if (strcmp(a->ref, b->ref) != 0 || !git_oid_equal(&a->old, &b->old) ||
	    !git_oid_equal(&a->new_id, &b->new_id))
		return err_set(e, -EBADMSG, "the two push certificates are about two pushes");
	if (sshwire_equal(&x, &y))
		return err_set(e, -EBADMSG, "one key signed both push certificates");
	return 0;
}

int glass_has(const struct repo *r, const git_oid *commit, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	struct weir_err cause = { 0 };
	int err = record_read_file(r, commit, GLASS_FILE, &text, &cause);

	if (err == 0)
		return 1;
	if (err == -ENOENT)
		return 0;
	*e = cause;
	return err;
}

static int check_certificates(const struct glass *g, struct weir_err *e)
{
	cleanup_with(glass_voice_done) struct glass_voice a = { 0 };
	cleanup_with(glass_voice_done) struct glass_voice b = { 0 };
	const struct buf *all = &g->bundle;
	char hex[DIGEST_HEX], old[OID_HEX], new_id[OID_HEX];
	unsigned char hash[DIGEST_SIZE];
	int err = glass_hear(buf_str(all), all->len, &a, e);

	if (err == 0)
		err = glass_hear(buf_str(all) + a.text.len, all->len - a.text.len, &b, e);
	if (err == 0)
		err = glass_agree(&a, &b, e);
	if (err < 0)
		return err;
	if (digest_bytes(all->data, all->len, hash) < 0)
		return err_errno(e, -EIO, "hashing the push certificates");
	digest_hex(hash, sizeof(hash), hex);
	git_oid_tostr(old, sizeof(old), &a.old);
	git_oid_tostr(new_id, sizeof(new_id), &a.new_id);
	if (a.text.len + b.text.len != all->len || strcmp(hex, g->entry.statement) != 0 ||
	    strcmp(a.ref, g->entry.ref) != 0 || strcmp(old, g->entry.base) != 0 ||
	    strcmp(new_id, g->entry.commit) != 0)
		return err_set(e, -EBADMSG, "the ledger's entry is about another push");
	return 0;
}

static int check_proof(struct glass *g, const struct note_key *key, struct weir_err *e)
{
	const struct buf *text = &g->entry_text;
	struct merkle_hash leaf;
	int err = tlog_proof_parse(key, g->proof_text.data, g->proof_text.len, &g->proof, e);

	if (err < 0)
		return err;
	err = merkle_leaf(text->data, text->len, &leaf);
	if (err == 0)
		err = merkle_check_inclusion(&leaf, g->proof.index, g->proof.checkpoint.size,
					     &g->proof.path, &g->proof.checkpoint.root);
	return err < 0 ? err_set(e, -EBADMSG, "the entry is not in the ledger") : 0;
}

/* From the new tip back to the old one, by first parents. */
static int check_belongs(const struct repo *r, const struct glass *g, const git_oid *commit,
			 struct weir_err *e)
{
	git_oid at, old;
	bool found = false;

	if (git_oid_fromstr(&at, g->entry.commit) < 0 || git_oid_fromstr(&old, g->entry.base) < 0)
		return err_set(e, -EBADMSG, "the ledger's entry can't be read");
	for (unsigned int i = 0; !git_oid_equal(&at, &old); i++) {
		struct repo_commit head;
		int err = i < GLASS_COMMITS_MAX ? repo_read_commit(r, &at, &head, e) : -E2BIG;

		if (err < 0)
			return err == -E2BIG ? err_errno(e, err, "break-glass") : err;
		found |= git_oid_equal(&at, commit);
		at = head.parent;
	}
	return found ? 0 : err_set(e, -EBADMSG, "the break-glass push did not bring this commit");
}

int glass_check(const struct repo *r, const git_oid *commit, const struct note_key *key,
		struct glass *ret_glass, struct weir_err *e)
{
	struct glass *g = ret_glass;
	struct weir_err cause = { 0 };
	int err = record_read_file(r, commit, GLASS_FILE, &g->bundle, &cause);

	if (err == -ENOENT)
		return err;
	if (err == 0)
		err = record_read_file(r, commit, GLASS_ENTRY, &g->entry_text, &cause);
	if (err == 0)
		err = record_read_file(r, commit, GLASS_PROOF, &g->proof_text, &cause);
	if (err == 0)
		err = ledger_entry_parse(buf_str(&g->entry_text), g->entry_text.len, &g->entry,
					 &cause);
	if (err == 0 && g->entry.kind != LEDGER_GLASS)
		err = err_set(&cause, -EBADMSG, "the ledger's entry says something else");
	if (err == 0)
		err = check_certificates(g, &cause);
	if (err == 0)
		err = check_proof(g, key, &cause);
	if (err == 0)
		err = check_belongs(r, g, commit, &cause);
	if (err == 0)
		return 0;
	*e = cause;
	return err == -ENOENT ? -EBADMSG : err;
}

int glass_listed(const char *text, struct gate_texts *ret_commits)
{
	for (const char *at = strstr(text, LINE); at; at = strstr(at + 1, LINE)) {
		cleanup_free char *id =
			strndup(at + strlen(LINE), strcspn(at + strlen(LINE), "\n"));

		if (!id ||
		    (!gate_texts_have(ret_commits, id) && gate_texts_add(ret_commits, id) < 0))
			return -ENOMEM;
	}
	return 0;
}

struct collect {
	const struct repo *repo;
	struct gate_texts *commits;
};

static int look(const git_oid *id, const git_commit *commit, void *arg, struct weir_err *e)
{
	struct collect *c = arg;
	cleanup_buf struct buf text = { 0 };
	struct weir_err cause = { 0 };
	char hex[OID_HEX];
	int err = glass_has(c->repo, id, e);

	(void)commit;
	if (err < 0)
		return err;
	if (err == 1) {
		git_oid_tostr(hex, sizeof(hex), id);
		return gate_texts_add(c->commits, hex) < 0
			       ? err_errno(e, -ENOMEM, "walking the history")
			       : 1;
	}
	err = record_read_file(c->repo, id, "promotion", &text, &cause);
	if (err == -ENOENT)
		return 1;
	if (err < 0) {
		*e = cause;
		return err;
	}
	return glass_listed(buf_str(&text), c->commits) < 0
		       ? err_errno(e, -ENOMEM, "walking the history")
		       : 0;
}

int glass_collect(const struct repo *r, const git_oid *tip, struct gate_texts *ret_commits,
		  struct weir_err *e)
{
	struct collect c = { r, ret_commits };
	struct weir_err cause = { 0 };
	git_oid records;
	int err = repo_read_ref(r, RECORD_REF, &records, &cause);

	if (err == -ENOENT)
		return 0;
	if (err < 0) {
		*e = cause;
		return err;
	}
	err = history_walk(r, tip, look, &c, e);
	gate_texts_sort(ret_commits);
	return err;
}
