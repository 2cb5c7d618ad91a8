/* SPDX-License-Identifier: MIT */
/*
 * The judge: reads a request, finds out who asks, and decides whether they may ask it of this very
 * object. Contract in serve.h. What is not there and what is not for the caller get one answer.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/json.h"
#include "writeback/priv.h"
#include "writeback/proposal.h"
#include "writeback/proto.h"
#include "writeback/publish.h"
#include "writeback/reason.h"
#include "writeback/serve.h"
#include "writeback/signedtext.h"
#include "writeback/sshpub.h"
#include "writeback/sshsig.h"
#include "writeback/statement.h"
#include "writeback/version.h"

struct judge {
	struct gate_config now; /* as it is when the request is there */
	const struct gate_config *config;
	int broker;
	struct serve_caller caller;
	char *login; /* of uid; NULL: none */
	struct serve_request request;
	struct repo repo;
	int lock;
	uid_t for_user; /* who the command is told that it is for */
};

static void judge_done(struct judge *j)
{
	config_done(&j->now);
	free(j->caller.principal);
	free(j->login);
	serve_request_done(&j->request);
	repo_close(&j->repo);
	if (j->lock >= 0)
		close(j->lock);
}

static char *login_of(uid_t uid)
{
	char buffer[4096];
	struct passwd pw, *found = NULL;

	if (getpwuid_r(uid, &pw, buffer, sizeof(buffer), &found) != 0 || !found)
		return NULL;
	return strdup(found->pw_name);
}

static bool is_root(const struct judge *j)
{
	return j->caller.uid == 0 && !j->caller.principal;
}

static const char *given(const struct judge *j, enum serve_member m)
{
	return j->request.values[m];
}

static int denied(const struct judge *j, struct weir_err *e)
{
	refuse(e, REASON_DENIED, "%s: it is not there, or not for %s",
	       serve_op(j->request.op)->name,
	       j->caller.principal ? j->caller.principal
	       : j->login	   ? j->login
				   : "this user");
	return -EPERM;
}

/* Who the caller is among these people. Uids of other user namespaces are nobody's. */
static const struct person *person_of(const struct judge *j, const struct people *people)
{
	if (!people->loaded)
		return NULL;
	if (j->caller.principal)
		return roles_by_principal(&people->roles, j->caller.principal);
	if (j->caller.uid == PRIV_NOBODY)
		return NULL;
	return roles_by_login(&people->roles, j->caller.uid, j->login);
}

static bool is_producer(const struct proposal *x, const struct person *person)
{
	cleanup_buf struct buf line = { 0 };

	buf_addf(&line, "\n");
	return signed_add(&line, "producer", person->name) == 0 &&
	       strstr(buf_str(&x->pending.promotion), buf_str(&line)) != NULL;
}

/* Loads the proposal, and who the caller is among its people. What can't be loaded is nobody's. */
static int load(struct judge *j, const char *nonce, struct proposal *x,
		const struct person **ret_person, struct weir_err *e)
{
	struct weir_err cause = { 0 };

	if (proposal_load(j->config, &j->repo, nonce, x, &cause) < 0)
		return denied(j, e);
	*ret_person = person_of(j, &x->people);
	return *ret_person ? 0 : denied(j, e);
}

/* The people of a branch's tip that know the caller. */
static int load_tip(struct judge *j, struct people *people, const struct person **ret_person,
		    struct weir_err *e)
{
	for (size_t i = 0; i < j->config->refs.count; i++) {
		struct weir_err none = { 0 };
		struct repo_commit head;
		git_oid tip;

		if (repo_read_ref(&j->repo, j->config->refs.items[i], &tip, &none) < 0 ||
		    repo_read_commit(&j->repo, &tip, &head, &none) < 0 ||
		    people_load(j->config, &j->repo, &head.tree, people, &none) < 0)
			continue;
		*ret_person = person_of(j, people);
		if (*ret_person)
			return 0;
		people_done(people);
		*people = (struct people){ 0 };
	}
	return denied(j, e);
}

static int may_anyone(struct judge *j, struct weir_err *e)
{
	(void)j;
	(void)e;
	return 0;
}

