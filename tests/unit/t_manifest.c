/* SPDX-License-Identifier: MIT */
/* Manifests: of real trees, as hostile texts, and compared. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/tree/compare.h"

#define NUL_HASH "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static char root[64];
static int root_fd = -1;

static int setup(void **state)
{
	(void)state;
	umask(022);
	strcpy(root, "/tmp/t_manifest.XXXXXX");
	assert_non_null(mkdtemp(root));
	root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(root_fd >= 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(root_fd);
	return fsio_remove_tree(AT_FDCWD, root, NULL);
}

static void put_n(const char *name, const char *text, size_t len)
{
	int fd = openat(root_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fsio_write_all(fd, text, len), 0);
	close(fd);
}

static void put(const char *name, const char *text)
{
	put_n(name, text, strlen(text));
}

static int take_fd(struct manifest_summary *s)
{
	int fd = memfd_create("manifest", MFD_CLOEXEC);
	struct weir_err e = { 0 };

	if (manifest_write_tree(root_fd, ".git", fd, s, &e) < 0)
		fail_msg("%s", e.text);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void take_text(struct buf *b)
{
	struct manifest_summary s;
	cleanup_close int fd = take_fd(&s);
	unsigned char hash[DIGEST_SIZE];

	b->len = 0;
	assert_int_equal(fsio_read_fd(fd, 1 << 24, b), 0);
	assert_int_equal(b->len, s.bytes);
	digest_bytes(b->data, b->len, hash);
	assert_memory_equal(hash, s.sha256, DIGEST_SIZE);
}

static void make_tree(void)
{
	put("a.txt", "hello\n");
	put("empty", "");
	mkdirat(root_fd, "dir", 0755);
	put("dir/x", "x");
	put("dir-b", "sorts after dir/x");
	symlinkat("../no where", root_fd, "dir/link");
	mkfifoat(root_fd, "fifo", 0600);
	put("we\nird \\ \033\xff", "w");
	mkdirat(root_fd, ".git", 0755);
	put(".git/HEAD", "not looked at");
	mkdirat(root_fd, "dir/.git", 0755);
	fchmodat(root_fd, "a.txt", 04755, 0);
	assert_int_equal(mknodat(root_fd, "null", S_IFCHR | 0600, makedev(1, 3)), 0);
}

static void t_write(void **state)
{
	/* type, mode, size, hash and path of each line; the numbers between are the host's */
	static const char *const want[] = {
		"d 0700 0 -|.",
		"f 4755 6 5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03|a.txt",
		"d 0755 0 -|dir",
		"d 0755 0 -|dir/.git",
		"l 0777 11 "
		"4eb5f45f85895485d383afc60fb7256c7cb20318b8b3f06ebf5833e34affcd07|dir/link",
		"f 0644 1 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881|dir/x",
		"f 0644 17 bd8d647f60c3483ccaa9d3993a4ef7850493feff796ca47e764f44bbda9f37cc|dir-b",
		"f 0644 0 " NUL_HASH "|empty",
		"p 0600 0 -|fifo",
		"c 0600 259 -|null",
		"f 0644 1 50e721e49c013f00c62cf59f2163542a9d8df02464efeb615d31051b0fddc326|"
		"we\\x0aird \\\\ \\x1b\\xff",
	};
	cleanup_buf struct buf b = { 0 };
	char *line, *save = NULL;
	size_t i = 0;

	(void)state;
	make_tree();
	take_text(&b);
	line = strtok_r(b.data, "\n", &save);
	assert_string_equal(line, "weir.manifest/1");
	line = strtok_r(NULL, "\n", &save);
	assert_int_equal(strncmp(line, "taken ", 6), 0);
	for (; i < ARRAY_SIZE(want); i++) {
		const char *bar = strchr(want[i], '|');
		size_t head = (size_t)(bar - want[i]);
		const char *path;

		line = strtok_r(NULL, "\n", &save);
		assert_non_null(line);
		if (strncmp(line, want[i], head) != 0)
			fail_msg("%s\n%s", line, want[i]);
		path = line;
		for (int k = 0; k < 7; k++)
			path = strchr(path, ' ') + 1;
		assert_string_equal(path, bar + 1);
	}
	assert_string_equal(strtok_r(NULL, "\n", &save), "end 11");
	assert_null(strtok_r(NULL, "\n", &save));
}

