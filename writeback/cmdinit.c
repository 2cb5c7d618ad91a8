/* SPDX-License-Identifier: MIT */
/* weir-gate init */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/base/usage.h"
#include "writeback/command.h"
#include "writeback/init.h"
#include "writeback/keeper.h"
#include "writeback/reason.h"

struct args {
	const char *repo;
	struct gate_texts refs;
	struct gate_texts policies;
	const char *user;
	const char *name;
	const char *email;
	const char *agent;
	const char *public_file;
	const char *crosscheck;
	const char *remote;
	const char *remote_key;
	bool add_ledger;
	bool add_hooks;
	bool no_hooks;
};

enum key {
	KEY_REPO = 0x100,
	KEY_REF,
	KEY_USER,
	KEY_POLICY,
	KEY_NAME,
	KEY_EMAIL,
	KEY_AGENT,
	KEY_PUBLIC,
	KEY_CROSSCHECK,
	KEY_ADD_LEDGER,
	KEY_ADD_HOOKS,
	KEY_REMOTE,
	KEY_REMOTE_KEY,
	KEY_NO_HOOKS,
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case KEY_REPO:
		a->repo = arg;
		return 0;
	case KEY_REF:
		return gate_texts_add(&a->refs, arg) < 0 ? ENOMEM : 0;
	case KEY_POLICY:
		return gate_texts_add(&a->policies, arg) < 0 ? ENOMEM : 0;
	case KEY_USER:
		a->user = arg;
		return 0;
	case KEY_NAME:
		a->name = arg;
		return 0;
	case KEY_EMAIL:
		a->email = arg;
		return 0;
	case KEY_AGENT:
		a->agent = arg;
		return 0;
	case KEY_PUBLIC:
		a->public_file = arg;
		return 0;
	case KEY_CROSSCHECK:
		a->crosscheck = arg;
		return 0;
	case KEY_ADD_LEDGER:
		a->add_ledger = true;
		return 0;
	case KEY_REMOTE:
		a->remote = arg;
		return 0;
	case KEY_REMOTE_KEY:
		a->remote_key = arg;
		return 0;
	case KEY_ADD_HOOKS:
		a->add_hooks = true;
		return 0;
	case KEY_NO_HOOKS:
		a->no_hooks = true;
		return 0;
	case ARGP_KEY_END:
		if (!a->repo && !a->add_ledger && !a->add_hooks)
			usage_error(state, "--repo DIR is missing");
		if (a->no_hooks && a->add_hooks)
			usage_error(state, "--no-hooks and --add-hooks exclude each other");
		if (!a->agent != !a->public_file)
			usage_error(state, "--agent and --public go together");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* DIR may not exist yet: its parent's real path and its name. */
static char *absolute(const char *path)
{
	char *real = realpath(path, NULL), *out = NULL;
	cleanup_free char *copy = NULL;
	cleanup_free char *parent = NULL;
	char *slash;

	if (real)
		return real;
	copy = strdup(path);
	if (!copy)
		return NULL;
	for (size_t len = strlen(copy); len > 1 && copy[len - 1] == '/';)
		copy[--len] = '\0';
	slash = strrchr(copy, '/');
	if (slash)
		*slash = '\0';
	parent = realpath(!slash ? "." : slash == copy ? "/" : copy, NULL);
	if (!parent || asprintf(&out, "%s/%s", strcmp(parent, "/") ? parent : "",
				slash ? slash + 1 : copy) < 0)
		return NULL;
	return out;
}

static int fill(struct gate_config *c, struct args *a, struct weir_err *e)
{
	unsigned char id[16];
	char hex[33], host[HOST_NAME_MAX + 1] = "localhost";
	cleanup_free char *email = NULL;
	int err = digest_random(id, sizeof(id));

	if (err < 0)
		return err_errno(e, err, "making an id");
	digest_hex(id, sizeof(id), hex);
	gethostname(host, sizeof(host) - 1);
	if (asprintf(&email, "weir@%s", host) < 0)
		email = NULL;
	c->schema = strdup(GATE_SCHEMA);
	c->id = strdup(hex);
	c->repository = absolute(a->repo);
	c->user = strdup(a->user ? a->user : "weir");
	c->name = strdup(a->name ? a->name : "weir gate");
	c->email = a->email ? strdup(a->email) : TAKE_PTR(email);
	c->agent = a->agent ? strdup(a->agent) : NULL;
	c->crosscheck = strdup(a->crosscheck ? a->crosscheck : "stat");
	c->mode = a->remote ? strdup("push") : NULL;
	c->remote = a->remote ? strdup(a->remote) : NULL;
	c->remote_key = a->remote_key ? strdup(a->remote_key) : NULL;
	if (!c->repository)
		return err_errno(e, -errno, "%s", a->repo);
	if (a->refs.count == 0 && gate_texts_add(&a->refs, "refs/heads/main") < 0)
		return err_errno(e, -ENOMEM, "init");
	c->refs = a->refs;
	a->refs = (struct gate_texts){ 0 };
	c->policies = a->policies;
	a->policies = (struct gate_texts){ 0 };
	return c->schema && c->id && c->user && c->name && c->email && c->crosscheck
		       ? 0
		       : err_errno(e, -ENOMEM, "init");
}

/* What the command line said must survive being read back: the same checks hold. */
static int check_config(const struct gate_config *c, struct weir_err *e)
{
	cleanup_config struct gate_config again = { 0 };
	struct gate_config whole = *c;
	char zeros[DIGEST_HEX], *items[1] = { zeros };
	char key[] = GATE_KEY, signers[] = GATE_SIGNERS;
	char ledger[] = GATE_LEDGER, ledger_key[] = GATE_LEDGER_KEY;
	cleanup_buf struct buf text = { 0 };

	memset(zeros, '0', DIGEST_HEX - 1);
	zeros[DIGEST_HEX - 1] = '\0';
	whole.key = key;
	whole.signers = signers;
	whole.ledger = ledger;
	whole.ledger_key = ledger_key;
	whole.hosts = (struct gate_texts){ items, 1 };
	if (config_format(&whole, &text) < 0)
		return err_set(e, -EINVAL, "a value has control characters");
	return config_parse("init", buf_str(&text), text.len, &again, e);
}

static int check_absent(struct weir_err *e)
{
	static const char *const files[] = { GATE_CONFIG,	 GATE_KEY,   GATE_KEY ".pub",
					     GATE_SIGNERS,	 GATE_PEM,   GATE_LEDGER_KEY,
					     GATE_LEDGER_PUBLIC, GATE_LEDGER };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct stat st;

		if (lstat(files[i], &st) == 0)
			return err_set(e, -EEXIST, "%s exists; init overwrites nothing", files[i]);
	}
	return 0;
}

