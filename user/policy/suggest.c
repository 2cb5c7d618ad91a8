/* SPDX-License-Identifier: MIT */
#include "user/policy/suggest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/policy/compile.h"
#include "user/policy/text.h"

/* Files of one directory from which on the directory is proposed. */
#define SIBLINGS 3

struct line {
	char *path;
	uint32_t rights;
	bool dir;   /* a rule for all below */
	bool alone; /* control name, or in a directory too broad to grant */
	bool gone;  /* covered by another line */
};

struct lines {
	struct line *items;
	size_t count;
	const struct policy_env *env;
};

static void lines_done(struct lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->items[i].path);
	free(l->items);
}

static int add_line(struct lines *l, const char *path, size_t len, uint32_t rights, bool dir,
		    bool alone)
{
	struct line *line = policy_grow(&l->items, &l->count, sizeof(*line));

	if (!line || !(line->path = strndup(path, len ? len : 1)))
		return -ENOMEM;
	line->rights = rights;
	line->dir = dir;
	line->alone = alone;
	return 0;
}

static size_t dir_len(const char *path, size_t len)
{
	while (len > 0 && path[len - 1] != '/')
		len--;
	return len > 1 ? len - 1 : len;
}

/* What holds the workspace is as broad: its other contents are nothing that the run is about. */
static bool is_broad(const struct lines *l, const char *path, size_t len)
{
	cleanup_free char *dir = strndup(path, len ? len : 1);
	const char *workspace = l->env->workspace;

	return !dir || policy_path_is_broad(dir, l->env) ||
	       (workspace && policy_path_is_below(workspace, dir));
}

/* Whether a policy can spell the path: UTF-8, no wildcards, nothing like a variable. */
static bool is_writable(const char *path, size_t len)
{
	if (len > POLICY_PATH_MAX || memmem(path, len, "${", 2))
		return false;
	for (size_t i = 0; i < len;) {
		size_t n = escape_utf8_len((const unsigned char *)path + i, len - i);

		if (n == 0 || strchr("*?[", path[i]))
			return false;
		i += n;
	}
	return true;
}

/* Places where all of a system's programs live. */
static const char *system_root(const char *path)
{
	static const char *const roots[] = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64" };

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		if (policy_path_is_below(path, roots[i]))
			return roots[i];
	return NULL;
}

/* Below the workspace or the temporary directory: one rule for all. */
static const char *own_root(const struct lines *l, const char *path)
{
	const char *const roots[] = { l->env->workspace, l->env->tmpdir };

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		if (roots[i] && policy_path_is_below(path, roots[i]))
			return roots[i];
	return NULL;
}

static uint32_t round_up(uint32_t rights)
{
	return rights & (WEIR_RIGHT_WRITE | WEIR_RIGHT_CREATE) ? rights | WEIR_RIGHTS_MUTATE
							       : rights;
}

static int add_want(struct lines *l, const struct policy_want *want)
{
	const uint32_t names = WEIR_RIGHT_CREATE | WEIR_RIGHT_DELETE | WEIR_RIGHT_LINK;
	uint32_t rights = round_up(want->rights);
	const char *root = own_root(l, want->path), *path = want->path;
	size_t len = strlen(path), up = dir_len(path, len);

	if (rights & WEIR_RIGHT_CONTROL) {
		/* a rule on the very path needs no control right */
		rights &= ~(uint32_t)WEIR_RIGHT_CONTROL;
		return add_line(l, path, len, rights ? rights : WEIR_RIGHTS_MUTATE, false, true);
	}
	if (root)
		return add_line(l, root, strlen(root), rights, true, false);
	root = system_root(path);
	if (rights == WEIR_RIGHT_EXEC && root)
		return add_line(l, root, strlen(root), rights, true, false);
	if (!(want->rights & names) && is_writable(path, len))
		return add_line(l, path, len, rights, false, false);
	while (!is_writable(path, up) && up > 1)
		up = dir_len(path, up);
	if (is_broad(l, path, up))
		return add_line(l, path, len, rights, false, true);
	return add_line(l, path, up, rights, true, false);
}

static int by_path(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int order = policy_path_compare(x->path, y->path);

	return order ? order : (int)y->dir - (int)x->dir;
}

static void join_equal(struct lines *l)
{
	size_t kept = 0;

	if (l->count)
		qsort(l->items, l->count, sizeof(l->items[0]), by_path);
	for (size_t i = 0; i < l->count; i++) {
		struct line *last = kept ? &l->items[kept - 1] : NULL;

		if (!last || strcmp(last->path, l->items[i].path) != 0) {
			l->items[kept++] = l->items[i];
			continue;
		}
		last->rights = round_up(last->rights | l->items[i].rights);
		last->dir |= l->items[i].dir;
		last->alone &= l->items[i].alone;
		free(l->items[i].path);
	}
	l->count = kept;
}

