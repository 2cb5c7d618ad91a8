/* SPDX-License-Identifier: MIT */
#include "writeback/verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "writeback/digest.h"
#include "writeback/reason.h"
#include "writeback/rebase.h"
#include "writeback/signers.h"
#include "writeback/sshsig.h"
#include "writeback/verifyapprove.h"
#include "writeback/verifyattest.h"
#include "writeback/verifyexcept.h"
#include "writeback/verifykeys.h"
#include "writeback/verifyledger.h"
#include "writeback/verifyobject.h"
#include "writeback/verifyorder.h"
#include "writeback/verifytree.h"

#define COMMIT_MAX ((size_t)1 << 20)
#define POLICY_PATH ".weir/policy.yaml"

static const struct {
	const char *name;
	const char *what;
} links[] = {
#define WEIR_X(id, name, what) { name, what },
	VERIFY_LINKS(WEIR_X)
#undef WEIR_X
};

const char *verify_name(enum verify_link link)
{
	return links[link].name;
}

const char *verify_what(enum verify_link link)
{
	return links[link].what;
}

unsigned int verify_count(const struct verify *v)
{
	return v->deep ? VERIFY_COUNT : VERIFY_DEEP;
}

void verify_done(struct verify *v)
{
	buf_done(&v->raw);
	buf_done(&v->plain);
	buf_done(&v->principal);
	buf_done(&v->tag_name);
	buf_done(&v->signer);
	record_done(&v->record);
	attestations_done(&v->attestations);
	for (size_t i = 0; i < ARRAY_SIZE(v->payloads); i++)
		buf_done(&v->payloads[i]);
}

int verify_fail(enum verify_link link, struct weir_err *e, const char *why)
{
	return refuse(e, REASON_VERIFY, "%s: %s", links[link].name, why);
}

static int check_signature(struct verify *v, struct weir_err *e)
{
	cleanup_buf struct buf armor = { 0 };
	struct weir_err cause = { 0 };
	int err = verifyobject_split(v, &armor);

	if (err < 0)
		return verify_fail(VERIFY_SIGNATURE, e,
				   v->is_tag ? "the tag has no signature"
					     : "the commit has no signature");
	err = sshsig_verify(armor.data, armor.len, "git", v->plain.data, v->plain.len, &v->signer,
			    &cause);
	if (err < 0)
		return verify_fail(VERIFY_SIGNATURE, e, cause.text);
	err = signers_find_in(v->signers, &v->signer, "git", time(NULL), &v->principal, &cause);
	if (err == -ENOENT)
		return verify_fail(VERIFY_SIGNATURE, e,
				   "the signers file does not list the key for git");
	return err < 0 ? verify_fail(VERIFY_SIGNATURE, e, cause.text) : 0;
}

/* One line "TRAILER: ...". Returns: what follows it, or NULL. */
static const char *skip_trailer(const char *at, const char *trailer)
{
	size_t len = strlen(trailer);

	if (strncmp(at, trailer, len) != 0 || strncmp(at + len, ": ", 2) != 0)
		return NULL;
	at += strcspn(at, "\n");
	return at + (*at == '\n');
}

/* The first line of the last paragraph tells the kind. */
static const char *find_trailers(struct verify *v)
{
	for (unsigned int i = 0; v->message && i < KIND_COUNT; i++) {
		cleanup_buf struct buf start = { 0 };
		const char *at;

		buf_addf(&start, "\n\n%s: ", kind_of((enum promotion_kind)i)->trailers[0].trailer);
		at = strstr(v->message, buf_str(&start));
		if (!at)
			continue;
		v->kind = (enum promotion_kind)i;
		return at + 2;
	}
	return NULL;
}

/* Our lines make up the last paragraph, in their order, and stand nowhere else. */
static int check_trailers(struct verify *v, struct weir_err *e)
{
	const char *message = strstr(buf_str(&v->plain), "\n\n");
	const char *at;

	v->message = message ? message + 2 : NULL;
	v->trailers = find_trailers(v);
	if (!v->trailers || kind_of(v->kind)->is_tag != v->is_tag)
		return verify_fail(VERIFY_TRAILERS, e, "no trailers of the gate");
	for (const char *line = v->message; line && line < v->trailers;) {
		if (strncasecmp(line + strspn(line, " \t"), "weir-", 5) == 0 &&
		    memchr(line, ':', strcspn(line, "\n")))
			return verify_fail(VERIFY_TRAILERS, e, "the message imitates a trailer");
		line = strchr(line, '\n');
		line += line != NULL;
	}
	at = v->trailers;
	for (const struct kind_trailer *t = kind_of(v->kind)->trailers; at && t->trailer; t++)
		at = skip_trailer(at, t->trailer);
	at = at ? skip_trailer(at, "Weir-Promotion") : NULL;
	at = at ? skip_trailer(at, KIND_LEDGER_TRAILER) : NULL;
	if (!at)
		return verify_fail(VERIFY_TRAILERS, e, "a trailer is missing or out of place");
	return *at ? verify_fail(VERIFY_TRAILERS, e, "something follows the trailers") : 0;
}

