/* SPDX-License-Identifier: MIT */
#include "user/base/glob.h"

#include <errno.h>
#include <string.h>

#include "user/base/escape.h"

/* Length of the pattern's unit at p: one character, a set, or an escape. */
static size_t unit_len(const char *p, size_t len)
{
	size_t i = 1, n;

	if (len == 0)
		return 0;
	if (p[0] == '\\')
		return len > 1 ? 1 + unit_len(p + 1, 1) : 1;
	if (p[0] == '[') {
		if (i < len && (p[i] == '!' || p[i] == '^'))
			i++;
		if (i < len && p[i] == ']')
			i++;
		while (i < len && p[i] != ']')
			i++;
		return i < len ? i + 1 : len;
	}
	n = escape_utf8_len((const unsigned char *)p, len);
	return n ? n : 1;
}

static bool set_matches(const char *set, size_t len, unsigned char c)
{
	bool negate = set[1] == '!' || set[1] == '^', found = false;
	size_t i = negate ? 2 : 1, first = i;

	for (; i + 1 < len; i++) {
		unsigned char lo = (unsigned char)set[i], hi = lo;

		if (lo == ']' && i > first)
			break;
		if (i + 3 < len && set[i + 1] == '-') {
			hi = (unsigned char)set[i + 2];
			i += 2;
		}
		if (c < 0x80 && c >= lo && c <= hi)
			found = true;
	}
	return found != negate;
}

/* Does the unit at p match the text's character at s? Gives the length of both. */
static bool unit_matches(const char *p, size_t p_len, const char *s, size_t s_len, size_t *ret_p,
			 size_t *ret_s)
{
	size_t n = escape_utf8_len((const unsigned char *)s, s_len);

	*ret_p = unit_len(p, p_len);
	*ret_s = n ? n : 1;
	if (p[0] == '?')
		return true;
	if (p[0] == '[')
		return set_matches(p, *ret_p, (unsigned char)s[0]);
	if (p[0] == '\\' && p_len > 1) {
		*ret_s = 1;
		return p[1] == s[0];
	}
	return *ret_p == *ret_s && memcmp(p, s, *ret_p) == 0;
}

/* One component against one. A failed tail makes the last star take one byte more. */
static bool component_matches(const char *p, size_t p_len, const char *s, size_t s_len)
{
	size_t pi = 0, si = 0, star = (size_t)-1, star_s = 0;

	while (si < s_len) {
		size_t pn, sn;

		if (pi < p_len && p[pi] == '*') {
			star = pi++;
			star_s = si;
		} else if (pi < p_len &&
			   unit_matches(p + pi, p_len - pi, s + si, s_len - si, &pn, &sn)) {
			pi += pn;
			si += sn;
		} else if (star != (size_t)-1) {
			sn = escape_utf8_len((const unsigned char *)s + star_s, s_len - star_s);
			star_s += sn ? sn : 1;
			si = star_s;
			pi = star + 1;
		} else {
			return false;
		}
	}
	while (pi < p_len && p[pi] == '*')
		pi++;
	return pi == p_len;
}

static size_t component_len(const char *at, size_t len)
{
	const char *slash = memchr(at, '/', len);

	return slash ? (size_t)(slash - at) : len;
}

static bool is_any(const char *p, size_t len)
{
	return len == 2 && memcmp(p, "**", 2) == 0;
}

bool glob_match(const char *pattern, const char *path, size_t len)
{
	size_t p_len = strlen(pattern), pi = 0, si = 0, any = (size_t)-1, any_s = 0;

	if (p_len == 0 || p_len > GLOB_MAX || len == 0)
		return false;
	/* the same step as above, a level higher: components for characters, ** for * */
	while (si <= len) {
		bool more = pi <= p_len;
		size_t pn = more ? component_len(pattern + pi, p_len - pi) : 0;
		size_t sn = component_len(path + si, len - si);

		if (more && pi + pn == p_len && (pn == 0 || is_any(pattern + pi, pn)))
			return true; /* a final ** or slash: at least this component is below */
		if (more && is_any(pattern + pi, pn)) {
			any = pi = pi + pn + 1;
			any_s = si;
		} else if (more && component_matches(pattern + pi, pn, path + si, sn)) {
			pi += pn + 1;
			si += sn + 1;
		} else if (any != (size_t)-1) {
			any_s += component_len(path + any_s, len - any_s) + 1;
			si = any_s;
			pi = any;
		} else {
			return false;
		}
	}
	return pi > p_len;
}

static const char *component_problem(const char *p, size_t len)
{
	if (len == 0)
		return "has an empty component; write one / between names";
	if ((len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.'))
		return "has a . or .. component; write the path from the top of the workspace";
	if (!is_any(p, len) && memmem(p, len, "**", 2))
		return "has ** beside other characters; write ** as a whole component";
	for (size_t i = 0; i < len;) {
		size_t n = unit_len(p + i, len - i);

		if (p[i] == '\\' && n < 2)
			return "ends a component in \\; write \\\\ for the character";
		if (p[i] == '[' && (n < (strchr("!^", p[i + 1]) ? 4 : 3) || p[i + n - 1] != ']'))
			return "has a [ without ]; close it, or write \\[ for the character";
		for (size_t k = 0; p[i] == '[' && k < n; k++)
			if ((unsigned char)p[i + k] >= 0x80)
				return "has a character outside ASCII in [ ]; write ? instead";
		i += n;
	}
	return NULL;
}

int glob_check(const char *pattern, struct weir_err *e)
{
	size_t len = strlen(pattern), at = 0;

	if (len == 0)
		return err_set(e, -EINVAL, "is empty; write ** for all files");
	if (len > GLOB_MAX)
		return err_set(e, -EINVAL, "is longer than %d bytes; shorten it", GLOB_MAX);
	if (pattern[0] == '/')
		return err_set(e, -EINVAL, "begins with /; write it from the top of the workspace");
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)pattern[i] < 0x20 || pattern[i] == 0x7f)
			return err_set(e, -EINVAL, "holds a control character; write ? instead");
	while (at < len) {
		size_t n = component_len(pattern + at, len - at);
		const char *problem = component_problem(pattern + at, n);

		if (problem)
			return err_set(e, -EINVAL, "%s", problem);
		at += n + 1;
	}
	return 0;
}
