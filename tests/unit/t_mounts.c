/* SPDX-License-Identifier: MIT */
/* mountinfo texts, friendly and not; where a path lies on the host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/event/mounts.h"

#define ROOT "25 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"

static struct mounts *parse(const char *text)
{
	struct weir_err e = { 0 };
	struct mounts *m = NULL;

	if (mounts_parse(text, strlen(text), &m, &e) < 0)
		fail_msg("%s", e.text);
	return m;
}

static void check(const struct mounts *m, unsigned int major, unsigned int minor, const char *path,
		  const char *want)
{
	char out[MOUNTS_PATH_SIZE];
	int len = mounts_resolve(m, major << 20 | minor, path, out, sizeof(out));

	assert_string_equal(out, want);
	assert_int_equal(len, strlen(want));
}

static void plain_mounts(void **state)
{
	cleanup_mounts struct mounts *m = parse(ROOT "30 25 8:2 / /home rw - ext4 /dev/sda2 rw\n"
						     "31 25 0:5 / /proc rw - proc proc rw\n");

	(void)state;
	assert_int_equal(mounts_count(m), 3);
	check(m, 8, 1, "/etc/passwd", "/etc/passwd");
	check(m, 8, 1, "/", "/");
	check(m, 8, 2, "/u/a", "/home/u/a");
	check(m, 8, 2, "/", "/home");
	check(m, 0, 5, "/1/mem", "/proc/1/mem");
	check(m, 8, 3, "/x", "8:3:/x");
	check(NULL, 8, 1, "/x", "8:1:/x");
}

static void incomplete_paths_are_not_resolved(void **state)
{
	cleanup_mounts struct mounts *m = parse(ROOT);

	(void)state;
	check(m, 8, 1, ".../etc/passwd", "8:1:.../etc/passwd");
	check(m, 8, 1, "memfd:/etc", "8:1:memfd:/etc");
	check(m, 8, 1, "", "8:1:");
}

static void what_a_mount_hides_is_not_reachable(void **state)
{
	cleanup_mounts struct mounts *m = parse(ROOT "30 25 8:2 / /home rw - ext4 /dev/sda2 rw\n");

	(void)state;
	check(m, 8, 1, "/home/u/a", "8:1:/home/u/a");
	check(m, 8, 1, "/homework", "/homework");
	check(m, 8, 1, "/home", "8:1:/home");
}

static void bind_mounts_choose_the_longest_root(void **state)
{
	cleanup_mounts struct mounts *m =
		parse(ROOT "30 25 8:2 / /mnt rw - ext4 /dev/sda2 rw\n"
			   "31 25 8:2 /sub /srv rw - ext4 /dev/sda2 rw\n"
			   "32 25 8:2 /subway /w rw - ext4 /dev/sda2 rw\n");

	(void)state;
	check(m, 8, 2, "/sub/x", "/srv/x");
	check(m, 8, 2, "/sub", "/srv");
	check(m, 8, 2, "/other", "/mnt/other");
	check(m, 8, 2, "/subway/y", "/w/y");
}

static void of_equal_roots_the_latest_visible_wins(void **state)
{
	cleanup_mounts struct mounts *m = parse(ROOT "30 25 8:2 / /a rw - ext4 /dev/sda2 rw\n"
						     "31 25 8:2 / /b rw - ext4 /dev/sda2 rw\n"
						     "32 31 0:40 / /b/tmp rw - tmpfs tmpfs rw\n");

	(void)state;
	check(m, 8, 2, "/x", "/b/x");
	check(m, 8, 2, "/tmp/x", "/a/tmp/x"); /* /b/tmp is something else */
	check(m, 0, 40, "/x", "/b/tmp/x");
}