static int make_dir(const char *path, mode_t mode, uid_t uid, gid_t gid, struct weir_err *e)
{
	struct stat st;

	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return err_errno(e, -errno, "%s", path);
	if (lstat(path, &st) < 0)
		return err_errno(e, -errno, "%s", path);
	if (!S_ISDIR(st.st_mode) || (st.st_uid != 0 && st.st_uid != uid))
		return err_set(e, -EPERM, "%s is no directory of root or the gate's user", path);
	if (lchown(path, uid, gid) < 0 || chmod(path, mode) < 0)
		return err_errno(e, -errno, "%s", path);
	return 0;
}

static int make_dirs(const struct gate_config *c, struct weir_err *e)
{
	int err = make_dir(GATE_ETC, 0755, 0, 0, e);

	if (err == 0)
		err = make_dir(GATE_KEYS, 0700, c->uid, c->gid, e);
	if (err == 0)
		err = make_dir(GATE_STATE, 0711, c->uid, c->gid, e);
	if (err == 0)
		err = make_dir(GATE_STATE "/nonces", 0700, c->uid, c->gid, e);
	return err < 0 ? err : make_dir(GATE_STATE "/used", 0700, c->uid, c->gid, e);
}

static int init(struct gate_config *c, struct args *a, struct init_files *made, struct weir_err *e)
{
	static const struct init_file config_file = { GATE_CONFIG, 0644, 0, 0 };
	cleanup_buf struct buf text = { 0 };
	int err = check_absent(e);

	if (err == 0)
		err = fill(c, a, e);
	if (err == 0)
		err = check_config(c, e);
	if (err == 0)
		err = init_user(c, e);
	if (err == 0)
		err = init_repository(c, e);
	if (err == 0)
		err = make_dirs(c, e);
	if (err == 0)
		err = init_keys(c, a->public_file, made, e);
	if (err == 0)
		err = init_ledger(c, made, e);
	if (err == 0 && !a->no_hooks)
		err = init_hooks(c, made, e);
	if (err == 0 && config_format(c, &text) < 0)
		err = err_errno(e, -ENOMEM, "%s", GATE_CONFIG);
	if (err == 0)
		err = init_file(made, &config_file, &text, e);
	return err;
}

