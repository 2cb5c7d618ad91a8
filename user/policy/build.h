/* SPDX-License-Identifier: MIT */
/*
 * State of one compilation, inside this module. Steps in their order:
 * entries (what the policy says) -> items (real paths, rights) -> names -> stores ->
 * objects (with ancestors).
 */
#ifndef WEIR_POLICY_BUILD_H
#define WEIR_POLICY_BUILD_H

#include "user/policy/compile.h"
#include "user/policy/resolve.h"

/* One files rule or one credential store. */
struct policy_entry {
	uint32_t id;
	bool credential;
	bool bound; /* exists, and became an item */
	bool skipped;
	const char *written; /* borrowed from the policy */
	struct policy_pos pos;
	uint32_t allow;
	uint32_t deny;
	bool optional;
	bool broad;
	struct policy_path path;
	struct policy_resolved at;
};

/* A real path that is a rule's root, with all that is said about it. */
struct policy_item {
	const char *path;		 /* borrowed from an entry or the image */
	const struct policy_entry *rule; /* files rule, NULL: none */
	const struct policy_entry *store;
	uint32_t rights; /* effective */
	uint32_t flags;
	struct stat st;
};

struct policy_build {
	const struct policy *p;
	const struct policy_env *env;
	struct weir_err *e;
	struct policy_image *im;
	struct policy_env lexical; /* normal forms of env; owned, as is real */
	struct policy_env real;
	struct stat workspace_st;
	struct policy_entry *entries; /* entries[id - 1] */
	size_t entry_count;
	struct policy_item *items; /* sorted once policy_build_items is done */
	size_t item_count;
	size_t store_files;
};

/* The steps. Borrows: b. Returns: 0 or a negative errno with the error set. */
int policy_build_entries(struct policy_build *b);
int policy_build_written(struct policy_build *b); /* entries, without a look at the host */
int policy_build_items(struct policy_build *b);
int policy_build_names(struct policy_build *b);
int policy_build_stores(struct policy_build *b);
int policy_build_objects(struct policy_build *b);
int policy_build_reach(struct policy_build *b);

/* Nearest item at path, or above it if `itself` is false. Borrows: path. Returns: borrowed
 * from b, or NULL. */
const struct policy_item *policy_item_above(const struct policy_build *b, const char *path,
					    bool itself);

/* Adds an object. Takes nothing; path is copied. Returns: 0, -ENOMEM or -E2BIG. */
int policy_add_object(struct policy_build *b, const char *path, const struct stat *st,
		      const struct policy_object *rest);

/* Adds a note about an entry. Borrows: all. Returns: 0 or -ENOMEM. */
int policy_add_note(struct policy_build *b, enum policy_note_kind kind,
		    const struct policy_entry *entry, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Sets the error to -ENOMEM. Returns: -ENOMEM. */
int policy_build_oom(struct policy_build *b);

#endif
