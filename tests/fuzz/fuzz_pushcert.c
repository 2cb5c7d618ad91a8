/* SPDX-License-Identifier: MIT */
/* What comes with a push: its certificate, and the lines that git hands to the hook. */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "writeback/pushcert.h"
#include "writeback/receive.h"

static void try_certificate(const char *text, size_t len)
{
	struct pushcert c = { 0 };
	struct buf blob = { 0 };
	struct weir_err e = { 0 };

	if (pushcert_parse(text, len, &c, &e) < 0) {
		FUZZ_REQUIRE(e.text[0]);
	} else {
		FUZZ_REQUIRE(c.signed_len < c.len && c.len <= len);
		FUZZ_REQUIRE(c.ref[0] && c.nonce[0] && c.reason[0]);
		FUZZ_REQUIRE(pushcert_verify(&c, text, &blob, &e) < 0 ? e.text[0] : blob.len > 0);
	}
	pushcert_done(&c);
	buf_done(&blob);
}

static void try_lines(const char *text)
{
	struct receive r = { .repo = { .fd = -1 }, .ledger = { .dir = -1 } };
	struct weir_err e = { 0 };

	if (receive_parse(&r, text, &e) < 0)
		FUZZ_REQUIRE(e.text[0]);
	for (size_t i = 0; i < r.count; i++)
		FUZZ_REQUIRE(r.updates[i].ref[0]);
	receive_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	FUZZ_REQUIRE(text);
	memcpy(text, data, size);
	text[size] = '\0';
	try_certificate(text, size);
	try_lines(text);
	free(text);
	return 0;
}
