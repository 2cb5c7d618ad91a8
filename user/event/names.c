/* SPDX-License-Identifier: MIT */
#include "user/event/names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/base/cleanup.h"

static const char *const kinds[] = {
#define WEIR_X(id, name, severity) [WEIR_KIND_##id] = name,
	WEIR_KINDS(WEIR_X)
#undef WEIR_X
};

static const char *const kind_severities[] = {
#define WEIR_X(id, name, severity) [WEIR_KIND_##id] = severity,
	WEIR_KINDS(WEIR_X)
#undef WEIR_X
};

static const char *const ops[] = {
#define WEIR_X(id, name) [WEIR_OP_##id] = name,
	WEIR_OPS(WEIR_X)
#undef WEIR_X
};

static const char *const outcomes[] = {
#define WEIR_X(id, name) [WEIR_OUTCOME_##id] = name,
	WEIR_OUTCOMES(WEIR_X)
#undef WEIR_X
};

static const char *const hooks[] = {
#define WEIR_X(id, name, family) [WEIR_HOOK_##id] = name,
	WEIR_HOOKS(WEIR_X)
#undef WEIR_X
};

static const char *const families[] = {
#define WEIR_X(id, name, family) [WEIR_HOOK_##id] = family,
	WEIR_HOOKS(WEIR_X)
#undef WEIR_X
};

static const char *const severities[] = {
#define NAMES_X(id, name) [SEVERITY_##id] = name,
	NAMES_SEVERITIES(NAMES_X)
#undef NAMES_X
};

static const char *const records[] = {
	[WEIR_RECORD_OP] = "op",
	[WEIR_RECORD_FORK] = "fork",
	[WEIR_RECORD_EXEC] = "exec",
	[WEIR_RECORD_EXIT] = "exit",
};

static const char *const rights[32] = {
#define WEIR_X(id, bit, name) [bit] = name,
	WEIR_RIGHTS(WEIR_X)
#undef WEIR_X
};

#define WEIR_X(id, bit, word, kind) [bit] = word,
static const char *const power_words[64] = { WEIR_POWERS(WEIR_X) };
#undef WEIR_X

static const struct {
	const char *key;
	uint64_t powers;
} power_keys[] = {
#define WEIR_X(key, list) { #key, 0 list(WEIR_POWER_OR) },
	WEIR_POWER_KEYS(WEIR_X) WEIR_POWER_MAPS(WEIR_X)
#undef WEIR_X
};

static const struct {
	uint32_t flag;
	const char *name;
} flags[] = {
	{ WEIR_EV_FINDING, "finding" },		{ WEIR_EV_BAD_FIRST, "bad-first" },
	{ WEIR_EV_BAD_SECOND, "bad-second" },	{ WEIR_EV_CANARY, "canary" },
	{ WEIR_EV_TRUNCATED, "truncated" },	{ WEIR_EV_UNRESOLVED, "unresolved" },
	{ WEIR_EV_OUTSIDER, "outsider" },	{ WEIR_EV_SEALED, "sealed" },
	{ WEIR_EV_HARDLINK, "hardlink" },	{ WEIR_EV_UNMARKED, "unmarked" },
	{ WEIR_EV_SPECULATIVE, "speculative" }, { WEIR_EV_EXISTED, "existed" },
};

static const char *get(const char *const *table, size_t count, unsigned int id)
{
	return id < count && table[id] ? table[id] : "unknown";
}

static int find(const char *const *table, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (table[i] && strcmp(table[i], name) == 0)
			return (int)i;
	return -ENOENT;
}

#define NAMES_GET(function, table) \
	const char *function(unsigned int id) \
	{ \
		return get(table, ARRAY_SIZE(table), id); \
	}

NAMES_GET(names_kind, kinds)
NAMES_GET(names_op, ops)
NAMES_GET(names_outcome, outcomes)
NAMES_GET(names_hook, hooks)
NAMES_GET(names_hook_family, families)
NAMES_GET(names_severity, severities)
NAMES_GET(names_record, records)

#define NAMES_FIND(function, table) \
	int function(const char *name) \
	{ \
		return find(table, ARRAY_SIZE(table), name); \
	}

NAMES_FIND(names_find_kind, kinds)
NAMES_FIND(names_find_op, ops)
NAMES_FIND(names_find_outcome, outcomes)
NAMES_FIND(names_find_hook, hooks)

bool names_hook_in(unsigned int hook, const char *list)
{
	const char *name = names_hook(hook);
	size_t len = strlen(name);

	for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
		if (strncmp(at, name, len) == 0 && (at[len] == ',' || !at[len]))
			return true;
	return false;
}
NAMES_FIND(names_find_severity, severities)

enum severity names_kind_severity(unsigned int kind)
{
	int severity = names_find_severity(get(kind_severities, ARRAY_SIZE(kind_severities), kind));

	return severity < 0 ? SEVERITY_ERROR : (enum severity)severity;
}

int names_find_right(const char *name)
{
	int bit = find(rights, ARRAY_SIZE(rights), name);

	return bit < 0 ? bit : 1 << bit;
}

const char *names_rights(uint32_t mask, char *out, size_t size)
{
	uint32_t unknown = 0;
	size_t used = 0;

	if (size == 0)
		return out;
	out[0] = '\0';
	for (unsigned int bit = 0; bit < 32; bit++) {
		if (!(mask & (1u << bit)))
			continue;
		if (!rights[bit]) {
			unknown |= 1u << bit;
			continue;
		}
		if (used < size)
			used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "," : "",
						 rights[bit]);
	}
	if (unknown && used < size)
		used += (size_t)snprintf(out + used, size - used, "%s0x%x", used ? "," : "",
					 unknown);
	if (used == 0)
		snprintf(out, size, "none");
	return out;
}

const char *names_power_word(unsigned int bit)
{
	return bit < ARRAY_SIZE(power_words) ? power_words[bit] : NULL;
}

const char *names_power_key(unsigned int bit)
{
	for (size_t i = 0; i < ARRAY_SIZE(power_keys); i++)
		if (bit < 64 && (power_keys[i].powers >> bit & 1))
			return power_keys[i].key;
	return NULL;
}

const char *names_flag(unsigned int bit)
{
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (bit < 32 && flags[i].flag == 1u << bit)
			return flags[i].name;
	return NULL;
}
