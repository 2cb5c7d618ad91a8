/* SPDX-License-Identifier: MIT */
#include "writeback/verifykeys.h"

#include <errno.h>
#include <string.h>

#include "user/base/cleanup.h"

#define WALK_MAX 10000		     /* commits of a branch without a record */
#define OBJECT_MAX ((size_t)1 << 20) /* bytes of a commit or tag */

/* What a record has, if it has some. Returns: 0, -EBADMSG or another negative errno with e. */
static int read_history(const struct verify *v, const git_oid *commit, struct keyhist *ret_history,
			struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	struct weir_err cause = { 0 };
	int err = record_read_file(v->repo, commit, KEYHIST_FILE, &text, &cause);

	*ret_history = (struct keyhist){ 0 };
	if (err == -ENOENT)
		return 0;
	if (err < 0) {
		*e = cause;
		return err;
	}
	return keyhist_parse(v->ledger_key, buf_str(&text), text.len, ret_history, e);
}

/* None is missing. promotion: the text that names them. */
static int check_whole(const struct keyhist *h, const char *promotion, struct weir_err *e)
{
	cleanup_buf struct buf line = { 0 };
	cleanup_buf struct buf named = { 0 };
	bool names = digest_find(promotion, KEYHIST_FILE, &named) == 0;

	if (keyhist_line(h, &line) < 0)
		return err_errno(e, -ENOMEM, "the history of keys");
	if (names != (h->count > 0) || (names && strcmp(buf_str(&named), buf_str(&line)) != 0))
		return err_set(e, -EBADMSG, "the record has another history of keys than it names");
	return 0;
}

/* Nor came any later. */
static int check_own(const struct verify *v, const struct keyhist *h, struct weir_err *e)
{
	int err = check_whole(h, buf_str(&v->record.promotion), e);

	if (err < 0)
		return err;
	if (h->count > 0 && h->items[h->count - 1].index >= v->intent)
		return err_set(e, -EBADMSG, "the record's history of keys is of a later time");
	return 0;
}

static int judge(const struct verify *v, const struct keyhist *h, struct weir_err *e)
{
	cleanup_buf struct buf key = { 0 };
	cleanup_buf struct buf host = { 0 };
	struct weir_err cause = { 0 };

	if (keyhist_name(&v->signer, &key) < 0)
		return err_set(e, -EBADMSG, "the key that signed can't be read");
	if (keyhist_judge(h, KEYHIST_GATE, buf_str(&key), v->intent, &cause) < 0)
		return err_set(e, -EBADMSG, "the gate's: %s", cause.text);
	if (kind_of(v->kind)->has_run &&
	    (digest_find(buf_str(&v->record.promotion), "host", &host) < 0 ||
	     keyhist_judge(h, KEYHIST_HOST, buf_str(&host), v->intent, &cause) < 0))
		return err_set(e, -EBADMSG, "the host's: %s", cause.text);
	return 0;
}

/* Whether a commit or tag says that the gate made it. Returns: 1, 0 or a negative errno. */
static int is_gates(const struct verify *v, const git_oid *oid)
{
	cleanup_buf struct buf object = { 0 };
	struct weir_err none = { 0 };
	int err = repo_read_object(v->repo, oid, GIT_OBJECT_COMMIT, OBJECT_MAX, &object, &none);

	if (err < 0)
		err = repo_read_object(v->repo, oid, GIT_OBJECT_TAG, OBJECT_MAX, &object, &none);
	return err < 0 ? err : strstr(buf_str(&object), "\nWeir-Promotion: sha256:") != NULL;
}

/* The newest commit of a branch that has a record. Returns: 1 with it; 0 if there is none, or it is
 * the one that is verified; or a negative errno with e. */
