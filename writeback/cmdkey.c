/* SPDX-License-Identifier: MIT */
/*
 * weir-gate key: keys begin and end, each time with an entry of the ledger (writeback/keyhist.h).
 * What a crash leaves half done, the same command ends.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/base/usage.h"
#include "writeback/command.h"
#include "writeback/init.h"
#include "writeback/json.h"
#include "writeback/keeper.h"
#include "writeback/keyhist.h"
#include "writeback/keyledger.h"
#include "writeback/keynext.h"
#include "writeback/keys.h"
#include "writeback/proposal.h"
#include "writeback/publish.h"
#include "writeback/reason.h"
#include "writeback/signers.h"

#define LINE_MAX_BYTES ((size_t)SSHKEY_FILE_MAX)

/* X(ID, name, whether it takes a key) */
#define KEY_ACTIONS(X) \
	X(LIST, "list", false) \
	X(ROTATE, "rotate", false) \
	X(ENROL, "enrol", true) \
	X(REMOVE, "remove", true) \
	X(REVOKE, "revoke", true)

enum action {
#define WEIR_X(id, name, takes) ACTION_##id,
	KEY_ACTIONS(WEIR_X)
#undef WEIR_X
	ACTION_COUNT,
};

static const struct {
	const char *name;
	bool takes;
} actions[] = {
#define WEIR_X(id, name, takes) { name, takes },
	KEY_ACTIONS(WEIR_X)
#undef WEIR_X
};

enum {
	OPTION_SINCE = 0x100,
	OPTION_REASON,
	OPTION_PUBLIC,
	OPTION_LEDGER,
};

struct args {
	enum action action;
	const char *key;
	const char *since;
	const char *reason;
	const char *public_file;
	bool json;
	bool ledger;		/* rotate: its key */
	struct buf public_line; /* of public_file */
	int pipe;		/* to the parent */
};

static bool is_host(const char *key)
{
	return strlen(key) == DIGEST_HEX - 1 && strspn(key, "0123456789abcdef") == DIGEST_HEX - 1;
}

struct keyring {
	struct repo repo;
	int lock;
	struct gateledger ledger;
	struct keyhist history;
};

static void keyring_done(struct keyring *k)
{
	keyhist_done(&k->history);
	gateledger_close(&k->ledger);
	repo_close(&k->repo);
	if (k->lock >= 0)
		close(k->lock);
}

static int keyring_open(const struct gate_config *c, bool rotating, struct keyring *k,
			struct weir_err *e)
{
	int err = rotating ? repo_open(c->repository, true, &k->repo, e)
			   : proposal_open_repo(c, &k->repo, &k->lock, e);

	if (err == 0 && rotating) {
		k->lock = publish_lock(&k->repo, e);
		err = k->lock < 0 ? k->lock : gateledger_open_rotating(c, &k->repo, &k->ledger, e);
	} else if (err == 0) {
		err = gateledger_open(c, &k->repo, &k->ledger, e);
	}
	if (err == 0)
		err = publish_recover(&k->repo, c, &k->ledger, e);
	return err < 0 ? err : keyhist_load(&k->ledger.log, &k->history, e);
}

#define KEYRING_CLOSED \
	{ \
		.repo = { .fd = -1 }, .lock = -1, .ledger = {.log.dir = -1 } \
	}

static int write_entry(struct keyring *k, const struct args *a, const char *role, const char *old,
		       const char *new_key, struct weir_err *e)
{
	const struct ledger_entry n = { .kind = LEDGER_KEY,
					.intent = -1,
					.role = (char *)(uintptr_t)role,
					.old_key = (char *)(uintptr_t)old,
					.new_key = (char *)(uintptr_t)new_key,
					.since = (char *)(uintptr_t)a->since,
					.why = (char *)(uintptr_t)a->reason };

	if (k->history.count >= KEYHIST_MAX)
		return refuse(e, REASON_LIMIT, "the ledger has %u changes of keys", KEYHIST_MAX);
	return gateledger_add(&k->ledger, &n, NULL, e);
}

static bool is_named(const struct keyhist *h, const char *role, const char *key)
{
	for (size_t i = 0; i < h->count; i++) {
		const struct ledger_entry *n = &h->items[i].entry;

		if (strcmp(n->role, role) == 0 && ((n->new_key && strcmp(n->new_key, key) == 0) ||
						   (n->old_key && strcmp(n->old_key, key) == 0)))
			return true;
	}
	return false;
}

