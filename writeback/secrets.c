/* SPDX-License-Identifier: MIT */
/*
 * Of each anchor four bytes are chosen that are rare in text. They hold three pairs of bytes,
 * so whoever looks at the pair of every third position meets one of them, wherever he begins.
 * What stands around such a pair is then compared.
 */
#include "writeback/secrets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "user/base/cleanup.h"
#include "writeback/secretkey.h"

#define PAIRS 3 /* of each anchor; the step of the search */
#define BLOCKS 65536
#define ANCHOR_MAX 24
#define CRC_DIGITS 6
#define CRC_CHARS 30

enum alphabet {
	ALNUM = 1,
	LINE = 2,  /* _ */
	DASH = 4,  /* - */
	HEX = 8,   /* 0-9 a-f */
	UPPER = 16 /* A-Z 2-7 */
};

struct form;
typedef bool form_check(const struct form *f, const unsigned char *data, size_t len,
			struct secret *s);

struct form {
	const char *anchor;
	unsigned int rare; /* where its four bytes begin */
	const char *what;
	form_check *check;
	enum hazard_kind kind;
	unsigned int alphabet;
	unsigned int min; /* characters after the anchor */
	unsigned int max;
};

static form_check check_token, check_crc, check_aws, check_infix, check_age, check_pem, check_putty;

static const struct form forms[] = {
	{ "ghp_", 0, "GitHub personal token", check_crc, HAZARD_SECRETTOKEN, ALNUM, 36, 36 },
	{ "gho_", 0, "GitHub OAuth token", check_crc, HAZARD_SECRETTOKEN, ALNUM, 36, 36 },
	{ "ghu_", 0, "GitHub user token", check_crc, HAZARD_SECRETTOKEN, ALNUM, 36, 36 },
	{ "ghs_", 0, "GitHub server token", check_crc, HAZARD_SECRETTOKEN, ALNUM, 36, 36 },
	{ "ghr_", 0, "GitHub refresh token", check_crc, HAZARD_SECRETTOKEN, ALNUM, 36, 36 },
	{ "npm_", 0, "npm token", check_crc, HAZARD_SECRETTOKEN, ALNUM, 36, 36 },
	{ "pypi-AgEIcHlwaS5vcmc", 5, "PyPI token", check_token, HAZARD_SECRETTOKEN,
	  ALNUM | LINE | DASH, 50, 1024 },
	{ "github_pat_", 6, "GitHub token", check_token, HAZARD_SECRETLIKELY, ALNUM | LINE, 82,
	  82 },
	{ "glpat-", 2, "GitLab token", check_token, HAZARD_SECRETLIKELY, ALNUM | LINE | DASH, 20,
	  64 },
	{ "AKIA", 0, "AWS access key", check_aws, HAZARD_SECRETLIKELY, UPPER, 16, 16 },
	{ "ASIA", 0, "AWS session key", check_aws, HAZARD_SECRETLIKELY, UPPER, 16, 16 },
	{ "xoxb-", 0, "Slack bot token", check_token, HAZARD_SECRETLIKELY, ALNUM | DASH, 24, 256 },
	{ "xoxp-", 0, "Slack user token", check_token, HAZARD_SECRETLIKELY, ALNUM | DASH, 24, 256 },
	{ "xoxa-", 0, "Slack token", check_token, HAZARD_SECRETLIKELY, ALNUM | DASH, 24, 256 },
	{ "xoxs-", 0, "Slack token", check_token, HAZARD_SECRETLIKELY, ALNUM | DASH, 24, 256 },
	{ "xapp-", 0, "Slack app token", check_token, HAZARD_SECRETLIKELY, ALNUM | DASH, 24, 256 },
	{ "sk_live_", 1, "Stripe key", check_token, HAZARD_SECRETLIKELY, ALNUM, 24, 256 },
	{ "rk_live_", 1, "Stripe key", check_token, HAZARD_SECRETLIKELY, ALNUM, 24, 256 },
	{ "AIza", 0, "Google API key", check_token, HAZARD_SECRETLIKELY, ALNUM | LINE | DASH, 35,
	  35 },
	{ "sk-ant-", 2, "Anthropic key", check_token, HAZARD_SECRETLIKELY, ALNUM | LINE | DASH, 80,
	  256 },
	{ "T3BlbkFJ", 1, "OpenAI key", check_infix, HAZARD_SECRETLIKELY, ALNUM | LINE | DASH, 16,
	  256 },
	{ "dop_v1_", 3, "DigitalOcean token", check_token, HAZARD_SECRETLIKELY, HEX, 64, 64 },
	{ "hvs.", 0, "Vault token", check_token, HAZARD_SECRETLIKELY, ALNUM | LINE | DASH, 90,
	  256 },
	{ "AGE-SECRET-KEY-1", 7, "age key", check_age, HAZARD_SECRETKEY, ALNUM, 58, 58 },
	{ "-----BEGIN ", 6, "private key", check_pem, HAZARD_SECRETKEY, 0, 0, 0 },
	{ "PuTTY-User-Key-File-", 1, "PuTTY private key", check_putty, HAZARD_SECRETKEY, 0, 0, 0 },
};

