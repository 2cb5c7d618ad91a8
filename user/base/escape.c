/* SPDX-License-Identifier: MIT */
#include "user/base/escape.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

size_t escape_utf8_len(const unsigned char *in, size_t len)
{
	unsigned char lo = 0x80, hi = 0xbf;
	size_t n;

	if (len == 0)
		return 0;
	if (in[0] < 0x80)
		return 1;
	if (in[0] >= 0xc2 && in[0] <= 0xdf)
		n = 2;
	else if (in[0] >= 0xe0 && in[0] <= 0xef)
		n = 3;
	else if (in[0] >= 0xf0 && in[0] <= 0xf4)
		n = 4;
	else
		return 0;
	if (n > len)
		return 0;
	if (in[0] == 0xe0)
		lo = 0xa0;
	if (in[0] == 0xed)
		hi = 0x9f;
	if (in[0] == 0xf0)
		lo = 0x90;
	if (in[0] == 0xf4)
		hi = 0x8f;
	if (in[1] < lo || in[1] > hi)
		return 0;
	for (size_t i = 2; i < n; i++)
		if (in[i] < 0x80 || in[i] > 0xbf)
			return 0;
	return n;
}

static uint32_t code_point(const unsigned char *in, size_t n)
{
	uint32_t c = n == 1 ? in[0] : in[0] & (0x7fu >> n);

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (in[i] & 0x3f);
	return c;
}

/* Characters that change how a line looks without being seen. */
static bool is_hidden(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x00, 0x1f },	    { 0x7f, 0x9f },	{ 0xad, 0xad },	      { 0x61c, 0x61c },
		{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },   { 0xfe00, 0xfe0f },
		{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe01ef },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

static size_t escape(const char *text, size_t len, char *out, size_t size, bool slash)
{
	const unsigned char *in = (const unsigned char *)text;
	size_t used = 0;

	if (size == 0)
		return 0;
	for (size_t i = 0; i < len;) {
		size_t n = escape_utf8_len(in + i, len - i);
		bool hide = n == 0 || is_hidden(code_point(in + i, n));
		char piece[20];
		size_t plen = 0;

		if (n == 0)
			n = 1;
		if (hide) {
			for (size_t k = 0; k < n; k++)
				plen += (size_t)snprintf(piece + plen, sizeof(piece) - plen,
							 "\\x%02x", in[i + k]);
		} else if (slash && in[i] == '\\') {
			plen = 2;
			memcpy(piece, "\\\\", 2);
		} else {
			plen = n;
			memcpy(piece, in + i, n);
		}
		if (used + plen + 1 > size)
			break;
		memcpy(out + used, piece, plen);
		used += plen;
		i += n;
	}
	out[used] = '\0';
	return used;
}

size_t escape_bytes(const char *in, size_t len, char *out, size_t size)
{
	return escape(in, len, out, size, true);
}

size_t escape_text(const char *in, size_t len, char *out, size_t size)
{
	return escape(in, len, out, size, false);
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

long escape_undo(char *text)
{
	size_t used = 0;

	for (size_t i = 0; text[i];) {
		if (text[i] != '\\') {
			text[used++] = text[i++];
		} else if (text[i + 1] == '\\') {
			text[used++] = '\\';
			i += 2;
		} else if (text[i + 1] == 'x' && hex_value(text[i + 2]) >= 0 &&
			   hex_value(text[i + 3]) >= 0) {
			text[used++] = (char)(hex_value(text[i + 2]) << 4 | hex_value(text[i + 3]));
			i += 4;
		} else {
			return -EINVAL;
		}
	}
	text[used] = '\0';
	return (long)used;
}
