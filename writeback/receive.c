/* SPDX-License-Identifier: MIT */
#include "writeback/receive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/base/fsio.h"
#include "writeback/gateledger.h"
#include "writeback/history.h"
#include "writeback/keys.h"
#include "writeback/reason.h"
#include "writeback/signers.h"

void receive_done(struct receive *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->updates[i].ref);
	free(r->updates);
	git_odb_free(r->arrived);
	git_odb_free(r->kept);
	repo_close(&r->repo);
	buf_done(&r->signers);
	keyhist_done(&r->keys);
	ledger_close(&r->ledger);
	oidset_free(r->good);
}

static int open_objects(struct receive *r, struct weir_err *e)
{
	cleanup_free char *path = NULL;

	if (asprintf(&path, "%s/objects", r->config->repository) < 0) {
		path = NULL;
		return err_errno(e, -ENOMEM, "opening the objects");
	}
	if (git_odb_open(&r->kept, path) < 0)
		return repo_error(e, path);
	if (!r->incoming)
		return 0;
	if (git_odb_open(&r->arrived, r->incoming) < 0 ||
	    git_odb_add_disk_alternate(r->repo.odb, r->incoming) < 0)
		return repo_error(e, r->incoming);
	return 0;
}

static int open_ledger(struct receive *r, struct weir_err *e)
{
	cleanup_sshkey struct sshkey key = { 0 };
	int err = gateledger_key(r->config, false, &key, &r->key, e);

	if (err == 0)
		err = ledger_open(r->config->ledger, &r->key, &r->ledger, e);
	return err < 0 ? err : keyhist_load(&r->ledger, &r->keys, e);
}

int receive_open(struct receive *r, struct weir_err *e)
{
	const struct gate_config *c = r->config;
	int err;

	if (geteuid() != c->uid)
		return refuse(e, REASON_REPOSITORY,
			      "%s is written by the gate's user %s alone, not by uid %u",
			      c->repository, c->user, geteuid());
	r->good = oidset_new();
	if (!r->good)
		return err_errno(e, -ENOMEM, "receiving");
	err = repo_start(e);
	if (err == 0)
		err = repo_open(c->repository, true, &r->repo, e);
	if (err == 0)
		err = open_objects(r, e);
	if (err == 0)
		err = fsio_read_file(AT_FDCWD, c->signers, SIGNERS_MAX, &r->signers, e);
	return err < 0 ? err : open_ledger(r, e);
}

static int add_update(struct receive *r, char *line, struct weir_err *e)
{
	struct receive_update *updates, u = { 0 };
	char *new_id = strchr(line, ' ');
	char *ref = new_id ? strchr(new_id + 1, ' ') : NULL;

	if (!ref || new_id - line != OID_HEX - 1 || ref - new_id != OID_HEX || !ref[1])
		return err_set(e, -EBADMSG, "what git handed to the hook can't be read");
	*new_id = '\0';
	*ref = '\0';
	if (git_oid_fromstr(&u.old, line) < 0 || git_oid_fromstr(&u.new_id, new_id + 1) < 0)
		return err_set(e, -EBADMSG, "what git handed to the hook can't be read");
	if (r->count >= RECEIVE_UPDATES_MAX)
		return err_set(e, -E2BIG, "more than %u refs at once", RECEIVE_UPDATES_MAX);
	updates = reallocarray(r->updates, r->count + 1, sizeof(*updates));
	if (updates)
		r->updates = updates;
	u.ref = strdup(ref + 1);
	if (!updates || !u.ref) {
		free(u.ref);
		return err_errno(e, -ENOMEM, "receiving");
	}
	updates[r->count++] = u;
	return 0;
}

int receive_parse(struct receive *r, const char *text, struct weir_err *e)
{
	cleanup_free char *copy = strdup(text);
	char *at = NULL;
	int err = 0;

	if (!copy)
		return err_errno(e, -ENOMEM, "receiving");
	for (char *line = strtok_r(copy, "\n", &at); err == 0 && line;
	     line = strtok_r(NULL, "\n", &at))
		err = add_update(r, line, e);
	return err;
}