static int may_listed(struct judge *j, struct weir_err *e)
{
	cleanup_buf struct buf only = { .max = serve_member(SERVE_M_ONLY)->max };
	struct gate_texts nonces = { 0 };
	int err = pending_list(&j->repo, &nonces, e);

	for (size_t i = 0; err == 0 && i < nonces.count; i++) {
		cleanup_proposal struct proposal x = { .pending = { .dir = -1 } };
		const struct person *person;
		struct weir_err none = { 0 };

		if (load(j, nonces.items[i], &x, &person, &none) == 0)
			buf_addf(&only, "%s\n", nonces.items[i]);
	}
	gate_texts_done(&nonces);
	if (err < 0)
		return err;
	j->request.values[SERVE_M_ONLY] = only.failed ? NULL : strdup(buf_str(&only));
	return j->request.values[SERVE_M_ONLY] ? 0 : err_errno(e, -ENOMEM, "listing");
}

static int may_known(struct judge *j, struct weir_err *e)
{
	cleanup_proposal struct proposal x = { .pending = { .dir = -1 } };
	const struct person *person;

	return load(j, given(j, SERVE_M_NONCE), &x, &person, e);
}

static int may_role(struct judge *j, struct weir_err *e)
{
	const char *name = given(j, SERVE_M_ROLE), *decision = given(j, SERVE_M_DECISION);
	enum role role = name ? role_find(name) : ROLE_APPROVER;
	cleanup_proposal struct proposal x = { .pending = { .dir = -1 } };
	const struct person *person;
	int err = load(j, given(j, SERVE_M_NONCE), &x, &person, e);

	if (err < 0)
		return err;
	if (role == ROLE_COUNT || !(person->roles & (1u << role)))
		return refuse(e, REASON_SIGNER_ROLE, "%s has not the role %s", person->name,
			      name ? name : role_name(ROLE_APPROVER));
	if (strcmp(decision, approval_name(APPROVAL_APPROVE)) == 0 && is_producer(&x, person))
		return refuse(e, REASON_PRODUCER, "%s made this change or could have",
			      person->name);
	return 0;
}

/* Whose key has signed the statement of the request. */
static const struct person *signer(const struct judge *j, const struct people *people)
{
	const char *text = given(j, SERVE_M_STATEMENT), *armor = given(j, SERVE_M_SIGNATURE);
	cleanup_approval struct approval says = { 0 };
	cleanup_buf struct buf blob = { 0 };
	cleanup_buf struct buf principal = { 0 };
	const struct person *person = NULL;
	struct weir_err none = { 0 };
	struct sshwire w;

	if (approval_parse(text, strlen(text), &says) < 0 ||
	    strcmp(approval_name(says.decision), given(j, SERVE_M_DECISION)) != 0 ||
	    sshsig_verify(armor, strlen(armor), role_namespace(says.role), text, strlen(text),
			  &blob, &none) < 0)
		return NULL;
	w = sshwire_of(&blob);
	if (people_find(people, &w, says.role, time(NULL), &person, &principal, &none) < 0)
		return NULL;
	return person;
}

static int may_signer(struct judge *j, struct weir_err *e)
{
	cleanup_proposal struct proposal x = { .pending = { .dir = -1 } };
	const struct person *person;
	int err = load(j, given(j, SERVE_M_NONCE), &x, &person, e);

	if (err < 0)
		return err;
	if (signer(j, &x.people) != person)
		return refuse(e, REASON_DENIED,
			      "%s hands in what somebody else has signed, or "
			      "nothing that holds",
			      person->name);
	return 0;
}

static int may_producer(struct judge *j, struct weir_err *e)
{
	cleanup_proposal struct proposal x = { .pending = { .dir = -1 } };
	const struct person *person;
	int err = load(j, given(j, SERVE_M_NONCE), &x, &person, e);

	return err < 0 || is_producer(&x, person) ? err : denied(j, e);
}

static int ask(const struct judge *j, enum serve_message type, const char *text,
	       struct proto_message *ret_message, struct weir_err *e)
{
	int err = proto_send(j->broker, type, text, strlen(text), NULL, 0);

	if (err == 0)
		err = proto_recv(j->broker, ret_message);
	if (err == 0 && ret_message->type != type + 1)
		err = -EBADMSG;
	return err < 0 ? err_errno(e, err, "asking the broker") : 0;
}

/* What the run was announced for. Its statement is not believed: the nonce is the gate's own. */
static int find_nonce(const struct judge *j, struct nonce *ret_nonce, struct weir_err *e)
{
	cleanup_proto struct proto_message m = { 0 };
	cleanup_statement struct statement s = { 0 };
	cleanup_buf struct buf text = { 0 };
	cleanup_close int fd = -1;
	struct weir_err none = { 0 };
	int err = ask(j, SERVE_ASK_RUN, given(j, SERVE_M_RUN), &m, e);

	if (err < 0)
		return err;
	fd = proto_take_fd(&m);
	if (fd < 0 || fsio_read_fd(fd, STATEMENT_MAX, &text) < 0 ||
	    statement_parse(buf_str(&text), text.len, &s, &none) < 0 || !s.nonce ||
	    nonce_load(s.nonce, ret_nonce, &none) < 0 || !ret_nonce->workspace)
		return denied(j, e);
	return 0;
}