int verify_trailer(const struct verify *v, const char *key, struct buf *ret_value)
{
	size_t len = strlen(key);

	for (const char *at = v->trailers; *at;) {
		size_t line = strcspn(at, "\n");

		if (strncmp(at, key, len) == 0 && at[len] == ':')
			return buf_add(ret_value, at + len + 2, line - len - 2);
		at += line + (at[line] == '\n');
	}
	return -ENOENT;
}

static int check_record(struct verify *v, struct weir_err *e)
{
	struct weir_err cause = { 0 };
	int err = record_read(v->repo, &v->commit, &v->record, &cause);

	if (err < 0)
		return verify_fail(VERIFY_RECORD, e, cause.text);
	if (strncmp(buf_str(&v->record.promotion), PROMOTION_HEAD "\n", sizeof(PROMOTION_HEAD)) !=
	    0)
		return verify_fail(VERIFY_RECORD, e, "the promotion text has another version");
	return 0;
}

/* Whether a trailer "sha256:HEX" or a line of the promotion has the hash of the text. */
static bool text_has_hash(const struct buf *text, const char *hex)
{
	unsigned char hash[DIGEST_SIZE];
	char ours[DIGEST_HEX];

	if (digest_bytes(text->len ? text->data : "", text->len, hash) < 0)
		return false;
	digest_hex(hash, sizeof(hash), ours);
	return strcmp(ours, hex) == 0;
}

bool verify_promotion_says(const struct verify *v, const char *key, const char *value)
{
	cleanup_buf struct buf found = { 0 };

	return digest_find(buf_str(&v->record.promotion), key, &found) == 0 &&
	       strcmp(buf_str(&found), value) == 0;
}

bool verify_promotion_has(const struct verify *v, const char *key, const char *value)
{
	cleanup_buf struct buf line = { 0 };

	buf_addf(&line, "\n%s ", key);
	buf_add_escaped(&line, value, strlen(value));
	buf_add(&line, "\n", 1);
	return !line.failed && strstr(buf_str(&v->record.promotion), buf_str(&line)) != NULL;
}

static int check_digest(struct verify *v, struct weir_err *e)
{
	cleanup_buf struct buf promotion = { 0 };

	if (verify_trailer(v, "Weir-Promotion", &promotion) < 0 || promotion.len < 7 ||
	    !text_has_hash(&v->record.promotion, promotion.data + 7))
		return verify_fail(VERIFY_DIGEST, e,
				   "the record is not the one that the commit names");
	if (kind_of_text(buf_str(&v->record.promotion)) != v->kind)
		return verify_fail(VERIFY_DIGEST, e, "the promotion is of another kind");
	for (const struct kind_trailer *t = kind_of(v->kind)->trailers; t->trailer; t++) {
		cleanup_buf struct buf value = { 0 };
		size_t skip = strlen(t->prefix);

		if (verify_trailer(v, t->trailer, &value) < 0 || value.len < skip ||
		    strncmp(buf_str(&value), t->prefix, skip) != 0 ||
		    !verify_promotion_says(v, t->key, buf_str(&value) + skip))
			return verify_fail(VERIFY_DIGEST, e, t->trailer);
	}
	return 0;
}

static int check_message(const struct verify *v)
{
	cleanup_buf struct buf found = { 0 };
	cleanup_buf struct buf message = { 0 };

	/* the message ends before the blank line above the trailers */
	buf_add(&message, v->message, (size_t)(v->trailers - 1 - v->message));
	return digest_find(buf_str(&v->record.promotion), "message", &found) == 0 &&
			       text_has_hash(&message, buf_str(&found))
		       ? 0
		       : -EBADMSG;
}

static bool author_is(const struct verify *v)
{
	cleanup_buf struct buf escaped = { 0 };
	const char *key = v->is_tag ? "\ntagger " : "\nauthor ";
	const char *at = strstr(buf_str(&v->raw), key);
	const char *end = at ? strchr(at + 1, '>') : NULL;

	if (!end)
		return false;
	at += strlen(key);
	buf_add_escaped(&escaped, at, (size_t)(end + 1 - at));
	return verify_promotion_says(v, "author", buf_str(&escaped));
}