static int read_now(struct receive *r, struct receive_update *u, struct weir_err *e)
{
	struct weir_err cause = { 0 };
	int err;

	/* HEAD follows its branch; git logs that as a change of its own */
	if (strncmp(u->ref, "refs/", 5) != 0)
		return 0;
	err = repo_read_ref(&r->repo, u->ref, &u->now, &cause);
	if (err == 0 || err == -ENOENT)
		return 0;
	*e = cause;
	return err;
}

/* Whether packed-refs has the ref with this value: then the loose one may go. */
static bool is_packed(const struct receive *r, const struct receive_update *u)
{
	cleanup_buf struct buf text = { 0 };
	cleanup_buf struct buf line = { 0 };
	char hex[OID_HEX];

	if (fsio_read_file(r->repo.fd, "packed-refs", (size_t)64 << 20, &text, NULL) < 0)
		return false;
	git_oid_tostr(hex, sizeof(hex), &u->old);
	buf_addf(&line, "\n%s %s\n", hex, u->ref);
	return !line.failed && strstr(buf_str(&text), buf_str(&line)) != NULL;
}

/* A deletion that was asked for comes with one of packed-refs, which has no old value. */
static bool is_housekeeping(const struct receive *r, const struct receive_update *u)
{
	if (git_oid_is_zero(&u->new_id))
		return !git_oid_is_zero(&u->old) && git_oid_equal(&u->old, &u->now) &&
		       is_packed(r, u);
	if (strcmp(u->ref, "HEAD") != 0)
		return git_oid_equal(&u->new_id, &u->now);
	for (size_t i = 0; i < r->count; i++)
		if (gate_texts_have(&r->config->refs, r->updates[i].ref) &&
		    git_oid_equal(&r->updates[i].new_id, &u->new_id))
			return true;
	return false;
}

static int check_name(const struct receive *r, const struct receive_update *u, struct weir_err *e)
{
	char safe[256];

	escape_bytes(u->ref, strlen(u->ref), safe, sizeof(safe));
	if (strcmp(u->ref, RECORD_REF) != 0 && !gate_texts_have(&r->config->refs, u->ref))
		return refuse(e, REASON_REF, "%s is no ref that the gate lets others write", safe);
	if (git_oid_is_zero(&u->new_id))
		return refuse(e, REASON_DELETION, "%s would be deleted", safe);
	if (!git_oid_is_zero(&u->old) && !git_oid_equal(&u->old, &u->now))
		return refuse(e, REASON_BASE_MOVED, "%s has moved meanwhile", safe);
	return 0;
}

/* Tries the ledger of another gate. Returns: as receive_verify. */
static int verify_other(struct receive *r, const char *key, const git_oid *commit, bool reached,
			struct verify *v, struct weir_err *e)
{
	int err = note_key_parse(key, &r->other);

	if (err < 0)
		return err_set(e, -EINVAL, "ledgers: %s is no public key of a ledger", key);
	*e = (struct weir_err){ 0 };
	verify_done(v);
	*v = (struct verify){ .repo = &r->repo,
			      .signers = buf_str(&r->signers),
			      .ledger_key = &r->other,
			      .commit = *commit,
			      .reached = reached,
			      .pushed = true };
	return verify_run(v, e);
}

int receive_verify(struct receive *r, const git_oid *commit, bool reached, struct verify *v,
		   struct weir_err *e)
{
	const struct gate_texts *others = &r->config->ledgers;
	int err;

	*v = (struct verify){ .repo = &r->repo,
			      .signers = buf_str(&r->signers),
			      .ledger_key = &r->key,
			      .ledger = &r->ledger,
			      .keys = &r->keys,
			      .commit = *commit,
			      .reached = reached };
	err = verify_run(v, e);
	for (size_t i = 0; err < 0 && v->checked <= VERIFY_CHECKPOINT && i < others->count; i++)
		err = verify_other(r, others->items[i], commit, reached, v, e);
	return err;
}

