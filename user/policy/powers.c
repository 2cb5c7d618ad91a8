/* SPDX-License-Identifier: MIT */
/* Powers in a policy: what it grants, as text, and why. */
#include <errno.h>
#include <string.h>

#include "bpf/abi/event.h"
#include "user/base/cleanup.h"
#include "user/policy/policy.h"
#include "user/policy/reach.h"
#include "user/policy/text.h"

struct power_word {
	const char *word;
	unsigned int bit;
};

/* clang-format off */
#define WORD(id, bit, word, kind) { word, bit },
#define WEIR_X(key, list) static const struct power_word words_##key[] = { list(WORD) { 0 } };
WEIR_POWER_KEYS(WEIR_X)
#undef WEIR_X
/* clang-format on */

/* The keys, and where each stands in a policy. */
static const struct power_key {
	const char *key;
	const struct power_word *words;
	size_t offset;
} keys[] = {
#define WEIR_X(key, list) { #key, words_##key, offsetof(struct policy, powers.key) },
	WEIR_POWER_KEYS(WEIR_X)
#undef WEIR_X
};

static const struct policy_value *value_of(const struct policy *p, const struct power_key *key)
{
	return (const void *)((const char *)p + key->offset);
}

static bool is_privileges(const struct power_key *key)
{
	return strcmp(key->key, "privileges") == 0;
}

uint64_t policy_powers(const struct policy *p)
{
	uint64_t powers = 0;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		powers |= value_of(p, &keys[i])->value;
	return powers | policy_reach_powers(p);
}

uint64_t policy_attempts(const struct policy *p)
{
#define KIND(id) (1ull << WEIR_KIND_##id)
	uint64_t kinds = KIND(TAMPER) | KIND(BPF);

	if (p->attempt_credentials.value)
		kinds |= KIND(CREDENTIAL_READ) | KIND(PRIVILEGE);
	if (p->attempt_memory.value)
		kinds |= KIND(MEMORY_ACCESS);
	if (p->attempt_kernel.value)
		kinds |= KIND(KERNEL_TUNABLE) | KIND(MODULE) | KIND(NAMESPACE) | KIND(MOUNT);
	if (p->attempt_files.value)
		kinds |= KIND(FILE_OUTSIDE) | KIND(FILE_CONTROL) | KIND(EXEC_NEW_BINARY) |
			 KIND(IPC) | KIND(NETWORK);
	return kinds;
#undef KIND
}

static void add_key(struct buf *b, const struct power_key *key, uint64_t powers)
{
	unsigned int count = 0;

	for (const struct power_word *w = key->words; w->word; w++) {
		if (!(powers >> w->bit & 1))
			continue;
		if (count++ > 0)
			buf_addf(b, ", ");
		else
			buf_addf(b, is_privileges(key) ? "%s: {allow: [" : "%s: [", key->key);
		buf_addf(b, "%s", w->word);
	}
	if (count > 0)
		buf_addf(b, is_privileges(key) ? "]}\n" : "]\n");
}

int policy_add_powers(struct buf *b, uint64_t powers)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		add_key(b, &keys[i], powers);
	policy_add_reach_powers(b, powers);
	return b->failed ? -ENOMEM : 0;
}

static void explain_word(struct buf *b, const struct policy *p, const struct power_key *key,
			 const struct power_word *w)
{
	const struct policy_value *v = value_of(p, key);

	buf_addf(b, "%s%s: %s: ", key->key, is_privileges(key) ? ": allow" : "", w->word);
	if (v->value >> w->bit & 1) {
		buf_addf(b, "allowed; by the list at ");
		buf_add_escaped(b, p->file, strlen(p->file));
		buf_addf(b, ":%u\n", v->pos.line);
	} else {
		buf_addf(b, "denied; no line allows it: the default\n");
	}
}

int policy_explain_key(struct buf *b, const struct policy *p, const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strcmp(keys[i].key, key) != 0)
			continue;
		for (const struct power_word *w = keys[i].words; w->word; w++)
			explain_word(b, p, &keys[i], w);
		return b->failed ? -ENOMEM : 0;
	}
	return -ENOENT;
}
