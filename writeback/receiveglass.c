/* SPDX-License-Identifier: MIT */
/* Receiving what two people push past the gate (writeback/glass.h); contract in receive.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/gateledger.h"
#include "writeback/glass.h"
#include "writeback/publish.h"
#include "writeback/pushcert.h"
#include "writeback/reason.h"
#include "writeback/receive.h"
#include "writeback/record.h"
#include "writeback/signers.h"
#include "writeback/sshpub.h"

#define CONTROL ".weir"
#define WAITING "weir/glass"

/* A push that waits for its second person, or has both. */
struct breakage {
	struct receive *receive;
	const struct receive_update *update;
	struct glass_voice first; /* kept from an earlier push; empty: none */
	struct glass_voice now;
	struct buf first_name;
	struct buf now_name;
	git_oid commits[GLASS_COMMITS_MAX];
	size_t count;
	char file[sizeof(WAITING) + DIGEST_HEX]; /* where the first waits */
};

static void breakage_done(struct breakage *b)
{
	glass_voice_done(&b->first);
	glass_voice_done(&b->now);
	buf_done(&b->first_name);
	buf_done(&b->now_name);
}

/* git made the nonce for this push, and says whether the certificate has it. */
static int hear_push(struct breakage *b, struct weir_err *e)
{
	const char *hex = getenv("GIT_PUSH_CERT"), *status = getenv("GIT_PUSH_CERT_NONCE_STATUS");
	const char *nonce = getenv("GIT_PUSH_CERT_NONCE");
	const struct receive_update *u = b->update;
	cleanup_buf struct buf text = { 0 };
	struct weir_err cause = { 0 };
	git_oid blob;
	int err;

	if (!hex || git_oid_fromstr(&blob, hex) < 0 || git_oid_is_zero(&blob))
		return -ENOENT;
	if (b->receive->count != 1)
		return refuse(e, REASON_BREAK_GLASS, "it is for one branch alone");
	err = repo_read_object(&b->receive->repo, &blob, GIT_OBJECT_BLOB, PUSHCERT_MAX, &text,
			       &cause);
	if (err == 0)
		err = glass_hear(buf_str(&text), text.len, &b->now, &cause);
	if (err < 0 || !b->now.nonce)
		return refuse(e, REASON_BREAK_GLASS, "%s", cause.text);
	if (!status || strcmp(status, "OK") != 0 || !nonce || strcmp(nonce, b->now.nonce) != 0)
		return refuse(e, REASON_BREAK_GLASS, "the push certificate is of another push");
	if (strcmp(b->now.ref, u->ref) != 0 || !git_oid_equal(&b->now.old, &u->now) ||
	    !git_oid_equal(&b->now.new_id, &u->new_id))
		return refuse(e, REASON_BREAK_GLASS, "the push certificate is about another push");
	return 0;
}

/* Who signed, by the file of those who may. */
static int name_signer(const struct breakage *b, const struct glass_voice *v,
		       struct buf *ret_principal, struct weir_err *e)
{
	const struct gate_config *c = b->receive->config;
	cleanup_signers struct signers list = { 0 };
	cleanup_buf struct buf text = { 0 };
	cleanup_buf struct buf revoked = { 0 };
	char fingerprint[SSHPUB_FINGERPRINT] = "key";
	struct sshwire key = sshwire_of(&v->blob), krl;
	int answer, err = fsio_read_file(AT_FDCWD, c->break_glass, SIGNERS_MAX, &text, e);

	if (err == 0)
		err = signers_parse(c->break_glass, buf_str(&text), text.len, &list, e);
	if (err == 0 && c->revoked)
		err = fsio_read_file(AT_FDCWD, c->revoked, SIGNERS_MAX, &revoked, e);
	if (err < 0)
		return err;
	krl = sshwire_of(&revoked);
	sshpub_fingerprint(&key, fingerprint);
	answer = signers_find(&list, &krl, &key, "git", time(NULL), ret_principal);
	if (answer < 0)
		return err_errno(e, answer, "%s", c->revoked);
	return answer == SIGNERS_FOUND ? 0
				       : refuse(e, REASON_BREAK_GLASS, "%s: %s", fingerprint,
						signers_text((enum signers_answer)answer));
}

