/* SPDX-License-Identifier: MIT */
/* Contents: each hazard by its exact bytes, what must pass beside it, and pieces of any size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/scan.h"

#define ONE(id) (1ull << HAZARD_##id)

static struct hazards last;
static struct scan *scanner;

static uint64_t scan_bytes(const void *data, size_t len)
{
	unsigned char sha256[DIGEST_SIZE];
	unsigned char *exact = malloc(len ? len : 1);
	uint64_t kinds = 0;

	memcpy(exact, data, len);
	hazards_done(&last);
	scan_begin(scanner);
	assert_int_equal(scan_feed(scanner, exact, len, true), 0);
	assert_int_equal(digest_bytes(data, len, sha256), 0);
	assert_int_equal(scan_end(scanner, &last, "f", sha256), 0);
	free(exact);
	for (size_t i = 0; i < last.count; i++)
		kinds |= 1ull << last.items[i].kind;
	return kinds;
}

#define SCAN(text) scan_bytes(text, sizeof(text) - 1)

static void plain_text_passes(void **state)
{
	(void)state;
	assert_int_equal(SCAN(""), 0);
	assert_int_equal(SCAN("int main(void)\r\n{\f\n\treturn 0;\n}\n"), 0);
	assert_int_equal(SCAN("\xef\xbb\xbf"
			      "byte order mark"),
			 0);
	assert_int_equal(SCAN("na\xc3\xafve caf\xc3\xa9 \xe2\x82\xac \xe2\x80\x9cq\xe2\x80\x9d"),
			 0);
	assert_int_equal(SCAN("Latin-1: caf\xe9 \xfc\xff"), 0);
	assert_int_equal(SCAN("\xd0\xbf\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82 USB-"
			      "\xd0\xbf\xd0\xbe\xd1\x80\xd1\x82 user_\xd0\xb8\xd0\xbc\xd1\x8f"),
			 0);
	assert_int_equal(SCAN("\xce\x94x \xcf\x83_max \xce\xbcm"), 0); /* Greek in formulas */
	assert_int_equal(SCAN("x\xe8\xbd\xb4 \xe6\x97\xa5\xe6\x9c\xac"), 0);
	/* emoji: family with joiners, heart with selector, keycap; Persian with a joiner */
	assert_int_equal(SCAN("\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9 \xe2\x9d\xa4\xef\xb8"
			      "\x8f 1\xef\xb8\x8f\xe2\x83\xa3"),
			 0);
	assert_int_equal(SCAN("\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xae"), 0);
}

struct row {
	const char *text;
	uint64_t kinds;
	const char *place;
	const char *detail;
};

