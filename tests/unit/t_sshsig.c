/* SPDX-License-Identifier: MIT */
/* SSH keys, signatures and signers against stock ssh-keygen and ssh-agent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/lab.h"
#include "user/base/cleanup.h"
#include "writeback/signers.h"
#include "writeback/sshsig.h"
#include "writeback/sshwire.h"

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	return sh("ssh-keygen -q -t ed25519 -N '' -C t -f key && "
		  "ssh-keygen -q -t ed25519 -N 'pass phrase' -f locked && "
		  "ssh-keygen -q -t rsa -b 2048 -N '' -f rsa && "
		  "printf 'gate@x %s\\n' \"$(cut -d' ' -f1,2 key.pub)\" > allowed");
}

static int teardown(void **state)
{
	(void)state;
	return lab_remove();
}

static void read_key(struct sshkey *key)
{
	cleanup_buf struct buf text = { 0 };
	struct weir_err e = { 0 };

	slurp("key", &text);
	assert_int_equal(sshkey_parse(text.data, text.len, key, &e), 0);
}

static void public_blob(const char *name, struct buf *blob)
{
	cleanup_buf struct buf line = { 0 };

	slurp(name, &line);
	assert_int_equal(sshkey_parse_public(line.data, blob), 0);
}

static void test_sign_equals_stock(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 1000, 70000 };
	char *message = calloc(1, 70000);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		cleanup_sshkey struct sshkey key = { 0 };
		cleanup_buf struct buf armor = { 0 };
		cleanup_buf struct buf stock = { 0 };

		memset(message, (int)('a' + i), 70000);
		read_key(&key);
		assert_int_equal(sshsig_sign(&key, "git", message, sizes[i], &armor), 0);
		spit("m", message, sizes[i]);
		assert_int_equal(
			sh("rm -f m.sig; ssh-keygen -q -Y sign -f key -n git m 2>/dev/null"), 0);
		slurp("m.sig", &stock);
		assert_string_equal(buf_str(&armor), buf_str(&stock));
		spit("ours.sig", armor.data, armor.len);
		assert_int_equal(sh("ssh-keygen -Y verify -f allowed -I gate@x -n git -s ours.sig "
				    "<m >/dev/null"),
				 0);
	}
	free(message);
}

static void test_verify_and_every_flip(void **state)
{
	cleanup_buf struct buf stock = { 0 };
	cleanup_buf struct buf raw = { 0 };
	cleanup_buf struct buf blob = { 0 };
	cleanup_buf struct buf want = { 0 };
	struct weir_err e = { 0 };
	const char *from, *to;

	(void)state;
	spit("m", "hello\n", 6);
	assert_int_equal(sh("rm -f m.sig; ssh-keygen -q -Y sign -f key -n git -O hashalg=sha256 m"),
			 0);
	slurp("m.sig", &stock);
	assert_int_equal(sshsig_verify(stock.data, stock.len, "git", "hello\n", 6, &blob, &e), 0);
	public_blob("key.pub", &want);
	assert_int_equal(blob.len, want.len);
	assert_memory_equal(blob.data, want.data, want.len);
	blob.len = 0;
	assert_int_equal(sshsig_verify(stock.data, stock.len, "gi", "hello\n", 6, &blob, &e),
			 -EBADMSG);
	assert_int_equal(sshsig_verify(stock.data, stock.len, "git", "hello", 5, &blob, &e),
			 -EBADMSG);
	from = strchr(stock.data, '\n');
	to = strstr(from, "-----END");
	assert_int_equal(base64_read(from, (size_t)(to - from), &raw), 0);
	for (size_t bit = 0; bit < raw.len * 8; bit++) {
		cleanup_buf struct buf text = { 0 };

		raw.data[bit / 8] ^= (char)(1 << bit % 8);
		buf_addf(&text, "-----BEGIN SSH SIGNATURE-----\n");
		base64_write(raw.data, raw.len, 70, &text);
		buf_addf(&text, "-----END SSH SIGNATURE-----\n");
		assert_true(sshsig_verify(text.data, text.len, "git", "hello\n", 6, &blob, &e) < 0);
		raw.data[bit / 8] ^= (char)(1 << bit % 8);
	}
	assert_int_equal(blob.len, 0);
}

static void test_other_key_types_are_named(void **state)
{
	cleanup_buf struct buf text = { 0 };
	cleanup_buf struct buf sig = { 0 };
	cleanup_buf struct buf blob = { 0 };
	struct sshkey key;
	struct weir_err e = { 0 };

	(void)state;
	slurp("locked", &text);
	assert_int_equal(sshkey_parse(text.data, text.len, &key, &e), -ENOTSUP);
	assert_non_null(strstr(e.text, "passphrase"));
	text.len = 0;
	slurp("rsa", &text);
	assert_int_equal(sshkey_parse(text.data, text.len, &key, &e), -ENOTSUP);
	assert_non_null(strstr(e.text, "Ed25519"));
	assert_int_equal(sshkey_parse("x", 1, &key, &e), -EBADMSG);
	spit("m", "x", 1);
	assert_int_equal(sh("rm -f m.sig; ssh-keygen -q -Y sign -f rsa -n git m 2>/dev/null"), 0);
	slurp("m.sig", &sig);
	/* it signs all the same */
	assert_int_equal(sshsig_verify(sig.data, sig.len, "git", "x", 1, &blob, &e), 0);
	assert_int_equal(sshsig_verify(sig.data, sig.len, "git", "y", 1, &blob, &e), -EBADMSG);
}

