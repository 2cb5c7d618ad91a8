/* SPDX-License-Identifier: MIT */
#include "user/policy/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/escape.h"

int policy_error(const char *file, struct policy_pos pos, struct weir_err *e, const char *fmt, ...)
{
	char text[sizeof(e->text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	err_code(e, -EINVAL, "policy", "%s:%u:%u: %s", policy_quote(file).text, pos.line,
		 pos.column, text);
	if (e)
		e->exit_code = 2;
	return -EINVAL;
}

static int check_character(const char *file, const unsigned char *at, size_t n,
			   struct policy_pos pos, struct weir_err *e)
{
	char safe[32];

	if (n == 0)
		return policy_error(file, pos, e,
				    "byte 0x%02x is no UTF-8; save the policy as UTF-8", at[0]);
	if (n == 1 && (at[0] < 0x20 || at[0] == 0x7f))
		return policy_error(file, pos, e, "control character 0x%02x; remove it", at[0]);
	escape_text((const char *)at, n, safe, sizeof(safe));
	if (strncmp(safe, (const char *)at, n) == 0)
		return 0;
	return policy_error(file, pos, e,
			    "hidden character (%s); remove it, or write it as an escape such as "
			    "\"\\u202e\" inside double quotes",
			    safe);
}

int policy_too_large(const char *file, struct weir_err *e)
{
	policy_error(
		file, (struct policy_pos){ 1, 1 }, e,
		"the policy is larger than %zu bytes; grant directories instead of single files",
		POLICY_TEXT_MAX);
	if (e)
		e->err = -EFBIG;
	return -EFBIG;
}

int policy_check_text(const char *file, const char *bytes, size_t len, struct weir_err *e)
{
	const unsigned char *at = (const unsigned char *)bytes;
	struct policy_pos pos = { 1, 1 };

	if (len > POLICY_TEXT_MAX)
		return policy_too_large(file, e);
	for (size_t i = 0; i < len;) {
		size_t n = escape_utf8_len(at + i, len - i);
		bool crlf = at[i] == '\r' && i + 1 < len && at[i + 1] == '\n';
		bool plain = at[i] >= 0x20 && at[i] < 0x7f;

		if (at[i] == '\n') {
			pos.line++;
			pos.column = 0;
		} else if (!plain && at[i] != '\t' && !crlf) {
			int err = check_character(file, at + i, n, pos, e);

			if (err < 0)
				return err;
		}
		pos.column++;
		i += n;
	}
	return 0;
}

void *policy_grow(void *items, size_t *count, size_t size)
{
	char **base = items;

	/* the capacity is the power of two at or above count, so it need not be kept */
	if ((*count & (*count - 1)) == 0) {
		char *more = reallocarray(*base, *count ? 2 * *count : 1, size);

		if (!more)
			return NULL;
		*base = more;
	}
	memset(*base + *count * size, 0, size);
	return *base + (*count)++ * size;
}
