/* SPDX-License-Identifier: MIT */
/* Counting and taking what people signed; contract in approve.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/approve.h"
#include "writeback/digest.h"
#include "writeback/reason.h"
#include "writeback/sshcert.h"
#include "writeback/sshpub.h"
#include "writeback/sshsig.h"

/* One statement whose signature holds, and whose it is. */
struct voice {
	struct approval a;
	const struct person *person;
	struct buf key; /* plain blob */
	struct buf text;
	struct buf armor;
};

struct voices {
	const struct pending *pending;
	const struct people *people;
	int64_t now;
	struct voice items[PENDING_SIGNED_MAX];
	size_t count;
	struct buf *ignored; /* may be NULL */
};

static void voice_done(struct voice *v)
{
	approval_done(&v->a);
	buf_done(&v->key);
	buf_done(&v->text);
	buf_done(&v->armor);
}

static void voices_free(struct voices **v)
{
	for (size_t i = 0; *v && i < (*v)->count; i++)
		voice_done(&(*v)->items[i]);
	free(*v);
}
#define cleanup_voices __attribute__((__cleanup__(voices_free)))

void approve_tally_done(struct approve_tally *t)
{
	gate_texts_done(&t->approvers);
	buf_done(&t->missing);
	buf_done(&t->rejected);
	buf_done(&t->ignored);
	buf_done(&t->bundle);
	*t = (struct approve_tally){ 0 };
}

static const char *text_of(const struct pending *p)
{
	return buf_str(&p->promotion);
}

/* Whether a "KEY NAME" line stands in the promotion text. */
static bool has_line(const struct pending *p, const char *key, const char *name)
{
	cleanup_buf struct buf line = { 0 };

	buf_addf(&line, "\n%s %s\n", key, name);
	return strstr(text_of(p), buf_str(&line)) != NULL;
}

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

/* The statement is about this proposal, all of it, and nothing else. */
static int check_text(const struct pending *p, const struct approval *a, struct weir_err *e)
{
	cleanup_approval struct approval want = { 0 };
	int err = approval_fill(&want, text_of(p), p->promotion.len);

	if (err < 0)
		return err_errno(e, err, "reading the proposal");
	if (strcmp(a->promotion, want.promotion) != 0)
		return refuse(e, REASON_VOID, "it is about promotion %.16s..., this is %.16s...",
			      a->promotion, want.promotion);
	if (strcmp(a->repository, want.repository) != 0 || strcmp(a->ref, want.ref) != 0 ||
	    strcmp(a->base, want.base) != 0 || strcmp(a->tree, want.tree) != 0 ||
	    strcmp(a->run, want.run) != 0)
		return refuse(e, REASON_SIGNED_TEXT,
			      "it says another repository, ref, base, tree "
			      "or run than the promotion");
	if (a->decision != APPROVAL_APPROVE)
		return 0;
	for (size_t i = 0; i < want.acknowledged.count; i++)
		if (!gate_texts_have(&a->acknowledged, want.acknowledged.items[i]))
			return refuse(e, REASON_ACKNOWLEDGE, "finding %s is not acknowledged",
				      want.acknowledged.items[i]);
	for (size_t i = 0; i < a->acknowledged.count; i++)
		if (!gate_texts_have(&want.acknowledged, a->acknowledged.items[i]))
			return refuse(e, REASON_ACKNOWLEDGE, "there is no finding %s",
				      a->acknowledged.items[i]);
	return 0;
}

static int check_time(const struct approval *a, int64_t now, struct weir_err *e)
{
	if (a->from > now + APPROVAL_SKEW_S)
		return refuse(e, REASON_WINDOW, "it is not valid yet");
	if (a->until != 0 && a->until < now)
		return refuse(e, REASON_WINDOW, "it is not valid any more");
	return 0;
}

/* Text, signature, signer and time, in this order. */
static int hear(const struct pending *p, const struct people *people, int64_t now,
		struct voice *ret_voice, struct weir_err *e)
{
	cleanup_buf struct buf blob = { 0 };
	cleanup_buf struct buf principal = { 0 };
	struct voice *v = ret_voice;
	struct weir_err cause = { 0 };
	struct sshwire w;
	int err = approval_parse(buf_str(&v->text), v->text.len, &v->a);

