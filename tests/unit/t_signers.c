/* SPDX-License-Identifier: MIT */
/* Who signed: key types, certificates, revocation and roles, each against stock ssh-keygen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/lab.h"
#include "user/base/cleanup.h"
#include "user/base/digest.h"
#include "user/base/fsio.h"
#include "writeback/krl.h"
#include "writeback/roles.h"
#include "writeback/signers.h"
#include "writeback/sshcert.h"
#include "writeback/sshpub.h"
#include "writeback/sshsig.h"

#define SPACE "approver@weir.v1"

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	return sh(
		"for t in 'ed ed25519' 'ca ed25519' 'other ed25519' 'e256 ecdsa -b 256' "
		"'e384 ecdsa -b 384' 'e521 ecdsa -b 521' 'rsa rsa -b 2048' 'weak rsa -b 1024'; do "
		"set -- $t; ssh-keygen -q -N '' -C c -f $1 -t $2 $3 $4 || exit; done; "
		"printf 'hello\\n' >m");
}

static int teardown(void **state)
{
	(void)state;
	return lab_remove();
}

static void read_blob(const char *name, struct buf *blob)
{
	cleanup_buf struct buf line = { 0 };

	slurp(name, &line);
	assert_int_equal(sshkey_parse_public(line.data, blob), 0);
}

static int verify(const char *text, struct buf *blob)
{
	cleanup_buf struct buf sig = { 0 };
	struct weir_err e = { 0 };
	int err;

	slurp("m.sig", &sig);
	err = sshsig_verify(sig.data, sig.len, SPACE, text, strlen(text), blob, &e);
	assert_true(err == 0 || e.text[0]);
	return err;
}

/* Every key type that ssh-keygen signs with; a weak key is refused. */
static void test_types(void **state)
{
	static const struct {
		const char *key;
		const char *option;
		int want;
	} cases[] = { { "ed", "", 0 },
		      { "e256", "", 0 },
		      { "e384", "", 0 },
		      { "e521", "-O hashalg=sha256", 0 },
		      { "rsa", "", 0 },
		      { "rsa", "-O hashalg=sha256", 0 },
		      { "weak", "", -EKEYREJECTED } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_buf struct buf blob = { 0 };
		char line[256];

		snprintf(line, sizeof(line),
			 "rm -f m.sig; ssh-keygen -q -Y sign -f %s -n " SPACE " %s m 2>/dev/null",
			 cases[i].key, cases[i].option);
		/* OpenSSH may be as strict itself */
		if (sh(line) != 0) {
			assert_int_equal(cases[i].want, -EKEYREJECTED);
			continue;
		}
		assert_int_equal(verify("hello\n", &blob), cases[i].want);
		blob.len = 0;
		assert_true(verify("hellp\n", &blob) < 0);
		assert_int_equal(blob.len, 0);
	}
}

/* No bit of a signature is free, whatever the type. */
static void test_every_flip(void **state)
{
	static const char *const keys[] = { "e256", "rsa" };

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(keys); k++) {
		cleanup_buf struct buf blob = { 0 };
		cleanup_buf struct buf sig = { 0 };
		cleanup_buf struct buf raw = { 0 };
		struct weir_err e = { 0 };
		const char *from, *to;
		char line[256];

		snprintf(line, sizeof(line),
			 "rm -f m.sig; ssh-keygen -q -Y sign -f %s -n " SPACE " m 2>/dev/null",
			 keys[k]);
		assert_int_equal(sh(line), 0);
		slurp("m.sig", &sig);
		from = strchr(sig.data, '\n');
		to = strstr(from, "-----END");
		assert_int_equal(base64_read(from, (size_t)(to - from), &raw), 0);
		for (size_t bit = 0; bit < raw.len * 8; bit += 3) {
			cleanup_buf struct buf text = { 0 };

			raw.data[bit / 8] ^= (char)(1 << bit % 8);
			buf_addf(&text, "-----BEGIN SSH SIGNATURE-----\n");
			base64_write(raw.data, raw.len, 70, &text);
			buf_addf(&text, "-----END SSH SIGNATURE-----\n");
			assert_true(sshsig_verify(text.data, text.len, SPACE, "hello\n", 6, &blob,
						  &e) < 0);
			raw.data[bit / 8] ^= (char)(1 << bit % 8);
		}
	}
}