/* Attested, and for this branch. */
static int check_commit(struct receive *r, const char *ref, const git_oid *id, git_oid *ret_parent,
			struct weir_err *e)
{
	cleanup_verify struct verify v = { 0 };
	cleanup_buf struct buf escaped = { 0 };
	int err = receive_verify(r, id, true, &v, e);

	if (err < 0)
		return err;
	*ret_parent = v.head.parent;
	buf_add_escaped(&escaped, ref, strlen(ref));
	if (!verify_promotion_says(&v, "ref", buf_str(&escaped)))
		return verify_fail(VERIFY_BRANCH, e, "it was promoted to another branch");
	return oidset_put(r->good, id, 0) < 0 ? err_errno(e, -ENOMEM, "receiving") : 0;
}

/* Before the first promotion a branch gets the history that was there before the gate. */
static int check_first(struct receive *r, const struct receive_update *u, struct weir_err *e)
{
	struct weir_err none = { 0 };
	git_oid records;

	if (r->ledger.checkpoint.size == 0 &&
	    repo_read_ref(&r->repo, RECORD_REF, &records, &none) == -ENOENT)
		return 0;
	return refuse(e, REASON_UNATTESTED, "%s is not there, and the gate has begun its work",
		      u->ref);
}

static int say_why(struct receive *r, const struct receive_update *u, const git_oid *id,
		   const struct weir_err *cause, struct weir_err *e)
{
	struct repo_commit head;
	char hex[OID_HEX];
	int err;

	git_oid_tostr(hex, sizeof(hex), id);
	if (cause->exit_code != GATE_EXIT_REFUSED) {
		*e = *cause;
		return cause->err;
	}
	err = repo_read_commit(&r->repo, id, &head, e);
	if (err < 0)
		return err;
	if (head.parents > 1)
		return refuse(e, REASON_MERGE, "%s: %s is a merge that no gate has made", u->ref,
			      hex);
	return refuse(e, REASON_UNATTESTED, "%s: commit %s: %.*s", u->ref, hex,
		      (int)strcspn(cause->text, ";"), cause->text);
}

static int judge_branch(struct receive *r, const struct receive_update *u, struct weir_err *e)
{
	git_oid at = u->new_id;
	int err;

	if (git_oid_is_zero(&u->now))
		return check_first(r, u, e);
	err = history_reaches(&r->repo, &at, &u->now, e);
	if (err == 0)
		err = refuse(e, REASON_REWIND, "%s would lose the commits that it has", u->ref);
	if (err < 0)
		return err;
	for (unsigned int i = 0; !git_oid_equal(&at, &u->now); i++) {
		struct weir_err cause = { 0 };
		git_oid parent;

		if (i >= RECEIVE_COMMITS_MAX)
			return refuse(e, REASON_LIMIT, "%s: more than %u commits at once", u->ref,
				      RECEIVE_COMMITS_MAX);
		if (check_commit(r, u->ref, &at, &parent, &cause) < 0) {
			err = cause.exit_code == GATE_EXIT_REFUSED ? receive_glass(r, u, e)
								   : -ENOENT;
			return err == -ENOENT ? say_why(r, u, &at, &cause, e) : err;
		}
		at = parent;
	}
	return 0;
}

int receive_judge(struct receive *r, struct weir_err *e)
{
	const struct receive_update *records = NULL;
	int err = 0;

	for (size_t i = 0; err == 0 && i < r->count; i++)
		err = read_now(r, &r->updates[i], e);
	for (size_t i = 0; err == 0 && i < r->count; i++) {
		struct receive_update *u = &r->updates[i];

		u->own = r->transaction && is_housekeeping(r, u);
		if (u->own)
			continue;
		err = check_name(r, u, e);
		if (strcmp(u->ref, RECORD_REF) == 0)
			records = u;
	}
	/* records count as they are pushed, with their branches */
	if (err == 0 && records)
		r->repo.records = records->new_id;
	for (size_t i = 0; err == 0 && i < r->count; i++)
		if (!r->updates[i].own && &r->updates[i] != records)
			err = judge_branch(r, &r->updates[i], e);
	if (err == 0 && records)
		err = receive_records(r, &records->now, &records->new_id, e);
	return err < 0 ? err : receive_objects(r, e);
}
