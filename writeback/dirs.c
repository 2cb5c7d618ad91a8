/* SPDX-License-Identifier: MIT */
#include "writeback/dirs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/cleanup.h"
#include "writeback/changestext.h"
#include "writeback/json.h"

#define NAME_MAX_BYTES 64
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-"

void dirs_done(struct gate_dir *d)
{
	free(d->name);
	free(d->from);
	free(d->path);
	free(d->ref);
	free(d->bundle);
	*d = (struct gate_dir){ 0 };
}

/* Components that are names, one slash between. */
static bool is_plain_path(const char *path)
{
	for (const char *at = path;; at++) {
		size_t len = strcspn(at, "/");

		if (len == 0 || (len == 1 && at[0] == '.') ||
		    (len == 2 && at[0] == '.' && at[1] == '.'))
			return false;
		at += len;
		if (*at == '\0')
			return true;
	}
}

/* A ref's component can't begin with a dot or end with ".lock", nor hold two dots. */
static bool is_name(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= NAME_MAX_BYTES && name[0] != '-' && name[0] != '.' &&
	       name[len - 1] != '.' && name[strspn(name, NAME_LETTERS)] == '\0' &&
	       !strstr(name, "..") && !(len >= 5 && strcmp(name + len - 5, ".lock") == 0);
}

static int fill(const char *text, struct gate_dir *d)
{
	const char *from = strchr(text, ' '), *path = from ? strchr(from + 1, ' ') : NULL;

	if (!path)
		return -EINVAL;
	d->name = strndup(text, (size_t)(from - text));
	d->from = strndup(from + 1, (size_t)(path - from) - 1);
	d->path = strdup(path + 1);
	if (!d->name || !d->from || !d->path)
		return -ENOMEM;
	if (!is_name(d->name) || !is_plain_path(d->from) || d->path[0] != '/' ||
	    !is_plain_path(d->path + 1))
		return -EINVAL;
	if (asprintf(&d->ref, DIRS_REF "%s", d->name) < 0)
		d->ref = NULL;
	if (asprintf(&d->bundle, "%s" DIRS_BUNDLE, d->name) < 0)
		d->bundle = NULL;
	return d->ref && d->bundle ? 0 : -ENOMEM;
}

int dirs_parse(const char *text, struct gate_dir *ret_dir)
{
	int err;

	*ret_dir = (struct gate_dir){ 0 };
	err = fill(text, ret_dir);
	if (err < 0)
		dirs_done(ret_dir);
	return err;
}

int dirs_find(const struct gate_config *c, const char *name, struct gate_dir *ret_dir)
{
	for (size_t i = 0; i < c->dirs.count; i++) {
		int err = dirs_parse(c->dirs.items[i], ret_dir);

		if (err < 0 || strcmp(ret_dir->name, name) == 0)
			return err;
		dirs_done(ret_dir);
	}
	return -ENOENT;
}

const char *dirs_inside(const char *from, const char *path)
{
	size_t len = strlen(from);

	return strncmp(path, from, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

struct sums {
	const char *from;
	struct buf *text;
	json_t *list; /* NULL: not asked for */
	size_t count;
};

static bool is_regular(const struct changes_line *l)
{
	return S_ISREG(strtoul(l->new_mode, NULL, 8));
}

/* Source of the form: sha256sum(1), coreutils 9.1. */
static int add_sum(const struct changes_line *l, void *arg, struct weir_err *e)
{
	struct sums *s = arg;
	const char *name = dirs_inside(s->from, l->path);

	if (!name)
		return err_set(e, -EBADMSG, "%s is none of the directory's files", l->path);
	if (!is_regular(l))
		return 0;
	buf_addf(s->text, "%s%s  ", strpbrk(name, "\\\n\r") ? "\\" : "", l->sha256);
	for (; *name; name++) {
		const char *special = *name == '\\'   ? "\\\\"
				      : *name == '\n' ? "\\n"
				      : *name == '\r' ? "\\r"
						      : NULL;

		buf_add(s->text, special ? special : name, special ? 2 : 1);
	}
	return buf_add(s->text, "\n", 1) < 0 ? err_errno(e, -ENOMEM, DIRS_SUMS) : 0;
}

int dirs_sums(const char *changes, const char *from, struct buf *ret_text, struct weir_err *e)
{
	struct sums s = { .from = from, .text = ret_text };

	return changestext_each(changes, add_sum, &s, e);
}

static int add_subject(const struct changes_line *l, void *arg, struct weir_err *e)
{
	struct sums *s = arg;
	const char *name = dirs_inside(s->from, l->path);

	if (!name || !is_regular(l))
		return 0;
	s->count++;
	if (s->count > DIRS_SUBJECTS_MAX)
		return 0;
	return json_array_append_new(s->list,
				     json_pack("{s:o, s:{s:s}}", "name", json_escaped(name),
					       "digest", "sha256", l->sha256)) < 0
		       ? err_errno(e, -ENOMEM, "attestations")
		       : 0;
}

json_t *dirs_subjects(const char *changes, const char *from, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	struct sums s = { .from = from, .text = &text, .list = json_array() };
	unsigned char hash[DIGEST_SIZE];
	char hex[DIGEST_HEX];
	int err = s.list ? changestext_each(changes, add_sum, &s, e)
			 : err_errno(e, -ENOMEM, "attestations");

	if (err == 0 && digest_bytes(buf_str(&text), text.len, hash) < 0)
		err = err_errno(e, -EIO, "attestations");
	digest_hex(hash, sizeof(hash), hex);
	if (err == 0 && json_array_append_new(s.list, json_pack("{s:s, s:{s:s}}", "name", DIRS_SUMS,
								"digest", "sha256", hex)) < 0)
		err = err_errno(e, -ENOMEM, "attestations");
	if (err == 0)
		err = changestext_each(changes, add_subject, &s, e);
	while (err == 0 && s.count > DIRS_SUBJECTS_MAX && json_array_size(s.list) > 1)
		json_array_remove(s.list, json_array_size(s.list) - 1);
	if (err == 0)
		return s.list;
	json_decref(s.list);
	return NULL;
}

int dirs_bundle(const struct attestations *a, struct buf *ret_text)
{
	for (size_t i = 0; i < ARRAY_SIZE(a->envelopes); i++)
		buf_add(ret_text, buf_str(&a->envelopes[i]), a->envelopes[i].len);
	return ret_text->failed ? -ENOMEM : 0;
}