static int check_head(struct verify *v, struct weir_err *e)
{
	char tree[OID_HEX], parent[OID_HEX];

	git_oid_tostr(tree, sizeof(tree), &v->head.tree);
	git_oid_tostr(parent, sizeof(parent), &v->head.parent);
	if (v->head.parents != 1 || !verify_promotion_says(v, "base", parent))
		return verify_fail(VERIFY_HEAD, e, "the commit has another parent");
	if (!verify_promotion_says(v, "tree", tree))
		return verify_fail(VERIFY_HEAD, e, "the commit has another tree");
	if (!author_is(v))
		return verify_fail(VERIFY_HEAD, e, "the commit has another author");
	return check_message(v) < 0 ? verify_fail(VERIFY_HEAD, e, "the commit has another message")
				    : 0;
}

static int check_changes(struct verify *v, struct weir_err *e)
{
	cleanup_buf struct buf found = { 0 };
	struct weir_err cause = { 0 };
	int err;

	if (digest_find(buf_str(&v->record.promotion), "changes", &found) < 0 ||
	    !text_has_hash(&v->record.changes, buf_str(&found)))
		return verify_fail(VERIFY_CHANGES, e,
				   "the list of changes is not the recorded one");
	err = verifytree_changes(v, &cause);
	if (err == 0)
		err = verifytree_rebased(v, &cause);
	return err < 0 ? verify_fail(VERIFY_CHANGES, e, cause.text) : 0;
}

static int check_content(struct verify *v, struct weir_err *e)
{
	struct weir_err cause = { 0 };
	int err = verifytree_content(v, &cause);

	return err < 0 ? verify_fail(VERIFY_CONTENT, e, cause.text) : 0;
}

const char *verify_began(const struct verify *v)
{
	cleanup_buf struct buf none = { 0 };

	return digest_find(buf_str(&v->record.promotion), REBASE_KEY, &none) == 0 ? REBASE_KEY
										  : "base";
}

static int check_run(struct verify *v, struct weir_err *e)
{
	cleanup_statement struct statement s = { 0 };
	struct weir_err cause = { 0 };
	int err =
		statement_parse(buf_str(&v->record.statement), v->record.statement.len, &s, &cause);

	if (err == 0)
		err = statement_check(&s, buf_str(&v->record.statement), v->record.statement.len,
				      buf_str(&v->record.signature), NULL, &cause);
	if (err < 0)
		return verify_fail(VERIFY_STATEMENT, e, cause.text);
	if (!verify_promotion_says(v, "statement", s.sha256) ||
	    !verify_promotion_says(v, "host", s.host_key) ||
	    !verify_promotion_says(v, "run", s.run) ||
	    !verify_promotion_says(v, "nonce", s.nonce) ||
	    !verify_promotion_says(v, "trace", s.trace_root) ||
	    !verify_promotion_says(v, "after", s.manifest_after) ||
	    !verify_promotion_says(v, "before", s.manifest_before) ||
	    !verify_promotion_says(v, "policy", s.policy) ||
	    !verify_promotion_says(v, verify_began(v), s.commit) ||
	    !verify_promotion_says(v, kind_of(v->kind)->is_dir ? "branch" : "ref", s.ref) ||
	    !verify_promotion_says(v, "verdict", s.verdict))
		return verify_fail(VERIFY_STATEMENT, e, "the statement is of another promotion");
	return 0;
}

static int check_statement(struct verify *v, struct weir_err *e)
{
	struct weir_err cause = { 0 };

	if (kind_of(v->kind)->has_run)
		return check_run(v, e);
	return verifyorder_check(v, &cause) < 0 ? verify_fail(VERIFY_STATEMENT, e, cause.text) : 0;
}

static int check_policy(struct verify *v, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	cleanup_buf struct buf want = { 0 };
	struct weir_err cause = { 0 };
	struct repo_commit base;
	git_oid blob;
	uint32_t mode;
	int err;

	if (verify_promotion_says(v, "policy-source", "gate.yaml"))
		return 0; /* the gate's own word, under its signature */
	err = repo_read_commit(v->repo, &v->head.parent, &base, &cause);
	if (err == 0)
		err = repo_find(v->repo, &base.tree, POLICY_PATH, &blob, &mode, &cause);
	if (err == 0)
		err = repo_read_object(v->repo, &blob, GIT_OBJECT_BLOB, COMMIT_MAX, &text, &cause);
	if (err < 0)
		return verify_fail(VERIFY_POLICY, e, cause.text);
	if (digest_find(buf_str(&v->record.promotion), "policy", &want) < 0 ||
	    !text_has_hash(&text, buf_str(&want)))
		return verify_fail(VERIFY_POLICY, e, "the parent commit has another policy");
	return 0;
}