	if (err < 0)
		return err == -ENOMEM
			       ? err_errno(e, err, "reading the statement")
			       : refuse(e, REASON_SIGNED_TEXT, "it is no " APPROVAL_HEAD " text");
	err = sshsig_verify(v->armor.data, v->armor.len, role_namespace(v->a.role), v->text.data,
			    v->text.len, &blob, &cause);
	if (err < 0)
		return refuse(e, REASON_SIGNED_SIGNATURE, "namespace %s: %s",
			      role_namespace(v->a.role), cause.text);
	w = sshwire_of(&blob);
	err = people_find(people, &w, v->a.role, (time_t)now, &v->person, &principal, e);
	if (err == 0)
		err = check_text(p, &v->a, e);
	if (err == 0)
		err = check_time(&v->a, now, e);
	if (err == 0 && plain_key(&blob, &v->key) < 0)
		err = err_errno(e, -ENOMEM, "reading the statement");
	return err;
}

static int hear_one(const struct buf *text, const struct buf *armor, void *arg, struct weir_err *e)
{
	struct voices *all = arg;
	struct voice *v = &all->items[all->count];
	struct weir_err cause = { 0 };
	int err;

	if (all->count == PENDING_SIGNED_MAX)
		return refuse(e, REASON_LIMIT, "more than %d statements", PENDING_SIGNED_MAX);
	*v = (struct voice){ 0 };
	buf_add(&v->text, text->data, text->len);
	buf_add(&v->armor, armor->data, armor->len);
	err = hear(all->pending, all->people, all->now, v, &cause);
	if (err == 0) {
		all->count++;
		return 0;
	}
	if (all->ignored)
		buf_addf(all->ignored, "%s: %s\n", cause.code, cause.text);
	voice_done(v);
	/* what can't be told right now is no reason to go on without it */
	return err == -EPERM ? 0 : err_set(e, err, "%s", cause.text);
}

static int hear_all(const struct pending *p, const struct people *people, int64_t now,
		    struct buf *ignored, struct voices **ret_voices, struct weir_err *e)
{
	struct voices *all = calloc(1, sizeof(*all));

	if (!all)
		return err_errno(e, -ENOMEM, "counting approvals");
	all->pending = p;
	all->people = people;
	all->now = now;
	all->ignored = ignored;
	*ret_voices = all;
	return pending_each_signed(p, hear_one, all, e);
}

/* A person's withdrawal takes back all they said until then, in whatever role. */
static bool is_withdrawn(const struct voices *all, const struct voice *v)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct voice *other = &all->items[i];

		if (other->a.decision == APPROVAL_WITHDRAW && other->person == v->person &&
		    other->a.from >= v->a.from)
			return true;
	}
	return false;
}

static bool is_live(const struct voices *all, const struct voice *v,
		    enum approval_decision decision)
{
	/* a producer's no counts like anybody's */
	return v->a.decision == decision && !is_withdrawn(all, v) &&
	       (decision == APPROVAL_REJECT ||
		!has_line(all->pending, "producer", v->person->name));
}

/* Places of roles, persons who can fill them: a maximum matching, by augmenting paths. */
struct matching {
	uint32_t roles[PENDING_SIGNED_MAX]; /* of each person, that they approved in */
	const struct person *people[PENDING_SIGNED_MAX];
	size_t people_count;
	enum role places[ROLE_COUNT * POLICY_APPROVALS_MAX];
	size_t place_count;
	int filled[PENDING_SIGNED_MAX]; /* place of each person, -1: none */
	bool tried[PENDING_SIGNED_MAX];
};

static bool fill_place(struct matching *m, size_t place)
{
	for (size_t i = 0; i < m->people_count; i++) {
		if (m->tried[i] || !(m->roles[i] & 1u << m->places[place]))
			continue;
		m->tried[i] = true;
		if (m->filled[i] < 0 || fill_place(m, (size_t)m->filled[i])) {
			m->filled[i] = (int)place;
			return true;
		}
	}
	return false;
}

static void add_person(struct matching *m, const struct voice *v)
{
	size_t i = 0;

	while (i < m->people_count && m->people[i] != v->person)
		i++;
	if (i == m->people_count) {
		m->people[i] = v->person;
		m->roles[i] = 0;
		m->filled[i] = -1;
		m->people_count++;
	}
	m->roles[i] |= 1u << v->a.role;
}

static void read_need(const struct pending *p, unsigned int *need)
{
	for (unsigned int i = 0; i < ROLE_COUNT; i++) {
		cleanup_buf struct buf key = { 0 };
		cleanup_buf struct buf value = { 0 };

		buf_addf(&key, "need %s", role_name((enum role)i));
		if (digest_find(text_of(p), buf_str(&key), &value) == 0)
			need[i] = (unsigned int)strtoul(buf_str(&value), NULL, 10);
		if (need[i] > POLICY_APPROVALS_MAX)
			need[i] = POLICY_APPROVALS_MAX;
	}
}