static int find_owner(const struct judge *j, const struct nonce *n, struct serve_owner *ret_owner,
		      struct weir_err *e)
{
	cleanup_proto struct proto_message m = { 0 };
	int err = ask(j, SERVE_ASK_OWNER, n->workspace, &m, e);
	const void *owner = err == 0 ? proto_take(&m, sizeof(*ret_owner)) : NULL;

	if (!owner)
		return err < 0 ? err : err_errno(e, -EBADMSG, "asking the broker");
	memcpy(ret_owner, owner, sizeof(*ret_owner));
	if (ret_owner->dev != n->dev || ret_owner->ino != n->ino)
		ret_owner->err = -ESTALE;
	return 0;
}

/* A login that stands for the person where there is no uid of a peer. */
static uid_t uid_of_person(const struct judge *j, const struct person *person)
{
	char buffer[4096];
	struct passwd pw, *found = NULL;

	if (!j->caller.principal)
		return j->caller.uid;
	for (size_t i = 0; i < person->logins.count; i++)
		if (getpwnam_r(person->logins.items[i], &pw, buffer, sizeof(buffer), &found) == 0 &&
		    found)
			return found->pw_uid;
	return PRIV_NOBODY;
}

static int may_owner(struct judge *j, struct weir_err *e)
{
	cleanup_proposal struct proposal x = { .pending = { .dir = -1 } };
	__attribute__((__cleanup__(people_done))) struct people people = { 0 };
	cleanup_nonce struct nonce n = { 0 };
	const struct person *person = NULL;
	struct serve_owner owner = { 0 };
	struct weir_err none = { 0 };
	struct repo_commit head;
	git_oid base;
	int err = find_nonce(j, &n, e);

	if (err == 0)
		err = find_owner(j, &n, &owner, e);
	if (err < 0)
		return err;
	if (git_oid_fromstr(&base, n.commit) == 0 &&
	    repo_read_commit(&j->repo, &base, &head, &none) == 0 &&
	    people_load(j->config, &j->repo, &head.tree, &people, &none) == 0)
		person = person_of(j, &people);
	j->for_user = j->caller.uid;
	if (owner.err == 0 && !j->caller.principal && owner.uid == j->caller.uid &&
	    owner.uid != PRIV_NOBODY)
		return 0;
	if (owner.err == 0 && person) {
		cleanup_free char *login = login_of(owner.uid);

		j->for_user = owner.uid;
		if (roles_by_login(&people.roles, owner.uid, login) == person)
			return 0;
	}
	if (load(j, n.id, &x, &person, e) < 0 || !is_producer(&x, person)) {
		*e = (struct weir_err){ 0 };
		return denied(j, e);
	}
	j->for_user = uid_of_person(j, person);
	return 0;
}

static int may_member(struct judge *j, struct weir_err *e)
{
	__attribute__((__cleanup__(people_done))) struct people people = { 0 };
	const struct person *person;

	return load_tip(j, &people, &person, e);
}

static int may_keeper(struct judge *j, struct weir_err *e)
{
	__attribute__((__cleanup__(people_done))) struct people people = { 0 };
	const struct person *person;
	int err = load_tip(j, &people, &person, e);

	if (err == 0 && !(person->roles & (1u << ROLE_PLATFORM_OWNER)))
		err = denied(j, e);
	return err;
}

typedef int may_fn(struct judge *j, struct weir_err *e);

static may_fn *const may[] = {
	[SERVE_MAY_ANYONE] = may_anyone,     [SERVE_MAY_LISTED] = may_listed,
	[SERVE_MAY_KNOWN] = may_known,	     [SERVE_MAY_ROLE] = may_role,
	[SERVE_MAY_SIGNER] = may_signer,     [SERVE_MAY_OWNER] = may_owner,
	[SERVE_MAY_PRODUCER] = may_producer, [SERVE_MAY_MEMBER] = may_member,
	[SERVE_MAY_KEEPER] = may_keeper,
};

/* Whoever runs a relay could be anyone: only these are believed. */
static bool is_relay(const struct gate_config *c, uid_t uid)
{
	char buffer[4096];
	struct passwd pw, *found = NULL;

	if (uid == 0 || uid == c->uid)
		return true;
	return c->relay && getpwnam_r(c->relay, &pw, buffer, sizeof(buffer), &found) == 0 &&
	       found && found->pw_uid == uid;
}

