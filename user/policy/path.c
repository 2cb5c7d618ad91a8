/* SPDX-License-Identifier: MIT */
#include "user/policy/path.h"

#include <errno.h>
#include <string.h>

#include "bpf/abi/limits.h"
#include "user/base/cleanup.h"

static const struct variable {
	const char *name; /* as written */
	size_t offset;	  /* in struct policy_env */
} variables[] = {
	{ "${WORKSPACE}", offsetof(struct policy_env, workspace) },
	{ "${HOME}", offsetof(struct policy_env, home) },
	{ "${TMPDIR}", offsetof(struct policy_env, tmpdir) },
};

#define KNOWN_VARIABLES "there are ${WORKSPACE}, ${HOME} and ${TMPDIR}"

/* Directories that hold other people's things: nobody means all of one by accident. */
static const char *const broad_paths[] = {
	"/",	    "/bin",	 "/boot",      "/dev",	     "/etc", "/home",	 "/lib",
	"/lib32",   "/lib64",	 "/media",     "/mnt",	     "/opt", "/proc",	 "/proc/sys",
	"/root",    "/run",	 "/sbin",      "/srv",	     "/sys", "/usr",	 "/usr/bin",
	"/usr/lib", "/usr/sbin", "/usr/local", "/usr/share", "/var", "/var/lib",
};

static const struct variable *find_variable(const char *at)
{
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		if (strncmp(at, variables[i].name, strlen(variables[i].name)) == 0)
			return &variables[i];
	return NULL;
}

static int bad_variable(const struct policy *p, const struct policy_text *t, const char *at,
			struct weir_err *e)
{
	size_t len = strcspn(at, "}");
	char name[64];

	if (at[len] == '\0')
		return policy_error(p->file, t->pos, e, "'%s': a ${ without }; close it",
				    policy_quote(t->text).text);
	if (len + 1 >= sizeof(name))
		len = sizeof(name) - 2;
	memcpy(name, at, len + 1);
	name[len + 1] = '\0';
	return policy_error(p->file, t->pos, e, "unknown variable %s; " KNOWN_VARIABLES, name);
}

static bool starts_home(const char *text)
{
	return text[0] == '~' && (text[1] == '\0' || text[1] == '/');
}

static int check_wildcards(const struct policy *p, const struct policy_text *t, struct weir_err *e)
{
	size_t len = strlen(t->text);

	if (len >= 3 && strcmp(t->text + len - 3, "/**") == 0)
		len -= 3;
	if (strcspn(t->text, "*?[") >= len)
		return 0;
	return policy_error(p->file, t->pos, e,
			    "'%s': no wildcards in a path but a final /**; name the directory that "
			    "holds the files",
			    policy_quote(t->text).text);
}

int policy_check_variables(const struct policy *p, const struct policy_text *t, bool is_path,
			   struct weir_err *e)
{
	for (const char *at = strstr(t->text, "${"); at; at = strstr(at + 2, "${"))
		if (!find_variable(at))
			return bad_variable(p, t, at, e);
	if (!is_path)
		return 0;
	if (t->text[0] == '~' && !starts_home(t->text))
		return policy_error(
			p->file, t->pos, e,
			"'%s': other people's homes can't be named by ~; write the path",
			policy_quote(t->text).text);
	if (t->text[0] != '/' && t->text[0] != '~' && strncmp(t->text, "${", 2) != 0)
		return policy_error(p->file, t->pos, e,
				    "'%s' is no absolute path; begin with /, ~/ or a variable "
				    "(${WORKSPACE}, ${HOME}, ${TMPDIR})",
				    policy_quote(t->text).text);
	return check_wildcards(p, t, e);
}

static int add_variable(const struct policy *p, const struct policy_text *t,
			const struct variable *v, const struct policy_env *env, struct buf *b,
			struct weir_err *e)
{
	const char *value = *(const char *const *)((const char *)env + v->offset);

	if (!value)
		return policy_error(p->file, t->pos, e,
				    "%s has no value in this run; write the path instead", v->name);
	if (value[0] != '/')
		return policy_error(p->file, t->pos, e,
				    "%s is '%s', which is no absolute path; set it to one", v->name,
				    policy_quote(value).text);
	return buf_add(b, value, strlen(value));
}