/* A pair of bytes of a form's anchor, and where in the anchor it is. */
struct pair {
	uint8_t form;
	uint8_t offset;
	uint8_t next; /* number of another one with the same bytes, 0: none */
};

#define PAIR_COUNT (ARRAY_SIZE(forms) * PAIRS)
_Static_assert(PAIR_COUNT < 256, "numbers of pairs are bytes");

struct secrets {
	uint8_t first[BLOCKS];		   /* number of a pair with these bytes, 0: none */
	struct pair pairs[PAIR_COUNT + 1]; /* from 1 */
};

static unsigned int block_at(const unsigned char *at)
{
	return (unsigned int)at[0] | (unsigned int)at[1] << 8;
}

int secrets_new(struct secrets **ret_secrets)
{
	struct secrets *s = calloc(1, sizeof(*s));
	unsigned int number = 1;

	if (!s)
		return -ENOMEM;
	for (unsigned int i = 0; i < ARRAY_SIZE(forms); i++)
		for (unsigned int k = 0; k < PAIRS; k++, number++) {
			unsigned int offset = forms[i].rare + k;
			uint8_t *first = &s->first[block_at((const unsigned char *)forms[i].anchor +
							    offset)];

			s->pairs[number] = (struct pair){ (uint8_t)i, (uint8_t)offset, *first };
			*first = (uint8_t)number;
		}
	*ret_secrets = s;
	return 0;
}

void secrets_free(struct secrets *s)
{
	free(s);
}

static bool is_in(unsigned int alphabet, unsigned char c)
{
	if (c >= '0' && c <= '9')
		return alphabet & (ALNUM | HEX) || (alphabet & UPPER && c >= '2' && c <= '7');
	if (c >= 'a' && c <= 'z')
		return alphabet & ALNUM || (alphabet & HEX && c <= 'f');
	if (c >= 'A' && c <= 'Z')
		return alphabet & (ALNUM | UPPER);
	return (c == '_' && alphabet & LINE) || (c == '-' && alphabet & DASH);
}

/* The characters after the anchor are as many as the form has, and no word goes on around. */
static bool measure(const struct form *f, const unsigned char *data, size_t len, struct secret *s)
{
	size_t at = s->start + strlen(f->anchor), n = 0;

	if (s->start > 0 && is_in(ALNUM | LINE, data[s->start - 1]))
		return false;
	while (n <= f->max && at + n < len && is_in(f->alphabet, data[at + n]))
		n++;
	if (n < f->min || n > f->max || (at + n < len && is_in(ALNUM | LINE, data[at + n])))
		return false;
	s->len = at + n - s->start;
	return true;
}

/* Placeholders repeat themselves: xxxx, 0000, abcabc. */
static bool is_varied(const unsigned char *data, size_t len)
{
	uint64_t seen[4] = { 0 };
	unsigned int different = 0;

	for (size_t i = 0; i < len; i++)
		seen[data[i] >> 6] |= 1ull << (data[i] & 63);
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		different += (unsigned int)__builtin_popcountll(seen[i]);
	return different >= 8;
}