static int match(const struct voices *all, struct approve_tally *t)
{
	struct matching *m = calloc(1, sizeof(*m));
	int err = 0;

	if (!m)
		return -ENOMEM;
	for (size_t i = 0; i < all->count; i++)
		if (is_live(all, &all->items[i], APPROVAL_APPROVE))
			add_person(m, &all->items[i]);
	for (unsigned int role = 0; role < ROLE_COUNT; role++)
		for (unsigned int i = 0; i < t->need[role]; i++)
			m->places[m->place_count++] = (enum role)role;
	for (size_t i = 0; i < m->place_count; i++) {
		memset(m->tried, 0, sizeof(m->tried));
		if (fill_place(m, i))
			t->have[m->places[i]]++;
	}
	for (size_t i = 0; err == 0 && i < m->people_count; i++)
		if (m->filled[i] >= 0)
			err = gate_texts_add(&t->approvers, m->people[i]->name);
	gate_texts_sort(&t->approvers);
	free(m);
	return err;
}

static void tell(const struct voices *all, struct approve_tally *t)
{
	for (unsigned int i = 0; i < ROLE_COUNT; i++)
		if (t->have[i] < t->need[i])
			buf_addf(&t->missing, "%s%u %s", t->missing.len ? ", " : "",
				 t->need[i] - t->have[i], role_name((enum role)i));
	for (size_t i = 0; i < all->count; i++) {
		const struct voice *v = &all->items[i];
		const char *reason = v->a.reason ? v->a.reason : "no reason given";

		if (is_live(all, v, APPROVAL_REJECT)) {
			buf_addf(&t->rejected, "%s%s: ", t->rejected.len ? "; " : "",
				 v->person->name);
			buf_add_escaped(&t->rejected, reason, strlen(reason));
		} else if (is_live(all, v, APPROVAL_APPROVE)) {
			buf_add(&t->bundle, v->text.data, v->text.len);
			buf_add(&t->bundle, v->armor.data, v->armor.len);
		}
	}
}

int approve_count(const struct pending *p, const struct people *people, int64_t now,
		  struct approve_tally *ret_tally, struct weir_err *e)
{
	cleanup_voices struct voices *all = NULL;
	int err;

	*ret_tally = (struct approve_tally){ 0 };
	read_need(p, ret_tally->need);
	err = hear_all(p, people, now, &ret_tally->ignored, &all, e);
	if (err < 0)
		return err;
	err = match(all, ret_tally);
	if (err == 0)
		tell(all, ret_tally);
	if (ret_tally->missing.failed || ret_tally->bundle.failed || ret_tally->rejected.failed)
		err = -ENOMEM;
	return err < 0 ? err_errno(e, err, "counting approvals") : 0;
}

/* Splits the bundle at the ends of signatures. */
static int hear_bundle(struct voices *all, const struct buf *bundle, struct weir_err *e)
{
	static const char begin[] = "-----BEGIN SSH SIGNATURE-----\n";
	static const char end[] = "-----END SSH SIGNATURE-----\n";
	const char *at = buf_str(bundle), *stop = at + bundle->len;
	int err = 0;

	while (err == 0 && at < stop) {
		const char *armor = memmem(at, (size_t)(stop - at), begin, strlen(begin));
		const char *last =
			armor ? memmem(armor, (size_t)(stop - armor), end, strlen(end)) : NULL;
		cleanup_buf struct buf text = { 0 };
		cleanup_buf struct buf sig = { 0 };

		if (!last)
			return err_set(e, -EBADMSG, "the approvals can't be read");
		last += strlen(end);
		buf_add(&text, at, (size_t)(armor - at));
		buf_add(&sig, armor, (size_t)(last - armor));
		err = text.failed || sig.failed ? err_errno(e, -ENOMEM, "counting approvals")
						: hear_one(&text, &sig, all, e);
		at = last;
	}
	return err;
}

int approve_count_bundle(const struct buf *promotion, const struct buf *bundle,
			 const struct people *people, int64_t now, struct approve_tally *ret_tally,
			 struct weir_err *e)
{
	cleanup_voices struct voices *all = calloc(1, sizeof(*all));
	/* borrowed: it is only read */
	const struct pending p = { .dir = -1, .promotion = *promotion };
	int err;

