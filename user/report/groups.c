/* SPDX-License-Identifier: MIT */
/* Many findings on one screen: by directory, with exact counts and the first names. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/event/names.h"
#include "user/report/findings.h"

#define GROUPS_SHOWN 10u
#define GRAVE_SHOWN 6u
#define NAMES_SHOWN 4u
/* Different things done in one directory that are told apart. */
#define ACTS_SHOWN 3u

struct item {
	const json_t *finding;
	const char *path; /* borrowed from it */
	size_t dir_len;
	size_t index;
};

struct group {
	const struct item *first; /* in the sorted items */
	size_t count;
};

static size_t dir_len_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return 0;
	return slash == path ? 1 : (size_t)(slash - path);
}

static int compare_dirs(const struct item *a, const struct item *b)
{
	size_t len = a->dir_len < b->dir_len ? a->dir_len : b->dir_len;
	int order = memcmp(a->path, b->path, len);

	if (order)
		return order;
	return a->dir_len < b->dir_len ? -1 : a->dir_len > b->dir_len;
}

/* Within a directory in the order of the run. */
static int by_dir(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int order = compare_dirs(x, y);

	if (order)
		return order;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int by_count(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static const char *name_of(const struct item *item)
{
	const char *slash = strrchr(item->path, '/');

	return slash ? slash + 1 : item->path;
}

static bool same_act(const json_t *a, const json_t *b)
{
	return strcmp(text_of(a, "op"), text_of(b, "op")) == 0 &&
	       strcmp(text_of(a, "outcome"), text_of(b, "outcome")) == 0 &&
	       strcmp(text_of(a, "kind"), text_of(b, "kind")) == 0;
}

/* Whether an earlier item of the group did the same. */
static bool is_told(const struct group *g, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (same_act(g->first[i].finding, g->first[at].finding))
			return true;
	return false;
}

/* "let through: remove file  [file-outside]: f1, f2, f3, f4 and 46 more" */
static void add_act(struct page *p, const struct group *g, size_t at)
{
	const json_t *f = g->first[at].finding;
	size_t count = 0, shown = 0;

	buf_addf(p->b, "     %s: ", *text_outcome(f) ? text_outcome(f) : "found");
	text_add_action(p, f, false);
	buf_addf(p->b, "  [");
	text_add(p, text_of(f, "kind"));
	buf_addf(p->b, "]: ");
	for (size_t i = at; i < g->count; i++) {
		if (!same_act(f, g->first[i].finding) || ++count > NAMES_SHOWN)
			continue;
		buf_addf(p->b, "%s", shown++ ? ", " : "");
		text_add_path(p, name_of(&g->first[i]));
	}
	if (count > shown)
		buf_addf(p->b, " and %zu more", count - shown);
	buf_addf(p->b, "\n");
}

/* The actor is named when it is not that of the group before. */
static void add_group(struct page *p, const struct group *g, const json_t **told)
{
	cleanup_free char *dir = strndup(g->first->path, g->first->dir_len);
	const json_t *actor = json_object_get(g->first->finding, "actor");
	size_t acts = 0;
	bool others = false;

	buf_addf(p->b, "   ");
	text_add_count(p, g->count, "finding");
	buf_addf(p->b, " %s ", g->first->dir_len ? "in" : "without a path");
	text_add_path(p, dir ? dir : "");
	buf_addf(p->b, "\n");
	for (size_t i = 0; i < g->count; i++) {
		others |= !json_equal(json_object_get(g->first[i].finding, "actor"), actor);
		if (acts > ACTS_SHOWN || is_told(g, i))
			continue;
		if (acts++ < ACTS_SHOWN)
			add_act(p, g, i);
		else
			buf_addf(p->b, "     and other operations\n");
	}
	if (!others && *told && json_equal(actor, *told))
		return;
	buf_addf(p->b, "     by ");
	text_add_actor(p, g->first->finding);
	buf_addf(p->b, others ? " and others\n" : "\n");
	*told = others ? NULL : actor;
}

/* Bytes of the directory that the items have in common: those of the first and the last,
 * since they are sorted, cut to whole components. */
static size_t common_dir(const struct item *items, size_t count)
{
	const struct item *first = &items[0], *last = &items[count - 1];
	size_t len = 0, whole = 0;

	for (; len < first->dir_len && len < last->dir_len; len++) {
		if (first->path[len] != last->path[len])
			return whole;
		if (first->path[len] == '/')
			whole = len ? len : 1;
	}
	if (len == first->dir_len && (len == last->dir_len || last->path[len] == '/'))
		return len;
	return len == last->dir_len && first->path[len] == '/' ? len : whole;
}

static void add_rest(struct page *p, const struct group *groups, size_t count)
{
	uint64_t findings = 0;

	for (size_t i = 0; i < count; i++)
		findings += groups[i].count;
	buf_addf(p->b, "   and ");
	text_add_count(p, findings, "more finding");
	buf_addf(p->b, " in ");
	text_add_count(p, count, "more directory");
	buf_addf(p->b, "\n");
}

static size_t make_groups(const struct item *items, size_t count, struct group *groups)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (i == 0 || compare_dirs(&items[i - 1], &items[i]) != 0)
			groups[n++] = (struct group){ .first = &items[i] };
		groups[n - 1].count++;
	}
	qsort(groups, n, sizeof(*groups), by_count);
	return n;
}

