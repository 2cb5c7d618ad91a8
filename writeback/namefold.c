/* SPDX-License-Identifier: MIT */
/* Folding of names; contract in names.h. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unicase.h>
#include <uninorm.h>
#include <unistr.h>

#include "writeback/names.h"

/* Letters of other scripts that are drawn like a Latin one: UTS 39, confusables.txt 15, without
 * those that only some fonts draw alike. */
static const struct {
	uint16_t from;
	char to;
} alike[] = {
	{ 0x391, 'A' },	 { 0x392, 'B' },  { 0x395, 'E' },  { 0x396, 'Z' },  { 0x397, 'H' },
	{ 0x399, 'I' },	 { 0x39a, 'K' },  { 0x39c, 'M' },  { 0x39d, 'N' },  { 0x39f, 'O' },
	{ 0x3a1, 'P' },	 { 0x3a4, 'T' },  { 0x3a5, 'Y' },  { 0x3a7, 'X' },  { 0x3b9, 'i' },
	{ 0x3bf, 'o' },	 { 0x3c1, 'p' },  { 0x3bd, 'v' },  { 0x3c5, 'u' },  { 0x405, 'S' },
	{ 0x406, 'I' },	 { 0x408, 'J' },  { 0x410, 'A' },  { 0x412, 'B' },  { 0x415, 'E' },
	{ 0x41a, 'K' },	 { 0x41c, 'M' },  { 0x41d, 'H' },  { 0x41e, 'O' },  { 0x420, 'P' },
	{ 0x421, 'C' },	 { 0x422, 'T' },  { 0x423, 'Y' },  { 0x425, 'X' },  { 0x430, 'a' },
	{ 0x435, 'e' },	 { 0x43e, 'o' },  { 0x440, 'p' },  { 0x441, 'c' },  { 0x443, 'y' },
	{ 0x445, 'x' },	 { 0x455, 's' },  { 0x456, 'i' },  { 0x458, 'j' },  { 0x4bb, 'h' },
	{ 0x501, 'd' },	 { 0x51b, 'q' },  { 0x51d, 'w' },  { 0x585, 'o' },  { 0x578, 'n' },
	{ 0x57d, 'u' },	 { 0x581, 'g' },  { 0x2010, '-' }, { 0x2011, '-' }, { 0x2012, '-' },
	{ 0x2013, '-' }, { 0x2024, '.' }, { 0x2044, '_' },
};

static bool hfs_ignores(uint32_t c)
{
	return (c >= 0x200c && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x206a && c <= 0x206f) || c == 0xfeff;
}

static uint32_t look_of(uint32_t c)
{
	if (c >= 0xff01 && c <= 0xff5e) /* fullwidth */
		return c - 0xff01 + '!';
	for (size_t i = 0; i < sizeof(alike) / sizeof(alike[0]); i++)
		if (c == alike[i].from)
			return (unsigned char)alike[i].to;
	return c;
}

static bool is_ascii(const uint8_t *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (name[i] >= 0x80)
			return false;
	return true;
}

/* Drops what HFS+ ignores, and draws letters as they look. Returns: length, at most len; -1 for
 * what is no UTF-8. */
static long strip(const uint8_t *name, size_t len, bool looks, uint8_t *out)
{
	size_t used = 0;

	for (size_t i = 0; i < len;) {
		ucs4_t c;
		int n = u8_mbtoucr(&c, name + i, len - i);
		int room;

		if (n <= 0)
			return -1;
		i += (size_t)n;
		if (hfs_ignores(c))
			continue;
		room = u8_uctomb(out + used, looks ? look_of(c) : c, (int)(len - used));
		if (room < 0)
			return -1;
		used += (size_t)room;
	}
	return (long)used;
}

static size_t fold_ascii(const uint8_t *name, size_t len, char *out)
{
	for (size_t i = 0; i < len; i++)
		out[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] | 0x20 : name[i]);
	return len;
}

/* Canonical caseless matching: NFD(fold(NFD(x))). Unicode 15, 3.13, D145. */
static size_t fold_unicode(const uint8_t *name, size_t len, char *out)
{
	uint8_t parts[NAME_FOLD_MAX], folded[NAME_FOLD_MAX];
	size_t parts_len = sizeof(parts), folded_len = sizeof(folded);
	uint8_t *nfd = u8_normalize(UNINORM_NFD, name, len, parts, &parts_len);
	uint8_t *result =
		nfd ? u8_casefold(nfd, parts_len, NULL, UNINORM_NFD, folded, &folded_len) : NULL;
	size_t used;

	/* Out of memory. A twin would be missed, and there is nobody to say it to: the process
	 * ends, and its parent says that nothing was promoted. */
	if (!result)
		abort();
	used = folded_len < NAME_FOLD_MAX - 1 ? folded_len : NAME_FOLD_MAX - 1;
	memcpy(out, result, used);
	if (result != folded)
		free(result);
	if (nfd != parts)
		free(nfd);
	return used;
}

static size_t fold(const char *name, size_t len, bool looks, char *out)
{
	uint8_t plain[NAME_PART_MAX];
	const uint8_t *in = (const uint8_t *)name;
	size_t used;
	long n;

	if (len > NAME_PART_MAX)
		len = NAME_PART_MAX;
	n = is_ascii(in, len) ? -1 : strip(in, len, looks, plain);
	/* what is no UTF-8 has bytes only */
	used = n < 0			    ? fold_ascii(in, len, out)
	       : is_ascii(plain, (size_t)n) ? fold_ascii(plain, (size_t)n, out)
					    : fold_unicode(plain, (size_t)n, out);
	while (used > 0 && (out[used - 1] == '.' || out[used - 1] == ' '))
		used--;
	out[used] = '\0';
	return used;
}

size_t name_fold(const char *name, size_t len, char *out)
{
	return fold(name, len, false, out);
}

size_t name_look(const char *name, size_t len, char *out)
{
	return fold(name, len, true, out);
}

bool name_is_ascii(const char *name, size_t len)
{
	return is_ascii((const uint8_t *)name, len);
}