/* A security key in software: stock ssh-keygen says whether it is one. */
static void make_sk(unsigned char flags, struct buf *armor, struct buf *blob)
{
	unsigned char seed[ED25519_SEED] = { 7 }, key[ED25519_PUBLIC], hash[64],
		      raw[ED25519_SIGNATURE];
	cleanup_buf struct buf bytes = { 0 };
	cleanup_buf struct buf data = { 0 };
	cleanup_buf struct buf signature = { 0 };
	cleanup_buf struct buf whole = { 0 };

	assert_int_equal(digest_public(seed, key), 0);
	sshwire_put_text(blob, "sk-ssh-ed25519@openssh.com");
	sshwire_put(blob, key, sizeof(key));
	sshwire_put_text(blob, "ssh:");
	assert_int_equal(digest_bytes("hello\n", 6, hash), 0);
	buf_addf(&bytes, "SSHSIG");
	sshwire_put_text(&bytes, SPACE);
	sshwire_put_text(&bytes, "");
	sshwire_put_text(&bytes, "sha256");
	sshwire_put(&bytes, hash, 32);
	digest_bytes("ssh:", 4, hash);
	buf_add(&data, hash, 32);
	buf_add(&data, &flags, 1);
	buf_add_u32be(&data, 9);
	digest_bytes(bytes.data, bytes.len, hash);
	buf_add(&data, hash, 32);
	assert_int_equal(digest_sign(seed, data.data, data.len, raw), 0);
	sshwire_put_text(&signature, "sk-ssh-ed25519@openssh.com");
	sshwire_put(&signature, raw, sizeof(raw));
	buf_add(&signature, &flags, 1);
	buf_add_u32be(&signature, 9);
	buf_addf(&whole, "SSHSIG");
	buf_add_u32be(&whole, 1);
	sshwire_put(&whole, blob->data, blob->len);
	sshwire_put_text(&whole, SPACE);
	sshwire_put_text(&whole, "");
	sshwire_put_text(&whole, "sha256");
	sshwire_put(&whole, signature.data, signature.len);
	buf_addf(armor, "-----BEGIN SSH SIGNATURE-----\n");
	base64_write(whole.data, whole.len, 70, armor);
	buf_addf(armor, "-----END SSH SIGNATURE-----\n");
}

static void test_security_key(void **state)
{
	cleanup_buf struct buf armor = { 0 };
	cleanup_buf struct buf untouched = { 0 };
	cleanup_buf struct buf key = { 0 };
	cleanup_buf struct buf again = { 0 };
	cleanup_buf struct buf blob = { 0 };
	cleanup_buf struct buf line = { 0 };
	struct weir_err e = { 0 };

	(void)state;
	make_sk(1, &armor, &key);
	buf_addf(&line, "a@x namespaces=\"" SPACE "\" sk-ssh-ed25519@openssh.com ");
	base64_write(key.data, key.len, 0, &line);
	buf_addf(&line, "\n");
	spit("allowed", line.data, line.len);
	spit("m.sig", armor.data, armor.len);
	assert_int_equal(sh("ssh-keygen -Y verify -f allowed -I a@x -n " SPACE " -s m.sig <m >out"),
			 0);
	assert_int_equal(verify("hello\n", &blob), 0);
	assert_memory_equal(blob.data, key.data, key.len);
	make_sk(0, &untouched, &again);
	assert_int_equal(
		sshsig_verify(untouched.data, untouched.len, SPACE, "hello\n", 6, &blob, &e),
		-EKEYREJECTED);
	assert_non_null(strstr(e.text, "touched"));
}

static int find(const char *lines, const char *krl_file, const char *key, time_t when,
		const char *want_name)
{
	cleanup_signers struct signers s = { 0 };
	cleanup_buf struct buf krl = { 0 };
	cleanup_buf struct buf blob = { 0 };
	cleanup_buf struct buf name = { 0 };
	cleanup_buf struct buf text = { 0 };
	struct sshwire list, w;
	struct weir_err e = { 0 };
	char cmd[1024];
	int answer;

	/* $ed in a line is that key */
	snprintf(cmd, sizeof(cmd),
		 "for k in ed ca other; do eval \"$k='$(cut -d' ' -f1,2 $k.pub)'\"; done; "
		 "cat >list <<EOT\n%s\nEOT\n",
		 lines);
	assert_int_equal(sh(cmd), 0);
	slurp("list", &text);
	if (krl_file)
		slurp(krl_file, &krl);
	read_blob(key, &blob);
	answer = signers_parse("list", text.data, text.len, &s, &e);
	if (answer < 0)
		return answer;
	list = sshwire_of(&krl);
	w = sshwire_of(&blob);
	answer = signers_find(&s, &list, &w, SPACE, when, &name);
	assert_string_equal(buf_str(&name), answer == SIGNERS_FOUND ? want_name : "");
	return answer;
}

