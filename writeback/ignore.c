/* SPDX-License-Identifier: MIT */
#include "writeback/ignore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"

struct rule {
	char *dir; /* where the file stands, "" or "src/" */
	char *pattern;
	bool negated;
	bool dir_only;
	bool anchored; /* matched against the path below dir, not the last component */
};

struct ignore {
	struct rule *rules; /* by depth of their files, then line: the last match decides */
	size_t count;
};

struct ignore *ignore_new(void)
{
	return calloc(1, sizeof(struct ignore));
}

void ignore_free(struct ignore *i)
{
	if (!i)
		return;
	for (size_t k = 0; k < i->count; k++) {
		free(i->rules[k].dir);
		free(i->rules[k].pattern);
	}
	free(i->rules);
	free(i);
}

/* Blanks at the end do not count unless a backslash quotes them. */
static size_t trim(const char *line, size_t len)
{
	if (len > 0 && line[len - 1] == '\r')
		len--;
	while (len > 0 && line[len - 1] == ' ') {
		size_t slashes = 0;

		while (slashes + 1 < len && line[len - 2 - slashes] == '\\')
			slashes++;
		if (slashes % 2 == 1)
			break;
		len--;
	}
	return len;
}

static int add_line(struct ignore *i, const char *dir, const char *line, size_t len)
{
	struct rule rule = { 0 };
	struct rule *rules;

	len = trim(line, len);
	if (len == 0 || line[0] == '#')
		return 0;
	if (line[0] == '!') {
		rule.negated = true;
		line++;
		len--;
	}
	if (len > 0 && line[len - 1] == '/') {
		rule.dir_only = true;
		len--;
	}
	rule.anchored = memchr(line, '/', len) != NULL;
	if (len > 0 && line[0] == '/') {
		line++;
		len--;
	}
	if (len == 0)
		return 0;
	rules = reallocarray(i->rules, i->count + 1, sizeof(*rules));
	if (!rules)
		return -ENOMEM;
	i->rules = rules;
	rule.pattern = strndup(line, len);
	rule.dir = strdup(dir);
	if (!rule.pattern || !rule.dir) {
		free(rule.pattern);
		free(rule.dir);
		return -ENOMEM;
	}
	rules[i->count++] = rule;
	return 0;
}

int ignore_add(struct ignore *i, const char *dir, const char *text, size_t len)
{
	cleanup_free char *prefix = NULL;
	const char *end = text + len;
	int err = 0;

	if (asprintf(&prefix, "%s%s", dir, dir[0] ? "/" : "") < 0) {
		prefix = NULL;
		return -ENOMEM;
	}
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3;
	while (err == 0 && text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t line = newline ? (size_t)(newline - text) : (size_t)(end - text);

		err = add_line(i, prefix, text, line);
		text += line + 1;
	}
	return err;
}

static unsigned int depth_of(const char *dir)
{
	unsigned int depth = 0;

	for (; *dir; dir++)
		depth += *dir == '/';
	return depth;
}

/* Deeper files decide over shallower ones; within a file, later lines. */
static void sort_rules(struct ignore *i)
{
	/* insertion sort: stable, and files come in path order, nearly sorted */
	for (size_t k = 1; k < i->count; k++) {
		struct rule rule = i->rules[k];
		unsigned int depth = depth_of(rule.dir);
		size_t at = k;

		for (; at > 0 && depth_of(i->rules[at - 1].dir) > depth; at--)
			i->rules[at] = i->rules[at - 1];
		i->rules[at] = rule;
	}
}

int ignore_load(const struct repo *r, const struct base *b, struct ignore **ret_ignore,
		struct weir_err *e)
{
	cleanup_ignore struct ignore *ignore = ignore_new();

	if (!ignore)
		return err_errno(e, -ENOMEM, "reading ignore rules");
	for (size_t i = 0; i < b->count; i++) {
		const struct base_entry *entry = &b->entries[i];
		const char *slash = strrchr(entry->path, '/');
		const char *name = slash ? slash + 1 : entry->path;
		cleanup_buf struct buf text = { 0 };
		cleanup_free char *dir = NULL;
		int err;

		if (strcmp(name, ".gitignore") != 0 ||
		    (entry->mode != GIT_MODE_FILE && entry->mode != GIT_MODE_EXEC))
			continue;
		dir = strndup(entry->path, slash ? (size_t)(slash - entry->path) : 0);
		err = repo_read_object(r, &entry->oid, GIT_OBJECT_BLOB, IGNORE_FILE_MAX, &text, e);
		if (err < 0)
			return err;
		if (!dir || ignore_add(ignore, dir, buf_str(&text), text.len) < 0)
			return err_errno(e, -ENOMEM, "reading ignore rules");
	}
	sort_rules(ignore);
	*ret_ignore = TAKE_PTR(ignore);
	return 0;
}

static bool rule_matches(const struct rule *rule, const char *path, bool is_dir)
{
	size_t prefix = strlen(rule->dir);
	const char *slash;

	if (strncmp(path, rule->dir, prefix) != 0 || (rule->dir_only && !is_dir))
		return false;
	path += prefix;
	if (rule->anchored)
		return ignore_wildmatch(rule->pattern, path, true);
	slash = strrchr(path, '/');
	return ignore_wildmatch(rule->pattern, slash ? slash + 1 : path, false);
}

static bool excluded(const struct ignore *i, const char *path, bool is_dir)
{
	for (size_t k = i->count; k > 0; k--)
		if (rule_matches(&i->rules[k - 1], path, is_dir))
			return !i->rules[k - 1].negated;
	return false;
}

bool ignore_match(const struct ignore *i, const char *path)
{
	cleanup_free char *copy = strdup(path);

	if (!copy)
		return false;
	for (char *at = strchr(copy, '/'); at; at = strchr(at + 1, '/')) {
		bool out;

		*at = '\0';
		out = excluded(i, copy, true);
		*at = '/';
		/* nothing below an excluded directory can be taken in again */
		if (out)
			return true;
	}
	return excluded(i, copy, false);
}
