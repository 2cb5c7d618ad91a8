/* SPDX-License-Identifier: MIT */
#include "user/event/mounts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/buf.h"
#include "user/base/cleanup.h"
#include "user/base/escape.h"

#define MINOR_BITS 20
#define MAJOR_MAX 0xfffu
#define MINOR_MAX 0xfffffu

struct mount {
	uint32_t dev;
	char *root; /* starts with '/', but for mounts of namespaces and the like */
	char *point;
	size_t root_len;
	size_t point_len;
};

struct mounts {
	struct mount *mounts; /* the order is that of mounting */
	size_t count;
	size_t cap;
};

struct mounts *mounts_new(void)
{
	return calloc(1, sizeof(struct mounts));
}

void mounts_free(struct mounts *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->count; i++) {
		free(m->mounts[i].root);
		free(m->mounts[i].point);
	}
	free(m->mounts);
	free(m);
}

size_t mounts_count(const struct mounts *m)
{
	return m->count;
}

static int reserve(struct mounts *m)
{
	size_t cap = m->cap ? 2 * m->cap : 64;
	struct mount *mounts;

	if (m->count < m->cap)
		return 0;
	mounts = reallocarray(m->mounts, cap, sizeof(*mounts));
	if (!mounts)
		return -ENOMEM;
	m->mounts = mounts;
	m->cap = cap;
	return 0;
}

int mounts_add(struct mounts *m, uint32_t dev, const char *root, const char *point)
{
	cleanup_free char *root_copy = NULL, *point_copy = NULL;
	size_t point_len = strlen(point);
	int err;

	if (point[0] != '/' || (point_len > 1 && point[point_len - 1] == '/'))
		return -EINVAL;
	if (m->count >= MOUNTS_MAX)
		return -E2BIG;
	err = reserve(m);
	if (err < 0)
		return err;
	root_copy = strdup(root);
	point_copy = strdup(point);
	if (!root_copy || !point_copy)
		return -ENOMEM;
	m->mounts[m->count] = (struct mount){
		.dev = dev,
		.root = root_copy,
		.root_len = strlen(root),
		.point = point_copy,
		.point_len = point_len,
	};
	m->count++;
	root_copy = point_copy = NULL;
	return 0;
}

/* Whether path is prefix or lies below it; both absolute, prefix without a slash at its
 * end unless it is "/". */