#define T2026 1780000000 /* May 2026 */

static void test_lines(void **state)
{
	(void)state;
	assert_int_equal(find("a@x $ed", NULL, "ed.pub", T2026, "a@x"), SIGNERS_FOUND);
	assert_int_equal(find("a@x $other", NULL, "ed.pub", T2026, ""), SIGNERS_UNKNOWN);
	assert_int_equal(find("a@x namespaces=\"git\" $ed", NULL, "ed.pub", T2026, ""),
			 SIGNERS_NAMESPACE);
	assert_int_equal(
		find("a@x namespaces=\"approver@weir.v1x\" $ed", NULL, "ed.pub", T2026, ""),
		SIGNERS_NAMESPACE);
	assert_int_equal(find("a@x valid-before=\"20260101Z\" $ed", NULL, "ed.pub", T2026, ""),
			 SIGNERS_TIME);
	assert_int_equal(find("a@x valid-after=\"20270101Z\" $ed", NULL, "ed.pub", T2026, ""),
			 SIGNERS_TIME);
	assert_int_equal(find("* $ed", NULL, "ed.pub", T2026, ""), SIGNERS_PATTERN);
	assert_int_equal(find("*@x $ed", NULL, "ed.pub", T2026, ""), SIGNERS_PATTERN);
	assert_int_equal(find("a@x,b@x $ed", NULL, "ed.pub", T2026, ""), SIGNERS_SHARED);
	assert_int_equal(find("a@x $ed\nb@x $ed", NULL, "ed.pub", T2026, ""), SIGNERS_SHARED);
	/* also when the second name is for another role */
	assert_int_equal(find("a@x $ed\nb@x namespaces=\"git\" $ed", NULL, "ed.pub", T2026, ""),
			 SIGNERS_SHARED);
	assert_int_equal(find("a@x namespaces=\"git\" $ed\na@x $ed", NULL, "ed.pub", T2026, "a@x"),
			 SIGNERS_FOUND);
	assert_int_equal(find("a@x cert-authority $ed", NULL, "ed.pub", T2026, ""),
			 SIGNERS_UNKNOWN);
	assert_int_equal(find("a@x touch-required $ed", NULL, "ed.pub", T2026, ""), -EINVAL);
	assert_int_equal(
		find("a@x namespaces=\"a\",namespaces=\"b\" $ed", NULL, "ed.pub", T2026, ""),
		-EINVAL);
	assert_int_equal(find("a@x ssh-ed25519 AAAA", NULL, "ed.pub", T2026, ""), -EINVAL);
}

/* -z serial -I key id -n principals, valid in 2026 unless said otherwise */
static void certify(const char *options)
{
	char line[512];

	snprintf(line, sizeof(line), "TZ=UTC ssh-keygen -q -s ca %s ed.pub", options);
	assert_int_equal(sh(line), 0);
}

#define VALID "-V 20260101:20270101 "

static void test_certificates(void **state)
{
	static const char authority[] = "a@x,b@x cert-authority,namespaces=\"" SPACE "\" $ca";
	cleanup_buf struct buf raw = { 0 };
	cleanup_buf struct buf blob = { 0 };
	struct sshwire w;

	(void)state;
	certify(VALID "-I id -n a@x");
	assert_int_equal(find(authority, NULL, "ed-cert.pub", T2026, "a@x"), SIGNERS_FOUND);
	assert_int_equal(find("a@x $ed", NULL, "ed-cert.pub", T2026, ""), SIGNERS_UNKNOWN);
	assert_int_equal(find("a@x cert-authority $other", NULL, "ed-cert.pub", T2026, ""),
			 SIGNERS_UNKNOWN);
	assert_int_equal(find("c@x cert-authority $ca", NULL, "ed-cert.pub", T2026, ""),
			 SIGNERS_CERTIFICATE);
	assert_int_equal(find("*@x cert-authority $ca", NULL, "ed-cert.pub", T2026, ""),
			 SIGNERS_PATTERN);
	assert_int_equal(find(authority, NULL, "ed-cert.pub", T2026 + 40000000, ""),
			 SIGNERS_CERTIFICATE);
	certify(VALID "-I id -n a@x,b@x");
	assert_int_equal(find(authority, NULL, "ed-cert.pub", T2026, ""), SIGNERS_SHARED);
	certify(VALID "-I id"); /* for everybody */
	assert_int_equal(find(authority, NULL, "ed-cert.pub", T2026, ""), SIGNERS_CERTIFICATE);
	certify(VALID "-I id -n a@x -h");
	assert_int_equal(find(authority, NULL, "ed-cert.pub", T2026, ""), SIGNERS_CERTIFICATE);
	certify(VALID "-I id -n a@x -O critical:x@y=z");
	assert_int_equal(find(authority, NULL, "ed-cert.pub", T2026, ""), SIGNERS_CERTIFICATE);
	/* signing with it, by stock */
	certify(VALID "-I id -n a@x");
	assert_int_equal(sh("rm -f m.sig; ssh-keygen -q -Y sign -f ed-cert.pub -n " SPACE
			    " m 2>/dev/null || (eval $(ssh-agent) >/dev/null; ssh-add -q ed; "
			    "ssh-keygen -q -Y sign -f ed-cert.pub -n " SPACE " m; s=$?; "
			    "ssh-agent -k >/dev/null; exit $s)"),
			 0);
	assert_int_equal(verify("hello\n", &blob), 0);
	read_blob("ed-cert.pub", &raw);
	assert_int_equal(blob.len, raw.len);
	for (size_t i = 0; i < raw.len; i++) {
		cleanup_sshcert struct sshcert cert = { 0 };

		raw.data[i] ^= 0x20;
		w = sshwire_of(&raw);
		assert_true(sshcert_read(&w, &cert) < 0);
		raw.data[i] ^= 0x20;
	}
}

