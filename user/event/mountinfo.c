/* SPDX-License-Identifier: MIT */
/*
 * Parser of /proc/self/mountinfo: lines of
 *   id parent major:minor root point options [tags] - type source options
 * in the order of mounting. A mount m is reachable when its parent is and no mount with
 * the same parent covers its point (an ancestor directory of the point, or the point
 * itself later); it is visible when also no child lies on its own root.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/event/mounts.h"

#define TEXT_MAX ((size_t)256 << 20)

enum reach {
	REACH_UNKNOWN,
	REACH_YES,
	REACH_NO,
};

struct line {
	uint64_t id;
	uint64_t parent;
	uint32_t dev;
	size_t number; /* from 0, order of mounting */
	char *root;    /* into the copy of the text, unescaped */
	char *point;
	bool covered; /* by a mount with the same parent */
	bool topped;  /* by a child on its root */
	enum reach reach;
};

struct table {
	struct line *lines;	/* by order of mounting */
	struct line **by_id;	/* sorted by id, then order */
	struct line **by_point; /* sorted by parent, point, latest first */
	size_t count;
};

static void table_done(struct table *t)
{
	free(t->lines);
	free(t->by_id);
	free(t->by_point);
}

/* Undoes \ooo in place. Returns: false for anything else behind a backslash, and NUL. */
static bool unescape(char *text)
{
	char *out = text;

	for (const char *in = text; *in; out++) {
		unsigned int c = 0;

		if (*in != '\\') {
			*out = *in++;
			continue;
		}
		for (int i = 1; i <= 3; i++) {
			if (in[i] < '0' || in[i] > '7')
				return false;
			c = 8 * c + (unsigned int)(in[i] - '0');
		}
		if (c == 0 || c > 255)
			return false;
		*out = (char)c;
		in += 4;
	}
	*out = '\0';
	return true;
}

static bool parse_id(const char *text, uint64_t *ret_id)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret_id = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0';
}

static bool parse_line(char *text, struct line *line)
{
	char *fields[6], *rest = text;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		fields[i] = strsep(&rest, " ");
		if (!fields[i] || !*fields[i] || !rest)
			return false;
	}
	if (strncmp(rest, "- ", 2) != 0 && !strstr(rest, " - "))
		return false;
	line->root = fields[3];
	line->point = fields[4];
	return parse_id(fields[0], &line->id) && parse_id(fields[1], &line->parent) &&
	       mounts_dev_parse(fields[2], &line->dev) == 0 && unescape(line->root) &&
	       unescape(line->point) && line->point[0] == '/';
}

static int parse_lines(char *text, struct table *t, struct weir_err *e)
{
	size_t cap = 0;

	for (char *at = text; *at;) {
		char *end = strchr(at, '\n');

		if (end)
			*end = '\0';
		if (t->count == MOUNTS_MAX)
			return err_set(e, -E2BIG, "mountinfo: more than %d mounts", MOUNTS_MAX);
		if (t->count == cap) {
			struct line *lines;

			cap = cap ? 2 * cap : 64;
			lines = reallocarray(t->lines, cap, sizeof(*lines));
			if (!lines)
				return err_errno(e, -ENOMEM, "mountinfo");
			t->lines = lines;
		}
		t->lines[t->count] = (struct line){ .number = t->count };
		if (!parse_line(at, &t->lines[t->count]))
			return err_set(e, -EINVAL, "mountinfo: line %zu is malformed",
				       t->count + 1);
		t->count++;
		at = end ? end + 1 : at + strlen(at);
	}
	return 0;
}

static int rank(char c)
{
	return c == '\0' ? 0 : c == '/' ? 1 : 2 + (unsigned char)c;
}

/* Paths with '/' before all other bytes, so that what is below a path follows it. */
static int compare_path(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return rank(*a) - rank(*b);
}

static int compare_id(const void *a, const void *b)
{
	const struct line *x = *(struct line *const *)a, *y = *(struct line *const *)b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_point(const void *a, const void *b)
{
	const struct line *x = *(struct line *const *)a, *y = *(struct line *const *)b;
	int order;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	order = compare_path(x->point, y->point);
	if (order)
		return order;
	return x->number > y->number ? -1 : x->number < y->number;
}

static bool covers(const char *upper, const char *lower)
{
	size_t len = strlen(upper);

	if (len == 1)
		return true;
	return strncmp(upper, lower, len) == 0 && (lower[len] == '\0' || lower[len] == '/');
}

static struct line *find_id(const struct table *t, uint64_t id)
{
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->by_id[mid]->id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < t->count && t->by_id[low]->id == id ? t->by_id[low] : NULL;
}

static void mark_covered(struct table *t)
{
	const struct line *cover = NULL;

	for (size_t i = 0; i < t->count; i++) {
		struct line *line = t->by_point[i];
		struct line *parent = find_id(t, line->parent);

		if (cover && cover->parent == line->parent && covers(cover->point, line->point))
			line->covered = true;
		else
			cover = line;
		if (parent && parent != line && strcmp(parent->point, line->point) == 0)
			parent->topped = true;
	}
}

/* Follows parents up to a known one or the top. Loops, which only a forged text has, and
 * everything below them are not reachable. */
static void mark_reach(struct table *t, struct line *line)
{
	enum reach reach = REACH_YES;
	struct line *at = line;
	size_t steps = 0;

	while (at && at->reach == REACH_UNKNOWN && reach == REACH_YES) {
		struct line *parent = find_id(t, at->parent);

		if (at->covered || steps++ > t->count)
			reach = REACH_NO;
		at = parent == at ? NULL : parent;
	}
	if (at && at->reach == REACH_NO)
		reach = REACH_NO;
	line->reach = reach;
}

static int sort(struct table *t)
{
	t->by_id = calloc(t->count + 1, sizeof(*t->by_id));
	t->by_point = calloc(t->count + 1, sizeof(*t->by_point));
	if (!t->by_id || !t->by_point)
		return -ENOMEM;
	for (size_t i = 0; i < t->count; i++)
		t->by_id[i] = t->by_point[i] = &t->lines[i];
	qsort(t->by_id, t->count, sizeof(*t->by_id), compare_id);
	qsort(t->by_point, t->count, sizeof(*t->by_point), compare_point);
	return 0;
}

int mounts_parse(const char *text, size_t len, struct mounts **ret_mounts, struct weir_err *e)
{
	cleanup_mounts struct mounts *m = mounts_new();
	cleanup_with(table_done) struct table t = { 0 };
	cleanup_free char *copy = NULL;
	int err;

	if (len > TEXT_MAX)
		return err_set(e, -E2BIG, "mountinfo: larger than %zu bytes", TEXT_MAX);
	if (memchr(text, '\0', len))
		return err_set(e, -EINVAL, "mountinfo: holds a NUL byte");
	copy = strndup(text, len);
	if (!m || !copy)
		return err_errno(e, -ENOMEM, "mountinfo");
	err = parse_lines(copy, &t, e);
	if (err < 0)
		return err;
	err = sort(&t);
	if (err < 0)
		return err_errno(e, err, "mountinfo");
	mark_covered(&t);
	for (size_t i = 0; i < t.count && err == 0; i++) {
		mark_reach(&t, &t.lines[i]);
		if (t.lines[i].reach == REACH_YES && !t.lines[i].topped)
			err = mounts_add(m, t.lines[i].dev, t.lines[i].root, t.lines[i].point);
	}
	if (err < 0)
		return err_errno(e, err, "mountinfo");
	*ret_mounts = TAKE_PTR(m);
	return 0;
}