static int add_hooks(struct gate_config *c, struct init_files *made, struct weir_err *e)
{
	int err = config_load(c, e);

	return err < 0 ? err : init_hooks(c, made, e);
}

static void report(const struct gate_config *c, bool hooks)
{
	printf("repository  %s (owner %s)\nrefs        ", c->repository, c->user);
	for (size_t i = 0; i < c->refs.count; i++)
		printf("%s%s", i ? ", " : "", c->refs.items[i]);
	printf("\nsigning key %s\nsigners     %s\nhost key    %s\n", c->key, c->signers,
	       GATE_HOST_KEY);
	printf("ledger      %s (key %s, public %s)\nsettings    %s\n", c->ledger, c->ledger_key,
	       GATE_LEDGER_PUBLIC, GATE_CONFIG);
	if (hooks)
		printf("hooks       %s/hooks/pre-receive, reference-transaction\n", c->repository);
	if (c->remote)
		printf("remote      %s (promotions are pushed there)\n", c->remote);
	printf("stock git:  git -c safe.directory=%s -c gpg.ssh.allowedSignersFile=%s \\\n"
	       "                -C %s log --show-signature\n",
	       c->repository, c->signers, c->repository);
}

int command_init(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "repo", KEY_REPO, "DIR", 0, "bare repository; made if it does not exist", 0 },
		{ "ref", KEY_REF, "REF", 0,
		  "promotable branch (default refs/heads/main); repeatable", 0 },
		{ "user", KEY_USER, "NAME", 0, "owner of repository and key (default weir)", 0 },
		{ "policy", KEY_POLICY, "SHA256", 0,
		  "allow this policy besides the base commit's own; repeatable", 0 },
		{ "name", KEY_NAME, "TEXT", 0, "committer's name (default \"weir gate\")", 0 },
		{ "email", KEY_EMAIL, "TEXT", 0, "committer's address (default weir@HOST)", 0 },
		{ "agent", KEY_AGENT, "SOCKET", 0, "sign by this ssh-agent", 0 },
		{ "public", KEY_PUBLIC, "FILE", 0, "public key that the agent holds", 0 },
		{ "add-ledger", KEY_ADD_LEDGER, NULL, 0,
		  "only make the ledger of a gate that has none", 0 },
		{ "remote", KEY_REMOTE, "URL", 0,
		  "mode push: DIR is a copy, promotions go to this ssh URL or path", 0 },
		{ "remote-key", KEY_REMOTE_KEY, "FILE", 0, "OpenSSH key for it, of the user", 0 },
		{ "no-hooks", KEY_NO_HOOKS, NULL, 0,
		  "leave the repository's hooks and settings alone", 0 },
		{ "add-hooks", KEY_ADD_HOOKS, NULL, 0,
		  "only install the hooks of a gate that has none", 0 },
		{ "crosscheck", KEY_CROSSCHECK, "full|stat|trace", 0,
		  "how the workspace is compared", 0 },
		{ 0 },
	};
	static const struct argp argp = { options,
					  parse,
					  NULL,
					  "Make " GATE_CONFIG ", keys, the gate's user and the "
					  "repository. Overwrites nothing.",
					  NULL,
					  NULL,
					  NULL };
	cleanup_config struct gate_config c = { 0 };
	struct init_files made = { 0 };
	struct args a = { 0 };
	struct weir_err e = { 0 };
	int err;

	usage_parse(&argp, argc, argv, 0, &a);
	if (geteuid() != 0) {
		fprintf(stderr, "weir-gate: init must be started as root\n");
		return GATE_EXIT_USAGE;
	}
	umask(022);
	err = a.add_ledger  ? init_add_ledger(&c, &made, &e)
	      : a.add_hooks ? add_hooks(&c, &made, &e)
			    : init(&c, &a, &made, &e);
	if (err < 0)
		init_undo(&made);
	else
		report(&c, a.add_hooks || (!a.no_hooks && !a.add_ledger));
	init_files_done(&made);
	if (err < 0 && e.exit_code == 0)
		e.exit_code = err == -EEXIST || err == -EINVAL ? GATE_EXIT_USAGE : 0;
	return err < 0 ? gate_fail(&e) : 0;
}