static void a_mount_over_another_hides_it(void **state)
{
	cleanup_mounts struct mounts *m = parse(ROOT "30 25 8:2 / /mnt rw - ext4 /dev/sda2 rw\n"
						     "31 30 8:3 / /mnt/in rw - ext4 /dev/sda3 rw\n"
						     "32 30 8:4 / /mnt rw - ext4 /dev/sda4 rw\n");

	(void)state;
	assert_int_equal(mounts_count(m), 2); /* / and the last */
	check(m, 8, 2, "/x", "8:2:/x");
	check(m, 8, 3, "/x", "8:3:/x");
	check(m, 8, 4, "/x", "/mnt/x");
	check(m, 8, 4, "/in/x", "/mnt/in/x");
}

static void a_mount_over_an_ancestor_hides_what_is_below(void **state)
{
	cleanup_mounts struct mounts *m = parse(ROOT "30 25 8:2 / /a/b rw - ext4 /dev/sda2 rw\n"
						     "31 30 8:3 / /a/b/c rw - ext4 /dev/sda3 rw\n"
						     "32 25 8:4 / /a rw - ext4 /dev/sda4 rw\n"
						     "33 25 8:5 / /a-b rw - ext4 /dev/sda5 rw\n");

	(void)state;
	check(m, 8, 2, "/x", "8:2:/x");
	check(m, 8, 3, "/x", "8:3:/x");
	check(m, 8, 4, "/b/x", "/a/b/x");
	check(m, 8, 5, "/x", "/a-b/x");
}

static void a_process_in_a_chroot_has_no_root_mount(void **state)
{
	cleanup_mounts struct mounts *m = parse("40 25 8:2 / /home rw - ext4 /dev/sda2 rw\n");

	(void)state;
	check(m, 8, 2, "/u", "/home/u");
}

static void octal_escapes_are_undone(void **state)
{
	cleanup_mounts struct mounts *m = parse(
		ROOT "30 25 8:2 /r\\040x /mnt/a\\040b\\011c\\012d\\134e\\043 rw - ext4 x rw\n");

	(void)state;
	check(m, 8, 2, "/r x/f", "/mnt/a b\tc\nd\\e#/f");
}

static void refuse(const char *text, const char *word)
{
	struct weir_err e = { 0 };
	struct mounts *m = NULL;

	assert_int_equal(mounts_parse(text, strlen(text), &m, &e), -EINVAL);
	assert_null(m);
	if (!strstr(e.text, word))
		fail_msg("%s", e.text);
}

static void malformed_lines_are_refused_by_number(void **state)
{
	(void)state;
	refuse(ROOT "30 25 8:2 / /a\n", "line 2");
	refuse("x 25 8:2 / /a rw - ext4 x rw\n", "line 1");
	refuse("30 25 8-2 / /a rw - ext4 x rw\n", "line 1");
	refuse("30 25 8:1048576 / /a rw - ext4 x rw\n", "line 1");
	refuse("30 25 4096:1 / /a rw - ext4 x rw\n", "line 1");
	refuse("30 25 8:2 / a rw - ext4 x rw\n", "line 1");
	refuse("30 25 8:2 / /a\\ rw - ext4 x rw\n", "line 1");
	refuse("30 25 8:2 / /a\\08 rw - ext4 x rw\n", "line 1");
	refuse("30 25 8:2 / /a\\000 rw - ext4 x rw\n", "line 1");
	refuse("30 25 8:2 / /a\\777 rw - ext4 x rw\n", "line 1");
	refuse("30 25 8:2 / /a rw shared:1 ext4 x rw\n", "line 1");
	refuse("99999999999999999999999 25 8:2 / /a rw - ext4 x rw\n", "line 1");
	refuse(ROOT "\n", "line 2");
}

static void nul_bytes_are_refused(void **state)
{
	struct mounts *m = NULL;

	(void)state;
	assert_int_equal(mounts_parse(ROOT "\0", sizeof(ROOT), &m, NULL), -EINVAL);
}

static void parents_in_a_circle_end(void **state)
{
	cleanup_mounts struct mounts *m = parse("30 31 8:2 / /a rw - ext4 x rw\n"
						"31 30 8:3 / /a/b rw - ext4 x rw\n"
						"32 32 8:4 / /c rw - ext4 x rw\n");

	(void)state;
	check(m, 8, 2, "/x", "8:2:/x");
	check(m, 8, 4, "/x", "/c/x");
}

