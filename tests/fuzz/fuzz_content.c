/* SPDX-License-Identifier: MIT */
/*
 * .gitattributes ('a' first) and .gitmodules ('m' first) from an enemy. Invariants: places are
 * inside the file, blank lines before it move them and change nothing else, and a file of
 * submodules that passes has no byte that git could read in another way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "writeback/content.h"

static unsigned long line_of(const struct hazard *item)
{
	return strtoul(item->place, NULL, 10);
}

static void check_moved(const char *path, const char *data, size_t len, const struct hazards *h)
{
	struct hazards moved = { 0 };
	char *text = malloc(len + 2);

	text[0] = text[1] = '\n';
	if (len > 0)
		memcpy(text + 2, data, len);
	FUZZ_REQUIRE(content_inspect(&moved, path, text, len + 2) == 0);
	FUZZ_REQUIRE(moved.count == h->count);
	for (size_t i = 0; i < h->count; i++) {
		bool nul = strcmp(h->items[i].detail, "a NUL byte") == 0;

		FUZZ_REQUIRE(moved.items[i].kind == h->items[i].kind);
		FUZZ_REQUIRE(nul || line_of(&moved.items[i]) == line_of(&h->items[i]) + 2);
	}
	hazards_done(&moved);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path, *text = (const char *)data + 1;
	struct hazards h = { 0 };
	unsigned long lines = 1;

	if (size < 1 || (data[0] != 'a' && data[0] != 'm'))
		return 0;
	path = data[0] == 'a' ? "d/.gitattributes" : ".gitmodules";
	size--;
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	FUZZ_REQUIRE(content_inspect(&h, path, text, size) == 0);
	for (size_t i = 0; i < h.count; i++)
		FUZZ_REQUIRE(line_of(&h.items[i]) >= 1 && line_of(&h.items[i]) <= lines);
	check_moved(path, text, size, &h);
	if (data[0] == 'm' && h.count == 0)
		for (size_t i = 0; i < size; i++)
			FUZZ_REQUIRE(((unsigned char)text[i] >= 0x20 && text[i] != 0x7f) ||
				     text[i] == '\n' || text[i] == '\t');
	hazards_done(&h);
	return 0;
}