/* What ssh-keygen -Q says of a key, krl_has must say; a list cut anywhere is an error. */
static void check_krl(const char *spec, const char *key, int want)
{
	cleanup_buf struct buf krl = { 0 };
	cleanup_buf struct buf blob = { 0 };
	struct sshwire list, w;
	struct weir_err e = { 0 };
	char line[1024];

	snprintf(line, sizeof(line), "rm -f k; %s", spec);
	assert_int_equal(sh(line), 0);
	snprintf(line, sizeof(line), "ssh-keygen -Q -f k %s >/dev/null", key);
	assert_int_equal(sh(line) != 0, want);
	slurp("k", &krl);
	read_blob(key, &blob);
	list = sshwire_of(&krl);
	w = sshwire_of(&blob);
	assert_int_equal(krl_has(&list, &w), want);
	assert_int_equal(krl_check(&list, "k", &e), 0);
	for (list.left--; list.left > 0; list.left--) {
		int got = krl_has(&list, &w);

		/* cut between two sections it is a list, of less */
		assert_true(got == -EBADMSG || got == 0 || got == want);
	}
}

static void test_krl(void **state)
{
	(void)state;
	certify(VALID "-I the-id -n a@x -z 77");
	check_krl("ssh-keygen -q -k -f k other.pub", "ed.pub", 0);
	check_krl("ssh-keygen -q -k -f k other.pub ed.pub", "ed.pub", 1);
	check_krl("ssh-keygen -q -k -f k ed.pub", "ed-cert.pub", 1);
	check_krl("ssh-keygen -q -k -f k ca.pub", "ed-cert.pub", 1);
	check_krl("ssh-keygen -q -k -f k ed-cert.pub", "ed-cert.pub", 1);
	check_krl("ssh-keygen -q -k -f k ed-cert.pub", "ed.pub", 0);
	check_krl("echo 'serial: 77' >s; ssh-keygen -q -k -s ca.pub -f k s", "ed-cert.pub", 1);
	check_krl("echo 'serial: 78' >s; ssh-keygen -q -k -s ca.pub -f k s", "ed-cert.pub", 0);
	check_krl("echo 'serial: 77' >s; ssh-keygen -q -k -s other.pub -f k s", "ed-cert.pub", 0);
	check_krl("echo 'serial: 70-90' >s; ssh-keygen -q -k -s ca.pub -f k s", "ed-cert.pub", 1);
	check_krl("seq 1 2 99 | sed 's/^/serial: /' >s; ssh-keygen -q -k -s ca.pub -f k s",
		  "ed-cert.pub", 1);
	check_krl("seq 2 2 99 | sed 's/^/serial: /' >s; ssh-keygen -q -k -s ca.pub -f k s",
		  "ed-cert.pub", 0);
	check_krl("echo 'id: the-id' >s; ssh-keygen -q -k -s ca.pub -f k s", "ed-cert.pub", 1);
	check_krl("echo 'id: the-i' >s; ssh-keygen -q -k -s ca.pub -f k s", "ed-cert.pub", 0);
	check_krl("echo \"sha1: $(cat ed.pub)\" >s; ssh-keygen -q -k -f k s", "ed.pub", 1);
	check_krl("echo \"hash: $(ssh-keygen -lf ed.pub | cut -d' ' -f2)\" >s; ssh-keygen -q -k -f "
		  "k s",
		  "ed.pub", 1);
	check_krl("echo \"hash: $(ssh-keygen -lf other.pub | cut -d' ' -f2)\" >s; "
		  "ssh-keygen -q -k -f k s",
		  "ed.pub", 0);
	assert_int_equal(sh("ssh-keygen -q -k -f k1 ed.pub; ssh-keygen -q -k -f k2 other.pub"), 0);
	assert_int_equal(find("a@x $ed", "k1", "ed.pub", T2026, ""), SIGNERS_REVOKED);
	assert_int_equal(find("a@x $ed", "k2", "ed.pub", T2026, "a@x"), SIGNERS_FOUND);
	assert_int_equal(find("a@x $ed", "m", "ed.pub", T2026, ""), -EBADMSG);
}

