/* SPDX-License-Identifier: MIT */
#include "user/base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"

#define DEFAULT_MAX ((size_t)1 << 30)

void buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ .max = b->max };
}

static int reserve(struct buf *b, size_t more)
{
	size_t max = b->max ? b->max : DEFAULT_MAX;
	size_t cap = b->cap ? b->cap : 256;
	char *data;

	if (b->failed)
		return -ENOMEM;
	if (more > max || b->len > max - more) {
		b->failed = true;
		return -EFBIG;
	}
	while (cap < b->len + more + 1)
		cap *= 2;
	if (cap == b->cap)
		return 0;
	data = realloc(b->data, cap);
	if (!data) {
		b->failed = true;
		return -ENOMEM;
	}
	b->data = data;
	b->cap = cap;
	return 0;
}

int buf_add(struct buf *b, const void *data, size_t len)
{
	int err = reserve(b, len);

	if (err < 0)
		return err;
	if (len > 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
	return 0;
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	if (len < 0) {
		text = NULL;
		b->failed = true;
		return -ENOMEM;
	}
	return buf_add(b, text, (size_t)len);
}

int buf_add_escaped(struct buf *b, const char *data, size_t len)
{
	int err = reserve(b, 4 * len);

	if (err < 0)
		return err;
	b->len += escape_bytes(data, len, b->data + b->len, b->cap - b->len);
	return 0;
}

int buf_add_u32be(struct buf *b, uint32_t v)
{
	unsigned char raw[4] = { (unsigned char)(v >> 24), (unsigned char)(v >> 16),
				 (unsigned char)(v >> 8), (unsigned char)v };

	return buf_add(b, raw, sizeof(raw));
}

int buf_add_u64be(struct buf *b, uint64_t v)
{
	int err = buf_add_u32be(b, (uint32_t)(v >> 32));

	return err < 0 ? err : buf_add_u32be(b, (uint32_t)v);
}

const char *buf_str(const struct buf *b)
{
	return b->data ? b->data : "";
}
