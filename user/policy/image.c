/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/policy/compile.h"

void policy_image_free(struct policy_image *im)
{
	if (!im)
		return;
	for (size_t i = 0; i < im->object_count; i++)
		free(im->objects[i].path);
	for (size_t i = 0; i < im->name_count; i++) {
		free(im->names[i].dir);
		free(im->names[i].name);
	}
	for (size_t i = 0; i < im->peer_count; i++) {
		free(im->peers[i].path);
		free(im->peers[i].abstract);
	}
	for (size_t i = 0; i < im->note_count; i++)
		free(im->notes[i].text);
	for (size_t i = 0; i < im->source_count; i++)
		free(im->sources[i].written);
	free(im->objects);
	free(im->names);
	free(im->nets);
	free(im->peers);
	free(im->notes);
	free(im->sources);
	free(im->workspace);
	free(im->file);
	free(im);
}

const struct policy_object *policy_image_find(const struct policy_image *im, const char *path)
{
	size_t lo = 0, hi = im->object_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int order = policy_path_compare(im->objects[mid].path, path);

		if (order == 0)
			return &im->objects[mid];
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

static const struct policy_name *find_name(const struct policy_image *im, const char *dir,
					   const char *name)
{
	size_t lo = 0, hi = im->name_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int order = policy_path_compare(im->names[mid].dir, dir);

		if (order == 0)
			order = strcmp(im->names[mid].name, name);
		if (order == 0)
			return &im->names[mid];
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* Looks at one level: at is the path so far, below what was cut off it. */
static bool decide_at(const struct policy_image *im, const char *at, const char *below,
		      struct policy_answer *a)
{
	const struct policy_object *o = policy_image_find(im, at);
	cleanup_free char *dir = NULL;
	const struct policy_name *n;
	char *slash;

	if (o && !(o->flags & WEIR_RULE_ANCESTOR)) {
		*a = (struct policy_answer){ .rights = o->rights,
					     .flags = o->flags,
					     .id = o->id,
					     .line = o->line,
					     .root = o->path };
		a->control = policy_path_is_control(below, o->flags & WEIR_RULE_WORKSPACE);
		return true;
	}
	dir = strdup(at);
	slash = dir ? strrchr(dir, '/') : NULL;
	if (!slash || slash[1] == '\0')
		return false;
	*slash = '\0';
	n = find_name(im, slash == dir ? "/" : dir, slash + 1);
	if (!n)
		return false;
	*a = (struct policy_answer){ .rights = n->rights,
				     .flags = n->flags,
				     .id = n->id,
				     .line = n->line,
				     .root = n->dir,
				     .name = n->name };
	a->control = policy_path_is_control(below, false);
	return true;
}

void policy_explain(const struct policy_image *im, const char *path,
		    struct policy_answer *ret_answer)
{
	cleanup_free char *at = strdup(path);
	size_t len = strlen(path);

	*ret_answer = (struct policy_answer){ .rights = im->rights };
	while (at && len > 0) {
		const char *below = path + len;

		at[len] = '\0';
		if (decide_at(im, at, below[0] == '/' ? below + 1 : below, ret_answer) || len == 1)
			return;
		while (len > 1 && at[len - 1] != '/')
			len--;
		if (len > 1)
			len--;
	}
}

int policy_add_explanation(struct buf *b, const struct policy_image *im, const char *path,
			   const struct policy_answer *a)
{
	const struct policy_source *s = a->id ? &im->sources[a->id - 1] : NULL;

	buf_add_escaped(b, path, strlen(path));
	buf_addf(b, ": ");
	policy_add_rights(b, a->rights);
	if (a->control)
		buf_addf(b, a->rights & WEIR_RIGHT_CONTROL
				    ? " (a control name, granted)"
				    : " (a control name: changes need \"control\" as well)");
	if (!s) {
		buf_addf(b, "; no rule names it%s",
			 a->root ? ", it is the run's workspace" : ": the default");
		return b->failed ? -ENOMEM : 0;
	}
	buf_addf(b, "; by the %s '", s->credential ? "credential store" : "rule");
	buf_add_escaped(b, s->written, strlen(s->written));
	buf_addf(b, "' at ");
	buf_add_escaped(b, im->file, strlen(im->file));
	buf_addf(b, ":%u", s->pos.line);
	if (a->name) {
		buf_addf(b, ", for the name '");
		buf_add_escaped(b, a->name, strlen(a->name));
		buf_addf(b, "' in ");
		buf_add_escaped(b, a->root, strlen(a->root));
	}
	return b->failed ? -ENOMEM : 0;
}
