/* SPDX-License-Identifier: MIT */
#include "user/policy/compile.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/policy/build.h"
#include "user/policy/text.h"

int policy_build_oom(struct policy_build *b)
{
	return err_errno(b->e, -ENOMEM, "%s", b->p->file);
}

int policy_add_note(struct policy_build *b, enum policy_note_kind kind,
		    const struct policy_entry *entry, const char *fmt, ...)
{
	struct weir_err line = { 0 };
	struct policy_note *note;
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	/* the same form and the same escaping as an error */
	policy_error(b->p->file, entry->pos, &line, "%s", text);
	note = policy_grow(&b->im->notes, &b->im->note_count, sizeof(*note));
	if (!note || !(note->text = strdup(line.text)))
		return policy_build_oom(b);
	note->kind = kind;
	note->id = entry->id;
	note->pos = entry->pos;
	return 0;
}

int policy_add_object(struct policy_build *b, const char *path, const struct stat *st,
		      const struct policy_object *rest)
{
	struct policy_image *im = b->im;
	struct policy_object *o;
	char *copy;

	if (im->object_count >= WEIR_RULES_MAX)
		return err_code(b->e, -E2BIG, "policy",
				"%s: the policy needs more than %u objects; grant directories "
				"instead of single files",
				policy_quote(b->p->file).text, WEIR_RULES_MAX);
	copy = strdup(path);
	o = copy ? policy_grow(&im->objects, &im->object_count, sizeof(*o)) : NULL;
	if (!o) {
		free(copy);
		return policy_build_oom(b);
	}
	*o = *rest;
	o->path = copy;
	o->dev = st->st_dev;
	o->ino = st->st_ino;
	o->mode = st->st_mode;
	return 0;
}

/* One variable of the environment: its normal form, and where it really leads. */
static int look_at_variable(struct policy_build *b, const char *variable, const char *value,
			    const char **ret_lexical, const char **ret_real, struct stat *ret_st)
{
	struct policy_text t = { .text = (char *)variable };
	cleanup_policy_resolved struct policy_resolved at = { 0 };
	struct policy_path path;
	int err;

	if (!value)
		return 0;
	err = policy_expand_path(b->p, &t, b->env, &path, b->e);
	if (err < 0)
		return err;
	*ret_lexical = path.path;
	err = policy_resolve(path.path, &at, b->e);
	if (err < 0)
		return err_wrap(b->e, "%s", variable);
	if (at.absent)
		return 0;
	*ret_st = at.st;
	*ret_real = TAKE_PTR(at.real);
	return 0;
}

static int look_at_environment(struct policy_build *b)
{
	const struct policy_env *env = b->env;
	struct stat st;
	int err = look_at_variable(b, "${WORKSPACE}", env->workspace, &b->lexical.workspace,
				   &b->real.workspace, &b->workspace_st);

	if (err == 0)
		err = look_at_variable(b, "${HOME}", env->home, &b->lexical.home, &b->real.home,
				       &st);
	if (err == 0)
		err = look_at_variable(b, "${TMPDIR}", env->tmpdir, &b->lexical.tmpdir,
				       &b->real.tmpdir, &st);
	if (err < 0)
		return err;
	if (!b->real.workspace || !S_ISDIR(b->workspace_st.st_mode))
		return err_set(b->e, -ENOTDIR,
			       "workspace '%s' is no existing directory; make it before the run",
			       policy_quote(env->workspace ? env->workspace : "").text);
	b->im->workspace = strdup(b->real.workspace);
	return b->im->workspace ? 0 : policy_build_oom(b);
}

static void build_done(struct policy_build *b)
{
	const char *owned[] = { b->lexical.workspace, b->lexical.home, b->lexical.tmpdir,
				b->real.workspace,    b->real.home,    b->real.tmpdir };

	for (size_t i = 0; i < b->entry_count; i++) {
		free(b->entries[i].path.path);
		policy_resolved_done(&b->entries[i].at);
	}
	for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
		free((char *)owned[i]);
	free(b->entries);
	free(b->items);
}

int policy_compile(const struct policy *p, const struct policy_env *env,
		   struct policy_image **ret_image, struct weir_err *e)
{
	static int (*const steps[])(struct policy_build * b) = {
		look_at_environment, policy_build_entries, policy_build_items, policy_build_names,
		policy_build_stores, policy_build_objects, policy_build_reach,
	};
	cleanup_policy_image struct policy_image *im = calloc(1, sizeof(*im));
	struct policy_build b = { .p = p, .env = env, .e = e, .im = im };
	int err = 0;

	if (!im || !(im->file = strdup(p->file)))
		return err_errno(e, -ENOMEM, "%s", p->file);
	im->rights = WEIR_RIGHT_READ;
	im->powers = policy_powers(p);
	im->attempts = policy_attempts(p);
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(steps); i++)
		err = steps[i](&b);
	build_done(&b);
	if (err < 0) {
		if (e && !e->exit_code)
			e->exit_code = 2;
		return err;
	}
	*ret_image = TAKE_PTR(im);
	return 0;
}

int policy_check_written(const struct policy *p, struct weir_err *e)
{
	/* "/" is what makes these paths absolute; no policy can write them */
	static const struct policy_env unknown = { "/${WORKSPACE}", "/${HOME}", "/${TMPDIR}" };
	cleanup_policy_image struct policy_image *im = calloc(1, sizeof(*im));
	struct policy_build b = { .p = p, .env = &unknown, .e = e, .im = im, .lexical = unknown };
	int err;

	if (!im)
		return err_errno(e, -ENOMEM, "%s", p->file);
	err = policy_build_written(&b);
	b.lexical = (struct policy_env){ 0 }; /* borrowed here */
	build_done(&b);
	return err;
}