static bool is_valid_now(const struct keyring *k, const char *role, const char *key)
{
	struct weir_err none = { 0 };

	return keyhist_judge(&k->history, role, key, k->ledger.log.checkpoint.size, &none) == 0;
}

static int is_listed(const struct gate_config *c, const struct buf *blob, struct weir_err *e)
{
	cleanup_buf struct buf signers = { 0 };
	cleanup_buf struct buf principal = { 0 };
	int err = fsio_read_file(AT_FDCWD, c->signers, SIGNERS_MAX, &signers, e);

	if (err == 0)
		err = signers_find_in(buf_str(&signers), blob, "git", time(NULL), &principal, e);
	if (err == -ENOENT)
		*e = (struct weir_err){ 0 };
	return err == -ENOENT ? 0 : err < 0 ? err : 1;
}

static int rotate(const struct gate_config *c, struct keyring *k, struct args *a, struct buf *name,
		  struct weir_err *e)
{
	cleanup_buf struct buf old = { 0 };
	cleanup_buf struct buf next = { 0 };
	cleanup_buf struct buf old_name = { 0 };
	cleanup_sshkey struct sshkey key = { 0 };
	int err = keys_blob(c, &old, e), listed;

	listed = err < 0 ? err : is_listed(c, &old, e);
	if (listed < 0)
		return listed;
	/* after a crash only root's part is left */
	if (!c->agent && !listed && !keynext_is_there(c->key))
		return keyhist_name(&old, name);
	if (c->agent)
		err = sshkey_parse_public(buf_str(&a->public_line), &next) < 0
			      ? err_set(e, -EINVAL, "%s is no SSH public key", a->public_file)
			      : 0;
	else
		err = keynext_make(c->key, c->email, &key, e);
	if (err == 0 && !c->agent)
		err = sshkey_blob(key.public_key, &next);
	if (err < 0)
		return err;
	if (keyhist_name(&old, &old_name) < 0 || keyhist_name(&next, name) < 0)
		return err_errno(e, -ENOMEM, "the next key");
	if (!keyhist_begun(&k->history, KEYHIST_GATE, buf_str(name))) {
		if (strcmp(buf_str(name), buf_str(&old_name)) == 0)
			return refuse(e, REASON_KEY, "it is the key that is used now");
		err = write_entry(k, a, KEYHIST_GATE, buf_str(&old_name), buf_str(name), e);
	}
	/* of an agent root replaces the public key */
	return err < 0 || c->agent ? err : keynext_take(c->key, e);
}

static bool is_public(const char *key)
{
	cleanup_buf struct buf blob = { 0 };

	return sshkey_parse_public(key, &blob) == 0;
}

/* One that gate.yaml lists and no entry names is valid from the beginning: an entry that it begins
 * now would end all that it signed before. */
static int enrol(const struct gate_config *c, struct keyring *k, struct args *a, struct weir_err *e)
{
	bool begun = keyhist_begun(&k->history, KEYHIST_HOST, a->key) ||
		     (gate_texts_have(&c->hosts, a->key) &&
		      !is_named(&k->history, KEYHIST_HOST, a->key));

	if (!begun || !is_valid_now(k, KEYHIST_HOST, a->key))
		return write_entry(k, a, KEYHIST_HOST, NULL, a->key, e);
	printf("%s is enrolled already\n", a->key);
	return 0;
}

/* Whether the gate ever had such a key: of gate.yaml, the signers file or an entry. Returns: 1, 0 or
 * a negative errno with e. */
static int is_known(const struct gate_config *c, const struct keyring *k, const char *role,
		    const char *name, const struct buf *blob, struct weir_err *e)
{
	if (is_named(&k->history, role, name))
		return 1;
	return strcmp(role, KEYHIST_HOST) == 0 ? gate_texts_have(&c->hosts, name)
					       : is_listed(c, blob, e);
}

static int change(const struct gate_config *c, struct keyring *k, struct args *a,
		  struct weir_err *e)
{
	const char *role = is_host(a->key) ? KEYHIST_HOST : KEYHIST_GATE;
	cleanup_buf struct buf blob = { 0 };
	cleanup_buf struct buf name = { 0 };
	int known;