static int expand(const struct policy *p, const struct policy_text *t, const struct policy_env *env,
		  bool is_path, struct buf *b, struct weir_err *e)
{
	const char *at = t->text;
	int err = policy_check_variables(p, t, is_path, e);

	if (err == 0 && is_path && starts_home(at)) {
		err = add_variable(p, t, find_variable("${HOME}"), env, b, e);
		at++;
	}
	while (err == 0 && *at) {
		const char *dollar = strstr(at, "${");
		const struct variable *v = dollar ? find_variable(dollar) : NULL;

		err = buf_add(b, at, dollar ? (size_t)(dollar - at) : strlen(at));
		if (err < 0 || !v)
			break;
		err = add_variable(p, t, v, env, b, e);
		at = dollar + strlen(v->name);
	}
	if (err == -ENOMEM || err == -EFBIG)
		return err_errno(e, -ENOMEM, "%s", p->file);
	return err;
}

/* Writes the normal form of in to out (as large as in). Returns NULL or what is wrong. */
static const char *normalise(const char *in, char *out)
{
	size_t used = 0, levels = 0;

	while (*in) {
		size_t len = strcspn(in, "/");

		if (len == 2 && memcmp(in, "..", 2) == 0)
			return "goes up by ..; write where it leads";
		if (len >= WEIR_NAME_MAX)
			return "has a name of more than 255 bytes; no file system holds that";
		if (len > 0 && !(len == 1 && *in == '.')) {
			out[used++] = '/';
			memcpy(out + used, in, len);
			used += len;
			levels++;
		}
		in += len + (in[len] == '/');
	}
	if (used == 0)
		out[used++] = '/';
	out[used] = '\0';
	if (used > POLICY_PATH_MAX)
		return "is longer than 4096 bytes; grant a directory further up";
	if (levels > WEIR_DEPTH_MAX)
		return "has more than 128 levels; grant a directory further up";
	return NULL;
}
_Static_assert(WEIR_DEPTH_MAX == 128 && WEIR_NAME_MAX == 256 && POLICY_PATH_MAX == 4096,
	       "the messages above name the limits");

int policy_expand_path(const struct policy *p, const struct policy_text *t,
		       const struct policy_env *env, struct policy_path *ret_path,
		       struct weir_err *e)
{
	cleanup_buf struct buf b = { .max = POLICY_TEXT_MAX + 3 * POLICY_PATH_MAX };
	cleanup_free char *path = NULL;
	const char *wrong;
	size_t len = strlen(t->text);
	bool all = len >= 3 && strcmp(t->text + len - 3, "/**") == 0;
	int err = expand(p, t, env, true, &b, e);

	if (err < 0)
		return err;
	if (all) /* the checked form ends in slash, star, star */
		b.data[b.len - 2] = '\0';
	path = malloc(b.len + 2);
	if (!path)
		return err_errno(e, -ENOMEM, "%s", p->file);
	wrong = normalise(buf_str(&b), path);
	if (wrong)
		return policy_error(p->file, t->pos, e, "'%s' %s", policy_quote(buf_str(&b)).text,
				    wrong);
	ret_path->must_dir = all || t->text[len - 1] == '/';
	ret_path->path = TAKE_PTR(path);
	return 0;
}

int policy_expand_value(const struct policy *p, const struct policy_text *t,
			const struct policy_env *env, char **ret_value, struct weir_err *e)
{
	cleanup_buf struct buf b = { .max = POLICY_TEXT_MAX };
	int err = expand(p, t, env, false, &b, e);

	if (err < 0)
		return err;
	*ret_value = strdup(buf_str(&b));
	return *ret_value ? 0 : err_errno(e, -ENOMEM, "%s", p->file);
}

bool policy_path_is_broad(const char *path, const struct policy_env *env)
{
	for (size_t i = 0; i < ARRAY_SIZE(broad_paths); i++)
		if (strcmp(path, broad_paths[i]) == 0)
			return true;
	return env->home && policy_path_is_below(env->home, path);
}

int policy_path_compare(const char *a, const char *b)
{
	const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;

	while (*x && *x == *y) {
		x++;
		y++;
	}
	if (*x == *y)
		return 0;
	if (*x == '\0' || *y == '\0')
		return *x == '\0' ? -1 : 1;
	if (*x == '/' || *y == '/')
		return *x == '/' ? -1 : 1;
	return *x < *y ? -1 : 1;
}

bool policy_path_is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return path[0] == '/';
	return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}