/* A directory was not replaced since, and its branch still has what it was made from. */
static int check_dir_branch(struct verify *v, const git_oid *dir, struct weir_err *e)
{
	cleanup_buf struct buf branch = { 0 };
	struct weir_err cause = { 0 };
	git_oid tip;
	int err;

	if (!git_oid_equal(dir, &v->commit))
		return verify_fail(VERIFY_BRANCH, e, "another directory took its place");
	err = digest_find(buf_str(&v->record.promotion), "branch", &branch);
	if (err == 0)
		err = repo_read_ref(v->repo, buf_str(&branch), &tip, &cause);
	if (err == 0)
		err = repo_reaches(v->repo, &tip, &v->head.parent, &cause);
	if (err < 0)
		return verify_fail(VERIFY_BRANCH, e,
				   cause.text[0] ? cause.text : "no branch is recorded");
	return err == 1 ? 0
			: verify_fail(VERIFY_BRANCH, e,
				      "the branch does not reach the commit it was made from");
}

static int check_branch(struct verify *v, struct weir_err *e)
{
	cleanup_buf struct buf ref = { 0 };
	struct weir_err cause = { 0 };
	git_oid tip;
	int err = digest_find(buf_str(&v->record.promotion), "ref", &ref);

	if (err == 0)
		err = repo_read_ref(v->repo, buf_str(&ref), &tip, &cause);
	if (err < 0)
		return verify_fail(VERIFY_BRANCH, e,
				   cause.text[0] ? cause.text : "no ref is recorded");
	if (v->is_tag)
		return git_oid_equal(&tip, &v->commit)
			       ? 0
			       : verify_fail(VERIFY_BRANCH, e, "the ref holds another tag");
	if (kind_of(v->kind)->is_dir)
		return check_dir_branch(v, &tip, e);
	err = v->reached ? 1 : repo_reaches(v->repo, &tip, &v->commit, &cause);
	if (err < 0)
		return verify_fail(VERIFY_BRANCH, e, cause.text);
	return err == 1 ? 0 : verify_fail(VERIFY_BRANCH, e, "the branch does not reach the commit");
}

static int check_deep(struct verify *v, struct weir_err *e)
{
	struct weir_err cause = { 0 };
	int err = verifytree_whole(v, &cause);

	if (err == 0 && v->ledger)
		err = ledger_walk(v->ledger, NULL, NULL, &cause);
	return err < 0 ? verify_fail(VERIFY_DEEP, e, cause.text) : 0;
}

int verify_run(struct verify *v, struct weir_err *e)
{
	static int (*const checks[VERIFY_COUNT])(struct verify * v, struct weir_err * e) = {
		[VERIFY_OBJECT] = verifyobject_read,
		[VERIFY_SIGNATURE] = check_signature,
		[VERIFY_TRAILERS] = check_trailers,
		[VERIFY_RECORD] = check_record,
		[VERIFY_DIGEST] = check_digest,
		[VERIFY_HEAD] = check_head,
		[VERIFY_CHANGES] = check_changes,
		[VERIFY_CONTENT] = check_content,
		[VERIFY_STATEMENT] = check_statement,
		[VERIFY_POLICY] = check_policy,
		[VERIFY_EXCEPTIONS] = verifyexcept_findings,
		[VERIFY_APPROVALS] = verifyapprove_people,
		[VERIFY_DSSE] = verifyattest_dsse,
		[VERIFY_ATTESTED] = verifyattest_content,
		[VERIFY_CHECKPOINT] = verifyledger_checkpoint,
		[VERIFY_INCLUSION] = verifyledger_inclusion,
		[VERIFY_LEDGER] = verifyledger_entry,
		[VERIFY_HISTORY] = verifyledger_history,
		[VERIFY_KEYS] = verifykeys_check,
		[VERIFY_BRANCH] = check_branch,
		[VERIFY_DEEP] = check_deep,
	};

	for (v->checked = 0; v->checked < verify_count(v); v->checked++) {
		int err = checks[v->checked](v, e);

		if (err < 0)
			return err;
	}
	return 0;
}
