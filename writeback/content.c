/* SPDX-License-Identifier: MIT */
#include "writeback/content.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
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

/* An attribute of this name that is set to a value, or simply set ("ident"). */
static bool sets_attribute(const char *line, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = line; (at = strstr(at, name)); at += len) {
		bool starts = at > line && isspace((unsigned char)at[-1]);

		if (starts &&
		    (at[len] == '=' || at[len] == '\0' || isspace((unsigned char)at[len])))
			return true;
	}
	return false;
}

static bool attributes_are_bad(char *text)
{
	static const char *const names[] = { "filter", "diff", "merge" };
	char *at = NULL;

	for (char *line = strtok_r(text, "\n", &at); line; line = strtok_r(NULL, "\n", &at)) {
		if (line[strspn(line, " \t")] == '#')
			continue;
		/* "diff" and "merge" alone are switches; with a value they name a driver */
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			char with[16];

			snprintf(with, sizeof(with), "%s=", names[i]);
			if (strstr(line, with) || (i == 0 && sets_attribute(line, names[i])))
				return true;
		}
	}
	return false;
}

static bool has_dotdot(const char *text)
{
	for (const char *at = text; (at = strstr(at, "..")); at += 2) {
		char before = at > text ? at[-1] : '\0';

		if (!isalnum((unsigned char)before) && before != '.' &&
		    !isalnum((unsigned char)at[2]) && at[2] != '.')
			return true;
	}
	return false;
}

static bool modules_are_bad(const char *text, size_t len)
{
	static const char *const words[] = { "ext::", "file:", "update", "\\n", "%0a", "%0d" };

	for (size_t i = 0; i < len; i++)
		if (((unsigned char)text[i] < 0x20 && text[i] != '\n' && text[i] != '\t') ||
		    text[i] == 0x7f)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasestr(text, words[i]))
			return true;
	return has_dotdot(text) || strstr(text, "= -") || strstr(text, "=-");
}

int content_inspect(struct hazards *h, const char *path, const char *data, size_t len)
{
	cleanup_free char *text = malloc(len + 1);
	bool nul = len > 0 && memchr(data, '\0', len) != NULL;

	if (!text)
		return -ENOMEM;
	if (len > 0)
		memcpy(text, data, len);
	text[len] = '\0';
	if (is_named(path, ".gitmodules") && (nul || modules_are_bad(text, len)))
		return hazards_add(h, HAZARD_MODULES, path);
	if (is_named(path, ".gitattributes") && (nul || attributes_are_bad(text)))
		return hazards_add(h, HAZARD_FILTER, path);
	return 0;
}
