/* SPDX-License-Identifier: MIT */
#include "writeback/content.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/digest.h"
#include "writeback/gitmodules.h"
#include "writeback/names.h"

static bool is_named(const char *path, const char *want)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return name_is_like(name, strlen(name), want);
}

bool content_matters(const char *path)
{
	return is_named(path, ".gitattributes") || is_named(path, ".gitmodules");
}

static bool is_one_of(const char *word, size_t len, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == len && strncasecmp(word, *list, len) == 0)
			return true;
	return false;
}

/* Drivers that git has built in: they run nothing. Source: userdiff.c, merge-ll.c. */
static bool is_builtin(bool diff, const char *value, size_t len)
{
	static const char *const diffs[] = { "ada",	"bash", "bibtex", "cpp",     "csharp",
					     "css",	"dts",	"elixir", "fortran", "fountain",
					     "golang",	"html", "java",	  "kotlin",  "markdown",
					     "matlab",	"objc", "pascal", "perl",    "php",
					     "python",	"ruby", "rust",	  "scheme",  "tex",
					     "default", NULL };
	static const char *const merges[] = { "text", "binary", "union", NULL };

	return is_one_of(value, len, diff ? diffs : merges);
}

/* One attribute of a line. Returns: its kind, HAZARD_COUNT for a harmless one. */
static enum hazard_kind judge_attribute(const char *word, size_t len)
{
	static const char *const drivers[] = { "diff", "merge", NULL };
	static const char *const rewriters[] = { "ident",	 "working-tree-encoding",
						 "export-subst", "export-ignore",
						 "encoding",	 NULL };
	const char *equals = memchr(word, '=', len);
	size_t name_len = equals ? (size_t)(equals - word) : len;

	if (len > 0 && (word[0] == '-' || word[0] == '!'))
		return HAZARD_COUNT; /* only taken away */
	if (name_len == 6 && strncasecmp(word, "filter", 6) == 0)
		return HAZARD_FILTER;
	if (equals && is_one_of(word, name_len, drivers))
		return is_builtin(name_len == 4, equals + 1, len - name_len - 1) ? HAZARD_COUNT
										 : HAZARD_FILTER;
	return is_one_of(word, name_len, rewriters) ? HAZARD_ATTRIBUTES : HAZARD_COUNT;
}

/* The pattern may be quoted, and hold blanks then. */
static size_t skip_pattern(const char *line, size_t len)
{
	size_t i = 0;

	if (len == 0 || line[0] != '"') {
		while (i < len && !isspace((unsigned char)line[i]))
			i++;
		return i;
	}
	for (i = 1; i < len && line[i] != '"'; i++)
		i += line[i] == '\\';
	return i < len ? i + 1 : len;
}

/* What was found of one class, as one finding of the file. */
struct first {
	enum hazard_kind kind;
	unsigned long line;
	uint64_t times;
	char what[80];
};

static void note(struct first *firsts, enum hazard_kind kind, unsigned long line, const char *word,
		 size_t len)
{
	struct first *f = &firsts[kind == HAZARD_ATTRIBUTES];

	if (f->times++ > 0)
		return;
	f->kind = kind;
	f->line = line;
	snprintf(f->what, sizeof(f->what), "%.*s", (int)len, word);
}

static void inspect_line(struct first *firsts, unsigned long number, const char *line, size_t len)
{
	size_t i = 0;

	while (i < len && isspace((unsigned char)line[i]))
		i++;
	if (i == len || line[i] == '#')
		return;
	i += skip_pattern(line + i, len - i);
	while (i < len) {
		size_t start;
		enum hazard_kind kind;

		while (i < len && isspace((unsigned char)line[i]))
			i++;
		start = i;
		while (i < len && !isspace((unsigned char)line[i]))
			i++;
		kind = judge_attribute(line + start, i - start);
		if (kind != HAZARD_COUNT)
			note(firsts, kind, number, line + start, i - start);
	}
}

static int add_first(struct hazards *h, const char *path, const struct first *f, const char *data,
		     size_t len)
{
	unsigned char sha256[DIGEST_SIZE];
	char place[32];

	if (f->times == 0)
		return 0;
	if (digest_bytes(data, len, sha256) < 0)
		return -ENOMEM;
	snprintf(place, sizeof(place), "%lu:1", f->line);
	return hazards_note(h, f->kind, path,
			    &(struct hazard_note){ .place = place,
						   .detail = f->what,
						   .subject = sha256,
						   .subject_len = sizeof(sha256),
						   .times = f->times });
}

static int inspect_attributes(struct hazards *h, const char *path, const char *data, size_t len)
{
	struct first firsts[2] = { { 0 } };
	unsigned long number = 1;
	int err;

	if (len > 0 && memchr(data, '\0', len))
		note(firsts, HAZARD_FILTER, 1, "a NUL byte", 10);
	for (size_t at = 0; at < len; number++) {
		const char *end = memchr(data + at, '\n', len - at);
		size_t n = end ? (size_t)(end - data) - at : len - at;

		inspect_line(firsts, number, data + at, n);
		at += n + 1;
	}
	err = add_first(h, path, &firsts[0], data, len);
	return err < 0 ? err : add_first(h, path, &firsts[1], data, len);
}

static int inspect_modules(struct hazards *h, const char *path, const char *data, size_t len)
{
	struct first f = { .kind = HAZARD_MODULES };
	struct gitmodules_fault fault;

	if (gitmodules_check(data, len, &fault) == 0)
		return 0;
	f.line = fault.line;
	f.times = 1;
	snprintf(f.what, sizeof(f.what), "%s", fault.why);
	return add_first(h, path, &f, data, len);
}

int content_inspect(struct hazards *h, const char *path, const char *data, size_t len)
{
	if (is_named(path, ".gitmodules"))
		return inspect_modules(h, path, data, len);
	return inspect_attributes(h, path, data, len);
}