	if (a->action == ACTION_ENROL)
		return enrol(c, k, a, e);
	if (a->action == ACTION_REMOVE && !is_valid_now(k, role, a->key))
		return 0;
	if (a->since && strtoull(a->since, NULL, 10) > k->ledger.log.checkpoint.size)
		return err_set(e, -EINVAL, "--since: the ledger has no entry %s yet", a->since);
	/* as entries and judgements name it: without a comment */
	if (strcmp(role, KEYHIST_HOST) == 0)
		buf_addf(&name, "%s", a->key);
	else if (sshkey_parse_public(a->key, &blob) < 0 || keyhist_name(&blob, &name) < 0)
		return err_set(e, -EINVAL, "KEY is neither \"TYPE BASE64\" nor 64 hex digits");
	known = is_known(c, k, role, buf_str(&name), &blob, e);
	if (known < 0)
		return known;
	/* one that was removed stands in the ledger */
	if (!known && a->action == ACTION_REVOKE)
		return refuse(e, REASON_KEY, "neither the ledger nor %s knows this key",
			      strcmp(role, KEYHIST_HOST) == 0 ? GATE_CONFIG : c->signers);
	return write_entry(k, a, role, buf_str(&name), NULL, e);
}

static int list(const struct keyring *k, const struct args *a, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	json_t *items = json_array();
	cleanup_json json_t *root =
		json_pack("{s:s, s:o}", "schema", "weir.keylist/1", "keys", items);

	for (size_t i = 0; i < k->history.count; i++) {
		const struct keyhist_item *item = &k->history.items[i];
		const struct ledger_entry *n = &item->entry;

		json_array_append_new(items,
				      json_pack("{s:I, s:s, s:s?, s:s?, s:s?, s:s?}", "entry",
						(json_int_t)item->index, "role", n->role, "old",
						n->old_key, "new", n->new_key, "since", n->since,
						"why", n->why));
		if (a->json)
			continue;
		printf("%llu  %s%s%s%s%s%s%s%s%s\n", (unsigned long long)item->index, n->role,
		       n->old_key ? "  until here " : "", n->old_key ? n->old_key : "",
		       n->since ? ", not trusted since " : "", n->since ? n->since : "",
		       n->new_key ? "  from here " : "", n->new_key ? n->new_key : "",
		       n->why ? "  " : "", n->why ? n->why : "");
	}
	if (!a->json)
		return 0;
	if (!root || json_canonical(root, &text) < 0)
		return err_errno(e, -ENOMEM, "listing the keys");
	fputs(buf_str(&text), stdout);
	return 0;
}

static int keep(const struct gate_config *c, void *arg, struct weir_err *e)
{
	__attribute__((__cleanup__(keyring_done))) struct keyring k = KEYRING_CLOSED;
	cleanup_buf struct buf name = { 0 };
	struct args *a = arg;
	int err = keyring_open(c, a->ledger, &k, e);

	if (err < 0)
		return err;
	if (a->action == ACTION_LIST)
		return list(&k, a, e);
	if (a->action != ACTION_ROTATE)
		return change(c, &k, a, e);
	err = a->ledger ? keyledger_rotate(c, &k.ledger, &k.history, a->reason, &name, e)
			: rotate(c, &k, a, &name, e);
	if (err < 0)
		return e->text[0] ? err : err_errno(e, err, "rotating the key");
	err = fsio_write_all(a->pipe, name.data, name.len);
	return err < 0 ? err_errno(e, err, "rotating the key") : 0;
}

