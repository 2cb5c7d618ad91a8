/* SPDX-License-Identifier: MIT */
/*
 * The rules of the manifest format that hold for an entry and its place, shared by the
 * writer and the reader.
 */
#ifndef WEIR_TREE_RULES_H
#define WEIR_TREE_RULES_H

#include "user/base/buf.h"
#include "user/tree/walk.h"

struct manifest_place {
	struct buf last; /* path of the entry before */
	bool last_dir;
	uint64_t entries;
};

/* Checks an entry against the format and the one before, and remembers it. Borrows: entry.
 * Returns: NULL, or what is wrong with it. */
const char *manifest_check_entry(struct manifest_place *place, const struct tree_entry *entry);

/* Letter of a file type. Returns: 0 for none of the seven. */
char manifest_type_letter(uint32_t mode);

/* Type bits of a letter. Returns: 0 for none of the seven. */
uint32_t manifest_type_mode(char letter);

#endif
