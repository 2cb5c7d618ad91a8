/* SPDX-License-Identifier: MIT */
/* Patterns as gitignore(5) describes them; contract in ignore.h. */
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/ignore.h"

/* Steps that one match may take: patterns with many stars are quadratic or worse. */
#define STEPS_MAX 200000

static bool in_class(const char *name, size_t len, unsigned char c)
{
	static const struct {
		const char *name;
		int (*is)(int);
	} classes[] = {
		{ "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank },
		{ "cntrl", iscntrl }, { "digit", isdigit }, { "graph", isgraph },
		{ "lower", islower }, { "print", isprint }, { "punct", ispunct },
		{ "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
	};

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (strlen(classes[i].name) == len && memcmp(classes[i].name, name, len) == 0)
			return c < 0x80 && classes[i].is(c) != 0;
	return false;
}

/* One bracket expression at p ('['). Returns: what follows it, NULL when it is not closed. */
static const char *match_set(const char *p, unsigned char c, bool *ret_match)
{
	bool negated = p[1] == '!' || p[1] == '^';
	bool match = false, first = true;

	for (p += 1 + negated; *p && (*p != ']' || first); first = false) {
		unsigned char low, high;

		if (p[0] == '[' && p[1] == ':') {
			const char *end = strstr(p + 2, ":]");

			if (!end)
				return NULL;
			match |= in_class(p + 2, (size_t)(end - p - 2), c);
			p = end + 2;
			continue;
		}
		if (*p == '\\' && p[1])
			p++;
		low = high = (unsigned char)*p++;
		if (p[0] == '-' && p[1] && p[1] != ']') {
			p++;
			if (*p == '\\' && p[1])
				p++;
			high = (unsigned char)*p++;
		}
		match |= c >= low && c <= high;
	}
	if (*p != ']')
		return NULL;
	*ret_match = match != negated;
	return p + 1;
}

static bool wild(const char *start, const char *p, const char *t, bool pathname,
		 unsigned int *steps);

/* p stands at the first of one or more stars. */
static bool match_stars(const char *start, const char *p, const char *t, bool pathname,
			unsigned int *steps)
{
	const char *after = p + strspn(p, "*");
	bool slashes = !pathname;

	if (pathname && after - p == 2 && (p == start || p[-1] == '/') &&
	    (*after == '/' || *after == '\0')) {
		/* a whole component: also matches no directory at all */
		if (*after == '/' && wild(start, after + 1, t, pathname, steps))
			return true;
		slashes = true;
	}
	for (;; t++) {
		if (wild(start, after, t, pathname, steps))
			return true;
		if (*t == '\0' || (*t == '/' && !slashes))
			return false;
	}
}

static bool wild(const char *start, const char *p, const char *t, bool pathname,
		 unsigned int *steps)
{
	for (; *p; t++) {
		bool match;

		if (++*steps > STEPS_MAX)
			return false;
		if (*p == '*')
			return match_stars(start, p, t, pathname, steps);
		if (*t == '\0')
			return false;
		if (*p == '?') {
			if (pathname && *t == '/')
				return false;
			p++;
		} else if (*p == '[') {
			p = match_set(p, (unsigned char)*t, &match);
			if (!p || !match || (pathname && *t == '/'))
				return false;
		} else {
			if (*p == '\\' && p[1])
				p++;
			if (*p++ != *t)
				return false;
		}
	}
	return *t == '\0';
}

bool ignore_wildmatch(const char *pattern, const char *text, bool pathname)
{
	unsigned int steps = 0;

	return wild(pattern, pattern, text, pathname, &steps);
}
