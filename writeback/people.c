/* SPDX-License-Identifier: MIT */
/* The people of a base commit; contract and format in roles.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/krl.h"
#include "writeback/reason.h"
#include "writeback/repo.h"
#include "writeback/roles.h"
#include "writeback/sshpub.h"
#include "writeback/sshsig.h"

#define DIR ".weir/"

void people_done(struct people *p)
{
	signers_done(&p->signers);
	roles_done(&p->roles);
	buf_done(&p->krl);
	buf_done(&p->host_krl);
	*p = (struct people){ 0 };
}

/* Reads a regular file of the tree. Returns: 0, -ENOENT, refused, or a negative errno. */
static int read_file(const struct repo *r, const git_oid *tree, const char *path, size_t max,
		     struct buf *ret_text, struct weir_err *e)
{
	struct weir_err cause = { 0 };
	uint32_t mode;
	git_oid oid;
	int err = repo_find(r, tree, path, &oid, &mode, &cause);

	if (err == 0 && mode != GIT_MODE_FILE)
		return refuse(e, REASON_PEOPLE, "%s of the base commit is no plain file", path);
	if (err == 0)
		err = repo_read_object(r, &oid, GIT_OBJECT_BLOB, max, ret_text, &cause);
	if (err == -ENOENT)
		return err;
	return err < 0 ? refuse(e, REASON_PEOPLE, "%s: %s", path, cause.text) : 0;
}

static int hash_text(const struct buf *text, char ret_hex[DIGEST_HEX])
{
	unsigned char hash[DIGEST_SIZE];
	int err = digest_bytes(text->len ? text->data : "", text->len, hash);

	if (err == 0)
		digest_hex(hash, sizeof(hash), ret_hex);
	return err;
}

/* One of the files that `people` names. */
struct listed {
	const char *name;
	bool optional;
	struct buf *ret_text;
	char *ret_hex; /* DIGEST_HEX */
};

/* Reads it, and checks that it has the digest that the list says. */
static int read_listed(const struct repo *r, const git_oid *tree, const struct buf *list,
		       const struct listed *f, struct weir_err *e)
{
	cleanup_buf struct buf line = { 0 };
	char path[64];
	int err;

	snprintf(path, sizeof(path), DIR "%s", f->name);
	err = read_file(r, tree, path, SIGNERS_MAX, f->ret_text, e);
	if (err == -ENOENT && f->optional && !strstr(buf_str(list), f->name))
		return 0;
	if (err == -ENOENT)
		return refuse(e, REASON_PEOPLE, "the base commit has no %s", path);
	if (err == 0 && hash_text(f->ret_text, f->ret_hex) < 0)
		err = err_errno(e, -EIO, "hashing %s", path);
	if (err < 0)
		return err;
	if (buf_addf(&line, "%s  %s\n", f->ret_hex, f->name) < 0)
		return err_errno(e, -ENOMEM, "%s", path);
	if (!memmem(buf_str(list), list->len, buf_str(&line), line.len))
		return refuse(e, REASON_PEOPLE, "%s is not the one that " DIR "people names", path);
	return 0;
}

static int check_root(const struct gate_config *c, const struct buf *list, const struct buf *sig,
		      struct people *p, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	cleanup_buf struct buf blob = { 0 };
	cleanup_buf struct buf principal = { 0 };
	cleanup_signers struct signers root = { 0 };
	const char *name_space = role_namespace(ROLE_POLICY_OWNER);
	struct sshwire krl = sshwire_of(&p->host_krl), key;
	struct weir_err cause = { 0 };
	int err = fsio_read_file(AT_FDCWD, c->signer_root, SIGNERS_MAX, &text, &cause);

	if (err == 0)
		err = signers_parse(c->signer_root, buf_str(&text), text.len, &root, &cause);
	if (err == 0)
		err = hash_text(&text, p->root_sha256);
	if (err == 0)
		err = sshsig_verify(sig->data, sig->len, name_space, list->data, list->len, &blob,
				    &cause);
	if (err < 0)
		return refuse(e, REASON_SIGNER_ROOT, DIR "people.sig: %s",
			      cause.text[0] ? cause.text : strerror(-err));
	key = sshwire_of(&blob);
	err = signers_find(&root, &krl, &key, name_space, time(NULL), &principal);
	if (err < 0)
		return refuse(e, REASON_SIGNER_ROOT, "%s can't be read", c->revoked);
	return err == SIGNERS_FOUND
		       ? 0
		       : refuse(e, REASON_SIGNER_ROOT, DIR "people.sig: %s in %s",
				signers_text((enum signers_answer)err), c->signer_root);
}

static int read_host_krl(const struct gate_config *c, struct people *p, struct weir_err *e)
{
	struct weir_err cause = { 0 };
	struct sshwire w;
	int err;

	if (!c->revoked)
		return 0;
	err = fsio_read_file(AT_FDCWD, c->revoked, KRL_MAX, &p->host_krl, &cause);
	w = sshwire_of(&p->host_krl);
	if (err == 0)
		err = krl_check(&w, c->revoked, &cause);
	if (err == 0)
		err = hash_text(&p->host_krl, p->host_krl_sha256);
	return err < 0 ? refuse(e, REASON_PEOPLE, "%s", cause.text) : 0;
}