static void t_round_trip(void **state)
{
	struct manifest_summary s;
	struct tree_entry entry;
	struct weir_err e = { 0 };
	cleanup_manifest struct manifest *m = NULL;
	cleanup_manifest_writer struct manifest_writer *w = NULL;
	cleanup_buf struct buf a = { 0 }, b = { 0 };
	cleanup_close int fd = -1, copy = memfd_create("copy", MFD_CLOEXEC);
	struct stat st;
	size_t row;

	(void)state;
	make_tree();
	fd = take_fd(&s);
	assert_int_equal(manifest_load(fd, "m", &m, &e), 0);
	assert_int_equal(m->count, 11);
	assert_int_equal(m->summary.entries, 11);
	assert_memory_equal(m->summary.sha256, s.sha256, DIGEST_SIZE);
	assert_true(manifest_find(m, "dir/x", 5, &row));
	manifest_get(m, row, &entry);
	assert_int_equal(fstatat(root_fd, "dir/x", &st, 0), 0);
	assert_int_equal(entry.ino, st.st_ino);
	assert_int_equal(entry.mtime_ns, st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
	assert_true(entry.hashed);
	assert_false(manifest_find(m, "dir/y", 5, &row));
	assert_true(manifest_find(m, "we\nird \\ \033\xff", 11, &row));
	assert_true(manifest_find(m, "", 0, &row));
	/* written again from the table it is the same file */
	assert_int_equal(manifest_writer_new(copy, m->taken_ns, m->tick_ns, &w, &e), 0);
	for (size_t i = 0; i < m->count; i++) {
		manifest_get(m, i, &entry);
		assert_int_equal(manifest_writer_add(w, &entry, &e), 0);
	}
	assert_int_equal(manifest_writer_end(w, &s, &e), 0);
	assert_memory_equal(m->summary.sha256, s.sha256, DIGEST_SIZE);
}

static void t_writer_refuses(void **state)
{
	const struct tree_entry dir = { .path = "", .mode = S_IFDIR | 0755 };
	const struct tree_entry bad[] = {
		{ .path = "", .mode = S_IFDIR | 0755 },
		{ .path = "a/b", .path_len = 3, .mode = S_IFIFO | 0600 },
		{ .path = "..", .path_len = 2, .mode = S_IFIFO | 0600 },
		{ .path = "a", .path_len = 1, .mode = S_IFREG | 0600 },
		{ .path = "a", .path_len = 1, .mode = S_IFIFO | 0600, .hashed = true },
		{ .path = "a", .path_len = 1, .mode = S_IFIFO | 0600, .size = 1 },
		{ .path = "a", .path_len = 1, .mode = 0600 },
		{ .path = "a\0b", .path_len = 3, .mode = S_IFIFO | 0600 },
	};
	cleanup_close int fd = memfd_create("m", MFD_CLOEXEC);
	struct manifest_summary s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cleanup_manifest_writer struct manifest_writer *w = NULL;

		assert_int_equal(manifest_writer_new(fd, 0, 0, &w, NULL), 0);
		assert_int_equal(manifest_writer_end(w, &s, NULL), -EINVAL);
		assert_int_equal(manifest_writer_add(w, &dir, NULL), 0);
		assert_int_equal(manifest_writer_add(w, &bad[i], NULL), -EINVAL);
	}
}

static int read_all(const char *text, size_t len, struct weir_err *e)
{
	cleanup_manifest_reader struct manifest_reader *r = NULL;
	struct tree_entry entry;
	int err = manifest_reader_new_bytes(text, len, "m", &r, e);

	if (err < 0)
		return err;
	do {
		err = manifest_reader_next(r, &entry, e);
	} while (err > 0);
	/* after the end it stays the end */
	if (err == 0)
		assert_int_equal(manifest_reader_next(r, &entry, e), 0);
	return err;
}