/* Root's part: the signers file keeps the old ones, which the ledger says the times of. */
static int publish_key(const struct gate_config *c, const char *name, struct weir_err *e)
{
	static const char public_path[] = GATE_KEY ".pub";
	cleanup_buf struct buf blob = { 0 };
	cleanup_buf struct buf line = { 0 };
	cleanup_buf struct buf pem = { 0 };
	cleanup_buf struct buf signers = { 0 };
	const char *path = c->agent ? c->key : public_path;
	int err, listed;

	if (sshkey_parse_public(name, &blob) < 0)
		return err_set(e, -EBADMSG, "the keeper's key can't be read");
	listed = is_listed(c, &blob, e);
	if (listed < 0)
		return listed;
	err = listed ? 0 : fsio_read_file(AT_FDCWD, c->signers, SIGNERS_MAX, &signers, e);
	if (err < 0)
		return err;
	if (!listed) {
		if (signers.len > 0 && signers.data[signers.len - 1] != '\n')
			buf_add(&signers, "\n", 1);
		buf_addf(&signers, "%s namespaces=\"git\" %s\n", c->email, name);
		err = signers.failed ? err_errno(e, -ENOMEM, "%s", c->signers)
				     : fsio_replace(AT_FDCWD, c->signers, signers.data, signers.len,
						    0644, e);
	}
	buf_addf(&line, "%s %s\n", name, c->email);
	if (err == 0)
		err = fsio_replace(AT_FDCWD, path, buf_str(&line), line.len, 0644, e);
	if (err < 0 || init_pem(&blob, &pem) < 0 || pem.len == 0)
		return err;
	return fsio_replace(AT_FDCWD, GATE_PEM, pem.data, pem.len, 0644, e);
}

/* "  - HEX" behind `hosts:`, or away; the rest of the file stays as somebody wrote it. */
static int edit_hosts(const struct buf *old, const char *hex, bool add, struct buf *ret_text)
{
	const char *at = buf_str(old);
	bool done = false;

	while (*at) {
		size_t len = strcspn(at, "\n");
		cleanup_free char *line = strndup(at, len);

		if (!line)
			return -ENOMEM;
		if (add || !strstr(line, hex))
			buf_addf(ret_text, "%s\n", line);
		else
			done = true;
		if (add && !done && strcmp(line, "hosts:") == 0) {
			buf_addf(ret_text, "  - \"%s\"\n", hex);
			done = true;
		}
		at += len + (at[len] == '\n');
	}
	return ret_text->failed ? -ENOMEM : done ? 0 : -ENOENT;
}

static int set_host(const struct gate_config *c, const char *hex, bool add, struct weir_err *e)
{
	cleanup_config struct gate_config after = { 0 };
	cleanup_buf struct buf old = { 0 };
	cleanup_buf struct buf text = { 0 };
	struct weir_err cause = { 0 };
	int err;

	if (gate_texts_have(&c->hosts, hex) == add)
		return 0;
	if (!add && c->hosts.count == 1)
		return refuse(e, REASON_KEY, "it is the only host: enrol another one first");
	err = fsio_read_file(AT_FDCWD, GATE_CONFIG, GATE_CONFIG_MAX, &old, e);
	if (err < 0)
		return err;
	err = edit_hosts(&old, hex, add, &text);
	if (err < 0 || config_parse(GATE_CONFIG, buf_str(&text), text.len, &after, &cause) < 0 ||
	    gate_texts_have(&after.hosts, hex) != add ||
	    after.hosts.count != c->hosts.count + (add ? 1 : (size_t)-1))
		return err_set(e, -EINVAL, "%s: %s %s in `hosts` by hand, then do this again",
			       GATE_CONFIG, add ? "add" : "remove", hex);
	return fsio_replace(AT_FDCWD, GATE_CONFIG, text.data, text.len, 0644, e);
}

/* Returns: the exit status. */
static int run(struct gate_config *c, struct args *a, struct weir_err *e)
{
	cleanup_buf struct buf name = { .max = LINE_MAX_BYTES };
	int status;

	/* a host that goes is believed no more at once; one that comes, when the ledger says so */
	if (a->action == ACTION_REMOVE && set_host(c, a->key, false, e) < 0)
		return gate_fail(e);
	if (a->action == ACTION_ROTATE && c->agent && !a->public_file && !a->ledger) {
		e->exit_code = GATE_EXIT_USAGE;
		err_set(e, -EINVAL, "--public FILE is missing: the agent's next key");
		return gate_fail(e);
	}
	if (a->public_file &&
	    fsio_read_file(AT_FDCWD, a->public_file, SSHKEY_FILE_MAX, &a->public_line, e) < 0)
		return gate_fail(e);
	if (a->action != ACTION_ROTATE)
		status = keeper_run(c, keep, a, NULL, 0);
	else
		status = keeper_ask(c, keep, a, &a->pipe, LINE_MAX_BYTES, &name);
	if (status != 0)
		return status;
	if (a->ledger) {
		if (keyledger_publish(buf_str(&name), e) < 0)
			return gate_fail(e);
		printf("the ledger signs with %s; whoever verifies needs the "
		       "new " GATE_LEDGER_PUBLIC "\n",
		       buf_str(&name) + strcspn(buf_str(&name), " ") + 1);
		return 0;
	}
	if ((a->action == ACTION_ROTATE && publish_key(c, buf_str(&name), e) < 0) ||
	    (a->action == ACTION_ENROL && set_host(c, a->key, true, e) < 0))
		return gate_fail(e);
	if (a->action == ACTION_ROTATE)
		printf("the gate signs with %s\n", buf_str(&name));
	return 0;
}

