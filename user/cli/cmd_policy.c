/* SPDX-License-Identifier: MIT */
/* weir policy check, weir policy explain: a policy before it is used. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/base/usage.h"
#include "user/cli/cmd.h"
#include "user/cli/environ.h"
#include "user/cli/say.h"
#include "user/policy/compile.h"
#include "user/policy/warn.h"

enum {
	OPT_USER = 256
};

struct policy_options {
	const char *workspace; /* NULL: none */
	const char *user;
	char *args[3];
	unsigned int count;
};

static const struct argp_option options[] = {
	{ "workspace", 'w', "DIR", 0, "What ${WORKSPACE} stands for", 0 },
	{ "user", OPT_USER, "NAME", 0, "Whose home ${HOME} is; as in weir run", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct policy_options *o = state->input;

	switch (key) {
	case 'w':
		o->workspace = arg;
		return 0;
	case OPT_USER:
		o->user = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (o->count == ARRAY_SIZE(o->args))
			usage_error(state, "too many arguments");
		else
			o->args[o->count++] = arg;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* A policy with all that its paths depend on. */
struct scene {
	struct policy *policy;
	struct policy_image *image;
	struct run_user user;
	char *workspace, *tmpdir;
	bool own_tmpdir; /* made here, and empty */
};

static void scene_done(struct scene *s)
{
	policy_image_free(s->image);
	policy_free(s->policy);
	free(s->user.home);
	free(s->workspace);
	if (s->own_tmpdir)
		rmdir(s->tmpdir);
	free(s->tmpdir);
}

/* A run without TMPDIR makes one of its own; so does the check, lest rules of /tmp seem to be
 * about it. */
static int find_tmpdir(struct scene *s, struct weir_err *e)
{
	s->tmpdir = environ_tmpdir(s->policy);
	if (s->tmpdir)
		return 0;
	s->tmpdir = strdup("/tmp/weir-policy-XXXXXX");
	if (!s->tmpdir || !mkdtemp(s->tmpdir))
		return err_errno(e, -errno, "/tmp");
	s->own_tmpdir = true;
	return 0;
}

static int compile(const struct policy_options *o, struct scene *s, struct weir_err *e)
{
	struct policy_env env;
	struct stat st;
	int err;

	s->workspace = realpath(o->workspace, NULL);
	if (!s->workspace || stat(s->workspace, &st) < 0)
		return err_errno(e, -errno, "%s", o->workspace);
	err = environ_user(o->user, &st, &s->user, e);
	if (err < 0)
		return err;
	err = find_tmpdir(s, e);
	if (err < 0)
		return err;
	env = (struct policy_env){ s->workspace, s->user.home, s->tmpdir };
	return policy_compile(s->policy, &env, &s->image, e);
}

static void add_notes(struct buf *b, const struct policy_image *im)
{
	for (size_t i = 0; i < im->note_count; i++)
		buf_addf(b, "note: %s\n", im->notes[i].text);
}

static int check(const struct policy_options *o, struct scene *s, struct buf *b, struct weir_err *e)
{
	const struct policy *p = s->policy;
	char hex[DIGEST_HEX];

	if ((o->workspace ? compile(o, s, e) : policy_check_written(p, e)) < 0)
		return e->err;
	digest_hex(p->sha256, DIGEST_SIZE, hex);
	buf_add_escaped(b, p->file, strlen(p->file));
	buf_addf(b,
		 ": good: %s, %s, %zu files rules, %zu credential stores, %zu network rules, "
		 "%zu unix sockets\nsha256 %s\n",
		 p->name.text, p->mode.value == WEIR_MODE_ENFORCE ? "enforce" : "observe",
		 p->files.count, p->credentials.count, p->egress.count + p->listen.count,
		 p->unix_peers.count, hex);
	policy_add_warnings(b, p);
	if (policy_powers(p)) {
		buf_addf(b, "beyond files it allows:\n");
		policy_add_powers(b, policy_powers(p));
	}
	if (s->image) {
		add_notes(b, s->image);
		buf_addf(b, "on this host: %zu objects, %zu names\n", s->image->object_count,
			 s->image->name_count);
	}
	return 0;
}

static char *absolute(const char *path)
{
	cleanup_free char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);
	char *all;

	return asprintf(&all, "%s%s%s", cwd ? cwd : "", cwd ? "/" : "", path) < 0 ? NULL : all;
}

/* The real path of what exists, and below it what does not. Gives: a string for free. */
static char *real_path(const char *path, struct weir_err *e)
{
	cleanup_free char *full = absolute(path), *head = full ? strdup(full) : NULL, *real = NULL;
	size_t len = full ? strlen(full) : 0;
	const char *tail;
	char *all;

	while (head && !(real = realpath(*head ? head : "/", NULL)) && errno == ENOENT) {
		while (len > 0 && head[len - 1] == '/')
			len--;
		while (len > 0 && head[len - 1] != '/')
			len--;
		head[len] = '\0';
	}
	if (!real) {
		err_errno(e, -errno, "%s", path);
		return NULL;
	}
	tail = full + len + strspn(full + len, "/");
	if (strstr(tail, "..")) {
		err_set(e, -EINVAL, "%s: write it without ..", path);
		return NULL;
	}
	if (asprintf(&all, "%s%s%s", *tail && strcmp(real, "/") == 0 ? "" : real, *tail ? "/" : "",
		     tail) < 0) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	return all;
}

static int explain(const struct policy_options *o, struct scene *s, struct buf *b,
		   struct weir_err *e)
{
	cleanup_free char *path = NULL;
	struct policy_answer answer;
	int err;

	if (o->count == 3 && policy_explain_key(b, s->policy, o->args[2]) != -ENOENT)
		return 0;
	if (o->count != 3 || !o->workspace) {
		e->exit_code = CLI_USAGE;
		return err_set(e, -EINVAL,
			       "usage: weir policy explain FILE PATH -w DIR, or weir policy "
			       "explain FILE KEY");
	}
	err = compile(o, s, e);
	if (err < 0)
		return err;
	path = real_path(o->args[2], e);
	if (!path)
		return e->err;
	policy_explain(s->image, path, &answer);
	policy_add_explanation(b, s->image, path, &answer);
	buf_addf(b, "\n");
	return 0;
}

static const struct verb {
	const char *name;
	int (*fn)(const struct policy_options *o, struct scene *s, struct buf *b,
		  struct weir_err *e);
} verbs[] = {
	{ "check", check },
	{ "explain", explain },
};

static int run_verb(const struct verb *verb, const struct policy_options *o)
{
	struct scene s __attribute__((cleanup(scene_done))) = { 0 };
	cleanup_buf struct buf b = { 0 };
	struct weir_err e = { 0 };
	int err = policy_load_file(o->args[1], &s.policy, NULL, &e);

	if (err == 0)
		err = verb->fn(o, &s, &b, &e);
	if (err < 0 && !e.exit_code)
		e.exit_code = CLI_USAGE;
	return err < 0 ? say_error(&e) : say_text(&b);
}

int cmd_policy(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse_option,
		"check FILE [-w DIR]\nexplain FILE PATH -w DIR\nexplain FILE KEY",
		"Checks a policy, with -w also against this host; or "
		"tells which rule of it decides "
		"about PATH, or what it allows of a KEY "
		"such as memory or namespaces.",
		NULL,
		NULL,
		NULL
	};
	struct policy_options o = { 0 };

	usage_parse(&argp, argc, argv, 0, &o);
	for (size_t i = 0; o.count >= 2 && i < ARRAY_SIZE(verbs); i++)
		if (strcmp(verbs[i].name, o.args[0]) == 0)
			return run_verb(&verbs[i], &o);
	fprintf(stderr, "weir: usage: weir policy check FILE [-w DIR], or "
			"weir policy explain FILE PATH -w DIR\n");
	return CLI_USAGE;
}