#define HEAD "weir.manifest/1\ntaken 5 0\n"
#define DIR "d 0755 0 - 1 2 3 .\n"
#define H "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void t_bad_text(void **state)
{
	static const struct {
		const char *text, *where, *what;
	} rows[] = {
		{ "", "1:1", "the file ends without its end line: it is cut" },
		{ "weir.manifest/1", "1:1", "the last line has no end: the file is cut" },
		{ "weir.manifest/2\n", "1:1", "this is no manifest of version 1" },
		{ "weir.manifest/1 \n", "1:16", "this is no manifest of version 1" },
		{ "weir.manifest/1\r\n", "1:16", "no manifest" },
		{ "weir.manifest/1\ntaken 5\n", "2:8", "here `taken TIME TICK` must stand" },
		{ "weir.manifest/1\ntaken 05 1\n", "2:7", "`taken" },
		{ "weir.manifest/1\ntaken 5 -1\n", "2:11", "`taken" },
		{ HEAD, "3:1", "the file ends without its end line" },
		{ HEAD "end 0\n", "3:6", "the count of the end line" },
		{ HEAD DIR "end 2\n", "4:6", "the count of the end line" },
		{ HEAD DIR "end 01\n", "4:5", "here `end COUNT` must stand" },
		{ HEAD DIR "end 1 \n", "4:6", "here `end COUNT`" },
		{ HEAD DIR "end 1", "4:1", "the last line has no end" },
		{ HEAD DIR "end 1\n\n", "5:1", "there is more after the end line" },
		{ HEAD DIR "\n", "4:1", "neither an entry nor the end line" },
		{ HEAD "x 0755 0 - 1 2 3 .\n", "3:1", "neither an entry nor the end line" },
		{ HEAD "d 755 0 - 1 2 3 .\n", "3:3", "four octal digits of a mode" },
		{ HEAD "d 0758 0 - 1 2 3 .\n", "3:3", "four octal digits of a mode" },
		{ HEAD "d 0755  0 - 1 2 3 .\n", "3:8", "a size must stand" },
		{ HEAD "d 0755 00 - 1 2 3 .\n", "3:8", "a size must stand" },
		{ HEAD "d 0755 0 x 1 2 3 .\n", "3:10", "a SHA-256 or - must stand" },
		{ HEAD "d 0755 0 - -1 2 3 .\n", "3:12", "an inode number must stand" },
		{ HEAD "d 0755 0 - 18446744073709551616 2 3 .\n", "3:12", "an inode number" },
		{ HEAD "d 0755 0 - 1 -0 3 .\n", "3:14", "a time of change" },
		{ HEAD "d 0755 0 - 1 2 9223372036854775808 .\n", "3:16", "a time of modification" },
		{ HEAD "d 0755 0 - 1 2 3\n", "3:17", "a path must stand" },
		{ HEAD "d 0755 0 - 1 2 3 \n", "3:18", "the path is missing" },
		{ HEAD "d 0755 0 - 1 2 3 a\n", "3:18", "the root must come first" },
		{ HEAD "d 0755 1 - 1 2 3 .\n", "3:18", "a size of what has none" },
		{ HEAD "d 0755 0 " H " 1 2 3 .\n", "3:81", "a hash of what has no content" },
		{ HEAD DIR DIR, "4:18", "the root stands there twice" },
		{ HEAD DIR "f 0644 0 - 1 2 3 a\n", "4:18", "the hash is missing" },
		{ HEAD DIR "f 0644 0 " NUL_HASH "0 1 2 3 a\n", "4:74", "an inode number" },
		{ HEAD DIR "f 0644 0 E3"
			   " 1 2 3 a\n",
		  "4:10", "a SHA-256 or -" },
		{ HEAD DIR "p 0644 0 - 1 2 3 b\np 0644 0 - 1 2 3 a\n", "5:18", "ascending order" },
		{ HEAD DIR "p 0644 0 - 1 2 3 b\np 0644 0 - 1 2 3 b\n", "5:18", "ascending order" },
		{ HEAD DIR "p 0644 0 - 1 2 3 a-b\nd 0755 0 - 1 2 3 a\n", "5:18",
		  "ascending order" },
		{ HEAD DIR "p 0644 0 - 1 2 3 a/b\n", "4:18", "the directory of the path is not" },
		{ HEAD DIR "p 0644 0 - 1 2 3 a\np 0644 0 - 1 2 3 a/b\n", "5:18",
		  "below what is no directory" },
		{ HEAD DIR "d 0755 0 - 1 2 3 a\np 0644 0 - 1 2 3 a/b/c\n", "5:18",
		  "is not listed" },
		{ HEAD DIR "p 0644 0 - 1 2 3 ..\n", "4:18", "a component of the path is empty" },
		{ HEAD DIR "p 0644 0 - 1 2 3 /a\n", "4:18", "a component of the path is empty" },
		{ HEAD DIR "p 0644 0 - 1 2 3 a/\n", "4:18", "a component of the path is empty" },
		{ HEAD DIR "p 0644 0 - 1 2 3 a//b\n", "4:18", "a component of the path is empty" },
		{ HEAD DIR "p 0644 0 - 1 2 3 ./a\n", "4:18", "a component of the path is empty" },
		{ HEAD DIR "p 0644 0 - 1 2 3 \\\n", "4:18", "a broken escape in the path" },
		{ HEAD DIR "p 0644 0 - 1 2 3 \\x4\n", "4:18", "a broken escape in the path" },
		{ HEAD DIR "p 0644 0 - 1 2 3 \\x41\n", "4:18", "not escaped in its one form" },
		{ HEAD DIR "p 0644 0 - 1 2 3 \\x1B\n", "4:18", "a broken escape" },
		{ HEAD DIR "p 0644 0 - 1 2 3 a\033\n", "4:18", "not escaped in its one form" },
		{ HEAD DIR "p 0644 0 - 1 2 3 a\xff\n", "4:18", "not escaped in its one form" },
		{ HEAD DIR "p 0644 0 - 1 2 3 a\\x00b\n", "4:18", "the path holds a NUL" },
	};
	struct weir_err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char start[32];

		e = (struct weir_err){ 0 };
		snprintf(start, sizeof(start), "m:%s: ", rows[i].where);
		if (read_all(rows[i].text, strlen(rows[i].text), &e) != -EBADMSG ||
		    strncmp(e.text, start, strlen(start)) != 0 || !strstr(e.text, rows[i].what))
			fail_msg("\n%swanted %s%s\ngot    %s", rows[i].text, start, rows[i].what,
				 e.text);
		assert_string_equal(e.code, "manifest-bad");
	}
	assert_int_equal(read_all(HEAD DIR "p 0644 0 - 1 2 3 a\0b\nend 2\n", 58, &e), -EBADMSG);
	assert_int_equal(read_all(HEAD DIR "end 1\n", strlen(HEAD DIR "end 1\n"), &e), 0);
}

