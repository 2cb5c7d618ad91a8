/* SPDX-License-Identifier: MIT */
#include "user/cli/environ.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"

extern char **environ;

/* What a caller's environment may bring along without being named in the policy. */
static const char *const passed[] = { "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "COLORTERM" };

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static int take_user(const struct passwd *pw, struct run_user *ret_user, struct weir_err *e)
{
	snprintf(ret_user->name, sizeof(ret_user->name), "%s", pw->pw_name);
	ret_user->uid = pw->pw_uid;
	ret_user->gid = pw->pw_gid;
	ret_user->home = strdup(pw->pw_dir);
	return ret_user->home ? 0 : err_errno(e, -ENOMEM, "user");
}

int environ_user(const char *name, const struct stat *st, struct run_user *ret_user,
		 struct weir_err *e)
{
	const char *sudo = getenv("SUDO_USER");
	const struct passwd *pw;
	uid_t uid;

	if (!name)
		name = sudo;
	if (name) {
		pw = getpwnam(name);
		if (!pw)
			return err_set(e, -EINVAL,
				       "user %s does not exist: name another with --user", name);
		return take_user(pw, ret_user, e);
	}
	uid = st ? st->st_uid : 0;
	pw = getpwuid(uid);
	if (!pw)
		return err_set(
			e, -EINVAL,
			"the workspace's owner %u has no name: say whom to run as with --user",
			uid);
	return take_user(pw, ret_user, e);
}

char *environ_tmpdir(const struct policy *p)
{
	for (size_t i = 0; p && i < p->env_set.count; i++)
		if (strcmp(p->env_set.items[i].name.text, "TMPDIR") == 0)
			return strdup(p->env_set.items[i].value.text);
	return NULL;
}

struct vars {
	char **items;
	size_t count;
};

/* Sets NAME=value, replacing an earlier one. */
static int put(struct vars *v, const char *name, const char *value)
{
	size_t len = strlen(name);
	char *text, **items;

	if (asprintf(&text, "%s=%s", name, value) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < v->count; i++) {
		if (strncmp(v->items[i], name, len) == 0 && v->items[i][len] == '=') {
			free(v->items[i]);
			v->items[i] = text;
			return 0;
		}
	}
	items = realloc(v->items, (v->count + 2) * sizeof(*items));
	if (!items) {
		free(text);
		return -ENOMEM;
	}
	v->items = items;
	v->items[v->count++] = text;
	v->items[v->count] = NULL;
	return 0;
}

static int pass(struct vars *v, const char *name)
{
	const char *value = getenv(name);

	return value ? put(v, name, value) : 0;
}

static int put_policy(struct vars *v, const struct policy *p, const struct policy_env *env,
		      struct weir_err *e)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < p->env_pass.count; i++)
		err = pass(v, p->env_pass.items[i].text);
	for (size_t i = 0; err == 0 && i < p->env_set.count; i++) {
		const struct policy_pair *pair = &p->env_set.items[i];
		cleanup_free char *value = NULL;

		err = policy_expand_value(p, &pair->value, env, &value, e);
		if (err == 0)
			err = put(v, pair->name.text, value);
	}
	return err;
}

int environ_build(const struct policy *p, const struct policy_env *env, const struct run_user *user,
		  char ***ret_env, struct weir_err *e)
{
	struct vars v = { 0 };
	int err = put(&v, "PATH", DEFAULT_PATH);

	if (err == 0)
		err = put(&v, "HOME", user->home);
	if (err == 0)
		err = put(&v, "USER", user->name);
	if (err == 0)
		err = put(&v, "LOGNAME", user->name);
	if (err == 0)
		err = put(&v, "SHELL", "/bin/sh");
	if (err == 0)
		err = put(&v, "TMPDIR", env->tmpdir);
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(passed); i++)
		err = pass(&v, passed[i]);
	if (err == 0 && p)
		err = put_policy(&v, p, env, e);
	*ret_env = v.items;
	return err < 0 && e->err == 0 ? err_errno(e, err, "environment") : err;
}

void environ_read_id(const char *path, char *out, size_t size)
{
	cleanup_fclose FILE *f = fopen(path, "re");

	out[0] = '\0';
	if (f && fgets(out, (int)size, f))
		out[strcspn(out, "\n")] = '\0';
}
