/* SPDX-License-Identifier: MIT */
/*
 * Texts of a transparency log from an enemy. The first byte chooses: n a note as it is, t a
 * text that is signed first and read as a checkpoint, p a proof whose checkpoint is good, q a
 * proof as it is, c a proof of consistency, b a bundle of entries (second byte: how many), k a
 * public key.
 */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "writeback/tlog.h"

static const unsigned char seed[ED25519_SEED] = { 1, 2, 3 };

static struct note_key our_key(void)
{
	unsigned char public_key[ED25519_PUBLIC];
	struct note_key k;

	FUZZ_REQUIRE(digest_public(seed, public_key) == 0);
	FUZZ_REQUIRE(note_key_set(&k, "example.com/log", public_key) == 0);
	return k;
}

static void try_note(const struct note_key *k, const char *text, size_t len)
{
	struct weir_err e = { 0 };
	size_t text_len = 0;

	if (note_open(k, text, len, &text_len, &e) == 0)
		FUZZ_REQUIRE(text_len > 0 && text_len < len && text[text_len - 1] == '\n');
	else
		FUZZ_REQUIRE(e.text[0]);
}

/* What is read and written again is the same, but for extension lines. */
static void try_checkpoint(const struct note_key *k, const char *text, size_t len)
{
	struct buf note = { 0 }, again = { 0 };
	struct tlog_checkpoint c, back;
	struct weir_err e = { 0 };

	if (note_sign(k, seed, text, len, &note) == 0) {
		try_note(k, note.data, note.len);
		if (tlog_checkpoint_open(k, note.data, note.len, &c, &e) == 0) {
			FUZZ_REQUIRE(tlog_checkpoint_sign(&c, k, seed, &again) == 0);
			FUZZ_REQUIRE(tlog_checkpoint_open(k, again.data, again.len, &back, &e) ==
				     0);
			FUZZ_REQUIRE(c.size == back.size && merkle_equal(&c.root, &back.root));
		} else {
			FUZZ_REQUIRE(e.text[0]);
		}
	}
	buf_done(&note);
	buf_done(&again);
}

static void try_proof(const struct note_key *k, const char *text, size_t len, bool sign)
{
	struct tlog_checkpoint c = { .size = 7 };
	struct buf whole = { 0 }, note = { 0 }, again = { 0 };
	struct tlog_proof p;
	struct weir_err e = { 0 };

	buf_add(&whole, text, len);
	if (sign) {
		FUZZ_REQUIRE(tlog_checkpoint_sign(&c, k, seed, &note) == 0);
		buf_add(&whole, note.data, note.len);
	}
	if (tlog_proof_parse(k, buf_str(&whole), whole.len, &p, &e) == 0 && sign) {
		FUZZ_REQUIRE(p.path.count <= MERKLE_PATH_MAX && p.checkpoint.size == 7);
		FUZZ_REQUIRE(tlog_proof_format(p.index, &p.path, &note, &again) == 0);
		FUZZ_REQUIRE(tlog_proof_parse(k, again.data, again.len, &p, &e) == 0);
	}
	buf_done(&whole);
	buf_done(&note);
	buf_done(&again);
}

static void try_consistency(const char *text, size_t len)
{
	struct buf again = { 0 };
	struct merkle_path path;
	struct merkle_hash a = { { 1 } }, b = { { 2 } };
	uint64_t old;

	if (tlog_consistency_parse(text, len, &old, &path) < 0)
		return;
	FUZZ_REQUIRE(tlog_consistency_format(old, &path, &again) == 0);
	FUZZ_REQUIRE(again.len == len && memcmp(again.data, text, len) == 0);
	FUZZ_REQUIRE(merkle_check_consistency(old, &a, old + 1000, &b, &path) < 0);
	FUZZ_REQUIRE(merkle_check_inclusion(&a, old, 1u << 20, &path, &b) < 0);
	buf_done(&again);
}

static void try_bundle(const char *data, size_t len)
{
	static struct tlog_entry entries[MERKLE_TILE];
	unsigned int width = len ? (unsigned char)data[0] : 0;
	struct buf again = { 0 };

	if (len == 0 || tlog_bundle_parse(data + 1, len - 1, width, entries) < 0)
		return;
	for (unsigned int i = 0; i < width; i++)
		FUZZ_REQUIRE(tlog_bundle_add(&again, entries[i].data, entries[i].len) == 0);
	FUZZ_REQUIRE(again.len == len - 1 && (len == 1 || !memcmp(again.data, data + 1, len - 1)));
	buf_done(&again);
}

static void try_key(const char *text)
{
	struct note_key k, again;
	struct buf written = { 0 };

	if (note_key_parse(text, &k) < 0)
		return;
	FUZZ_REQUIRE(note_key_format(&k, &written) == 0);
	FUZZ_REQUIRE(note_key_parse(buf_str(&written), &again) == 0);
	FUZZ_REQUIRE(strcmp(k.name, again.name) == 0);
	buf_done(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct note_key k = our_key();
	struct buf rest = { 0 };

	if (size < 1)
		return 0;
	buf_add(&rest, data + 1, size - 1);
	switch (data[0]) {
	case 'n':
		try_note(&k, buf_str(&rest), rest.len);
		break;
	case 't':
		try_checkpoint(&k, buf_str(&rest), rest.len);
		break;
	case 'p':
	case 'q':
		try_proof(&k, buf_str(&rest), rest.len, data[0] == 'p');
		break;
	case 'c':
		try_consistency(buf_str(&rest), rest.len);
		break;
	case 'b':
		try_bundle(buf_str(&rest), rest.len);
		break;
	case 'k':
		try_key(buf_str(&rest));
		break;
	default:
		break;
	}
	buf_done(&rest);
	return 0;
}