static bool is_below(const char *prefix, size_t len, const char *path)
{
	if (prefix[0] != '/')
		return false;
	if (len == 1)
		return path[0] == '/';
	return strncmp(prefix, path, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* The mount that a host path leads to. */
static const struct mount *find_mount(const struct mounts *m, const char *host)
{
	const struct mount *best = NULL;

	for (size_t i = 0; i < m->count; i++) {
		const struct mount *mount = &m->mounts[i];

		if (best && mount->point_len < best->point_len)
			continue;
		if (is_below(mount->point, mount->point_len, host))
			best = mount;
	}
	return best;
}

/* Replaces the prefix `from` of path, which is below it, by `to`. */
static int rebase(const char *path, size_t from_len, const char *to, size_t to_len, char *out,
		  size_t size)
{
	const char *rest = from_len == 1 ? path : path + from_len;
	int len;

	if (strcmp(rest, "/") == 0)
		rest = "";
	if (to_len == 1)
		to_len = *rest ? 0 : 1;
	len = snprintf(out, size, "%.*s%s", (int)to_len, to, rest);
	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : len;
}

/* The next mount after `last` in the order of trial: longest root, then latest. */
static const struct mount *next_mount(const struct mounts *m, uint32_t dev, const char *path,
				      const struct mount *last)
{
	const struct mount *best = NULL;

	for (size_t i = 0; i < m->count; i++) {
		const struct mount *mount = &m->mounts[i];

		if (mount->dev != dev || (best && mount->root_len < best->root_len))
			continue;
		if (last && (mount->root_len > last->root_len ||
			     (mount->root_len == last->root_len && mount >= last)))
			continue;
		if (is_below(mount->root, mount->root_len, path))
			best = mount;
	}
	return best;
}

int mounts_resolve(const struct mounts *m, uint32_t dev, const char *path, char *out, size_t size)
{
	const struct mount *mount = NULL;
	char text[MOUNTS_DEV_SIZE];
	int len;

	while (m && path[0] == '/') {
		mount = next_mount(m, dev, path, mount);
		if (!mount)
			break;
		len = rebase(path, mount->root_len, mount->point, mount->point_len, out, size);
		if (len < 0 || find_mount(m, out) == mount)
			return len;
	}
	len = snprintf(out, size, "%s:%s", mounts_dev_text(dev, text), path);
	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : len;
}

int mounts_locate(const struct mounts *m, const char *host, uint32_t *ret_dev, char *out,
		  size_t size)
{
	const struct mount *mount = find_mount(m, host);

	if (!mount || mount->root[0] != '/')
		return -ENOENT;
	*ret_dev = mount->dev;
	return rebase(host, mount->point_len, mount->root, mount->root_len, out, size);
}

const char *mounts_dev_text(uint32_t dev, char out[MOUNTS_DEV_SIZE])
{
	snprintf(out, MOUNTS_DEV_SIZE, "%u:%u", dev >> MINOR_BITS, dev & MINOR_MAX);
	return out;
}

/* A decimal number without sign or blanks; *text moves past it. */
static int parse_number(const char **text, uint32_t max, uint32_t *ret_value)
{
	uint32_t value = 0;
	const char *at = *text;

	for (; *at >= '0' && *at <= '9'; at++) {
		value = 10 * value + (uint32_t)(*at - '0');
		if (value > max)
			return -EINVAL;
	}
	if (at == *text)
		return -EINVAL;
	*text = at;
	*ret_value = value;
	return 0;
}

int mounts_dev_parse(const char *text, uint32_t *ret_dev)
{
	uint32_t major, minor;

	if (parse_number(&text, MAJOR_MAX, &major) < 0 || *text++ != ':' ||
	    parse_number(&text, MINOR_MAX, &minor) < 0 || *text != '\0')
		return -EINVAL;
	*ret_dev = major << MINOR_BITS | minor;
	return 0;
}

static json_t *escaped(const char *text, size_t len)
{
	cleanup_buf struct buf b = { 0 };

	if (buf_add_escaped(&b, text, len) < 0)
		return NULL;
	return json_string(buf_str(&b));
}

json_t *mounts_to_json(const struct mounts *m)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < m->count; i++) {
		const struct mount *mount = &m->mounts[i];
		char dev[MOUNTS_DEV_SIZE];
		json_t *entry =
			json_pack("{s:s, s:o, s:o}", "dev", mounts_dev_text(mount->dev, dev),
				  "root", escaped(mount->root, mount->root_len), "point",
				  escaped(mount->point, mount->point_len));

		if (json_array_append_new(list, entry) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* A copy of a member without its escapes. */
static char *member(const json_t *entry, const char *name)
{
	const char *text = json_string_value(json_object_get(entry, name));
	char *copy = text ? strdup(text) : NULL;
	long len = copy ? escape_undo(copy) : -1;

	if (len < 0 || strlen(copy) != (size_t)len) {
		free(copy);
		return NULL;
	}
	return copy;
}

static int add_json(struct mounts *m, const json_t *entry)
{
	cleanup_free char *root = member(entry, "root");
	cleanup_free char *point = member(entry, "point");
	const char *dev_text = json_string_value(json_object_get(entry, "dev"));
	uint32_t dev;

	if (!root || !point || !dev_text || mounts_dev_parse(dev_text, &dev) < 0)
		return -EINVAL;
	return mounts_add(m, dev, root, point);
}

int mounts_from_json(const json_t *json, struct mounts **ret_mounts, struct weir_err *e)
{
	cleanup_mounts struct mounts *m = mounts_new();
	size_t i;
	json_t *entry;

	if (!m)
		return err_errno(e, -ENOMEM, "mounts");
	if (!json_is_array(json))
		return err_set(e, -EINVAL, "mounts: not a list");
	json_array_foreach (json, i, entry) {
		int err = add_json(m, entry);

		if (err == -EINVAL)
			return err_set(e, err, "mounts: entry %zu is not {dev, root, point}", i);
		if (err < 0)
			return err_errno(e, err, "mounts");
	}
	*ret_mounts = TAKE_PTR(m);
	return 0;
}