static void namespaces_are_no_places(void **state)
{
	cleanup_mounts struct mounts *m =
		parse(ROOT "30 25 0:4 net:[4026532] /run/netns/x rw - nsfs nsfs rw\n");
	char out[MOUNTS_PATH_SIZE];
	uint32_t dev;

	(void)state;
	check(m, 0, 4, "/x", "0:4:/x");
	assert_int_equal(mounts_locate(m, "/run/netns/x", &dev, out, sizeof(out)), -ENOENT);
}

static void a_host_path_leads_to_its_file_system(void **state)
{
	cleanup_mounts struct mounts *m = parse(ROOT "30 25 8:2 /sub /srv rw - ext4 /dev/sda2 rw\n"
						     "31 25 8:3 / /mnt rw - ext4 /dev/sda3 rw\n");
	char out[MOUNTS_PATH_SIZE];
	uint32_t dev = 0;

	(void)state;
	assert_int_equal(mounts_locate(m, "/srv/ws", &dev, out, sizeof(out)), 7);
	assert_string_equal(out, "/sub/ws");
	assert_int_equal(dev, 8 << 20 | 2);
	assert_int_equal(mounts_locate(m, "/srv", &dev, out, sizeof(out)), 4);
	assert_string_equal(out, "/sub");
	assert_int_equal(mounts_locate(m, "/mnt", &dev, out, sizeof(out)), 1);
	assert_string_equal(out, "/");
	assert_int_equal(mounts_locate(m, "/mnt/a", &dev, out, sizeof(out)), 2);
	assert_string_equal(out, "/a");
	assert_int_equal(mounts_locate(m, "/srvx", &dev, out, sizeof(out)), 5);
	assert_int_equal(dev, 8 << 20 | 1);
	assert_int_equal(mounts_locate(m, "/srv/ws", &dev, out, 7), -ENAMETOOLONG);
}

static void a_small_buffer_is_an_error(void **state)
{
	cleanup_mounts struct mounts *m = parse(ROOT);
	char out[8];

	(void)state;
	assert_int_equal(mounts_resolve(m, 8 << 20 | 1, "/123456", out, 8), 7);
	assert_int_equal(mounts_resolve(m, 8 << 20 | 1, "/1234567", out, 8), -ENAMETOOLONG);
	assert_int_equal(mounts_resolve(m, 8 << 20 | 2, "/1234", out, 8), -ENAMETOOLONG);
}

static void the_table_survives_json(void **state)
{
	cleanup_mounts struct mounts *m =
		parse(ROOT "30 25 8:2 /r\\040x /mnt/\\033[31m\\012 rw - ext4 x rw\n");
	cleanup_mounts struct mounts *copy = NULL;
	json_t *json = mounts_to_json(m);
	char *text = json_dumps(json, JSON_COMPACT);

	(void)state;
	assert_string_equal(text, "[{\"dev\":\"8:1\",\"root\":\"/\",\"point\":\"/\"},"
				  "{\"dev\":\"8:2\",\"root\":\"/r x\","
				  "\"point\":\"/mnt/\\\\x1b[31m\\\\x0a\"}]");
	assert_int_equal(mounts_from_json(json, &copy, NULL), 0);
	check(copy, 8, 2, "/r x/f", "/mnt/\033[31m\n/f");
	free(text);
	json_decref(json);
}