static bool is_grave(const json_t *f)
{
	return names_find_severity(text_of(f, "severity")) > SEVERITY_ERROR;
}

/* All that are not shown alone. */
static size_t collect(const json_t *list, struct item *items)
{
	size_t count = 0, grave = 0, i;
	const json_t *f;

	json_array_foreach (list, i, f) {
		struct item item = { .finding = f, .index = i };

		item.path = text_of(json_object_get(f, "object"), "path");
		item.dir_len = dir_len_of(item.path);
		if (text_is_notice(f) || (is_grave(f) && grave++ < GRAVE_SHOWN))
			continue;
		items[count++] = item;
	}
	return count;
}

static unsigned int add_grave(struct page *p, const json_t *list)
{
	unsigned int count = 0;
	const json_t *f;
	size_t i;

	json_array_foreach (list, i, f)
		if (!text_is_notice(f) && is_grave(f) && count < GRAVE_SHOWN)
			report_add_short(p, f, ++count);
	return count;
}

static void add_groups(struct page *p, struct item *items, size_t count, struct group *groups)
{
	const json_t *told = NULL;
	size_t n;

	qsort(items, count, sizeof(*items), by_dir);
	n = make_groups(items, count, groups);
	buf_addf(p->b, "   ");
	text_add_count(p, count, "finding");
	buf_addf(p->b, " in ");
	text_add_count(p, n, "directory");
	if (n > 1 && common_dir(items, count) > 0) {
		cleanup_free char *common = strndup(items[0].path, common_dir(items, count));

		buf_addf(p->b, ", all below ");
		text_add_path(p, common ? common : "");
	}
	buf_addf(p->b, "\n");
	for (size_t i = 0; i < n && i < GROUPS_SHOWN; i++)
		add_group(p, &groups[i], &told);
	if (n > GROUPS_SHOWN)
		add_rest(p, groups + GROUPS_SHOWN, n - GROUPS_SHOWN);
}

void report_add_groups(struct page *p, const json_t *list)
{
	size_t total = json_array_size(list), count;
	cleanup_free struct item *items = calloc(total + 1, sizeof(*items));
	cleanup_free struct group *groups = calloc(total + 1, sizeof(*groups));

	if (!items || !groups) {
		p->b->failed = true;
		return;
	}
	buf_addf(p->b, "\n");
	if (add_grave(p, list) > 0)
		buf_addf(p->b, "\n");
	count = collect(list, items);
	if (count > 0)
		add_groups(p, items, count, groups);
}
