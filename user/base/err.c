/* SPDX-License-Identifier: MIT */
#define WEIR_ERR_ITSELF
#include "user/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "user/base/escape.h"

__attribute__((format(printf, 4, 0))) static void set(struct weir_err *e, int err, const char *code,
						      const char *fmt, va_list args)
{
	char raw[sizeof(e->text)];

	if (!e)
		return;
	vsnprintf(raw, sizeof(raw), fmt, args);
	e->err = err;
	snprintf(e->code, sizeof(e->code), "%s", code);
	escape_text(raw, strlen(raw), e->text, sizeof(e->text));
}

int err_set(struct weir_err *e, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	set(e, err, "", fmt, args);
	va_end(args);
	return err;
}

int err_code(struct weir_err *e, int err, const char *code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	set(e, err, code, fmt, args);
	va_end(args);
	return err;
}

int err_errno(struct weir_err *e, int err, const char *fmt, ...)
{
	va_list args;
	size_t len;

	va_start(args, fmt);
	set(e, err, "", fmt, args);
	va_end(args);
	if (e) {
		const char *why = strerror(-err);
		const size_t room = sizeof(e->text) - strlen(why) - sizeof("...: ");

		/* a path may fill the text; the reason must not be lost for it */
		len = strlen(e->text);
		if (len > room) {
			for (len = room; len > 0 && (e->text[len] & 0xc0) == 0x80;)
				len--;
			memcpy(e->text + len, "...", 3);
			len += 3;
		}
		snprintf(e->text + len, sizeof(e->text) - len, ": %s", why);
	}
	return err;
}

int err_wrap(struct weir_err *e, const char *fmt, ...)
{
	char raw[sizeof(e->text)], old[sizeof(e->text)];
	va_list args;
	size_t len;

	if (!e)
		return -1;
	va_start(args, fmt);
	vsnprintf(raw, sizeof(raw), fmt, args);
	va_end(args);
	memcpy(old, e->text, sizeof(old));
	escape_text(raw, strlen(raw), e->text, sizeof(e->text));
	len = strlen(e->text);
	snprintf(e->text + len, sizeof(e->text) - len, ": %s", old);
	return e->err;
}
