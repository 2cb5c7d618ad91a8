/* SPDX-License-Identifier: MIT */
/*
 * The keys of a policy as tables: the loader walks the text and these side by side.
 */
#ifndef WEIR_POLICY_SCHEMA_H
#define WEIR_POLICY_SCHEMA_H

#include "user/policy/policy.h"

enum policy_kind {
	POLICY_KIND_MAP,   /* keys of `sub`, in the same struct */
	POLICY_KIND_TEXT,  /* struct policy_text */
	POLICY_KIND_TEXTS, /* struct policy_texts */
	POLICY_KIND_VALUE, /* struct policy_value, one scalar */
	POLICY_KIND_SET,   /* struct policy_value, a list whose values are or-ed */
	POLICY_KIND_RULES, /* struct policy_rules, maps of `sub` */
	POLICY_KIND_PAIRS, /* struct policy_pairs */
	POLICY_KIND_TIERS, /* as VALUE; or a list, maps of `sub`, which go to policy.tiers */
	POLICY_KIND_NETS,  /* struct policy_nets, maps of `sub` */
	POLICY_KIND_PORTS, /* struct policy_ports */
};

struct policy_choice {
	const char *name; /* NULL ends a table */
	uint64_t value;
};

/* One scalar as the parser saw it. */
struct policy_scalar {
	const char *text;
	size_t len;
	bool plain; /* without quotes */
	struct policy_pos pos;
};

struct policy_field {
	const char *key; /* NULL ends a table */
	enum policy_kind kind;
	size_t offset; /* in struct policy, policy_rule, policy_tier or policy_net */
	bool required;
	const struct policy_field *sub;
	const struct policy_choice *choices; /* of VALUE and SET, if they are names */
	/* of VALUE otherwise */
	bool (*parse)(const struct policy_scalar *s, uint64_t *ret_value);
	/* of TEXT and TEXTS, NULL: anything but empty */
	bool (*check)(const char *text);
	const char *want; /* what is expected and how it is written, for messages */
	uint64_t initial;
};

#define POLICY_FIELDS_MAX 32 /* keys of one table */

/* Keys of network and ipc (reach.c). */
extern const struct policy_field policy_network_fields[];
extern const struct policy_field policy_ipc_fields[];
extern const struct policy_choice policy_ignores[];

/* Tables by their role. Returns: static tables. */
const struct policy_field *policy_schema(void);
const struct policy_choice *policy_right_names(void);

/* Sets every VALUE of a table to its initial value. Borrows: fields. */
void policy_schema_init(const struct policy_field *fields, void *base);

/* Scalars. All borrow s. Returns: false when the text has another form or is too big. */
bool policy_parse_number(const struct policy_scalar *s, uint64_t *ret_value);
bool policy_parse_duration(const struct policy_scalar *s, uint64_t *ret_ns);
bool policy_parse_size(const struct policy_scalar *s, uint64_t *ret_bytes);
bool policy_parse_count(const struct policy_scalar *s, uint64_t *ret_value);
bool policy_parse_exit(const struct policy_scalar *s, uint64_t *ret_value);

/* Whether a plain scalar is a null, truth value or number to YAML, thus no text.
 * Borrows: s. Returns: its name for a message ("a number"), or NULL if it is text. */
const char *policy_scalar_type(const struct policy_scalar *s);

/* Name of an environment variable. Borrows: text. Returns: truth. */
bool policy_is_env_name(const char *text);

#endif
