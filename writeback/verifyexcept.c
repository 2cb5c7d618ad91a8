/* SPDX-License-Identifier: MIT */
#include "writeback/verifyexcept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/approval.h"
#include "writeback/exception.h"
#include "writeback/sshpub.h"
#include "writeback/sshsig.h"
#include "writeback/verifyapprove.h"

#define BEGIN "-----BEGIN SSH SIGNATURE-----\n"
#define END "-----END SSH SIGNATURE-----\n"
#define SIGNERS_MAX_OF_ONE 100u

struct check {
	const struct verify *v;
	const struct people *people;
	int64_t when;
	struct buf run;
	struct buf ref;
	struct buf repository;
	struct gate_texts good;	    /* names of exceptions that hold */
	struct gate_texts findings; /* that they name */
};

static void check_done(struct check *c)
{
	buf_done(&c->run);
	buf_done(&c->ref);
	buf_done(&c->repository);
	gate_texts_done(&c->good);
	gate_texts_done(&c->findings);
}

/* The persons who signed; those who made the change do not count. Returns: how many. */
static unsigned int count_signers(const struct check *c, const struct exception *x,
				  const char *text, size_t len, const char *armors, const char *end)
{
	const struct person *persons[SIGNERS_MAX_OF_ONE];
	unsigned int count = 0;

	while (armors < end && count < SIGNERS_MAX_OF_ONE) {
		const char *stop = memmem(armors, (size_t)(end - armors), END, strlen(END));
		cleanup_buf struct buf blob = { 0 };
		cleanup_buf struct buf principal = { 0 };
		struct weir_err none = { 0 };
		const struct person *person = NULL;
		struct sshwire w;
		unsigned int i = 0;

		if (!stop)
			return count;
		stop += strlen(END);
		if (sshsig_verify(armors, (size_t)(stop - armors), role_namespace(x->role), text,
				  len, &blob, &none) == 0) {
			w = sshwire_of(&blob);
			if (people_find(c->people, &w, x->role, (time_t)c->when, &person,
					&principal, &none) < 0)
				person = NULL;
		}
		while (person && i < count && persons[i] != person)
			i++;
		if (person && i == count && !verify_promotion_has(c->v, "producer", person->name))
			persons[count++] = person;
		armors = stop;
	}
	return count;
}

/* One text and its signatures. Only what holds is remembered. */
static int take_one(struct check *c, const char *text, size_t len, const char *armors,
		    const char *end)
{
	cleanup_exception struct exception x = { 0 };
	unsigned char hash[DIGEST_SIZE];
	char hex[DIGEST_HEX];
	int err = exception_parse(text, len, &x);

	if (err < 0)
		return err == -ENOMEM ? err : 0;
	err = digest_bytes(text, len, hash);
	if (err < 0)
		return err;
	digest_hex(hash, sizeof(hash), hex);
	if (x.revoke || strcmp(x.repository, buf_str(&c->repository)) != 0 ||
	    !exception_holds(&x, buf_str(&c->run), buf_str(&c->ref)) ||
	    x.created > c->when + APPROVAL_SKEW_S || x.expires < c->when ||
	    count_signers(c, &x, text, len, armors, end) < (exception_is_wide(&x) ? 2u : 1u))
		return 0;
	err = gate_texts_add(&c->good, hex);
	for (size_t i = 0; err == 0 && i < x.findings.count; i++)
		err = gate_texts_add(&c->findings, x.findings.items[i]);
	return err;
}

static int take_all(struct check *c, const struct buf *bundle)
{
	const char *at = buf_str(bundle), *end = at + bundle->len;
	int err = 0;

	while (err == 0 && at < end) {
		const char *armors = memmem(at, (size_t)(end - at), BEGIN, strlen(BEGIN));
		const char *stop = armors;

		while (stop && (size_t)(end - stop) >= strlen(BEGIN) &&
		       memcmp(stop, BEGIN, strlen(BEGIN)) == 0) {
			stop = memmem(stop, (size_t)(end - stop), END, strlen(END));
			stop = stop ? stop + strlen(END) : NULL;
		}
		if (!stop)
			return -EBADMSG;
		err = take_one(c, at, (size_t)(armors - at), armors, stop);
		at = stop;
	}
	return err;
}

/* Whether each line KEY VALUE [MORE] of the promotion has its value in the list. */
static bool all_listed(const struct verify *v, const char *key, const struct gate_texts *list,
		       size_t *ret_count)
{
	size_t len = strlen(key);

	*ret_count = 0;
	for (const char *at = buf_str(&v->record.promotion); at && *at;) {
		const char *next = strchr(at, '\n');

		if (strncmp(at, key, len) == 0 && at[len] == ' ') {
			size_t value = strcspn(at + len + 1, " \n");
			cleanup_free char *text = strndup(at + len + 1, value);

			if (!text || !gate_texts_have(list, text))
				return false;
			(*ret_count)++;
		}
		at = next ? next + 1 : NULL;
	}
	return true;
}

static int check_all(struct check *c, const struct buf *bundle, struct weir_err *e)
{
	size_t exceptions, accepted;
	int err = take_all(c, bundle);

	if (err == -ENOMEM || err == -EIO)
		return err_errno(e, err, "checking exceptions");
	if (err < 0)
		return verify_fail(VERIFY_EXCEPTIONS, e, "the exceptions can't be read");
	if (!all_listed(c->v, "exception", &c->good, &exceptions))
		return verify_fail(VERIFY_EXCEPTIONS, e,
				   "an exception is missing, or was not valid for this promotion");
	if (!all_listed(c->v, "accepted", &c->findings, &accepted))
		return verify_fail(VERIFY_EXCEPTIONS, e, "no exception names an accepted finding");
	if (!verify_promotion_says(c->v, "verdict", "clean") && (exceptions == 0 || accepted == 0))
		return verify_fail(VERIFY_EXCEPTIONS, e,
				   "the run was not clean, and nobody accepted it");
	return 0;
}

int verifyexcept_findings(struct verify *v, struct weir_err *e)
{
	cleanup_people struct people people = { 0 };
	cleanup_buf struct buf bundle = { 0 };
	cleanup_buf struct buf first = { 0 };
	__attribute__((__cleanup__(check_done))) struct check c = { .v = v, .people = &people };
	struct weir_err cause = { 0 };
	const char *text = buf_str(&v->record.promotion);
	bool clean = !kind_of(v->kind)->has_run || verify_promotion_says(v, "verdict", "clean");
	int err;

	if (clean && digest_find(text, "exception", &first) == -ENOENT &&
	    digest_find(text, "accepted", &first) == -ENOENT)
		return 0;
	if (!clean && !verify_promotion_says(v, "verdict", "violated"))
		return verify_fail(VERIFY_EXCEPTIONS, e, "no exception covers such a verdict");
	err = record_read_file(v->repo, &v->commit, "exceptions", &bundle, &cause);
	if (err == 0)
		err = verifyapprove_load(v, &people, &c.when, &cause);
	if (err < 0)
		return verify_fail(VERIFY_EXCEPTIONS, e, cause.text);
	if (digest_find(text, "run", &c.run) < 0 || digest_find(text, "ref", &c.ref) < 0 ||
	    digest_find(text, "repository", &c.repository) < 0)
		return verify_fail(VERIFY_EXCEPTIONS, e, "the promotion names no run");
	return check_all(&c, &bundle, e);
}
