/* SPDX-License-Identifier: MIT */
#include "user/report/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"

/* Of a longer path the summary shows so many bytes at each end; JSON has all of it. */
#define PATH_END 400u

const char *text_of(const json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));

	return s ? s : "";
}

uint64_t text_number(const json_t *o, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(o, name));

	return n < 0 ? 0 : (uint64_t)n;
}

static void add_bytes(struct page *p, const char *s, size_t len)
{
	cleanup_free char *safe = malloc(4 * len + 1);

	if (safe)
		buf_add(p->b, safe, escape_text(s, len, safe, 4 * len + 1));
	else
		p->b->failed = true;
}

void text_add(struct page *p, const char *s)
{
	add_bytes(p, s, strlen(s));
}

/* Length of one visible unit of an escaped text: an escape or a character. */
static size_t unit_len(const char *s, size_t len)
{
	size_t n;

	if (len >= 4 && s[0] == '\\' && s[1] == 'x')
		return 4;
	if (len >= 2 && s[0] == '\\')
		return 2;
	n = escape_utf8_len((const unsigned char *)s, len);
	return n ? n : 1;
}

void text_add_path(struct page *p, const char *s)
{
	size_t len = strlen(s), head = 0, tail;

	if (len <= 2 * PATH_END + 40) {
		add_bytes(p, s, len);
		return;
	}
	while (head < PATH_END)
		head += unit_len(s + head, len - head);
	for (tail = head; tail < len - PATH_END;)
		tail += unit_len(s + tail, len - tail);
	add_bytes(p, s, head);
	buf_addf(p->b, "[... %zu bytes ...]", tail - head);
	add_bytes(p, s + tail, len - tail);
}

void text_add_tone(struct page *p, enum tone tone, const char *s)
{
	/* select graphic rendition; source: ECMA-48, 8.3.117 */
	static const char *const codes[] = {
		[TONE_GOOD] = "\033[1;32m",
		[TONE_BAD] = "\033[1;31m",
		[TONE_DOUBT] = "\033[1;33m",
		[TONE_STRONG] = "\033[1m",
	};

	if (p->color)
		buf_addf(p->b, "%s", codes[tone]);
	text_add(p, s);
	if (p->color)
		buf_addf(p->b, "\033[0m");
}

void text_add_lines(struct page *p, const char *indent, const char *s)
{
	while (*s) {
		size_t len = strcspn(s, "\n");

		buf_addf(p->b, "%s", indent);
		add_bytes(p, s, len);
		buf_addf(p->b, "\n");
		s += len + (s[len] == '\n');
	}
}

static void add_number(struct page *p, uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < len; i++)
		buf_addf(p->b, "%s%c", i > 0 && (len - i) % 3 == 0 ? "," : "", digits[i]);
}

void text_add_count(struct page *p, uint64_t n, const char *noun)
{
	size_t len = strlen(noun);

	add_number(p, n);
	if (n == 1)
		buf_addf(p->b, " %s", noun);
	else if (len > 1 && noun[len - 1] == 'y')
		buf_addf(p->b, " %.*sies", (int)len - 1, noun);
	else
		buf_addf(p->b, " %s%s", noun, len > 1 && noun[len - 1] == 's' ? "es" : "s");
}

void text_add_duration(struct page *p, uint64_t ms)
{
	if (ms < 1000)
		buf_addf(p->b, "%" PRIu64 " ms", ms);
	else if (ms < 60000)
		buf_addf(p->b, "%" PRIu64 ".%" PRIu64 " s", ms / 1000, ms / 100 % 10);
	else if (ms < 3600000)
		buf_addf(p->b, "%" PRIu64 " min %" PRIu64 " s", ms / 60000, ms / 1000 % 60);
	else
		buf_addf(p->b, "%" PRIu64 " h %" PRIu64 " min", ms / 3600000, ms / 60000 % 60);
}

static bool is_plain(const char *s, const char *more)
{
	if (!*s)
		return false;
	for (; *s; s++) {
		bool alnum = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
			     (*s >= '0' && *s <= '9');

		if (!alnum && !strchr("._+-@", *s) && !strchr(more, *s))
			return false;
	}
	return true;
}

/* A word that can't be taken for more than one, or for less. */
static void add_word(struct page *p, const char *s, size_t len, const char *more)
{
	char quote = memchr(s, '\'', len) ? '"' : '\'';

	if (len == strlen(s) && is_plain(s, more)) {
		add_bytes(p, s, len);
		return;
	}
	buf_addf(p->b, "%c", quote);
	while (len > 0) {
		const char *at = memchr(s, quote, len);
		size_t n = at ? (size_t)(at - s) : len;

		add_bytes(p, s, n);
		if (at) {
			buf_addf(p->b, "\\x%02x", (unsigned int)quote);
			n++;
		}
		s += n;
		len -= n;
	}
	buf_addf(p->b, "%c", quote);
}

void text_add_command(struct page *p, const json_t *args, size_t max)
{
	size_t used = 0, i;
	const json_t *arg;

	json_array_foreach (args, i, arg) {
		const char *s = json_is_string(arg) ? json_string_value(arg) : "";
		size_t len = strlen(s), cut = 0;

		buf_addf(p->b, "%s", i > 0 ? " " : "");
		if (used + len > max) {
			while (used + cut < max)
				cut += unit_len(s + cut, len - cut);
			if (cut > 0)
				add_word(p, s, cut, "");
			buf_addf(p->b, "...");
			return;
		}
		add_word(p, s, len, "/:=,%~");
		used += len + 1;
	}
}

/* A chain shows its first two processes and its last four. */
#define CHAIN_FIRST 2u
#define CHAIN_LAST 4u

static void add_process(struct page *p, const json_t *process)
{
	const char *exe = text_of(process, "exe");
	const char *slash = strrchr(exe, '/');
	const char *name = slash && slash[1] ? slash + 1 : exe;

	if (*name)
		add_word(p, name, strlen(name), "");
	else
		buf_addf(p->b, "?");
	buf_addf(p->b, "(%" PRIu64 ")", text_number(process, "pid"));
}

void text_add_actor(struct page *p, const json_t *f)
{
	const json_t *actor = json_object_get(f, "actor");
	const json_t *ancestors = json_object_get(actor, "ancestors");
	size_t count = json_array_size(ancestors) + 1;
	bool gap = false;

	if (!json_is_object(actor)) {
		buf_addf(p->b, "weir's own check");
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const json_t *process =
			i + 1 == count ? actor : json_array_get(ancestors, count - 2 - i);

		if (count > CHAIN_FIRST + CHAIN_LAST + 1 && i >= CHAIN_FIRST &&
		    i + CHAIN_LAST < count) {
			gap = true;
			continue;
		}
		if (i > 0)
			buf_addf(p->b, gap ? " > ... > " : " > ");
		gap = text_number(process, "elided") > 0;
		add_process(p, process);
	}
	if (text_has_flag(f, "outsider"))
		buf_addf(p->b, ", which is no part of the run");
}

bool text_has_flag(const json_t *f, const char *name)
{
	const json_t *flag;
	size_t i;

	json_array_foreach (json_object_get(f, "flags"), i, flag)
		if (json_is_string(flag) && strcmp(json_string_value(flag), name) == 0)
			return true;
	return false;
}