static void check(const struct argp_state *state, const struct args *a)
{
	if (a->action == ACTION_COUNT)
		usage_error(state, "which action? list, rotate, enrol, remove or revoke");
	if (actions[a->action].takes != (a->key != NULL))
		usage_error(state, a->key ? "%s takes no key" : "%s: KEY is missing",
			    actions[a->action].name);
	if (a->key && a->action != ACTION_REVOKE && !is_host(a->key))
		usage_error(state, "KEY of a host is 64 hex digits");
	if (a->key && a->action == ACTION_REVOKE && !is_host(a->key) && !is_public(a->key))
		usage_error(state, "KEY is neither \"TYPE BASE64\" nor 64 hex digits of a host");
	if (a->ledger && (a->action != ACTION_ROTATE || a->public_file))
		usage_error(state, "--ledger goes with rotate alone");
	if ((a->action == ACTION_REVOKE) != (a->since != NULL))
		usage_error(state, a->since
					   ? "--since goes with revoke"
					   : "--since N is missing: since when is it not trusted?");
	if (a->since && (a->since[0] == '\0' || strlen(a->since) > 18 ||
			 strspn(a->since, "0123456789") != strlen(a->since)))
		usage_error(state, "--since is the index of a ledger entry");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'j':
		a->json = true;
		return 0;
	case OPTION_SINCE:
		a->since = arg;
		return 0;
	case OPTION_REASON:
		a->reason = arg;
		return 0;
	case OPTION_PUBLIC:
		a->public_file = arg;
		return 0;
	case OPTION_LEDGER:
		a->ledger = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->action != ACTION_COUNT)
			return usage_take_one(state, "key", arg, &a->key);
		for (a->action = 0; a->action < ACTION_COUNT; a->action++)
			if (strcmp(arg, actions[a->action].name) == 0)
				return 0;
		usage_error(state, "there is no action %s", arg);
		return 0;
	case ARGP_KEY_END:
		check(state, a);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int command_key(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "since", OPTION_SINCE, "N", 0,
		  "entry of the ledger from which on a revoked key "
		  "is not trusted",
		  0 },
		{ "reason", OPTION_REASON, "TEXT", 0, "for the ledger", 0 },
		{ "public", OPTION_PUBLIC, "FILE", 0, "public key that the agent signs with next",
		  0 },
		{ "ledger", OPTION_LEDGER, NULL, 0, "rotate: the ledger's key, not the gate's", 0 },
		{ "json", 'j', NULL, 0, "print JSON (schema weir.keylist/1)", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		options,
		parse,
		"list\nrotate [--ledger]\nenrol HOST-KEY\nremove HOST-KEY\nrevoke KEY",
		"Begin and end keys. Each change is an entry of the ledger; what was signed counts "
		"when its key was valid at its own entry, whatever a date says.\vExit status: 0 "
		"done, 122 refused, 2 usage, 125 own failure.",
		NULL,
		NULL,
		NULL
	};
	cleanup_config struct gate_config c = { 0 };
	struct args a = { .action = ACTION_COUNT, .pipe = -1 };
	struct weir_err e = { 0 };
	int status;

	usage_parse(&argp, argc, argv, 0, &a);
	if (gate_need_root() != 0)
		return GATE_EXIT_USAGE;
	if (config_load(&c, &e) < 0)
		return gate_fail(&e);
	status = run(&c, &a, &e);
	buf_done(&a.public_line);
	return status;
}