/* Several single files of one directory become the directory. They stand together. */
static void join_siblings(struct lines *l)
{
	for (size_t i = 0; i < l->count; i++) {
		struct line *first = &l->items[i];
		size_t up = dir_len(first->path, strlen(first->path)), k = i, found = 0;
		uint32_t rights = 0;

		if (first->dir || first->alone || is_broad(l, first->path, up))
			continue;
		for (; k < l->count && strncmp(l->items[k].path, first->path, up + 1) == 0; k++) {
			struct line *line = &l->items[k];

			if (line->dir || line->alone || line->rights & WEIR_RIGHT_READ ||
			    dir_len(line->path, strlen(line->path)) != up)
				continue;
			found++;
			rights |= line->rights;
		}
		if (found < SIBLINGS)
			continue;
		first->path[up] = '\0';
		first->dir = true;
		first->rights = round_up(rights);
	}
}

/* The workspace and the temporary directory are named in any case. */
static bool is_own_root(const struct lines *l, const char *path)
{
	return (l->env->workspace && strcmp(path, l->env->workspace) == 0) ||
	       (l->env->tmpdir && strcmp(path, l->env->tmpdir) == 0);
}

/* What a directory's line covers needs none of its own. */
static void drop_covered(struct lines *l)
{
	const struct line *dir = NULL;

	for (size_t i = 0; i < l->count; i++) {
		struct line *line = &l->items[i];

		if (dir && !line->alone && !is_own_root(l, line->path) &&
		    policy_path_is_below(line->path, dir->path) && !(line->rights & ~dir->rights))
			line->gone = true;
		else if (line->dir && !line->alone)
			dir = line;
	}
}

static void add_yaml_char(struct buf *b, const char *at, size_t n)
{
	const unsigned char *u = (const unsigned char *)at;
	char safe[32];
	uint32_t c;

	if (n == 1 && (*at == '"' || *at == '\\')) {
		buf_addf(b, "\\%c", *at);
		return;
	}
	escape_text(at, n, safe, sizeof(safe));
	if (strncmp(safe, at, n) == 0) {
		buf_add(b, at, n);
		return;
	}
	c = n == 1 ? u[0] : u[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++)
		c = c << 6 | (u[i] & 0x3f);
	buf_addf(b, c > 0xffff ? "\\U%08x" : "\\u%04x", c);
}

static void add_yaml_path(struct buf *b, const struct lines *l, const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "/._+-";
	const struct {
		const char *root, *name;
	} roots[] = {
		{ l->env->workspace, "${WORKSPACE}" },
		{ l->env->tmpdir, "${TMPDIR}" },
		{ l->env->home, "${HOME}" },
	};
	const char *rest = path, *name = "", *quote;

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		if (!roots[i].root || !policy_path_is_below(path, roots[i].root))
			continue;
		name = roots[i].name;
		rest = path + strlen(roots[i].root);
		break;
	}
	quote = rest[strspn(rest, plain)] ? "\"" : "";
	buf_addf(b, "%s%s", quote, name);
	for (size_t len = strlen(rest), i = 0; i < len;) {
		size_t n = escape_utf8_len((const unsigned char *)rest + i, len - i);

		add_yaml_char(b, rest + i, n ? n : 1);
		i += n ? n : 1;
	}
	buf_addf(b, "%s", quote);
}

static void add_yaml_rule(struct buf *b, const struct lines *l, const struct line *line)
{
	if (!is_writable(line->path, strlen(line->path))) {
		buf_addf(b, "  # ");
		buf_add_escaped(b, line->path, strlen(line->path));
		buf_addf(b, ": a policy can't spell this name; grant its directory\n");
		return;
	}
	if (line->alone)
		buf_addf(b,
			 "  # must exist before the run; consider whether it should be changed\n");
	buf_addf(b, "  - path: ");
	add_yaml_path(b, l, line->path);
	buf_addf(b, "\n    allow: [");
	policy_add_rights(b, line->rights);
	buf_addf(b, "]\n");
}

int policy_suggest(const struct policy_want *wants, size_t count, const struct policy_env *env,
		   struct buf *b)
{
	struct lines l __attribute__((cleanup(lines_done))) = { .env = env };
	bool any = false;

	for (size_t i = 0; i < count; i++)
		if (wants[i].rights && wants[i].path[0] == '/' && add_want(&l, &wants[i]) < 0)
			return -ENOMEM;
	join_equal(&l);
	join_siblings(&l);
	join_equal(&l);
	drop_covered(&l);
	for (size_t i = 0; i < l.count; i++) {
		if (l.items[i].gone)
			continue;
		if (!any)
			buf_addf(b, "files:\n");
		any = true;
		add_yaml_rule(b, &l, &l.items[i]);
	}
	return b->failed ? -ENOMEM : 0;
}
