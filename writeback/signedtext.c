/* SPDX-License-Identifier: MIT */
#include "writeback/signedtext.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "writeback/approval.h"

int signed_add(struct buf *b, const char *key, const char *value)
{
	buf_addf(b, "%s ", key);
	if (!value || !value[0])
		buf_add(b, "-", 1);
	else if (strcmp(value, "-") == 0)
		buf_addf(b, "\\x2d"); /* one dash is no empty value */
	else
		buf_add_escaped(b, value, strlen(value));
	return buf_add(b, "\n", 1);
}

int signed_each(const char *text, size_t len, const char *head,
		int (*fn)(const char *key, const char *value, void *arg), void *arg)
{
	cleanup_free char *copy = strndup(text, len);
	size_t head_len = strlen(head);
	char *line;

	if (!copy)
		return -ENOMEM;
	if (strlen(copy) != len || strncmp(copy, head, head_len) != 0 || copy[head_len] != '\n')
		return -EBADMSG;
	line = copy + head_len + 1;
	while (*line) {
		char *end = strchr(line, '\n'), *value = strchr(line, ' ');
		bool empty;
		int err;

		if (!end || !value || value > end)
			return -EBADMSG;
		*end = '\0';
		*value++ = '\0';
		empty = strcmp(value, "-") == 0;
		/* a NUL in a value would hide what follows it */
		if (!empty && escape_undo(value) != (long)strlen(value))
			return -EBADMSG;
		err = fn(line, empty ? NULL : value, arg);
		if (err < 0)
			return err;
		line = end + 1;
	}
	return 0;
}

void signed_time_format(int64_t when, char ret_text[SIGNED_TIME])
{
	time_t t = (time_t)when;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || tm.tm_year > 8099 || tm.tm_year < 70 ||
	    strftime(ret_text, SIGNED_TIME, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		memcpy(ret_text, "-", 2);
}

int signed_time_parse(const char *text, int64_t *ret_when)
{
	char again[SIGNED_TIME];
	struct tm tm = { 0 };
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);

	if (!end || *end)
		return -EINVAL;
	*ret_when = (int64_t)timegm(&tm);
	signed_time_format(*ret_when, again);
	return strcmp(again, text) == 0 ? 0 : -EINVAL;
}

int64_t signed_span_parse(const char *text)
{
	static const struct {
		const char *unit;
		int64_t seconds;
	} units[] = { { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 } };
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (errno == 0 && end != text && n > 0 && n < 1000000 &&
		    strcmp(end, units[i].unit) == 0)
			return n * units[i].seconds;
	return -EINVAL;
}