/* Whatever is cut off, the rest is refused; and bytes and descriptors read the same. */
static void t_cut(void **state)
{
	cleanup_buf struct buf b = { 0 };
	struct weir_err e = { 0 };

	(void)state;
	make_tree();
	take_text(&b);
	assert_int_equal(read_all(b.data, b.len, &e), 0);
	for (size_t len = 0; len < b.len; len++) {
		char *exact = malloc(len ? len : 1);

		memcpy(exact, b.data, len);
		if (read_all(exact, len, &e) != -EBADMSG)
			fail_msg("accepted %zu of %zu bytes", len, b.len);
		free(exact);
	}
}

static void t_long_line(void **state)
{
	size_t len = MANIFEST_LINE_MAX + 100000;
	cleanup_free char *text = malloc(len);
	cleanup_manifest_reader struct manifest_reader *r = NULL;
	cleanup_close int fd = memfd_create("m", MFD_CLOEXEC);
	struct tree_entry entry;
	struct weir_err e = { 0 };

	(void)state;
	memset(text, 'a', len);
	memcpy(text, HEAD DIR "p 0644 0 - 1 2 3 ", strlen(HEAD DIR "p 0644 0 - 1 2 3 "));
	assert_int_equal(read_all(text, len, &e), -EBADMSG);
	assert_int_equal(fsio_write_all(fd, text, len), 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(manifest_reader_new(fd, "m", &r, &e), 0);
	assert_int_equal(manifest_reader_next(r, &entry, &e), 1);
	assert_int_equal(manifest_reader_next(r, &entry, &e), -EBADMSG);
	assert_string_equal(e.text, "m:4:1: the line is too long");
}

static void compare_to(int before_fd, enum tree_strength strength, uint32_t mask,
		       struct tree_changes *c)
{
	cleanup_manifest_reader struct manifest_reader *r = NULL;
	struct weir_err e = { 0 };

	lseek(before_fd, 0, SEEK_SET);
	assert_int_equal(manifest_reader_new(before_fd, "before", &r, &e), 0);
	if (tree_compare_tree(r, root_fd, ".git", strength, mask, c, &e) < 0)
		fail_msg("%s", e.text);
}

static void expect_change(const struct tree_changes *c, size_t i, const char *path,
			  enum tree_change_kind kind, uint32_t what)
{
	assert_true(i < c->count);
	assert_string_equal(c->items[i].path, path);
	assert_int_equal(c->items[i].kind, kind);
	assert_int_equal(c->items[i].what & ~TREE_CHANGED_STAT, what);
}

static void t_compare(void **state)
{
	cleanup_tree_changes struct tree_changes c = { 0 }, again = { 0 }, third = { 0 };
	const struct tree_changes *const lists[] = { &c, &again, &third };
	cleanup_manifest_reader struct manifest_reader *a = NULL, *b = NULL;
	cleanup_manifest struct manifest *old = NULL, *now = NULL;
	struct manifest_summary s;
	cleanup_close int before = -1, after = -1;
	struct weir_err e = { 0 };

	(void)state;
	make_tree();
	before = take_fd(&s);
	compare_to(before, TREE_STRENGTH_FULL, 0, &c);
	assert_int_equal(c.count, 0);
	put("a.txt", "hellO\n");
	fchmodat(root_fd, "a.txt", 04755, 0);
	fchmodat(root_fd, "dir", 0700, 0);
	unlinkat(root_fd, "dir/link", 0);
	symlinkat("elsewhere", root_fd, "dir/link");
	unlinkat(root_fd, "empty", 0);
	mkdirat(root_fd, "empty", 0644);
	put("empty/new", "n");
	unlinkat(root_fd, "fifo", 0);
	put("zz", "");
	put(".git/HEAD", "changed, and none of our business");
	tree_changes_done(&c);
	compare_to(before, TREE_STRENGTH_FULL, 0, &c);
	after = take_fd(&s);
	lseek(before, 0, SEEK_SET);
	assert_int_equal(manifest_reader_new(before, "b", &a, &e), 0);
	assert_int_equal(manifest_reader_new(after, "a", &b, &e), 0);
	assert_int_equal(tree_compare_manifests(a, b, 0, &again, &e), 0);
	lseek(before, 0, SEEK_SET);
	lseek(after, 0, SEEK_SET);
	assert_int_equal(manifest_load(before, "b", &old, &e), 0);
	assert_int_equal(manifest_load(after, "a", &now, &e), 0);
	assert_int_equal(tree_compare_tables(old, now, 0, &third, &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct tree_changes *l = lists[i];

		assert_int_equal(l->count, 7);
		expect_change(l, 0, "a.txt", TREE_CHANGED, TREE_CHANGED_CONTENT);
		expect_change(l, 1, "dir", TREE_CHANGED, TREE_CHANGED_MODE);
		expect_change(l, 2, "dir/link", TREE_CHANGED, TREE_CHANGED_CONTENT);
		expect_change(l, 3, "empty", TREE_CHANGED, TREE_CHANGED_TYPE);
		expect_change(l, 4, "empty/new", TREE_ADDED, 0);
		expect_change(l, 5, "fifo", TREE_REMOVED, 0);
		expect_change(l, 6, "zz", TREE_ADDED, 0);
		assert_int_equal(l->items[4].before.mode, 0);
		assert_int_equal(l->items[4].after.size, 1);
		assert_int_equal(l->items[5].after.mode, 0);
	}
}

static void t_touched(void **state)
{
	static const struct timespec times[2] = { { 1, 0 }, { 2, 0 } };
	cleanup_tree_changes struct tree_changes c = { 0 };
	struct manifest_summary s;
	cleanup_close int before = -1;

	(void)state;
	make_tree();
	before = take_fd(&s);
	assert_int_equal(utimensat(root_fd, "a.txt", times, 0), 0);
	compare_to(before, TREE_STRENGTH_FULL, 0, &c);
	assert_int_equal(c.count, 0);
	compare_to(before, TREE_STRENGTH_FULL, TREE_CHANGED_STAT, &c);
	assert_int_equal(c.count, 1);
	assert_int_equal(c.items[0].what, TREE_CHANGED_STAT);
}

/*
 * The racy case: same size, same times, same inode, other content. A manifest whose
 * entries are older than its tick skips the file; one taken in the same tick reads it.
 */
static void t_racy(void **state)
{
	struct tree_entry entry = { .ctime_ns = 1000000001 };
	cleanup_tree_changes struct tree_changes c = { 0 };
	cleanup_buf struct buf text = { 0 };
	struct manifest_summary s;
	cleanup_close int before = -1, forged = memfd_create("f", MFD_CLOEXEC);
	char *at;

	(void)state;
	assert_true(manifest_entry_is_racy(&entry, 1000000001, 0));
	assert_false(manifest_entry_is_racy(&entry, 1000000002, 0));
	assert_true(manifest_entry_is_racy(&entry, 1020000001, MANIFEST_TICK_NS));
	assert_false(manifest_entry_is_racy(&entry, 1020000002, MANIFEST_TICK_NS));
	entry.ctime_ns = 5000000000; /* whole seconds: a coarse file system */
	assert_true(manifest_entry_is_racy(&entry, 6500000000, MANIFEST_TICK_NS));
	assert_false(manifest_entry_is_racy(&entry, 7500000000, MANIFEST_TICK_NS));
	entry.ctime_ns = INT64_MAX;
	assert_true(manifest_entry_is_racy(&entry, INT64_MIN, INT64_MAX));
	entry.ctime_ns = -1;
	assert_true(manifest_entry_is_racy(&entry, INT64_MAX, 0));

	put("f", "one\n");
	before = take_fd(&s);
	/* just written: read again in spite of equal stat data */
	compare_to(before, TREE_STRENGTH_STAT, 0, &c);
	assert_int_equal(c.hashed_files, 1);
	assert_int_equal(c.count, 0);
	/* the same manifest with another hash and a later time: not read, so not seen */
	assert_int_equal(fsio_read_file(AT_FDCWD, "/dev/null", 1, &text, NULL), 0);
	lseek(before, 0, SEEK_SET);
	assert_int_equal(fsio_read_fd(before, 1 << 20, &text), 0);
	at = strstr(text.data, "\nf 0644 4 ");
	assert_non_null(at);
	at[10] = at[10] == '0' ? '1' : '0';
	at = strstr(text.data, "taken ");
	at[6] = '8'; /* as many digits, some centuries later */
	assert_int_equal(fsio_write_all(forged, text.data, text.len), 0);
	tree_changes_done(&c);
	compare_to(forged, TREE_STRENGTH_STAT, 0, &c);
	assert_int_equal(c.hashed_files, 0);
	assert_int_equal(c.count, 0);
	/* full strength reads it and sees */
	compare_to(forged, TREE_STRENGTH_FULL, 0, &c);
	assert_int_equal(c.hashed_files, 1);
	assert_int_equal(c.hashed_bytes, 4);
	assert_int_equal(c.count, 1);
	tree_changes_done(&c);
	/* and so does strength stat in the file's own tick */
	at[6] = '1';
	assert_int_equal(pwrite(forged, text.data, text.len, 0), text.len);
	compare_to(forged, TREE_STRENGTH_STAT, 0, &c);
	assert_int_equal(c.hashed_files, 1);
	assert_int_equal(c.count, 1);
}

/* 30 levels of 200 bytes: longer than PATH_MAX; and as many levels as files may be open. */
static void t_deep(void **state)
{
	struct rlimit old, few = { 16, 16 };
	cleanup_tree_changes struct tree_changes c = { 0 };
	struct manifest_summary s;
	cleanup_close int before = -1;
	int fd = dup(root_fd), next;
	char name[201];

	(void)state;
	memset(name, 'd', 200);
	name[200] = '\0';
	for (int i = 0; i < 330; i++) {
		const char *dir = i < 30 ? name : "e";

		assert_int_equal(mkdirat(fd, dir, 0755), 0);
		next = openat(fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close(fd);
		fd = next;
	}
	next = openat(fd, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(next >= 0);
	close(next);
	close(fd);
	put("zz", "after the way back");
	getrlimit(RLIMIT_NOFILE, &old);
	few.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_NOFILE, &few);
	before = take_fd(&s);
	assert_int_equal(s.entries, 333);
	compare_to(before, TREE_STRENGTH_FULL, 0, &c);
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(c.count, 0);
	/* fsio_remove_tree holds a descriptor for each level */
}

static void t_too_long(void **state)
{
	struct manifest_summary s;
	struct weir_err e = { 0 };
	cleanup_close int out = memfd_create("m", MFD_CLOEXEC);
	int fd = dup(root_fd), next;
	char name[256];

	(void)state;
	memset(name, 'd', 255);
	name[255] = '\0';
	for (int i = 0; i < 257; i++) {
		assert_int_equal(mkdirat(fd, name, 0755), 0);
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = next;
	}
	close(fd);
	assert_int_equal(manifest_write_tree(root_fd, NULL, out, &s, &e), -ENAMETOOLONG);
	assert_true(strlen(e.text) < 400);
}

static void t_mount(void **state)
{
	struct manifest_summary s;
	struct weir_err e = { 0 };
	cleanup_close int out = memfd_create("m", MFD_CLOEXEC);
	char dir[128];

	(void)state;
	mkdirat(root_fd, "m", 0755);
	snprintf(dir, sizeof(dir), "%s/m", root);
	if (mount("none", dir, "tmpfs", 0, NULL) < 0)
		skip();
	assert_int_equal(manifest_write_tree(root_fd, NULL, out, &s, &e), -EXDEV);
	umount(dir);
	assert_string_equal(e.text, "'m' is a mount point; the tree must lie on one file system");
	assert_string_equal(e.code, "tree-mount");
}

/* A walk that is overtaken by changes stops; it never mixes two states. */
static void t_changed_meanwhile(void **state)
{
	cleanup_tree_walk struct tree_walk *w = NULL;
	struct tree_entry entry;
	struct weir_err e = { 0 };

	(void)state;
	mkdirat(root_fd, "a", 0755);
	put("a/f", "text");
	assert_int_equal(tree_walk_new(root_fd, NULL, &w, &e), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(tree_walk_next(w, &entry, &e), 1);
	assert_string_equal(entry.path, "a/f");
	put("a/f", "longer text");
	assert_int_equal(tree_walk_hash(w, &entry, &e), -ESTALE);
	assert_string_equal(e.text, "'a/f' changed while it was read");
	unlinkat(root_fd, "a/f", 0);
	symlinkat("/etc/passwd", root_fd, "a/f");
	assert_int_equal(tree_walk_hash(w, &entry, &e), -ESTALE);
	/* the directory moves elsewhere: ".." leads to another place */
	mkdirat(root_fd, "b", 0755);
	assert_int_equal(renameat(root_fd, "a", root_fd, "b/a"), 0);
	assert_int_equal(tree_walk_next(w, &entry, &e), -ESTALE);
}

static void t_directory_swapped(void **state)
{
	cleanup_tree_walk struct tree_walk *w = NULL;
	struct tree_entry entry;
	struct weir_err e = { 0 };

	(void)state;
	mkdirat(root_fd, "a", 0755);
	assert_int_equal(tree_walk_new(root_fd, NULL, &w, &e), 0);
	assert_int_equal(tree_walk_next(w, &entry, &e), 1);
	assert_int_equal(tree_walk_next(w, &entry, &e), 1);
	assert_int_equal(renameat(root_fd, "a", root_fd, "old"), 0);
	symlinkat("/etc", root_fd, "a");
	assert_true(tree_walk_next(w, &entry, &e) < 0);
}

static void t_memory(void **state)
{
	(void)state;
	assert_true(sizeof(struct manifest_row) <= 80);
	assert_int_equal(tree_path_compare("a/b", 3, "a-b", 3), -1);
	assert_int_equal(tree_path_compare("a", 1, "a/b", 3), -1);
	assert_int_equal(tree_path_compare("a\xff", 2, "ab", 2), 1);
	assert_int_equal(tree_path_compare("", 0, "a", 1), -1);
}

#define TREE_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(t_write),
		TREE_TEST(t_round_trip),
		TREE_TEST(t_cut),
		cmocka_unit_test(t_writer_refuses),
		TREE_TEST(t_compare),
		cmocka_unit_test(t_bad_text),
		TREE_TEST(t_touched),
		cmocka_unit_test(t_long_line),
		TREE_TEST(t_racy),
		TREE_TEST(t_deep),
		TREE_TEST(t_too_long),
		TREE_TEST(t_mount),
		TREE_TEST(t_changed_meanwhile),
		TREE_TEST(t_directory_swapped),
		cmocka_unit_test(t_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