static int find_newest(const struct verify *v, git_oid *at, struct buf *ret_promotion,
		       struct weir_err *e)
{
	for (unsigned int i = 0; i < WALK_MAX; i++) {
		struct repo_commit head;
		struct weir_err cause = { 0 };
		int err;

		if (git_oid_equal(at, &v->commit))
			return 0;
		err = record_read_file(v->repo, at, "promotion", ret_promotion, &cause);
		if (err == 0)
			return 1;
		if (err != -ENOENT)
			return err_set(e, err, "%s", cause.text);
		if (is_gates(v, at) != 0)
			return err_set(e, -EBADMSG,
				       "the record of the newest promotion of a branch is missing, "
				       "and with it what is known of keys");
		/* a tag that is nobody's promotion is no commit */
		if (repo_read_commit(v->repo, at, &head, &cause) < 0 || head.parents == 0)
			return 0;
		*at = head.parent;
	}
	return err_set(e, -E2BIG, "a branch has %d commits that nobody promoted at its tip",
		       WALK_MAX);
}

/* The text is the one that its commit or tag names, whose message is the last part. */
static int check_named(const struct verify *v, const git_oid *oid, const struct buf *promotion,
		       struct weir_err *e)
{
	cleanup_buf struct buf object = { 0 };
	cleanup_buf struct buf line = { 0 };
	struct weir_err none = { 0 };
	unsigned char hash[DIGEST_SIZE];
	char hex[DIGEST_HEX];

	if (repo_read_object(v->repo, oid, GIT_OBJECT_COMMIT, OBJECT_MAX, &object, &none) < 0 &&
	    repo_read_object(v->repo, oid, GIT_OBJECT_TAG, OBJECT_MAX, &object, e) < 0)
		return -EBADMSG;
	if (digest_bytes(promotion->data, promotion->len, hash) < 0)
		return err_errno(e, -EIO, "hashing a record");
	digest_hex(hash, sizeof(hash), hex);
	buf_addf(&line, "\nWeir-Promotion: sha256:%s\n", hex);
	if (line.failed || !strstr(buf_str(&object), buf_str(&line)))
		return err_set(e, -EBADMSG,
			       "the newest record of a branch is not the one that its "
			       "commit names");
	return 0;
}

/* By what the newest record of one ref knows. */
static int judge_ref(const struct verify *v, const char *name, struct weir_err *e)
{
	cleanup_keyhist struct keyhist h = { 0 };
	cleanup_buf struct buf promotion = { 0 };
	struct weir_err cause = { 0 };
	git_oid at;
	int err;

	if (repo_read_ref(v->repo, name, &at, &cause) < 0)
		return 0; /* a symbolic one leads to another */
	err = find_newest(v, &at, &promotion, e);
	if (err <= 0)
		return err;
	err = check_named(v, &at, &promotion, e);
	if (err == 0)
		err = read_history(v, &at, &h, e);
	if (err == 0)
		err = check_whole(&h, buf_str(&promotion), e);
	return err < 0 ? err : judge(v, &h, e);
}

/* Without a ledger: what was lost since then may reach back to here, and the newest record of each
 * branch and tag tells. */
static int judge_newest(const struct verify *v, struct weir_err *e)
{
	git_reference_iterator *it = NULL;
	const char *name;
	int err = git_reference_iterator_new(&it, v->repo->git);

	if (err < 0)
		return repo_error(e, "reading the refs");
	while ((err = git_reference_next_name(&name, it)) == 0) {
		if (strncmp(name, "refs/weir/", 10) == 0)
			continue;
		err = judge_ref(v, name, e);
		if (err < 0)
			break;
	}
	git_reference_iterator_free(it);
	if (err == GIT_ITEROVER)
		return 0;
	return e->text[0] ? err : repo_error(e, "reading the refs");
}

int verifykeys_check(struct verify *v, struct weir_err *e)
{
	cleanup_keyhist struct keyhist own = { 0 };
	struct weir_err cause = { 0 };
	int err;

	if (v->keys_why && v->keys_why[0])
		return verify_fail(VERIFY_KEYS, e, v->keys_why);
	err = read_history(v, &v->commit, &own, &cause);
	if (err == 0)
		err = check_own(v, &own, &cause);
	if (err == 0)
		err = judge(v, &own, &cause);
	if (err == 0)
		err = v->keys ? judge(v, v->keys, &cause) : judge_newest(v, &cause);
	return err < 0 ? verify_fail(VERIFY_KEYS, e, cause.text) : 0;
}
