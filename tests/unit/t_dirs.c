/* SPDX-License-Identifier: MIT */
/* Directories of artefacts: entries of gate.yaml, sums, subjects, and files against them. */
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
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/digest.h"
#include "writeback/dirsdisk.h"
#include "writeback/json.h"

/* SHA-256 of "a", "b" and of the link target "x". */
#define SHA_A "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
#define SHA_B "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"
#define SHA_X "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
#define ID "0123456789012345678901234567890123456789"

#define LINE(mode, sha, path) "A 000000 " mode " 1 " sha " - " ID " " path "\n"

static const char changes[] = CHANGES_HEAD "\n" LINE("100644", SHA_A, "dist/a\\\\b")
	LINE("100755", SHA_B, "dist/bin/tool") LINE("120000", SHA_X, "dist/start");

static void test_entries(void **state)
{
	static const char *const bad[] = { "",	      "x",	   "x y",     "x y z",
					   "x y /",   "/ y /z",	   "x /y /z", "x ../y /z",
					   "x y/ /z", "x y /z/",   ".x y /z", "x.lock y /z",
					   "-x y /z", "x..y y /z", " y /z",   "x  /z" };
	cleanup_gate_dir struct gate_dir d = { 0 };

	(void)state;
	assert_int_equal(dirs_parse("site-1.0 out/web /srv/my site", &d), 0);
	assert_string_equal(d.name, "site-1.0");
	assert_string_equal(d.from, "out/web");
	assert_string_equal(d.path, "/srv/my site");
	assert_string_equal(d.ref, "refs/weir/dirs/site-1.0");
	assert_string_equal(d.bundle, "site-1.0.intoto.jsonl");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct gate_dir other = { 0 };

		assert_int_equal(dirs_parse(bad[i], &other), -EINVAL);
		assert_null(other.name);
	}
	assert_string_equal(dirs_inside("a/b", "a/b/c"), "c");
	assert_null(dirs_inside("a/b", "a/bc"));
	assert_null(dirs_inside("a/b", "a/b"));
}

static void test_sums(void **state)
{
	cleanup_buf struct buf text = { 0 };
	cleanup_json json_t *list = NULL;
	struct weir_err e = { 0 };

	(void)state;
	assert_int_equal(dirs_sums(changes, "dist", &text, &e), 0);
	assert_string_equal(buf_str(&text), "\\" SHA_A "  a\\\\b\n" SHA_B "  bin/tool\n");
	assert_int_equal(dirs_sums(changes, "other", &text, &e), -EBADMSG);
	list = dirs_subjects(changes, "dist", &e);
	assert_int_equal(json_array_size(list), 3);
	assert_true(json_text_is(json_array_get(list, 0), "name", DIRS_SUMS));
	assert_true(json_text_is(json_array_get(list, 2), "name", "bin/tool"));
}

/* Past the limit only the sums are named: never a part of the files. */
static void test_many(void **state)
{
	cleanup_buf struct buf text = { 0 };
	cleanup_json json_t *list = NULL;
	struct weir_err e = { 0 };

	(void)state;
	buf_addf(&text, CHANGES_HEAD "\n");
	for (int i = 0; i <= DIRS_SUBJECTS_MAX; i++)
		buf_addf(&text, "A 000000 100644 1 " SHA_A " - " ID " dist/%04d\n", i);
	list = dirs_subjects(buf_str(&text), "dist", &e);
	assert_int_equal(json_array_size(list), 1);
}

static void put(int dir, const char *name, const char *text, mode_t mode)
{
	cleanup_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(fsio_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
}

static void fill(int dir)
{
	cleanup_buf struct buf sums = { 0 };
	struct weir_err e = { 0 };

	put(dir, "a\\b", "a", 0644);
	assert_true(mkdirat(dir, "bin", 0755) == 0 || errno == EEXIST);
	put(dir, "bin/tool", "b", 0755);
	unlinkat(dir, "start", 0);
	assert_int_equal(symlinkat("x", dir, "start"), 0);
	assert_int_equal(dirs_sums(changes, "dist", &sums, &e), 0);
	put(dir, DIRS_SUMS, buf_str(&sums), 0644);
	put(dir, "n.intoto.jsonl", "{}\n", 0644);
}

static int check(int dir, const char *why)
{
	struct buf bundle = { .data = (char *)(uintptr_t) "{}\n", .len = 3 };
	const struct dirs_want want = { changes, "dist", "n.intoto.jsonl", &bundle };
	struct weir_err e = { 0 };
	int err = dirsdisk_check(dir, &want, &e);

	if (err < 0 && !strstr(e.text, why))
		fail_msg("says \"%s\", not \"%s\"", e.text, why);
	return err;
}

static void test_files(void **state)
{
	char path[] = "/tmp/weir-dirs.XXXXXX";
	cleanup_close int dir = -1;
	struct weir_err e = { 0 };

	(void)state;
	assert_non_null(mkdtemp(path));
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fill(dir);
	assert_int_equal(check(dir, ""), 0);
	put(dir, "bin/tool", "c", 0755);
	assert_int_equal(check(dir, "bin/tool has another content"), -EBADMSG);
	put(dir, "bin/tool", "b", 0644);
	assert_int_equal(check(dir, "bin/tool has another mode"), -EBADMSG);
	fill(dir);
	put(dir, "bin/zz", "b", 0644);
	assert_int_equal(check(dir, "bin/zz does not belong there"), -EBADMSG);
	unlinkat(dir, "bin/zz", 0);
	unlinkat(dir, "start", 0);
	assert_int_equal(check(dir, "start is missing"), -EBADMSG);
	fill(dir);
	put(dir, DIRS_SUMS, "", 0644);
	assert_int_equal(check(dir, DIRS_SUMS " is not the one"), -EBADMSG);
	fill(dir);
	assert_int_equal(mkdirat(dir, "empty", 0755), 0);
	assert_int_equal(check(dir, "empty is a directory"), -EBADMSG);
	assert_int_equal(fsio_remove_tree(AT_FDCWD, path, &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
