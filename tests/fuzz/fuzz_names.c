/* SPDX-License-Identifier: MIT */
/*
 * Names and link targets from an enemy: "PATH NUL TARGET". Invariants: folding is stable (what is
 * folded folds to itself), a name that folds to .git is found, and what ASCII letters of another
 * case make of a name changes neither its fold nor its class.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "writeback/names.h"
#include "writeback/privileged.h"

static void try_part(const char *part, size_t len)
{
	char folded[NAME_FOLD_MAX], again[NAME_FOLD_MAX], look[NAME_FOLD_MAX];
	size_t n = name_fold(part, len, folded);

	FUZZ_REQUIRE(n < NAME_FOLD_MAX && folded[n] == '\0');
	/* longer ones are cut, perhaps inside a character */
	if (n <= NAME_PART_MAX) {
		FUZZ_REQUIRE(name_fold(folded, n, again) == n);
		FUZZ_REQUIRE(memcmp(folded, again, n) == 0);
	}
	FUZZ_REQUIRE(name_look(part, len, look) < NAME_FOLD_MAX);
	if (name_is_ascii(part, len))
		FUZZ_REQUIRE(strcmp(look, folded) == 0);
	if (len <= NAME_PART_MAX && strcmp(folded, ".git") == 0)
		FUZZ_REQUIRE(name_is_dotgit(part, len));
}

static enum hazard_kind class_of(const char *path)
{
	struct privileged *table = NULL;
	enum hazard_kind kind;
	const char *row;

	FUZZ_REQUIRE(privileged_new(&table) == 0);
	kind = privileged_class(table, path, &row);
	FUZZ_REQUIRE((row == NULL) == (kind == HAZARD_COUNT));
	privileged_free(table);
	return kind;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hazards h = { 0 };
	char *path, *target;
	enum hazard_kind kind;

	if (size > 8192)
		return 0;
	path = malloc(size + 2);
	memcpy(path, data, size);
	path[size] = path[size + 1] = '\0';
	target = path + strlen(path) + 1;
	FUZZ_REQUIRE(names_inspect_path(&h, path) == 0);
	FUZZ_REQUIRE(names_inspect_link(&h, path, 0, target) == 0);
	for (size_t i = 0; i < h.count; i++)
		FUZZ_REQUIRE(strcmp(h.items[i].path, path) == 0 && h.items[i].id[0]);
	for (const char *at = path; *at;) {
		size_t len = strcspn(at, "/");

		try_part(at, len);
		at += len;
		at += *at == '/';
	}
	kind = class_of(path);
	for (char *c = path; *c; c++)
		if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z'))
			*c ^= 0x20;
	FUZZ_REQUIRE(class_of(path) == kind);
	hazards_done(&h);
	free(path);
	return 0;
}