static bool check_token(const struct form *f, const unsigned char *data, size_t len,
			struct secret *s)
{
	size_t anchor = strlen(f->anchor);

	return measure(f, data, len, s) && is_varied(data + s->start + anchor, s->len - anchor);
}

static bool check_crc(const struct form *f, const unsigned char *data, size_t len, struct secret *s)
{
	static const char digits[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	const unsigned char *body = data + s->start + strlen(f->anchor);
	uint32_t crc;

	if (!measure(f, data, len, s))
		return false;
	crc = (uint32_t)crc32(0, body, CRC_CHARS);
	for (unsigned int i = CRC_DIGITS; i-- > 0; crc /= 62)
		if (body[CRC_CHARS + i] != (unsigned char)digits[crc % 62])
			return false;
	return true;
}

/* AKIAIOSFODNN7EXAMPLE and its like are Amazon's own examples. */
static bool check_aws(const struct form *f, const unsigned char *data, size_t len, struct secret *s)
{
	return check_token(f, data, len, s) &&
	       memcmp(data + s->start + s->len - 7, "EXAMPLE", 7) != 0;
}

/* The anchor stands inside the token, which begins with "sk-". */
static bool check_infix(const struct form *f, const unsigned char *data, size_t len,
			struct secret *s)
{
	size_t anchor = s->start, start = anchor, end = anchor;

	while (start > 0 && anchor - start < f->max && is_in(f->alphabet, data[start - 1]))
		start--;
	while (end < len && end - anchor < f->max && is_in(f->alphabet, data[end]))
		end++;
	if (anchor - start < 3 + f->min || end - anchor < f->min ||
	    memcmp(data + start, "sk-", 3) != 0)
		return false;
	s->start = start;
	s->len = end - start;
	return true;
}

static bool check_age(const struct form *f, const unsigned char *data, size_t len, struct secret *s)
{
	return measure(f, data, len, s) && secretkey_is_age(data + s->start, s->len);
}

static bool check_pem(const struct form *f, const unsigned char *data, size_t len, struct secret *s)
{
	bool locked = false;

	(void)f;
	s->len = secretkey_pem(data + s->start, len - s->start, &locked);
	if (locked)
		s->kind = HAZARD_SECRETLOCKED;
	return s->len > 0;
}

static bool check_putty(const struct form *f, const unsigned char *data, size_t len,
			struct secret *s)
{
	bool locked = false;

	(void)f;
	s->len = secretkey_putty(data + s->start, len - s->start, &locked);
	if (locked)
		s->kind = HAZARD_SECRETLOCKED;
	return s->len > 0;
}

/* Whether one of the forms that have this pair stands around it. */
static bool try_pairs(const struct secrets *s, unsigned int number, const struct secret_piece *in,
		      size_t at, struct secret *ret_secret)
{
	for (; number != 0; number = s->pairs[number].next) {
		const struct form *f = &forms[s->pairs[number].form];
		size_t anchor = strlen(f->anchor), start = at - s->pairs[number].offset;

		if (at < in->from + s->pairs[number].offset || start >= in->to ||
		    in->len - start < anchor || memcmp(in->data + start, f->anchor, anchor) != 0)
			continue;
		*ret_secret = (struct secret){ .kind = f->kind, .start = start, .what = f->what };
		if (f->check(f, in->data,
			     start + SECRET_SPAN < in->len ? start + SECRET_SPAN : in->len,
			     ret_secret))
			return true;
	}
	return false;
}

bool secrets_next(const struct secrets *s, const struct secret_piece *in, size_t *at,
		  struct secret *ret_secret)
{
	size_t end = in->to + ANCHOR_MAX < in->len ? in->to + ANCHOR_MAX : in->len, pos = *at;

	for (; pos + 1 < end; pos += PAIRS) {
		unsigned int number = s->first[block_at(in->data + pos)];

		if (number != 0 && try_pairs(s, number, in, pos, ret_secret)) {
			*at = pos + PAIRS;
			return true;
		}
	}
	*at = pos;
	return false;
}
