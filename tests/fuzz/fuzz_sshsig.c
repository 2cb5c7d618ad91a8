/* SPDX-License-Identifier: MIT */
/*
 * SSH formats from an enemy: armored signatures, private key files, signers files. The first
 * byte chooses; for 's' and 'k' with the second byte odd the rest is put into armor first.
 * Whatever parses must survive being written and read again.
 */
#include <string.h>
#include <time.h>

#include "tests/fuzz/fuzz.h"
#include "writeback/signers.h"
#include "writeback/sshsig.h"
#include "writeback/sshwire.h"

static void armor(const char *kind, const uint8_t *data, size_t size, bool wrap, struct buf *text)
{
	if (!wrap) {
		buf_add(text, data, size);
		return;
	}
	buf_addf(text, "-----BEGIN %s-----\n", kind);
	base64_write(data, size, 70, text);
	buf_addf(text, "-----END %s-----\n", kind);
}

static void try_signature(const struct buf *text)
{
	struct buf blob = { 0 };
	struct weir_err e = { 0 };

	/* nobody signed this text */
	FUZZ_REQUIRE(sshsig_verify(buf_str(text), text->len, "git", "fuzz", 4, &blob, &e) < 0);
	FUZZ_REQUIRE(blob.len == 0 && e.text[0]);
	buf_done(&blob);
}

static void try_key(const struct buf *text)
{
	struct sshkey key, again;
	struct buf written = { 0 };
	struct weir_err e = { 0 };

	if (sshkey_parse(buf_str(text), text->len, &key, &e) < 0) {
		FUZZ_REQUIRE(e.text[0]);
		return;
	}
	FUZZ_REQUIRE(sshkey_format(key.seed, "fuzz", &written) == 0);
	FUZZ_REQUIRE(sshkey_parse(written.data, written.len, &again, &e) == 0);
	FUZZ_REQUIRE(memcmp(&key, &again, sizeof(key)) == 0);
	buf_done(&written);
}

static void try_signers(const struct buf *text)
{
	struct buf blob = { 0 };
	struct buf principal = { 0 };
	struct weir_err e = { 0 };
	unsigned char key[ED25519_PUBLIC] = { 1, 2, 3 };
	int err;

	if (strlen(buf_str(text)) != text->len || sshkey_blob(key, &blob) < 0)
		return;
	err = signers_find_in(buf_str(text), &blob, "git", 1780000000, &principal, &e);
	FUZZ_REQUIRE(err == 0 ? principal.len > 0 : err < 0);
	buf_done(&blob);
	buf_done(&principal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf text = { 0 };

	if (size < 2)
		return 0;
	switch (data[0]) {
	case 's':
		armor("SSH SIGNATURE", data + 2, size - 2, data[1] & 1, &text);
		try_signature(&text);
		break;
	case 'k':
		armor("OPENSSH PRIVATE KEY", data + 2, size - 2, data[1] & 1, &text);
		try_key(&text);
		break;
	default:
		buf_add(&text, data + 2, size - 2);
		try_signers(&text);
		break;
	}
	buf_done(&text);
	return 0;
}