static void roles_say(const char *text, const char *what)
{
	cleanup_roles struct roles r = { 0 };
	struct weir_err e = { 0 };

	assert_int_equal(roles_parse("r", text, strlen(text), &r, &e), -EINVAL);
	if (!strstr(e.text, what))
		fail_msg("'%s' is not in '%s'", what, e.text);
}

#define HEAD "schema: weir.roles/1\npeople:\n"
#define ANN "- {name: ann, principals: [a@x], roles: [approver, security], logins: [ann, '1000']}\n"

static void test_roles(void **state)
{
	cleanup_roles struct roles r = { 0 };
	struct weir_err e = { 0 };
	static const char good[] = HEAD ANN "- {name: job, roles: [producer], logins: ['0']}\n";

	(void)state;
	assert_int_equal(roles_parse("r", good, strlen(good), &r, &e), 0);
	assert_int_equal(r.count, 2);
	assert_string_equal(roles_by_principal(&r, "a@x")->name, "ann");
	assert_null(roles_by_principal(&r, "a@"));
	assert_string_equal(roles_by_login(&r, 1000, NULL)->name, "ann");
	assert_string_equal(roles_by_login(&r, 5, "ann")->name, "ann");
	assert_string_equal(roles_by_login(&r, 0, "root")->name, "job");
	assert_null(roles_by_login(&r, 10, "an"));
	assert_int_equal(r.people[0].roles, 1u << ROLE_APPROVER | 1u << ROLE_SECURITY);
	roles_say("", "r:1:1: a map");
	roles_say(HEAD, "a list of persons");
	roles_say("schema: weir.roles/2\n", "r:1:9: schema");
	roles_say("schema: weir.roles/1\n", "r:1:1: schema and people");
	roles_say(HEAD "- {name: a}\n", "a person has");
	roles_say(HEAD "- {name: a, roles: [boss], principals: [a]}\n", "r:3:21: unknown role");
	roles_say(HEAD "- {name: a, roles: [], principals: [a]}\n", "a list is needed");
	roles_say(HEAD "- {name: a, roles: [approver], principals: ['*@x']}\n", "no pattern");
	roles_say(HEAD "- {name: a, roles: [approver], principals: ['a b']}\n", "printable");
	roles_say(HEAD "- {name: a, roles: [approver], principals: [\"a\\u202eb\"]}\n",
		  "printable");
	roles_say(HEAD ANN "- {name: b, roles: [approver], principals: [a@x]}\n", "twice");
	roles_say(HEAD ANN "- {name: ann, roles: [approver], principals: [b@x]}\n", "name stands");
	roles_say(HEAD ANN "- {name: b, roles: [approver], logins: ['1000']}\n", "login stands");
	roles_say(HEAD "- {name: a, roles: [approver], principals: [a], wheel: 1}\n",
		  "unknown key");
	roles_say(HEAD ANN "more: 1\n", "unknown key");
	roles_say("a: [", "r:");
	for (unsigned int i = 0; i < ROLE_COUNT; i++) {
		assert_int_equal(role_find(role_name((enum role)i)), i);
		assert_non_null(strstr(role_namespace((enum role)i), "@weir.v1"));
	}
	assert_int_equal(role_find("x"), ROLE_COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),	     cmocka_unit_test(test_every_flip),
		cmocka_unit_test(test_security_key), cmocka_unit_test(test_lines),
		cmocka_unit_test(test_certificates), cmocka_unit_test(test_krl),
		cmocka_unit_test(test_roles),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
