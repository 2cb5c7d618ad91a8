/* SPDX-License-Identifier: MIT */
/* Folding of names; contract in names.h. */
#include <stdint.h>
#include <string.h>

#include "user/base/escape.h"
#include "writeback/names.h"

/* U+00C0 to U+017F: base letter and combining mark, '-' where there is no such pair. */
#define LATIN_FIRST 0xc0u
#define LATIN_LAST 0x17fu
static const char latin_base[] = "aaaaaa-ceeeeiiii-nooooo--uuuuy--aaaaaa-ceeeeiiii-nooooo--uuuuy-y"
				 "aaaaaaccccccccdd--eeeeeeeeeegggggggghh--iiiiiiiii---jjkk-llllll-"
				 "---nnnnnn---oooooo--rrrrrrsssssssstttt--uuuuuuuuuuuuwwyyyzzzzzz-";
static const char latin_mark[] = "abcdhi-labchabch-dabcdh--abchb--abcdhi-labchabch-dabcdh--abchb-h"
				 "eeffmmbbccggkkkk--eeffggmmkkccffggllcc--ddeeffmmg---ccll-bbllkk-"
				 "---bbllkk---eeffjj--bbllkkbbccllkkllkk--ddeeffiijjmmcccchbbggkk-";
/* what the letters of latin_mark stand for, from 'a' */
static const uint16_t marks[] = { 0x300, 0x301, 0x302, 0x303, 0x304, 0x306, 0x307,
				  0x308, 0x30a, 0x30b, 0x30c, 0x327, 0x328 };

static uint32_t decode(const unsigned char *in, size_t len)
{
	static const unsigned char mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = in[0] & mask[len];

	for (size_t i = 1; i < len; i++)
		c = c << 6 | (in[i] & 0x3f);
	return c;
}

static size_t encode(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static bool hfs_ignores(uint32_t c)
{
	return (c >= 0x200c && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x206a && c <= 0x206f) || c == 0xfeff;
}

static uint32_t lower(uint32_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c + 0x20;
	if (c >= 0xc0 && c <= 0xde && c != 0xd7)
		return c + 0x20;
	if ((c >= 0x100 && c <= 0x137) || (c >= 0x14a && c <= 0x177))
		return c | 1;
	if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e))
		return c & 1 ? c + 1 : c;
	if (c >= 0x391 && c <= 0x3a9) /* Greek */
		return c + 0x20;
	if (c >= 0x410 && c <= 0x42f) /* Cyrillic */
		return c + 0x20;
	if (c >= 0x400 && c <= 0x40f)
		return c + 0x50;
	return c;
}

static size_t fold_char(uint32_t c, char *out)
{
	char mark;
	size_t n;

	if (hfs_ignores(c))
		return 0;
	mark = c >= LATIN_FIRST && c <= LATIN_LAST ? latin_mark[c - LATIN_FIRST] : '-';
	if (mark < 'a')
		return encode(lower(c), out);
	out[0] = latin_base[c - LATIN_FIRST];
	n = encode(marks[mark - 'a'], out + 1);
	return n + 1;
}

size_t name_fold(const char *name, size_t len, char *out)
{
	const unsigned char *in = (const unsigned char *)name;
	size_t used = 0;

	for (size_t i = 0; i < len;) {
		size_t n = escape_utf8_len(in + i, len - i);

		if (n == 0) {
			out[used++] = name[i++];
			continue;
		}
		used += fold_char(decode(in + i, n), out + used);
		i += n;
	}
	while (used > 0 && (out[used - 1] == '.' || out[used - 1] == ' '))
		used--;
	out[used] = '\0';
	return used;
}
