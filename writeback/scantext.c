/* SPDX-License-Identifier: MIT */
/*
 * Text that is not what it shows; contract in scan.h.
 *
 * Sources: Unicode 15 (UAX 9, UAX 31, UTS 39), "Trojan Source" (Boucher, Anderson 2021).
 * Joiners are fine inside scripts and emoji that need them, a variation selector behind what it
 * can vary. Words mix scripts when Latin letters stand beside such of a script that has letters
 * of the same look; "_" ends a word, so that user_имя is fine and is_аdmin is not.
 */
#include <stdio.h>
#include <unictype.h>

#include "user/base/escape.h"
#include "writeback/scan.h"

#define LATIN 1u
#define ALIKE 2u
#define NOTED 4u

typedef unsigned char v16 __attribute__((vector_size(16)));
typedef uint64_t v2 __attribute__((vector_size(16)));

bool scan_is_plain(const unsigned char *data, size_t len)
{
	v16 odd = { 0 };
	unsigned char rest = 0;
	size_t i = 0;

	for (; i + sizeof(v16) <= len; i += sizeof(v16)) {
		v16 v;

		__builtin_memcpy(&v, data + i, sizeof(v));
		odd |= (v16)(v >= 0x7f);
		odd |= (v16)(v < 0x20) & (v16)(v != '\n') & (v16)(v != '\t') & (v16)(v != '\r') &
		       (v16)(v != '\f');
	}
	for (; i < len; i++)
		rest |= data[i] >= 0x7f || (data[i] < 0x20 && data[i] != '\n' && data[i] != '\t' &&
					    data[i] != '\r' && data[i] != '\f');
	return !rest && (((v2)odd)[0] | ((v2)odd)[1]) == 0;
}

static uint32_t decode(const unsigned char *in, size_t len)
{
	static const unsigned char mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = in[0] & mask[len];

	for (size_t i = 1; i < len; i++)
		c = c << 6 | (in[i] & 0x3f);
	return c;
}

static bool is_bidi(uint32_t c)
{
	return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x61c ||
	       c == 0x200e || c == 0x200f;
}

static bool is_selector(uint32_t c)
{
	return (c >= 0xfe00 && c <= 0xfe0f) || (c >= 0xe0100 && c <= 0xe01ef);
}

/* Emoji, CJK and scripts whose letters join: what a joiner or selector can belong to. */
static bool takes_joiners(uint32_t c)
{
	return c >= 0x2190 || (c >= 0x600 && c < 0x1e00);
}

static bool is_invisible(const struct scan *s, uint32_t c, uint64_t offset)
{
	if (c == 0x200c || c == 0x200d)
		return !takes_joiners(s->before);
	if (is_selector(c)) /* behind a digit, "#" and "*" too: keycaps */
		return is_selector(s->before) ||
		       (!takes_joiners(s->before) && !(s->before >= '0' && s->before <= '9') &&
			s->before != '#' && s->before != '*' && s->before != 0xa9 &&
			s->before != 0xae && s->before != 0x203c && s->before != 0x2049);
	if (c == 0xfeff)
		return offset != 0;
	return c == 0x200b || c == 0xad || c == 0x34f || c == 0x115f || c == 0x1160 ||
	       c == 0x180e || (c >= 0x2028 && c <= 0x2029) || (c >= 0x2060 && c <= 0x2064) ||
	       (c >= 0x206a && c <= 0x206f) || c == 0x3164 || c == 0xffa0 ||
	       (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f);
}

static bool is_escape(uint32_t c)
{
	return c == 0x1b || c == '\b' || (c >= 0x7f && c <= 0x9f && c != 0x85);
}

/* Of Greek only the letters that are drawn like Latin ones: others are names in formulas. */
static bool is_greek_alike(uint32_t c)
{
	static const uint16_t alike[] = { 0x391, 0x392, 0x395, 0x396, 0x397, 0x399, 0x39a, 0x39c,
					  0x39d, 0x39f, 0x3a1, 0x3a4, 0x3a5, 0x3a7, 0x3bf };

	for (size_t i = 0; i < sizeof(alike) / sizeof(alike[0]); i++)
		if (c == alike[i])
			return true;
	return false;
}

static bool is_script(const uc_script_t *script, const char *name)
{
	return __builtin_strcmp(script->name, name) == 0;
}

/* What a character adds to the word; 0: neither; UINT32_MAX: it ends the word. */
static uint32_t word_bits(uint32_t c)
{
	const uc_script_t *script;

	if (c < 0x80) {
		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
			return LATIN;
		return c >= '0' && c <= '9' ? 0 : UINT32_MAX;
	}
	script = uc_script(c);
	if (!script || !uc_is_property_alphabetic(c))
		return script && is_script(script, "Inherited") ? 0 : UINT32_MAX;
	if (is_script(script, "Latin"))
		return c >= 0xff00 ? ALIKE : LATIN; /* fullwidth */
	if (is_script(script, "Greek"))
		return is_greek_alike(c) ? ALIKE : 0;
	if (is_script(script, "Cyrillic") || is_script(script, "Armenian") ||
	    is_script(script, "Cherokee") || is_script(script, "Coptic") ||
	    (c >= 0x1d400 && c <= 0x1d7ff))
		return ALIKE;
	return 0;
}

static void look_at_word(struct scan *s, const unsigned char *data, size_t pos, uint32_t c)
{
	uint32_t bits = word_bits(c);
	char detail[16];

	if (bits == UINT32_MAX) {
		s->word = 0;
		return;
	}
	s->word |= bits;
	if ((s->word & (LATIN | ALIKE)) != (LATIN | ALIKE) || s->word & NOTED)
		return;
	s->word |= NOTED;
	snprintf(detail, sizeof(detail), "U+%04X", (unsigned int)c);
	scan_note(s, HAZARD_MIXED, data, pos, detail);
}

static void look_at(struct scan *s, const unsigned char *data, size_t pos, uint32_t c)
{
	enum hazard_kind kind = HAZARD_COUNT;
	char detail[16];

	if (is_escape(c))
		kind = HAZARD_ESCAPE;
	else if (c >= 0x80 && is_bidi(c))
		kind = HAZARD_BIDI;
	else if (c >= 0x80 && is_invisible(s, c, s->offset + pos))
		kind = HAZARD_INVISIBLE;
	if (kind != HAZARD_COUNT) {
		snprintf(detail, sizeof(detail), "U+%04X", (unsigned int)c);
		scan_note(s, kind, data, pos, detail);
	}
	look_at_word(s, data, pos, c);
	s->before = c;
}

/* Scripts in the word that plain text ends in, which the next piece may go on with. */
static uint32_t open_word(const struct scan *s, const unsigned char *data, size_t to)
{
	uint32_t word = 0, bits;
	size_t i = to;

	while (i > s->from && !word && (bits = word_bits(data[i - 1])) != UINT32_MAX) {
		word |= bits;
		i--;
	}
	return i == s->from ? word | s->word : word;
}

size_t scan_text(struct scan *s, const unsigned char *data, size_t to, size_t len)
{
	size_t i = s->from;

	if (to > i && !(s->word & ALIKE) && scan_is_plain(data + i, to - i)) {
		s->before = data[to - 1];
		s->word = open_word(s, data, to);
		return to;
	}
	while (i < to) {
		size_t n = escape_utf8_len(data + i, len - i);

		if (n == 0) {
			s->word = 0;
			s->before = 0;
			i++;
			continue;
		}
		look_at(s, data, i, decode(data + i, n));
		i += n;
	}
	return i;
}