static int read_frame(int client, struct buf *ret_text, struct weir_err *e)
{
	int err = serve_frame_read(client, SERVE_FRAME_MAX, SERVE_READ_S, ret_text);

	if (err == -EMSGSIZE)
		return refuse(e, REASON_LIMIT, "a request has 1 to %zu bytes", SERVE_FRAME_MAX);
	if (err == -ETIMEDOUT)
		return refuse(e, REASON_DEADLINE, "a request has %d seconds to arrive",
			      SERVE_READ_S);
	if (err == -EPIPE)
		return refuse(e, REASON_REQUEST, "the connection ended before the request did");
	return err < 0 ? err_errno(e, err, "reading the request") : 0;
}

/* What gate.yaml says at this moment. The user can't change beneath a service. */
static int read_config(struct judge *j, struct weir_err *e)
{
	int err;

	config_done(&j->now);
	err = config_load(&j->now, e);
	if (err == 0 && j->now.uid != geteuid())
		err = err_set(e, -EPERM, "gate.yaml has another user: start the service again");
	return err;
}

/* Of each principal so many at once, that one does not use up what a relay may have. */
static int take_seat(struct judge *j, struct weir_err *e)
{
	const char *principal = j->caller.principal ? j->caller.principal : "";
	cleanup_proto struct proto_message m = { 0 };
	int32_t answer;
	int err = proto_send(j->broker, SERVE_ASK_SEAT, principal, strlen(principal), NULL, 0);

	if (err == 0)
		err = proto_recv(j->broker, &m);
	if (err < 0 || m.type != SERVE_GIVE_SEAT || m.data.len != sizeof(answer))
		return err_errno(e, err < 0 ? err : -EBADMSG, "the broker");
	memcpy(&answer, m.data.data, sizeof(answer));
	if (answer == -EBUSY)
		return refuse(e, REASON_BUSY, "too many requests at once of %s", principal);
	return answer < 0 ? err_errno(e, answer, "the broker") : 0;
}

static int read_request(struct judge *j, int client, struct weir_err *e)
{
	cleanup_buf struct buf first = { 0 };
	cleanup_buf struct buf second = { 0 };
	const struct buf *text = &first;
	int err = read_frame(client, &first, e);

	if (err == 0)
		err = read_config(j, e);
	if (err == 0)
		err = serve_hello_parse(buf_str(&first), first.len, &j->caller.principal, e);
	if (err == 1 && !is_relay(j->config, j->caller.uid))
		err = refuse(e, REASON_DENIED, "this user names no principals (gate.yaml, relay)");
	if (err == 1) {
		text = &second;
		err = take_seat(j, e);
		if (err == 0)
			err = read_frame(client, &second, e);
		/* that took its time */
		if (err == 0)
			err = read_config(j, e);
		if (err == 0 && !is_relay(j->config, j->caller.uid))
			err = refuse(e, REASON_DENIED, "this user names no principals any more");
	}
	return err < 0 ? err : serve_request_parse(buf_str(text), text->len, &j->request, e);
}

static int send_text(const struct judge *j, const struct buf *text, struct weir_err *e)
{
	int err = proto_send(j->broker, SERVE_ANSWER, buf_str(text), text->len, NULL, 0);

	return err < 0 ? err_errno(e, err, "answering") : 0;
}

static json_t *role_names(const struct person *person)
{
	json_t *list = json_array();

	for (unsigned int i = 0; person && i < ROLE_COUNT; i++)
		if (person->roles & (1u << i))
			json_array_append_new(list, json_string(role_name((enum role)i)));
	return list;
}

static int answer_status(struct judge *j, struct weir_err *e)
{
	__attribute__((__cleanup__(people_done))) struct people people = { 0 };
	cleanup_buf struct buf text = { 0 };
	cleanup_buf struct buf answer = { 0 };
	cleanup_json json_t *root = NULL;
	const struct person *person = NULL;
	struct weir_err none = { 0 };

	load_tip(j, &people, &person, &none);
	root = json_pack("{s:s, s:s, s:I, s:s?, s:s?, s:s?, s:o}", "schema", SERVE_STATUS,
			 "version", GATE_VERSION, "uid", (json_int_t)j->caller.uid, "login",
			 j->login, "principal", j->caller.principal, "person",
			 person ? person->name : NULL, "roles", role_names(person));
	if (!root || json_canonical(root, &text) < 0 ||
	    serve_answer_json(text.data, text.len, &answer) < 0)
		return err_errno(e, -ENOMEM, "answering");
	return send_text(j, &answer, e);
}

