/* SPDX-License-Identifier: MIT */
/*
 * Contents from an enemy. Invariants: looked at in two pieces (the first byte says where they
 * part) a file has the findings of the whole; details are printable; ids name their class.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "writeback/scan.h"

/* Pieces have a least size: the input stands at the border of two, between blank lines. */
static void scan_pieces(struct scan *s, const unsigned char *text, size_t len, size_t first,
			struct hazards *h)
{
	static const unsigned char sha256[DIGEST_SIZE] = { 1 };
	unsigned char *buffer = malloc(len + 1);
	size_t kept = 0, done = 0;

	scan_begin(s);
	do {
		size_t piece = done == 0 && first < len ? first : len - done;
		long keep;

		memcpy(buffer + kept, text + done, piece);
		done += piece;
		keep = scan_feed(s, buffer, kept + piece, done == len);
		FUZZ_REQUIRE(keep >= 0 && (size_t)keep <= SCAN_OVERLAP + 3);
		FUZZ_REQUIRE(done < len || keep == 0);
		memmove(buffer, buffer + kept + piece - keep, (size_t)keep);
		kept = (size_t)keep;
	} while (done < len);
	FUZZ_REQUIRE(scan_end(s, h, "f", sha256) == 0);
	free(buffer);
}

static void compare(const struct hazards *a, const struct hazards *b)
{
	FUZZ_REQUIRE(a->count == b->count);
	for (size_t i = 0; i < a->count; i++) {
		FUZZ_REQUIRE(strcmp(a->items[i].id, b->items[i].id) == 0);
		FUZZ_REQUIRE(strcmp(a->items[i].place, b->items[i].place) == 0);
		FUZZ_REQUIRE(a->items[i].times == b->items[i].times);
		FUZZ_REQUIRE(strncmp(a->items[i].id, hazard_name(a->items[i].kind),
				     strlen(hazard_name(a->items[i].kind))) == 0);
		for (const char *c = a->items[i].detail; *c; c++)
			FUZZ_REQUIRE((unsigned char)*c >= 0x20 && *c != 0x7f);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t first = SCAN_PIECE_MIN, start, len;
	struct hazards whole = { 0 }, pieces = { 0 };
	struct scan *s = NULL;
	unsigned char *text;

	if (size < 1 || size > SCAN_PIECE_MIN)
		return 0;
	/* SECRET_SPAN before the border is where the first piece stops */
	start = first - SECRET_SPAN - (data[0] * size / 256);
	len = start + size - 1 + SCAN_PIECE_MIN;
	text = malloc(len);
	memset(text, '\n', len);
	if (size > 1)
		memcpy(text + start, data + 1, size - 1);
	FUZZ_REQUIRE(scan_new(&s) == 0);
	scan_pieces(s, text, len, len, &whole);
	scan_pieces(s, text, len, first, &pieces);
	compare(&whole, &pieces);
	hazards_done(&whole);
	hazards_done(&pieces);
	scan_pieces(s, data + 1, size - 1, size, &whole);
	hazards_done(&whole);
	scan_free(s);
	free(text);
	return 0;
}
