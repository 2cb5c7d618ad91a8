/* SPDX-License-Identifier: MIT */
/*
 * Envelopes and ledger entries from an enemy. The first byte chooses: e an envelope as it is, s
 * a payload that is put into a good envelope first (then the second byte flips one of its
 * bytes, if it is not 0), l an entry of the ledger.
 */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "writeback/dsse.h"
#include "writeback/ledgerentry.h"

static const unsigned char seed[ED25519_SEED] = { 4, 5, 6 };

static void try_envelope(const unsigned char *key, const char *text, size_t len)
{
	struct buf payload = { 0 };
	struct weir_err e = { 0 };

	/* nobody signed this */
	FUZZ_REQUIRE(dsse_open(DSSE_IN_TOTO, key, text, len, &payload, &e) < 0);
	FUZZ_REQUIRE(payload.len == 0 && e.text[0]);
	buf_done(&payload);
}

static void try_payload(const unsigned char *key, const char *data, size_t len)
{
	struct buf pae = { 0 }, text = { 0 }, back = { 0 };
	unsigned char signature[ED25519_SIGNATURE];
	size_t flip = (unsigned char)data[0];
	struct weir_err e = { 0 };

	data++;
	len--;
	FUZZ_REQUIRE(dsse_pae(DSSE_IN_TOTO, data, len, &pae) == 0);
	FUZZ_REQUIRE(digest_sign(seed, pae.data, pae.len, signature) == 0);
	FUZZ_REQUIRE(dsse_format(DSSE_IN_TOTO, data, len, "k", signature, &text) == 0);
	if (flip == 0) {
		FUZZ_REQUIRE(dsse_open(DSSE_IN_TOTO, key, text.data, text.len, &back, &e) == 0);
		FUZZ_REQUIRE(back.len == len && (len == 0 || !memcmp(back.data, data, len)));
	} else {
		text.data[flip % text.len] ^= 1;
		if (dsse_open(DSSE_IN_TOTO, key, text.data, text.len, &back, &e) == 0)
			FUZZ_REQUIRE(back.len == len && !memcmp(buf_str(&back), data, len));
	}
	buf_done(&pae);
	buf_done(&text);
	buf_done(&back);
}

static void try_entry(const char *data, size_t len)
{
	struct ledger_entry n, again;
	struct buf text = { 0 };
	struct weir_err e = { 0 };

	if (ledger_entry_parse(data, len, &n, &e) < 0) {
		FUZZ_REQUIRE(e.text[0]);
		return;
	}
	FUZZ_REQUIRE(n.kind < LEDGER_KIND_COUNT && n.intent >= -1);
	FUZZ_REQUIRE(ledger_entry_format(&n, &text) == 0);
	/* an empty text is written as "not known" */
	if (ledger_entry_parse(text.data, text.len, &again, &e) == 0)
		ledger_entry_done(&again);
	ledger_entry_done(&n);
	buf_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char key[ED25519_PUBLIC];
	struct buf rest = { 0 };

	if (size < 2 || size > 65536)
		return 0;
	FUZZ_REQUIRE(digest_public(seed, key) == 0);
	buf_add(&rest, data + 1, size - 1);
	if (data[0] == 'e')
		try_envelope(key, rest.data, rest.len);
	else if (data[0] == 's')
		try_payload(key, rest.data, rest.len);
	else if (data[0] == 'l')
		try_entry(rest.data, rest.len);
	buf_done(&rest);
	return 0;
}