/* A value that the command reads as a file. Returns: a descriptor or a negative errno. */
static int value_file(const char *text)
{
	cleanup_close int fd = memfd_create("value", MFD_CLOEXEC);
	int err = fd < 0 ? -errno : fsio_write_all(fd, text, strlen(text));

	return err < 0 ? err : TAKE_FD(fd);
}

static int send_go(const struct judge *j, struct weir_err *e)
{
	uint32_t head[2] = { j->request.op, j->for_user };
	cleanup_buf struct buf data = { 0 };
	int fds[PROTO_FDS], err = buf_add(&data, head, sizeof(head));
	unsigned int count = 0;

	for (uint32_t m = 0; err == 0 && m < SERVE_MEMBER_COUNT; m++) {
		enum serve_class class = serve_member((enum serve_member)m)->class;
		const char *value = j->request.values[m];
		bool file = class == SERVE_FILE || class == SERVE_LIST;

		if (!value)
			continue;
		buf_add(&data, &m, sizeof(m));
		err = proto_put_bytes(&data, value, file ? 0 : strlen(value));
		if (err == 0 && file) {
			fds[count] = value_file(value);
			err = fds[count] < 0 ? fds[count] : 0;
			count += err == 0;
		}
	}
	if (err == 0)
		err = proto_send(j->broker, SERVE_GO, data.data, data.len, fds, count);
	while (count > 0)
		close(fds[--count]);
	return err < 0 ? err_errno(e, err, "passing the request on") : 0;
}

static int check_words(const struct judge *j, struct weir_err *e)
{
	const char *decision = given(j, SERVE_M_DECISION);

	if (j->request.op == SERVE_OP_STATEMENT && !given(j, SERVE_M_PROMOTION) && decision &&
	    strcmp(decision, approval_name(APPROVAL_APPROVE)) == 0)
		return refuse(e, REASON_REQUEST, "a yes needs promotion: what one looked at");
	for (unsigned int i = 0; decision && i < APPROVAL_DECISION_COUNT; i++)
		if (strcmp(decision, approval_name((enum approval_decision)i)) == 0)
			return 0;
	return decision ? refuse(e, REASON_REQUEST, "decision is approve, reject or withdraw") : 0;
}

static int decide(struct judge *j, struct weir_err *e)
{
	const struct serve_row *row = serve_op(j->request.op);
	int err = check_words(j, e);

	if (err < 0)
		return err;
	if (j->request.op == SERVE_OP_STATUS) {
		err = repo_open(j->config->repository, true, &j->repo, e);
		return err < 0 ? err : answer_status(j, e);
	}
	err = proposal_open_repo(j->config, &j->repo, &j->lock, e);
	if (err == 0 && !is_root(j))
		err = may[row->who](j, e);
	return err < 0 ? err : send_go(j, e);
}

/* Who asked for what, and what became of it, for the service's log. */
static void tell(const struct judge *j, bool parsed, int err, const struct weir_err *e)
{
	const char *object = given(j, SERVE_M_NONCE) ? given(j, SERVE_M_NONCE)
			     : given(j, SERVE_M_RUN) ? given(j, SERVE_M_RUN)
						     : "";

	fprintf(stderr, "weir-gate: serve: uid %u%s%s: %s%s%s: %s\n", j->caller.uid,
		j->caller.principal ? " as " : "", j->caller.principal ? j->caller.principal : "",
		parsed ? serve_op(j->request.op)->name : "no request", object[0] ? " " : "", object,
		err == 0     ? "may"
		: e->code[0] ? e->code
			     : e->text);
}

int serve_judge(int client, int broker, uid_t peer, struct weir_err *e)
{
	__attribute__((__cleanup__(judge_done))) struct judge j = {
		.config = &j.now,
		.broker = broker,
		.caller = { .uid = peer },
		.login = login_of(peer),
		.repo = { .fd = -1 },
		.lock = -1,
		.for_user = peer,
	};
	cleanup_buf struct buf answer = { 0 };
	int err = read_request(&j, client, e);
	bool parsed = err == 0;

	if (err == 0)
		err = decide(&j, e);
	tell(&j, parsed, err, e);
	if (err == 0)
		return 0;
	if (!e->text[0])
		err_errno(e, err, "the request");
	if (serve_answer_error(e, &answer) < 0)
		return err_errno(e, -ENOMEM, "answering");
	*e = (struct weir_err){ 0 };
	return send_text(&j, &answer, e);
}
