/* SPDX-License-Identifier: MIT */
#include "writeback/gitmodules.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/names.h"

struct text {
	const char *at;
	size_t len;
};

static bool begins(struct text t, const char *with)
{
	return t.len >= strlen(with) && strncasecmp(t.at, with, strlen(with)) == 0;
}

static bool equals(struct text t, const char *with)
{
	return t.len == strlen(with) && begins(t, with);
}

static struct text trim(struct text t)
{
	while (t.len > 0 && (t.at[0] == ' ' || t.at[0] == '\t'))
		t = (struct text){ t.at + 1, t.len - 1 };
	while (t.len > 0 && (t.at[t.len - 1] == ' ' || t.at[t.len - 1] == '\t'))
		t.len--;
	return t;
}

/* A relative path of plain components: none empty, ".", ".." or like .git. */
static const char *path_fault(struct text t)
{
	if (t.len == 0 || t.at[0] == '/' || t.at[0] == '-')
		return "a path that is empty, absolute or an option";
	for (size_t i = 0; i <= t.len;) {
		const char *slash = memchr(t.at + i, '/', t.len - i);
		size_t n = slash ? (size_t)(slash - t.at) - i : t.len - i;
		struct text part = { t.at + i, n };

		if (n == 0 || equals(part, ".") || equals(part, ".."))
			return "a path that leaves the tree";
		if (name_is_dotgit(part.at, part.len))
			return "a path into .git";
		i += n + 1;
	}
	return memchr(t.at, '\\', t.len) ? "a path with a backslash" : NULL;
}

static bool has_bad_escape(struct text t)
{
	for (size_t i = 0; i + 2 < t.len; i++)
		if (t.at[i] == '%' && (t.at[i + 1] == '0' || t.at[i + 1] == '1'))
			return true;
	return false;
}

/* user@host:path as scp takes it */
static bool is_scp(struct text t)
{
	const char *colon = memchr(t.at, ':', t.len), *at = memchr(t.at, '@', t.len);

	if (!colon || !at || at > colon || colon[-1] == '@')
		return false;
	for (const char *c = t.at; c < colon; c++)
		if (!isalnum((unsigned char)*c) && !strchr("@._-", *c))
			return false;
	return (size_t)(colon - t.at) + 1 < t.len && colon[1] != ':' && colon[1] != '-';
}

static const char *url_fault(struct text t)
{
	static const char *const schemes[] = { "https://", "ssh://", "git+ssh://" };

	for (size_t i = 0; i < t.len; i++)
		if (isspace((unsigned char)t.at[i]) || t.at[i] == '\\')
			return "a URL with blanks or backslashes";
	if (has_bad_escape(t))
		return "a URL with an escaped control character";
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (begins(t, schemes[i]))
			return t.len > strlen(schemes[i]) && t.at[strlen(schemes[i])] != '-'
				       ? NULL
				       : "a URL whose host is an option";
	return t.at && t.len > 0 && t.at[0] != '-' && is_scp(t)
		       ? NULL
		       : "a URL that is not https, ssh or user@host:path";
}

static const char *value_fault(struct text key, struct text value)
{
	if (value.len >= 2 && value.at[0] == '"' && value.at[value.len - 1] == '"')
		value = (struct text){ value.at + 1, value.len - 2 };
	if (value.len > 0 && (memchr(value.at, '"', value.len) ||
			      memchr(value.at, ';', value.len) || memchr(value.at, '#', value.len)))
		return "quotes or comments inside a value";
	if (equals(key, "path"))
		return path_fault(value);
	if (equals(key, "url"))
		return url_fault(value);
	if (value.len > 0 && memchr(value.at, '\\', value.len))
		return "an escape in a value";
	if (equals(key, "branch"))
		return value.len > 0 && value.at[0] != '-' ? NULL : "a branch that is an option";
	if (equals(key, "shallow") || equals(key, "ignore") ||
	    equals(key, "fetchRecurseSubmodules"))
		return NULL;
	return "a setting that no submodule needs";
}

/* [submodule "NAME"] */
static const char *head_fault(struct text t)
{
	static const char open[] = "[submodule \"";
	struct text name;

	if (!begins(t, open) || t.len < sizeof(open) - 1 + 2 || t.at[t.len - 1] != ']' ||
	    t.at[t.len - 2] != '"')
		return "a section that is no submodule";
	name = (struct text){ t.at + sizeof(open) - 1, t.len - (sizeof(open) - 1) - 2 };
	if (name.len > 0 && memchr(name.at, '"', name.len))
		return "quotes inside a name";
	return path_fault(name) ? "a name that is no plain path" : NULL;
}

static const char *line_fault(struct text t, bool *in_section)
{
	const char *sign;

	for (size_t i = 0; i < t.len; i++)
		if (((unsigned char)t.at[i] < 0x20 && t.at[i] != '\t') || t.at[i] == 0x7f)
			return "a control character";
	t = trim(t);
	if (t.len == 0 || t.at[0] == '#' || t.at[0] == ';')
		return NULL;
	if (t.at[0] == '[') {
		*in_section = true;
		return head_fault(t);
	}
	sign = memchr(t.at, '=', t.len);
	if (!sign || !*in_section)
		return "no KEY = VALUE of a submodule";
	return value_fault(trim((struct text){ t.at, (size_t)(sign - t.at) }),
			   trim((struct text){ sign + 1, t.len - (size_t)(sign - t.at) - 1 }));
}

int gitmodules_check(const char *data, size_t len, struct gitmodules_fault *ret_fault)
{
	bool in_section = false;
	unsigned long line = 1;

	for (size_t at = 0; at < len; line++) {
		const char *end = memchr(data + at, '\n', len - at);
		size_t n = end ? (size_t)(end - data) - at : len - at;
		const char *why = line_fault((struct text){ data + at, n }, &in_section);

		if (why) {
			*ret_fault = (struct gitmodules_fault){ line, why };
			return -EINVAL;
		}
		at += n + 1;
	}
	return 0;
}