static void test_key_damage_is_refused(void **state)
{
	cleanup_buf struct buf text = { 0 };
	cleanup_buf struct buf raw = { 0 };
	struct weir_err e = { 0 };
	const char *from, *to;
	size_t refused = 0;

	(void)state;
	slurp("key", &text);
	from = strchr(text.data, '\n');
	to = strstr(from, "-----END");
	assert_int_equal(base64_read(from, (size_t)(to - from), &raw), 0);
	for (size_t i = 0; i < raw.len; i++) {
		cleanup_buf struct buf bad = { 0 };
		struct sshkey key;

		raw.data[i] ^= 0x40;
		buf_addf(&bad, "-----BEGIN OPENSSH PRIVATE KEY-----\n");
		base64_write(raw.data, raw.len, 70, &bad);
		buf_addf(&bad, "-----END OPENSSH PRIVATE KEY-----\n");
		refused += sshkey_parse(bad.data, bad.len, &key, &e) < 0;
		raw.data[i] ^= 0x40;
	}
	/* only the comment ("t") is free */
	assert_int_equal(refused, raw.len - 1);
}

static void test_format_is_read_by_stock(void **state)
{
	cleanup_sshkey struct sshkey key = { 0 };
	cleanup_sshkey struct sshkey again = { 0 };
	cleanup_buf struct buf text = { 0 };
	struct weir_err e = { 0 };

	(void)state;
	read_key(&key);
	assert_int_equal(sshkey_format(key.seed, "made by us", &text), 0);
	assert_int_equal(sshkey_parse(text.data, text.len, &again, &e), 0);
	assert_memory_equal(&key, &again, sizeof(key));
	spit("made", text.data, text.len);
	assert_int_equal(sh("[ \"$(ssh-keygen -y -f made | cut -d' ' -f1,2)\" = "
			    "\"$(cut -d' ' -f1,2 key.pub)\" ]"),
			 0);
}

static int find(const char *options, const char *name_space, time_t when)
{
	cleanup_buf struct buf blob = { 0 };
	cleanup_buf struct buf line = { 0 };
	cleanup_buf struct buf text = { 0 };
	cleanup_buf struct buf principal = { 0 };
	struct weir_err e = { 0 };

	public_blob("key.pub", &blob);
	slurp("key.pub", &line);
	buf_addf(&text, "# people\n\n%s %s", options, line.data);
	return signers_find_in(text.data, &blob, name_space, when, &principal, &e);
}