static int load(const struct gate_config *c, const struct repo *r, const git_oid *tree,
		struct people *p, struct weir_err *e)
{
	cleanup_buf struct buf list = { 0 };
	cleanup_buf struct buf sig = { 0 };
	cleanup_buf struct buf signers = { 0 };
	cleanup_buf struct buf roles = { 0 };
	const struct listed files[] = {
		{ "allowed_signers", false, &signers, p->signers_sha256 },
		{ "roles.yaml", false, &roles, p->roles_sha256 },
		{ "revoked.krl", true, &p->krl, p->krl_sha256 },
	};
	struct weir_err cause = { 0 };
	struct sshwire w;
	int err = read_host_krl(c, p, e);

	if (err == 0)
		err = read_file(r, tree, DIR "people", 4096, &list, e);
	if (err == 0)
		err = read_file(r, tree, DIR "people.sig", SSHSIG_MAX, &sig, e);
	if (err == -ENOENT)
		return refuse(e, REASON_PEOPLE,
			      "the base commit has no " DIR "people with a signature");
	if (err == 0 && c->signer_root)
		err = check_root(c, &list, &sig, p, e);
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(files); i++)
		err = read_listed(r, tree, &list, &files[i], e);
	if (err < 0)
		return err;
	w = sshwire_of(&p->krl);
	err = signers_parse(DIR "allowed_signers", buf_str(&signers), signers.len, &p->signers,
			    &cause);
	if (err == 0)
		err = roles_parse(DIR "roles.yaml", buf_str(&roles), roles.len, &p->roles, &cause);
	if (err == 0)
		err = krl_check(&w, DIR "revoked.krl", &cause);
	return err < 0 ? refuse(e, REASON_PEOPLE, "%s", cause.text) : 0;
}

int people_load(const struct gate_config *c, const struct repo *r, const struct git_oid *tree,
		struct people *ret_people, struct weir_err *e)
{
	int err;

	people_done(ret_people);
	if (!c->signer_root)
		return refuse(e, REASON_SIGNER_ROOT, "%s names no signer_root", GATE_CONFIG);
	err = load(c, r, tree, ret_people, e);
	ret_people->loaded = err == 0;
	if (err < 0)
		people_done(ret_people);
	return err;
}

int people_load_public(const struct repo *r, const struct git_oid *tree, struct people *ret_people,
		       struct weir_err *e)
{
	const struct gate_config none = { 0 };
	int err;

	people_done(ret_people);
	err = load(&none, r, tree, ret_people, e);
	ret_people->loaded = err == 0;
	if (err < 0)
		people_done(ret_people);
	return err;
}

static int no_signer(enum signers_answer answer, enum role role, const char *fingerprint,
		     struct weir_err *e)
{
	static const enum gate_reason reasons[] = {
		[SIGNERS_UNKNOWN] = REASON_SIGNER_UNKNOWN,
		[SIGNERS_NAMESPACE] = REASON_SIGNER_ROLE,
		[SIGNERS_TIME] = REASON_SIGNER_EXPIRED,
		[SIGNERS_PATTERN] = REASON_SIGNER_SHARED,
		[SIGNERS_SHARED] = REASON_SIGNER_SHARED,
		[SIGNERS_CERTIFICATE] = REASON_SIGNER_EXPIRED,
		[SIGNERS_REVOKED] = REASON_SIGNER_REVOKED,
	};

	return refuse(e, reasons[answer], "%s as %s: %s", fingerprint, role_name(role),
		      signers_text(answer));
}

int people_find(const struct people *p, const struct sshwire *blob, enum role role, time_t when,
		const struct person **ret_person, struct buf *ret_principal, struct weir_err *e)
{
	struct sshwire krls[2] = { sshwire_of(&p->krl), sshwire_of(&p->host_krl) };
	char fingerprint[SSHPUB_FINGERPRINT] = "key";
	const struct person *person;
	size_t start = ret_principal->len;

	sshpub_fingerprint(blob, fingerprint);
	for (size_t i = 0; i < ARRAY_SIZE(krls); i++) {
		int answer;

		ret_principal->len = start;
		answer = signers_find(&p->signers, &krls[i], blob, role_namespace(role), when,
				      ret_principal);
		if (answer < 0)
			return err_errno(e, answer, "looking for %s", fingerprint);
		if (answer != SIGNERS_FOUND)
			return no_signer((enum signers_answer)answer, role, fingerprint, e);
	}
	person = roles_by_principal(&p->roles, buf_str(ret_principal) + start);
	if (!person)
		return refuse(e, REASON_SIGNER_ROLE, "%s is no person of " DIR "roles.yaml",
			      buf_str(ret_principal) + start);
	if (!(person->roles & 1u << role))
		return refuse(e, REASON_SIGNER_ROLE, "%s has not the role %s in " DIR "roles.yaml",
			      person->name, role_name(role));
	*ret_person = person;
	return 0;
}