/* The policy and the people of a repository, as the tree has them; zero: nothing. */
static int find_control(const struct breakage *b, const git_oid *commit, git_oid *ret_id,
			struct weir_err *e)
{
	struct repo_commit head;
	git_tree *tree = NULL;
	int err = repo_read_commit(&b->receive->repo, commit, &head, e);

	*ret_id = (git_oid){ 0 };
	if (err < 0)
		return err;
	if (git_tree_lookup(&tree, b->receive->repo.git, &head.tree) < 0)
		return repo_error(e, "looking for " CONTROL);
	for (size_t i = 0; i < git_tree_entrycount(tree); i++) {
		const git_tree_entry *entry = git_tree_entry_byindex(tree, i);

		/* whatever a file system may take for it counts, so that none can be added */
		if (strcmp(git_tree_entry_name(entry), CONTROL) == 0)
			git_oid_cpy(ret_id, git_tree_entry_id(entry));
		else if (strcasecmp(git_tree_entry_name(entry), CONTROL) == 0)
			err = refuse(e, REASON_BREAK_GLASS, "a name like " CONTROL " is in it");
	}
	git_tree_free(tree);
	return err;
}

/* The new commits: one line, few, and the same .weir/ in each. */
static int check_commits(struct breakage *b, struct weir_err *e)
{
	git_oid at = b->update->new_id, control, was;
	int err = find_control(b, &b->update->now, &was, e);

	while (err == 0 && !git_oid_equal(&at, &b->update->now)) {
		struct repo_commit head;

		if (b->count >= GLASS_COMMITS_MAX)
			return refuse(e, REASON_LIMIT, "more than %u commits past the gate at once",
				      GLASS_COMMITS_MAX);
		err = repo_read_commit(&b->receive->repo, &at, &head, e);
		if (err == 0 && head.parents != 1)
			return refuse(e, REASON_MERGE, "no merge gets past the gate");
		if (err == 0)
			err = find_control(b, &at, &control, e);
		if (err == 0 && !git_oid_equal(&control, &was))
			return refuse(e, REASON_BREAK_GLASS,
				      CONTROL "/ is changed, and never past the gate");
		b->commits[b->count++] = at;
		at = head.parent;
	}
	return err;
}

static int name_file(struct breakage *b, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	unsigned char hash[DIGEST_SIZE];
	char old[OID_HEX], new_id[OID_HEX], hex[DIGEST_HEX];

	git_oid_tostr(old, sizeof(old), &b->update->now);
	git_oid_tostr(new_id, sizeof(new_id), &b->update->new_id);
	buf_addf(&text, "%s %s %s", old, new_id, b->update->ref);
	if (text.failed || digest_bytes(text.data, text.len, hash) < 0)
		return err_errno(e, -ENOMEM, "break-glass");
	digest_hex(hash, sizeof(hash), hex);
	snprintf(b->file, sizeof(b->file), WAITING "/%s", hex);
	return 0;
}