static void test_signers(void **state)
{
	time_t t2026 = 1780000000; /* May 2026 */

	(void)state;
	assert_int_equal(find("a@x", "git", t2026), 0);
	assert_int_equal(find("a@x,b@x namespaces=\"git,file\"", "git", t2026), 0);
	assert_int_equal(find("a@x namespaces=\"gitx\"", "git", t2026), -ENOENT);
	assert_int_equal(find("* namespaces=\"git\"", "git", t2026), -ENOENT);
	assert_int_equal(find("a@x valid-after=\"20260101Z\"", "git", t2026), 0);
	assert_int_equal(find("a@x valid-after=\"20270101Z\"", "git", t2026), -ENOENT);
	assert_int_equal(find("a@x valid-before=\"20260101Z\"", "git", t2026), -ENOENT);
	assert_int_equal(find("a@x valid-before=\"202613\"", "git", t2026), -EINVAL);
	assert_int_equal(find("a@x cert-authority", "git", t2026), -ENOENT);
	assert_int_equal(find("a@x cert-authority,cert-authority", "git", t2026), -EINVAL);
	assert_int_equal(find("a@x sudo=\"yes\"", "git", t2026), -EINVAL);
}

static void test_agent(void **state)
{
	cleanup_buf struct buf blob = { 0 };
	cleanup_buf struct buf rsa = { 0 };
	cleanup_buf struct buf armor = { 0 };
	cleanup_buf struct buf other = { 0 };
	struct weir_err e = { 0 };
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "%s/agent", dir);
	assert_int_equal(
		sh("eval \"$(ssh-agent -a ./agent)\" >/dev/null && echo $SSH_AGENT_PID >pid "
		   "&& ssh-add -q key rsa"),
		0);
	public_blob("key.pub", &blob);
	public_blob("rsa.pub", &rsa);
	spit("m", "by agent", 8);
	assert_int_equal(sshsig_sign_agent(path, &blob, "git", "by agent", 8, &armor, &e), 0);
	spit("a.sig", armor.data, armor.len);
	assert_int_equal(
		sh("ssh-keygen -Y verify -f allowed -I gate@x -n git -s a.sig <m >/dev/null"), 0);
	armor.len = 0;
	assert_int_equal(sshsig_sign_agent(path, &rsa, "git", "by agent", 8, &armor, &e), 0);
	spit("r.sig", armor.data, armor.len);
	assert_int_equal(sh("printf 'r@x %s\\n' \"$(cut -d' ' -f1,2 rsa.pub)\" >ra; "
			    "ssh-keygen -Y verify -f ra -I r@x -n git -s r.sig <m >/dev/null"),
			 0);
	blob.data[blob.len - 1] ^= 1;
	assert_int_equal(sshsig_sign_agent(path, &blob, "git", "x", 1, &other, &e), -EACCES);
	assert_int_equal(sh("kill $(cat pid)"), 0);
	assert_true(sshsig_sign_agent("/nonexistent/agent", &rsa, "git", "x", 1, &other, &e) < 0);
}

static void test_base64(void **state)
{
	static const char *const bad[] = { "A",	   "AA",   "AAA",      "AA=A", "AB==",
					   "AAB=", "A===", "AA==AA==", "!AAA", "AA=" };
	cleanup_buf struct buf b = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(base64_read(bad[i], strlen(bad[i]), &b), -EBADMSG);
	b.len = 0;
	assert_int_equal(base64_read("Zm9v\nYmE=", 9, &b), 0);
	assert_string_equal(buf_str(&b), "fooba");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sign_equals_stock),
		cmocka_unit_test(test_verify_and_every_flip),
		cmocka_unit_test(test_other_key_types_are_named),
		cmocka_unit_test(test_key_damage_is_refused),
		cmocka_unit_test(test_format_is_read_by_stock),
		cmocka_unit_test(test_signers),
		cmocka_unit_test(test_agent),
		cmocka_unit_test(test_base64),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