static void text_hazards(void **state)
{
	static const struct row rows[] = {
		{ "a\nif (x) { \xe2\x80\xae", ONE(BIDI), "2:10", "U+202E" },
		{ "\xe2\x81\xa6 x", ONE(BIDI), "1:1", "U+2066" },
		{ "x\xe2\x81\xa9", ONE(BIDI), "1:2", "U+2069" },
		{ "x\xd8\x9c", ONE(BIDI), "1:2", "U+061C" },
		{ "x\xe2\x80\x8f", ONE(BIDI), "1:2", "U+200F" },
		{ "ad\xe2\x80\x8bmin", ONE(INVISIBLE), "1:3", "U+200B" },
		{ "ad\xe2\x80\x8dmin", ONE(INVISIBLE), "1:3", "U+200D" },
		{ "a\xc2\xad", ONE(INVISIBLE), "1:2", "U+00AD" },
		{ "a\xef\xbb\xbf", ONE(INVISIBLE), "1:2", "U+FEFF" },
		{ "a\xe3\x85\xa4", ONE(INVISIBLE), "1:2", "U+3164" },
		{ "a\xe2\x80\xa8z", ONE(INVISIBLE), "1:2", "U+2028" },
		{ "a\xf3\xa0\x81\x81", ONE(INVISIBLE), "1:2", "U+E0041" },
		{ "x\xef\xb8\x80y", ONE(INVISIBLE), "1:2", "U+FE00" },
		{ "\xe2\x9d\xa4\xf3\xa0\x84\x80\xf3\xa0\x84\x81", ONE(INVISIBLE), "1:8",
		  "U+E0101" },
		{ "is_\xd0\xb0"
		  "dmin",
		  ONE(MIXED), "1:6", "U+0064" },
		{ "\nadm\xd1\x96n", ONE(MIXED), "2:4", "U+0456" },
		{ "\xce\x91"
		  "BC",
		  ONE(MIXED), "1:3", "U+0042" },
		{ "pay\xef\xbd\x90"
		  "al",
		  ONE(MIXED), "1:4", "U+FF50" },
		{ "\x1b[2K\x1b[1A", ONE(ESCAPE), "1:1", "U+001B" },
		{ "ok\b\bNO", ONE(ESCAPE), "1:3", "U+0008" },
		{ "a\xc2\x9b"
		  "31m",
		  ONE(ESCAPE), "1:2", "U+009B" },
		{ "a\x7f", ONE(ESCAPE), "1:2", "U+007F" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t kinds = scan_bytes(rows[i].text, strlen(rows[i].text));

		if (kinds != rows[i].kinds || last.count != 1)
			fail_msg("row %zu: %llx, %zu findings", i, (unsigned long long)kinds,
				 last.count);
		assert_string_equal(last.items[0].place, rows[i].place);
		assert_string_equal(last.items[0].detail, rows[i].detail);
	}
	assert_int_equal(SCAN("\xe2\x80\xae\n\xe2\x80\xae\n"), ONE(BIDI));
	assert_int_equal(last.items[0].times, 2);
}

static void long_lines(void **state)
{
	char *text = malloc(3 * SCAN_LINE_MAX + 4);

	(void)state;
	memset(text, 'x', 3 * SCAN_LINE_MAX);
	assert_int_equal(scan_bytes(text, SCAN_LINE_MAX), 0);
	assert_int_equal(scan_bytes(text, SCAN_LINE_MAX + 1), ONE(LONGLINE));
	text[SCAN_LINE_MAX] = '\n';
	assert_int_equal(scan_bytes(text, 2 * SCAN_LINE_MAX + 1), 0);
	assert_int_equal(scan_bytes(text, 2 * SCAN_LINE_MAX + 2), ONE(LONGLINE));
	assert_string_equal(last.items[0].place, "2:1");
	text[0] = '\n';
	text[2 * SCAN_LINE_MAX + 2] = '\n';
	assert_int_equal(scan_bytes(text, 3 * SCAN_LINE_MAX), ONE(LONGLINE));
	assert_int_equal(last.items[0].times, 1);
	free(text);
}

static void binaries_and_pointers(void **state)
{
	(void)state;
	assert_int_equal(SCAN("\x89PNG\r\n\0\0\xe2\x80\xae"), ONE(BINARY));
	assert_string_equal(last.items[0].place, "");
	assert_non_null(strstr(last.items[0].detail, "11 bytes, sha256:"));
	assert_int_equal(SCAN("\x7f"
			      "ELF\2\1\1\0"),
			 ONE(PROGRAM));
	assert_int_equal(SCAN("MZ\x90\0\3"), ONE(PROGRAM));
	assert_int_equal(SCAN("\0asm\1\0\0\0"), ONE(PROGRAM));
	assert_int_equal(SCAN("\xca\xfe\xba\xbe\0\0\0\x34"), ONE(PROGRAM));
	assert_int_equal(SCAN("MZ is text"), 0);
	assert_int_equal(SCAN("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"),
			 ONE(LFS));
	assert_int_equal(SCAN("see version https://git-lfs.github.com/spec/v1\n"), 0);
}

/* Written in two parts, so that this file is no finding itself. */
#define KEY_HEAD "-----BEGIN "
#define SSH_OPEN \
	"OPENSSH PRIVATE KEY-----\n" \
	"b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n"
#define SSH_LOCKED \
	"OPENSSH PRIVATE KEY-----\n" \
	"b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABBbYzG9D1\n"
#define PKCS8 "PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEILzqmX8xGxPeUKJW9i5xj2zToFTmSoU8uM85/oaY\n"

static void private_keys(void **state)
{
	static const struct row rows[] = {
		{ KEY_HEAD SSH_OPEN, ONE(SECRETKEY), "1:1", "private key" },
		{ "x\n  " KEY_HEAD SSH_OPEN, ONE(SECRETKEY), "2:3", "private key" },
		{ KEY_HEAD SSH_LOCKED, ONE(SECRETLOCKED), "1:1", "private key" },
		{ KEY_HEAD PKCS8, ONE(SECRETKEY), "1:1", "private key" },
		{ "k = \"" KEY_HEAD "EC PRIVATE KEY-----\\nMHcCAQEEIBrandomrandomrandom\\n\" +\n"
		  "    \"randomrandomrandomrandom\\n\"",
		  ONE(SECRETKEY), "1:6", "private key" },
		{ KEY_HEAD "ENCRYPTED PRIVATE KEY-----\r\n"
			   "MIGjMF8GCSqGSIb3DQEFDTBSMDEGCSqGSIb3DQEFDDAkBBB\r\n",
		  ONE(SECRETLOCKED), "1:1", "private key" },
		{ KEY_HEAD "RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"
			   "DEK-Info: AES-128-CBC,00\n\nq83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vAQ==\n",
		  ONE(SECRETLOCKED), "1:1", "private key" },
		{ KEY_HEAD "PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n"
			   "lFgEZxyz0BYJKwYBBAHaRw8BAQdAabcdefabcdefabcdefab\n",
		  ONE(SECRETKEY), "1:1", "private key" },
		{ "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: x\nPublic-Lines: "
		  "2\n"
		  "AAAA\nBBBB\nPrivate-Lines: 1\nAAAAIHx\n",
		  ONE(SECRETKEY), "1:1", "PuTTY private key" },
		{ "PuTTY-User-Key-File-2: ssh-rsa\nEncryption: aes256-cbc\nPrivate-Lines: 1\nA\n",
		  ONE(SECRETLOCKED), "1:1", "PuTTY private key" },
		{ "# AGE-SECRET-"
		  "KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX",
		  ONE(SECRETKEY), "1:3", "age key" },
		{ "AGE-SECRET-"
		  "KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEQ",
		  0, NULL, NULL },
		/* programs that read keys */
		{ "strcmp(line, \"" KEY_HEAD "OPENSSH PRIVATE KEY-----\") == 0", 0, NULL, NULL },
		{ KEY_HEAD "RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----\n", 0, NULL,
		  NULL },
		{ KEY_HEAD "CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQ\n",
		  0, NULL, NULL },
		{ KEY_HEAD
		  "PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4\n",
		  0, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t kinds = scan_bytes(rows[i].text, strlen(rows[i].text));

		if (kinds != rows[i].kinds)
			fail_msg("row %zu: %llx", i, (unsigned long long)kinds);
		if (!kinds)
			continue;
		assert_string_equal(last.items[0].place, rows[i].place);
		assert_string_equal(last.items[0].detail, rows[i].detail);
	}
}

static void tokens(void **state)
{
	static const struct row rows[] = {
		/* a published example with a good checksum, and one digit changed */
		{ "t = 'ghp_"
		  "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17'",
		  ONE(SECRETTOKEN), "1:6", "GitHub personal token" },
		{ "t = 'ghp_"
		  "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq18'",
		  0, NULL, NULL },
		{ "xghp_"
		  "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17",
		  0, NULL, NULL },
		{ "ghp_"
		  "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17a",
		  0, NULL, NULL },
		{ "//registry/:_authToken=npm_"
		  "AbCdEfGhIjKlMnOpQrStUvWxYz01232piBxe\n",
		  ONE(SECRETTOKEN), "1:24", "npm token" },
		{ "\n\nid=AKIA"
		  "QWERTYUIOP234567 ",
		  ONE(SECRETLIKELY), "3:4", "AWS access key" },
		{ "AKIAIOSFODNN7EXAMPLE", 0, NULL, NULL },
		{ "AKIAAAAAAAAAAAAAAAAA", 0, NULL, NULL },
		{ "glpat-"
		  "aB3dEfGhIjKlMnOpQrSt",
		  ONE(SECRETLIKELY), "1:1", "GitLab token" },
		{ "xoxb-"
		  "123456789012-abcdefGHIJKL0987",
		  ONE(SECRETLIKELY), "1:1", "Slack bot token" },
		{ "key: sk_live_"
		  "4eC39HqLyjWDarjtT1zdp7dc",
		  ONE(SECRETLIKELY), "1:6", "Stripe key" },
		{ "AIza"
		  "SyA1bC2dE3fG4hI5jK6lM7nO8pQ9rS0tU1v",
		  ONE(SECRETLIKELY), "1:1", "Google API key" },
		{ "sk-abcdefghij0123456789T3Bl"
		  "bkFJabcdefghij0123456789",
		  ONE(SECRETLIKELY), "1:1", "OpenAI key" },
		{ "help_me(ghp_, npm_install, AKIA, xoxb-xxxxxxxxxxxxxxxxxxxxxxxxxxxx)", 0, NULL,
		  NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t kinds = scan_bytes(rows[i].text, strlen(rows[i].text));

		if (kinds != rows[i].kinds)
			fail_msg("row %zu: %llx", i, (unsigned long long)kinds);
		if (!kinds)
			continue;
		assert_string_equal(last.items[0].place, rows[i].place);
		assert_string_equal(last.items[0].detail, rows[i].detail);
		/* the secret itself is said nowhere */
		assert_null(strstr(last.items[0].detail, "zQW"));
	}
	/* the same secret elsewhere in the file keeps its id, another has another */
	SCAN("ghp_"
	     "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17\nnpm_"
	     "AbCdEfGhIjKlMnOpQrStUvWxYz01232piBxe");
	assert_int_equal(last.count, 2);
	{
		char id[HAZARD_ID_MAX];

		memcpy(id, last.items[0].id, sizeof(id));
		SCAN("moved\n\n ghp_"
		     "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17");
		assert_string_equal(last.items[0].id, id);
		assert_non_null(hazards_find(&last, id));
		assert_null(hazards_find(&last, "secret-token-0"));
	}
}

static void many_secrets_are_one_more_finding(void **state)
{
	char text[(SCAN_SECRETS_MAX + 5) * 24];
	size_t used = 0;

	(void)state;
	for (int i = 0; i < SCAN_SECRETS_MAX + 3; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "AKIA%cWERTYUIOP2345%c%c\n", 'A' + i % 26, 'A' + i / 26,
					 '2' + i % 6);
	assert_int_equal(scan_bytes(text, used), ONE(SECRETLIKELY) | ONE(SECRETMANY));
	assert_int_equal(last.count, SCAN_SECRETS_MAX + 1);
	for (size_t i = 0; i < last.count; i++)
		if (last.items[i].kind == HAZARD_SECRETMANY)
			assert_int_equal(last.items[i].times, 3);
}

/* Whatever the pieces, the findings are those of the whole. */
static void pieces_change_nothing(void **state)
{
	static const char *const needles[] = {
		"ghp_"
		"zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17",
		KEY_HEAD SSH_OPEN,
		"\xe2\x80\xae",
		"adm\xd1\x96n",
		"xAKIA"
		"QWERTYUIOP234567",
		"AKIA"
		"QWERTYUIOP234567",
		"sk-abcdefghij0123456789T3Bl"
		"bkFJabcdefghij0123456789",
		"\x1b[0m",
	};
	enum {
		WHOLE = 3 * SCAN_PIECE_MIN
	};
	unsigned char *text = malloc(WHOLE), *buffer = malloc(2 * WHOLE);
	unsigned char sha256[DIGEST_SIZE] = { 0 };

	(void)state;
	for (size_t n = 0; n < ARRAY_SIZE(needles); n++)
		for (size_t shift = 0; shift < 2 * SECRET_SPAN; shift += 7) {
			size_t at = SCAN_PIECE_MIN - SECRET_SPAN - 64 + shift, kept = 0, done = 0;
			struct hazards pieces = { 0 };

			memset(text, ' ', WHOLE);
			for (size_t i = 79; i < WHOLE; i += 80)
				text[i] = '\n';
			memcpy(text + at, needles[n], strlen(needles[n]));
			scan_bytes(text, WHOLE);
			scan_begin(scanner);
			while (done < WHOLE) {
				size_t len = WHOLE - done < SCAN_PIECE_MIN ? WHOLE - done
									   : SCAN_PIECE_MIN;
				long keep;

				memcpy(buffer + kept, text + done, len);
				done += len;
				keep = scan_feed(scanner, buffer, kept + len, done == WHOLE);
				assert_true(keep >= 0 && keep <= (long)SCAN_OVERLAP + 3);
				memmove(buffer, buffer + kept + len - keep, (size_t)keep);
				kept = (size_t)keep;
			}
			assert_int_equal(scan_end(scanner, &pieces, "f", sha256), 0);
			assert_int_equal(pieces.count, last.count);
			for (size_t i = 0; i < last.count; i++) {
				assert_int_equal(pieces.items[i].kind, last.items[i].kind);
				assert_string_equal(pieces.items[i].place, last.items[i].place);
			}
			hazards_done(&pieces);
		}
	free(text);
	free(buffer);
}

static int start(void **state)
{
	(void)state;
	return scan_new(&scanner);
}

static int stop(void **state)
{
	(void)state;
	scan_free(scanner);
	hazards_done(&last);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_text_passes),
		cmocka_unit_test(text_hazards),
		cmocka_unit_test(long_lines),
		cmocka_unit_test(binaries_and_pointers),
		cmocka_unit_test(private_keys),
		cmocka_unit_test(tokens),
		cmocka_unit_test(many_secrets_are_one_more_finding),
		cmocka_unit_test(pieces_change_nothing),
	};

	return cmocka_run_group_tests_name("scan", tests, start, stop);
}
