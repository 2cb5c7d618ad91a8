/* SPDX-License-Identifier: MIT */
/* One hash for the files of a commit and of a manifest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/lab.h"
#include "user/base/cleanup.h"
#include "writeback/baseline.h"
#include "writeback/repo.h"

/* What a manifest of the test's directory gives. */
static void hash_dir(char hex[DIGEST_HEX])
{
	cleanup_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_close int out = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	cleanup_manifest struct manifest *m = NULL;
	struct manifest_summary summary;

	assert_true(fd >= 0 && out >= 0);
	assert_int_equal(manifest_write_tree(fd, ".git", out, &summary, NULL), 0);
	assert_int_equal(lseek(out, 0, SEEK_SET), 0);
	assert_int_equal(manifest_load(out, "m", &m, NULL), 0);
	assert_int_equal(baseline_of(m, hex), 0);
}

static void add(struct baseline *b, uint32_t mode, const char *text, const char *path)
{
	unsigned char hash[DIGEST_SIZE];

	assert_int_equal(digest_bytes(text, strlen(text), hash), 0);
	assert_int_equal(baseline_add(b, mode, strlen(text), hash, path, strlen(path)), 0);
}

static void a_manifest_gives_what_the_files_give(void **state)
{
	cleanup_baseline struct baseline b = { 0 };
	char ours[DIGEST_HEX], theirs[DIGEST_HEX];

	(void)state;
	assert_int_equal(sh("mkdir a a.b hollow; echo 1 >a/x; echo 2 >a.b/y; chmod 700 a.b/y; "
			    "ln -s a/x link; : >empty"),
			 0);
	hash_dir(theirs);
	/* in whatever order */
	add(&b, GIT_MODE_LINK, "a/x", "link");
	add(&b, GIT_MODE_EXEC, "2\n", "a.b/y");
	add(&b, GIT_MODE_FILE, "", "empty");
	add(&b, GIT_MODE_FILE, "1\n", "a/x");
	assert_int_equal(baseline_end(&b, ours), 0);
	assert_string_equal(ours, theirs);
}

static void everything_that_git_keeps_counts(void **state)
{
	static const char *const edits[] = { "echo 3 >a/x",	"chmod +x a/x",
					     "mv a/x a/z",	"rm empty",
					     "ln -sf a/z link", "echo n >new",
					     "mkfifo fifo",	"rm link; printf a/z >link" };
	char before[DIGEST_HEX], now[DIGEST_HEX];

	(void)state;
	hash_dir(before);
	for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
		assert_int_equal(sh(edits[i]), 0);
		hash_dir(now);
		assert_string_not_equal(now, before);
		memcpy(before, now, sizeof(before));
	}
	assert_int_equal(sh("rmdir hollow; mkdir other; chmod 600 a/z; touch a/z"), 0);
	assert_int_equal(sh("chmod 700 a/z"), 0);
	hash_dir(now);
	assert_string_equal(now, before);
}

static int setup(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return lab_remove();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_manifest_gives_what_the_files_give),
		cmocka_unit_test(everything_that_git_keeps_counts),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