static void hostile_json_is_refused(void **state)
{
	static const char *const bad[] = {
		"{}",
		"[1]",
		"[{\"dev\":\"8:1\",\"root\":\"/\"}]",
		"[{\"dev\":\"8\",\"root\":\"/\",\"point\":\"/\"}]",
		"[{\"dev\":\"8:1\",\"root\":\"/\",\"point\":\"a\"}]",
		"[{\"dev\":\"8:1\",\"root\":\"/\",\"point\":\"/a/\"}]",
		"[{\"dev\":\"8:1\",\"root\":\"\\\\q\",\"point\":\"/\"}]",
		"[{\"dev\":\"8:1\",\"root\":\"/\",\"point\":\"/a\\\\x00b\"}]",
		"[{\"dev\":\"8:1\",\"root\":7,\"point\":\"/\"}]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		json_t *json = json_loads(bad[i], 0, NULL);
		struct mounts *m = NULL;

		assert_non_null(json);
		assert_int_equal(mounts_from_json(json, &m, NULL), -EINVAL);
		assert_null(m);
		json_decref(json);
	}
	assert_int_equal(mounts_from_json(NULL, NULL, NULL), -EINVAL);
}

/* The real file of this machine: what stat says of a path is where the table leads. */
static void the_hosts_own_mountinfo(void **state)
{
	static const char *const paths[] = { "/", "/etc", "/proc", "/tmp", "/dev/null" };
	cleanup_mounts struct mounts *m = NULL;
	cleanup_buf struct buf b = { 0 };
	unsigned int found = 0;

	(void)state;
	assert_int_equal(fsio_read_file(AT_FDCWD, "/proc/self/mountinfo", 1 << 24, &b, NULL), 0);
	assert_int_equal(mounts_parse(buf_str(&b), b.len, &m, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char real[PATH_MAX], inner[MOUNTS_PATH_SIZE], host[MOUNTS_PATH_SIZE];
		uint32_t dev;

		if (!realpath(paths[i], real) ||
		    mounts_locate(m, real, &dev, inner, sizeof(inner)) < 0)
			continue;
		assert_true(mounts_resolve(m, dev, inner, host, sizeof(host)) > 0);
		assert_int_equal(host[0], '/');
		found++;
	}
	assert_true(found > 0);
}

static void devices_as_text(void **state)
{
	char text[MOUNTS_DEV_SIZE];
	uint32_t dev;

	(void)state;
	assert_int_equal(mounts_dev_parse("4095:1048575", &dev), 0);
	assert_int_equal(dev, 0xffffffff);
	assert_string_equal(mounts_dev_text(dev, text), "4095:1048575");
	assert_int_equal(mounts_dev_parse("8:1 ", &dev), -EINVAL);
	assert_int_equal(mounts_dev_parse(":1", &dev), -EINVAL);
	assert_int_equal(mounts_dev_parse("8:", &dev), -EINVAL);
	assert_int_equal(mounts_dev_parse("+8:1", &dev), -EINVAL);
	assert_int_equal(mounts_dev_parse("", &dev), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_mounts),
		cmocka_unit_test(incomplete_paths_are_not_resolved),
		cmocka_unit_test(what_a_mount_hides_is_not_reachable),
		cmocka_unit_test(bind_mounts_choose_the_longest_root),
		cmocka_unit_test(of_equal_roots_the_latest_visible_wins),
		cmocka_unit_test(a_mount_over_another_hides_it),
		cmocka_unit_test(a_mount_over_an_ancestor_hides_what_is_below),
		cmocka_unit_test(a_process_in_a_chroot_has_no_root_mount),
		cmocka_unit_test(octal_escapes_are_undone),
		cmocka_unit_test(malformed_lines_are_refused_by_number),
		cmocka_unit_test(nul_bytes_are_refused),
		cmocka_unit_test(parents_in_a_circle_end),
		cmocka_unit_test(namespaces_are_no_places),
		cmocka_unit_test(a_host_path_leads_to_its_file_system),
		cmocka_unit_test(a_small_buffer_is_an_error),
		cmocka_unit_test(the_table_survives_json),
		cmocka_unit_test(hostile_json_is_refused),
		cmocka_unit_test(the_hosts_own_mountinfo),
		cmocka_unit_test(devices_as_text),
	};

	return cmocka_run_group_tests_name("mounts", tests, NULL, NULL);
}
