/* SPDX-License-Identifier: MIT */
#include "user/policy/schema.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "user/base/cleanup.h"

#define NUMBER_MAX 0x7fffffffffffffffull

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit durations[] = { { "ms", 1000000ull },	     { "s", 1000000000ull },
					 { "m", 60000000000ull },    { "h", 3600000000000ull },
					 { "d", 86400000000000ull }, { 0 } };
static const struct unit sizes[] = { { "", 1 },		  { "K", 1ull << 10 }, { "M", 1ull << 20 },
				     { "G", 1ull << 30 }, { "T", 1ull << 40 }, { 0 } };

/* Digits at the start of *at, at most NUMBER_MAX. */
static bool take_digits(const char **at, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (!isdigit((unsigned char)**at))
		return false;
	for (; isdigit((unsigned char)**at); (*at)++) {
		uint64_t digit = (uint64_t)(**at - '0');

		if (value > (NUMBER_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*ret_value = value;
	return true;
}

/* ".5" at *at as a part of factor; nine digits at most. */
static bool take_fraction(const char **at, const char *end, uint64_t factor, uint64_t *value)
{
	uint64_t place = factor;

	(*at)++;
	if (end == *at || end - *at > 9)
		return false;
	for (; *at < end; (*at)++) {
		uint64_t digit = (uint64_t)(**at - '0');

		if (place % 10 && digit)
			return false;
		place /= 10;
		*value += digit * place;
	}
	return true;
}

static bool parse_units(const struct policy_scalar *s, const struct unit *units,
			uint64_t *ret_value)
{
	const char *at = s->text, *fraction, *end;
	uint64_t whole;

	if (!take_digits(&at, &whole))
		return false;
	fraction = at;
	end = *at == '.' ? at + 1 + strspn(at + 1, "0123456789") : at;
	for (const struct unit *u = units; u->name; u++) {
		uint64_t value;

		if (strcmp(end, u->name) != 0)
			continue;
		if (whole > NUMBER_MAX / u->factor)
			return false;
		value = whole * u->factor;
		if (*fraction == '.' && !take_fraction(&fraction, end, u->factor, &value))
			return false;
		if (value > NUMBER_MAX)
			return false;
		*ret_value = value;
		return true;
	}
	return false;
}

bool policy_parse_number(const struct policy_scalar *s, uint64_t *ret_value)
{
	const char *at = s->text;
	uint64_t value;

	if (!s->plain || !take_digits(&at, &value) || *at)
		return false;
	if (s->text[0] == '0' && s->text[1])
		return false;
	*ret_value = value;
	return true;
}

bool policy_parse_duration(const struct policy_scalar *s, uint64_t *ret_ns)
{
	return parse_units(s, durations, ret_ns);
}

bool policy_parse_size(const struct policy_scalar *s, uint64_t *ret_bytes)
{
	return parse_units(s, sizes, ret_bytes);
}

bool policy_parse_count(const struct policy_scalar *s, uint64_t *ret_value)
{
	return policy_parse_number(s, ret_value) && *ret_value > 0 &&
	       *ret_value <= POLICY_APPROVALS_MAX;
}

bool policy_parse_exit(const struct policy_scalar *s, uint64_t *ret_value)
{
	uint64_t value;

	if (strcmp(s->text, "any") == 0) {
		*ret_value = POLICY_EXIT_ANY;
		return true;
	}
	if (!policy_parse_number(s, &value) || value > 255)
		return false;
	*ret_value = value;
	return true;
}

static bool looks_like_number(const char *text)
{
	if (*text == '-' || *text == '+')
		text++;
	if (strncmp(text, "0x", 2) == 0 || strncmp(text, "0o", 2) == 0)
		return text[2] && strspn(text + 2, "0123456789abcdefABCDEF") == strlen(text + 2);
	if (strcasecmp(text, ".inf") == 0 || strcasecmp(text, ".nan") == 0)
		return true;
	if (!isdigit((unsigned char)*text) && !(*text == '.' && isdigit((unsigned char)text[1])))
		return false;
	text += strspn(text, "0123456789_");
	if (*text == '.')
		text += 1 + strspn(text + 1, "0123456789_");
	if ((*text == 'e' || *text == 'E') && text[1]) {
		text++;
		if (*text == '-' || *text == '+')
			text++;
		if (!isdigit((unsigned char)*text))
			return false;
		text += strspn(text, "0123456789");
	}
	return *text == '\0';
}

const char *policy_scalar_type(const struct policy_scalar *s)
{
	static const char *const nulls[] = { "", "~", "null" };
	static const char *const truths[] = { "true", "false", "yes", "no", "on", "off" };

	if (!s->plain)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(nulls); i++)
		if (strcasecmp(s->text, nulls[i]) == 0)
			return "nothing";
	for (size_t i = 0; i < ARRAY_SIZE(truths); i++)
		if (strcasecmp(s->text, truths[i]) == 0)
			return "a truth value";
	return looks_like_number(s->text) ? "a number" : NULL;
}

bool policy_is_env_name(const char *text)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
				      "0123456789";

	return *text && !isdigit((unsigned char)*text) && text[strspn(text, allowed)] == '\0';
}

struct policy_quoted policy_quote(const char *text)
{
	struct policy_quoted q;
	size_t len = strlen(text), half = (sizeof(q.text) - 4) / 2;

	if (len < sizeof(q.text)) {
		memcpy(q.text, text, len + 1);
		return q;
	}
	memcpy(q.text, text, half);
	memcpy(q.text + half, "...", 3);
	memcpy(q.text + half + 3, text + len - half, half + 1);
	return q;
}

int policy_add_rights(struct buf *b, uint32_t rights)
{
	uint32_t lacks = WEIR_RIGHTS_MUTATE & ~rights;
	bool partial = (rights & WEIR_RIGHT_WRITE) && lacks;
	bool whole = (rights & WEIR_RIGHT_WRITE) && !lacks;
	const char *comma = "";

	if (rights == 0)
		return buf_addf(b, "none");
	for (const struct policy_choice *c = policy_right_names(); c->name; c++) {
		bool write = c->value == WEIR_RIGHTS_MUTATE;

		if (write ? !(rights & WEIR_RIGHT_WRITE) : !(rights & c->value))
			continue;
		if (!write && (c->value & WEIR_RIGHTS_MUTATE) && (whole || partial))
			continue;
		buf_addf(b, "%s%s", comma, c->name);
		comma = ", ";
		if (!write || !partial)
			continue;
		comma = " (without ";
		for (const struct policy_choice *m = policy_right_names(); m->name; m++) {
			if (m->value == WEIR_RIGHTS_MUTATE || !(m->value & lacks))
				continue;
			buf_addf(b, "%s%s", comma, m->name);
			comma = ", ";
		}
		buf_addf(b, ")");
	}
	return b->failed ? -ENOMEM : 0;
}
