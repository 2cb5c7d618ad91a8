/* SPDX-License-Identifier: MIT */
/*
 * What says who people are, from an enemy: allowed_signers ('s'), roles.yaml ('r'), revocation
 * lists ('k'), certificates and public keys ('c'); the first byte chooses. A list that can be
 * read says about a key what it says when asked again, and nothing found has no name.
 */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "writeback/krl.h"
#include "writeback/roles.h"
#include "writeback/sshcert.h"
#include "writeback/sshkey.h"
#include "writeback/sshpub.h"

static void make_key(struct buf *blob)
{
	unsigned char key[ED25519_PUBLIC] = { 1, 2, 3 };

	FUZZ_REQUIRE(sshkey_blob(key, blob) == 0);
}

static void try_signers(const char *text, size_t len)
{
	struct signers s;
	struct sshwire none = { 0 }, key;
	struct buf blob = { 0 }, name = { 0 };
	struct weir_err e = { 0 };
	int answer;

	if (signers_parse("fuzz", text, len, &s, &e) < 0) {
		FUZZ_REQUIRE(s.count == 0 && e.text[0]);
		return;
	}
	make_key(&blob);
	key = sshwire_of(&blob);
	answer = signers_find(&s, &none, &key, "approver@weir.v1", 1780000000, &name);
	FUZZ_REQUIRE(answer >= 0 && (answer == SIGNERS_FOUND) == (name.len > 0));
	FUZZ_REQUIRE(answer != SIGNERS_FOUND || !strpbrk(buf_str(&name), "*?!,"));
	buf_done(&blob);
	buf_done(&name);
	signers_done(&s);
}

static void try_krl(const char *data, size_t len)
{
	struct sshwire list = { (const unsigned char *)data, len }, key;
	struct buf blob = { 0 };
	struct weir_err e = { 0 };
	int readable = krl_check(&list, "fuzz", &e), found;

	make_key(&blob);
	key = sshwire_of(&blob);
	found = krl_has(&list, &key);
	FUZZ_REQUIRE((readable == 0) == (found >= 0));
	buf_done(&blob);
}

static void try_certificate(const char *data, size_t len)
{
	struct sshwire blob = { (const unsigned char *)data, len };
	struct sshcert cert = { 0 };
	char fingerprint[SSHPUB_FINGERPRINT];

	FUZZ_REQUIRE(sshcert_read(&blob, &cert) < 0 || cert.plain.len > 0);
	/* nobody signed this */
	FUZZ_REQUIRE(sshpub_verify(&blob, &blob, "fuzz", 4) < 0);
	FUZZ_REQUIRE(sshpub_fingerprint(&blob, fingerprint) == 0 && strlen(fingerprint) == 50);
	sshcert_done(&cert);
}

static void try_roles(const char *text, size_t len)
{
	struct roles r;
	struct weir_err e = { 0 };

	if (roles_parse("fuzz", text, len, &r, &e) < 0) {
		FUZZ_REQUIRE(r.count == 0 && e.text[0]);
		return;
	}
	for (size_t i = 0; i < r.count; i++)
		for (size_t k = 0; k < r.people[i].principals.count; k++)
			FUZZ_REQUIRE(roles_by_principal(&r, r.people[i].principals.items[k]) ==
				     &r.people[i]);
	roles_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;

	if (size < 1)
		return 0;
	switch (data[0]) {
	case 's':
		try_signers(text, size - 1);
		break;
	case 'k':
		try_krl(text, size - 1);
		break;
	case 'c':
		try_certificate(text, size - 1);
		break;
	default:
		try_roles(text, size - 1);
		break;
	}
	return 0;
}
