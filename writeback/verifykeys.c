/* SPDX-License-Identifier: MIT */
#include "writeback/verifykeys.h"

#include <errno.h>
#include <string.h>

#include "user/base/cleanup.h"

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

/* None is missing, and none came later. */
static int check_own(const struct verify *v, const struct keyhist *h, struct weir_err *e)
{
	cleanup_buf struct buf line = { 0 };
	cleanup_buf struct buf none = { 0 };
	const char *text = buf_str(&v->record.promotion);

	if (keyhist_line(h, &line) < 0)
		return err_errno(e, -ENOMEM, "the history of keys");
	if (h->count == 0 ? digest_find(text, KEYHIST_FILE, &none) == 0
			  : !verify_promotion_says(v, KEYHIST_FILE, buf_str(&line)))
		return err_set(e, -EBADMSG, "the record has another history of keys than it names");
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

/* Of the branch's tip: what was lost since may reach back to here. */
static int judge_tip(const struct verify *v, struct weir_err *e)
{
	cleanup_keyhist struct keyhist h = { 0 };
	cleanup_buf struct buf ref = { 0 };
	struct weir_err none = { 0 };
	git_oid tip;
	int err;

	if (v->is_tag || digest_find(buf_str(&v->record.promotion), "ref", &ref) < 0 ||
	    repo_read_ref(v->repo, buf_str(&ref), &tip, &none) < 0 ||
	    git_oid_equal(&tip, &v->commit))
		return 0;
	err = read_history(v, &tip, &h, e);
	return err < 0 ? err : judge(v, &h, e);
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
		err = v->keys ? judge(v, v->keys, &cause) : judge_tip(v, &cause);
	return err < 0 ? verify_fail(VERIFY_KEYS, e, cause.text) : 0;
}