/* Whoever has signed too long ago, or may no more, has not signed. */
static int find_first(struct breakage *b, struct weir_err *e)
{
	const struct repo *r = &b->receive->repo;
	cleanup_buf struct buf text = { 0 };
	struct weir_err none = { 0 };
	struct stat st;
	int err = name_file(b, e);

	if (err < 0)
		return err;
	if (fstatat(r->fd, b->file, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_errno(e, -errno, "%s/%s", r->path, b->file);
	if (st.st_mtime + GLASS_WINDOW_S < time(NULL) || st.st_mtime > time(NULL) + 60)
		return 0;
	err = fsio_read_file(r->fd, b->file, PUSHCERT_MAX, &text, e);
	if (err < 0)
		return err;
	if (glass_hear(buf_str(&text), text.len, &b->first, &none) < 0 ||
	    name_signer(b, &b->first, &b->first_name, &none) < 0)
		glass_voice_done(&b->first);
	return 0;
}

static int keep_first(struct breakage *b, struct weir_err *e)
{
	const struct repo *r = &b->receive->repo;
	int err;

	if (mkdirat(r->fd, WAITING, 0700) < 0 && errno != EEXIST)
		return err_errno(e, -errno, "%s/" WAITING, r->path);
	err = fsio_replace(r->fd, b->file, b->now.text.data, b->now.text.len, 0600, e);
	return err < 0 ? err
		       : refuse(e, REASON_BREAK_GLASS_WAITS, "%s has signed for it",
				buf_str(&b->now_name));
}

static int add_entry(struct breakage *b, struct gateledger *g, const struct buf *bundle,
		     uint64_t *ret_index, struct weir_err *e)
{
	cleanup_buf struct buf by = { 0 };
	cleanup_buf struct buf why = { 0 };
	unsigned char hash[DIGEST_SIZE];
	char hex[DIGEST_HEX], old[OID_HEX], new_id[OID_HEX];
	struct ledger_entry n = { .kind = LEDGER_GLASS,
				  .intent = -1,
				  .ref = b->update->ref,
				  .base = old,
				  .commit = new_id,
				  .statement = hex };

	if (digest_bytes(bundle->data, bundle->len, hash) < 0)
		return err_errno(e, -EIO, "hashing the push certificates");
	digest_hex(hash, sizeof(hash), hex);
	git_oid_tostr(old, sizeof(old), &b->update->now);
	git_oid_tostr(new_id, sizeof(new_id), &b->update->new_id);
	buf_addf(&by, "%s, %s", buf_str(&b->first_name), buf_str(&b->now_name));
	buf_addf(&why, "%s; %s", b->first.reason, b->now.reason);
	n.by = by.data;
	n.why = why.data;
	return by.failed || why.failed ? err_errno(e, -ENOMEM, "break-glass")
				       : gateledger_add(g, &n, ret_index, e);
}

/* A record for each commit, in one change of the ref. */
static int add_records(struct breakage *b, struct gateledger *g, const struct buf *bundle,
		       uint64_t index, struct weir_err *e)
{
	const struct repo *r = &b->receive->repo;
	cleanup_buf struct buf entry = { 0 };
	cleanup_buf struct buf proof = { 0 };
	struct reflock ref = { .ref = strdup(RECORD_REF) };
	struct weir_err cause = { 0 };
	int err = ref.ref ? repo_read_ref(r, RECORD_REF, &ref.old, &cause) : -ENOMEM;

	if (err < 0 && err != -ENOENT)
		err_set(e, err, "%s", cause.text);
	else
		err = ledger_read(&g->log, index, &entry, e);
	if (err == 0)
		err = ledger_prove(&g->log, index, &proof, e);
	ref.new_id = ref.old;
	for (size_t i = 0; err == 0 && i < b->count; i++) {
		struct record_write w = { .commit = b->commits[i],
					  .tip = ref.new_id,
					  .name = b->receive->config->name,
					  .email = b->receive->config->email,
					  .subject = "Break-glass:" };

		record_add(&w, GLASS_FILE, bundle);
		record_add(&w, GLASS_ENTRY, &entry);
		record_add(&w, GLASS_PROOF, &proof);
		err = record_write(r, &w, &ref.new_id, e);
	}
	if (err == 0)
		err = reflock_prepare(r, &ref, REFLOCK_OTHER, e);
	if (err == 0)
		err = reflock_take(r, &ref, e);
	if (err == 0)
		err = reflock_publish(r, &ref, e);
	reflock_drop(r, &ref);
	reflock_done(&ref);
	return err;
}

/* The ledger first: what is not on record there does not get in. */
static int let_in(struct breakage *b, struct gateledger *g, struct weir_err *e)
{
	cleanup_buf struct buf bundle = { 0 };
	uint64_t index = 0;
	int err;

	buf_add(&bundle, b->first.text.data, b->first.text.len);
	if (buf_add(&bundle, b->now.text.data, b->now.text.len) < 0)
		return err_errno(e, -ENOMEM, "break-glass");
	err = add_entry(b, g, &bundle, &index, e);
	if (err == 0)
		err = add_records(b, g, &bundle, index, e);
	if (err == 0 && unlinkat(b->receive->repo.fd, b->file, 0) < 0)
		err = err_errno(e, -errno, "%s", b->file);
	return err;
}

static int decide(struct breakage *b, struct weir_err *e)
{
	struct receive *r = b->receive;
	cleanup_gateledger struct gateledger ledger = { .log.dir = -1 };
	cleanup_close int lock = publish_lock(&r->repo, e);
	struct weir_err cause = { 0 };
	git_oid now;
	int err = lock < 0 ? lock : gateledger_open(r->config, &r->repo, &ledger, e);

	if (err == 0)
		err = publish_recover(&r->repo, r->config, &ledger, e);
	if (err == 0)
		err = repo_read_ref(&r->repo, b->update->ref, &now, e);
	if (err == 0 && !git_oid_equal(&now, &b->update->now))
		err = refuse(e, REASON_BASE_MOVED, "%s has moved meanwhile", b->update->ref);
	if (err == 0)
		err = find_first(b, e);
	if (err < 0)
		return err;
	if (b->first.text.len == 0 || strcmp(buf_str(&b->first_name), buf_str(&b->now_name)) == 0)
		return keep_first(b, e);
	if (glass_agree(&b->first, &b->now, &cause) < 0)
		return refuse(e, REASON_BREAK_GLASS, "%s", cause.text);
	return let_in(b, &ledger, e);
}

/* What pre-receive let in is on record when the ref moves. */
static int check_recorded(struct receive *r, const struct receive_update *u, struct weir_err *e)
{
	cleanup_glass struct glass g = { 0 };
	cleanup_buf struct buf text = { 0 };
	struct weir_err cause = { 0 };
	char old[OID_HEX], new_id[OID_HEX];
	int err = glass_check(&r->repo, &u->new_id, &r->key, &g, &cause);

	if (err == -ENOENT)
		return err;
	git_oid_tostr(old, sizeof(old), &u->now);
	git_oid_tostr(new_id, sizeof(new_id), &u->new_id);
	if (err == 0 && (strcmp(g.entry.ref, u->ref) != 0 || strcmp(g.entry.base, old) != 0 ||
			 strcmp(g.entry.commit, new_id) != 0))
		err = err_set(&cause, -EBADMSG, "what people let in was another push");
	if (err == 0)
		err = ledger_read(&r->ledger, g.proof.index, &text, &cause);
	if (err == 0 && strcmp(buf_str(&text), buf_str(&g.entry_text)) != 0)
		err = err_set(&cause, -EBADMSG, "the ledger has another entry there");
	return err < 0 ? refuse(e, REASON_BREAK_GLASS, "%s", cause.text) : 0;
}

int receive_glass(struct receive *r, const struct receive_update *u, struct weir_err *e)
{
	cleanup_with(breakage_done) struct breakage b = { .receive = r, .update = u };
	int err = check_recorded(r, u, e);

	if (err != -ENOENT || r->transaction || !r->config->break_glass)
		return err;
	err = hear_push(&b, e);
	if (err == 0)
		err = name_signer(&b, &b.now, &b.now_name, e);
	if (err == 0)
		err = check_commits(&b, e);
	/* nothing is kept of a push that has more than it should */
	if (err == 0)
		err = receive_objects(r, e);
	return err < 0 ? err : decide(&b, e);
}