	*ret_tally = (struct approve_tally){ 0 };
	if (!all)
		return err_errno(e, -ENOMEM, "counting approvals");
	*all = (struct voices){
		.pending = &p, .people = people, .now = now, .ignored = &ret_tally->ignored
	};
	read_need(&p, ret_tally->need);
	err = hear_bundle(all, bundle, e);
	if (err < 0)
		return err;
	err = match(all, ret_tally);
	if (err == 0)
		tell(all, ret_tally);
	return err < 0 || ret_tally->missing.failed ? err_errno(e, -ENOMEM, "counting approvals")
						    : 0;
}

static int check_twice(const struct voices *all, const struct voice *v, struct weir_err *e)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct voice *other = &all->items[i];
		struct sshwire a = sshwire_of(&other->key), b = sshwire_of(&v->key);

		if (!is_live(all, other, v->a.decision) || v->a.decision == APPROVAL_WITHDRAW)
			continue;
		if (other->person == v->person && other->a.role == v->a.role)
			return refuse(e, REASON_SIGNER_TWICE, "%s has said %s as %s already",
				      v->person->name, approval_name(v->a.decision),
				      role_name(v->a.role));
		if (other->person != v->person && sshwire_equal(&a, &b))
			return refuse(e, REASON_SIGNER_TWICE, "%s has signed with this key already",
				      other->person->name);
	}
	return 0;
}

/* A withdrawal is of what was said before it, by the times that stand there: with a clock that went
 * back it would take back nothing, and what follows one would be taken back at once. */
static int check_order(const struct voices *all, const struct voice *v, struct weir_err *e)
{
	bool back = v->a.decision == APPROVAL_WITHDRAW;

	for (size_t i = 0; i < all->count; i++) {
		const struct voice *other = &all->items[i];

		if (other->person != v->person ||
		    back == (other->a.decision == APPROVAL_WITHDRAW) ||
		    other->a.from < v->a.from + back)
			continue;
		return refuse(e, REASON_CLOCK, "%s has signed something later than this already",
			      v->person->name);
	}
	return 0;
}

struct latest {
	int64_t limit;
	int64_t from;
};

static int find_latest(const struct buf *text, const struct buf *armor, void *arg,
		       struct weir_err *e)
{
	cleanup_approval struct approval a = { 0 };
	struct latest *l = arg;

	(void)armor;
	(void)e;
	if (approval_parse(buf_str(text), text->len, &a) == 0 && a.from > l->from &&
	    a.from <= l->limit)
		l->from = a.from;
	return 0;
}

int approve_next_from(const struct pending *p, int64_t now, int64_t *ret_from, struct weir_err *e)
{
	struct latest l = { .limit = now + APPROVAL_SKEW_S - 1, .from = now - 1 };
	int err = pending_each_signed(p, find_latest, &l, e);

	*ret_from = l.from + 1;
	return err;
}

static int check_window(const struct approval *a, int64_t window_s, struct weir_err *e)
{
	if (a->until != 0 && a->until <= a->from)
		return refuse(e, REASON_WINDOW, "it ends before it begins");
	if (a->until != 0 && a->until - a->from > window_s)
		return refuse(e, REASON_WINDOW, "it is for %lld hours; the policy allows %lld",
			      (long long)(a->until - a->from) / 3600, (long long)window_s / 3600);
	return 0;
}

int approve_submit(const struct pending *p, const struct people *people, const struct buf *text,
		   const struct buf *armor, int64_t window_s, int64_t now, struct weir_err *e)
{
	cleanup_voices struct voices *all = NULL;
	__attribute__((__cleanup__(voice_done))) struct voice v = { 0 };
	int err;

	buf_add(&v.text, text->data, text->len);
	buf_add(&v.armor, armor->data, armor->len);
	err = hear(p, people, now, &v, e);
	if (err == 0)
		err = check_window(&v.a, window_s, e);
	if (err == 0 && v.a.decision == APPROVAL_APPROVE && v.a.role == ROLE_PRODUCER)
		err = refuse(e, REASON_SIGNER_ROLE, "a producer's word is no approval");
	if (err == 0 && v.a.decision == APPROVAL_APPROVE && has_line(p, "producer", v.person->name))
		err = refuse(e, REASON_PRODUCER, "%s made this change or could have",
			     v.person->name);
	if (err == 0)
		err = hear_all(p, people, now, NULL, &all, e);
	if (err == 0)
		err = check_twice(all, &v, e);
	if (err == 0)
		err = check_order(all, &v, e);
	return err < 0 ? err : pending_add_signed(p, &v.text, &v.armor, e);
}
