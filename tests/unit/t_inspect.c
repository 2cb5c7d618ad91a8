/* SPDX-License-Identifier: MIT */
/* Names, links, contents, messages, ignore rules: what inspection is made of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/content.h"
#include "writeback/ignore.h"
#include "writeback/message.h"
#include "writeback/names.h"
#include "writeback/twins.h"

static uint64_t found(const struct hazards *h)
{
	uint64_t kinds = 0;

	for (size_t i = 0; i < h->count; i++)
		kinds |= 1ull << h->items[i].kind;
	return kinds;
}

static uint64_t path(const char *text)
{
	struct hazards h = { 0 };
	uint64_t kinds;

	assert_int_equal(names_inspect_path(&h, text), 0);
	kinds = found(&h);
	hazards_done(&h);
	return kinds;
}

static uint64_t link_kinds(const char *at, const char *target)
{
	struct hazards h = { 0 };
	uint64_t kinds;

	assert_int_equal(names_inspect_link(&h, at, target), 0);
	kinds = found(&h);
	hazards_done(&h);
	return kinds;
}

#define ONE(id) (1ull << HAZARD_##id)

static void test_names(void **state)
{
	static const char *const git[] = {
		".git",
		".GIT",
		".Git",
		"git~1",
		"GIT~9",
		".git ",
		".git.",
		".git. .",
		".g\xe2\x80\x8cit",
		".git\xe2\x80\x8d",
		"\xef\xbb\xbf.git",
		".git::$INDEX_ALLOCATION",
		".git:x",
		"\xe2\x81\xaa.gi\xe2\x80\xaet",
	};
	static const char *const fine[] = { "git",	 ".gitx",    "..git", "git~",	   "git~a",
					    "git~10",	 ".gi t",    "aux.c", "end.",	   "a:b",
					    "12:30.log", "\xc3\xa9", "x.git", ".gitignore" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(git); i++) {
		char deep[64];

		assert_true(path(git[i]) & ONE(DOTGIT));
		snprintf(deep, sizeof(deep), "a/%s/b", git[i]);
		assert_true(path(deep) & ONE(DOTGIT));
	}
	for (size_t i = 0; i < ARRAY_SIZE(fine); i++)
		assert_int_equal(path(fine[i]), 0);
	assert_int_equal(path("a\rb"), ONE(CONTROL));
	assert_int_equal(path("a\x7f"), ONE(CONTROL));
	assert_int_equal(path("a\\b"), ONE(BACKSLASH));
	assert_int_equal(path("a\xff"), ONE(UTF8));
	assert_int_equal(path("a\xc0\xae"), ONE(UTF8));
	assert_int_equal(path("a\xed\xa0\x80"), ONE(UTF8));
	assert_int_equal(path("a\xe2\x80\xae"), ONE(HIDDEN));
	assert_int_equal(path("a\xc2\xad"), ONE(HIDDEN));
	assert_int_equal(path("a\xf3\xa0\x81\x81"), ONE(HIDDEN));
	assert_int_equal(path("a::$DATA"), ONE(STREAM));
	assert_int_equal(path(".weir/policy.yaml"), ONE(WEIR));
	assert_int_equal(path(".WeIr/x"), ONE(WEIR));
	assert_int_equal(path("src/.weir/x"), 0);
}

static void test_depth(void **state)
{
	char deep[2 * NAMES_DEPTH_MAX + 8] = "";

	(void)state;
	for (int i = 0; i < NAMES_DEPTH_MAX - 1; i++)
		strcat(deep, "a/");
	strcat(deep, "a");
	assert_int_equal(path(deep), 0);
	strcat(deep, "/a");
	assert_int_equal(path(deep), ONE(DEPTH));
}

static void test_links(void **state)
{
	(void)state;
	assert_int_equal(link_kinds("a", "b"), 0);
	assert_int_equal(link_kinds("d/e/a", "../../b"), 0);
	assert_int_equal(link_kinds("d/e/a", "./x/../../../b"), 0);
	assert_int_equal(link_kinds("a", "../b"), ONE(OUTWARD));
	assert_int_equal(link_kinds("d/a", "x/../../../b"), ONE(OUTWARD));
	assert_int_equal(link_kinds("a", "/etc/passwd"), ONE(OUTWARD));
	assert_int_equal(link_kinds("a", ".git"), ONE(GITLINK));
	assert_int_equal(link_kinds("d/a", "../.GIT/hooks"), ONE(GITLINK));
	assert_int_equal(link_kinds(".gitmodules", "x"), ONE(METALINK));
	assert_int_equal(link_kinds("d/.GitAttributes", "x"), ONE(METALINK));
}

static bool bad_content(const char *at, const char *text)
{
	struct hazards h = { 0 };
	bool bad;

	assert_true(content_matters(at));
	assert_int_equal(content_inspect(&h, at, text, strlen(text)), 0);
	bad = h.count > 0;
	hazards_done(&h);
	return bad;
}

static void test_contents(void **state)
{
	(void)state;
	assert_false(content_matters("src/main.c"));
	assert_false(bad_content("a/.gitattributes", "*.c text eol=lf\n*.png -diff\n# filter=x\n"));
	assert_true(bad_content(".gitattributes", "*.c filter=lab\n"));
	assert_true(bad_content("a/.GITATTRIBUTES", "* text\n*.c\tdiff=driver"));
	assert_true(bad_content(".gitattributes", "*.c merge=ours\n"));
	assert_true(bad_content(".gitattributes", "*.c filter\n"));
	assert_false(
		bad_content(".gitmodules",
			    "[submodule \"x\"]\n\tpath = x\n\turl = https://example.org/x..y\n"));
	assert_true(bad_content(".gitmodules", "[submodule \"x\"]\n\tpath = \"sub\r\"\n"));
	assert_true(bad_content(".gitmodules", "[submodule \"../../x\"]\n\tpath = x\n"));
	assert_true(bad_content(".gitmodules", "\turl = ext::sh -c x\n"));
	assert_true(bad_content(".gitmodules", "\turl = -u./x\n"));
	assert_true(bad_content(".gitmodules", "\tupdate = !x\n"));
}

static size_t twins(const char *const *base, const char *const *added)
{
	struct hazards h = { 0 };
	struct base b = { 0 };
	struct changes c = { 0 };
	size_t count;

	for (; base[b.count]; b.count++) {
		b.entries = reallocarray(b.entries, b.count + 1, sizeof(*b.entries));
		b.entries[b.count] = (struct base_entry){ .path = strdup(base[b.count]),
							  .len = strlen(base[b.count]) };
	}
	for (; added[c.count]; c.count++) {
		c.items = reallocarray(c.items, c.count + 1, sizeof(*c.items));
		c.items[c.count] = (struct change){ .path = strdup(added[c.count]),
						    .len = strlen(added[c.count]),
						    .new_mode = GIT_MODE_FILE };
	}
	assert_int_equal(twins_inspect(&h, &b, &c), 0);
	count = h.count;
	hazards_done(&h);
	base_done(&b);
	changes_done(&c);
	return count;
}

#define LIST(...) \
	(const char *const[]) \
	{ \
		__VA_ARGS__, NULL \
	}

static void test_twins(void **state)
{
	(void)state;
	assert_int_equal(twins(LIST("README"), LIST("readme")), 1);
	assert_int_equal(twins(LIST("README"), LIST("doc/readme")), 0);
	assert_int_equal(twins(LIST("src/a"), LIST("SRC/b")), 1);
	assert_int_equal(twins(LIST("src/a"), LIST("src/b", "src/c/d", "src/c/e")), 0);
	assert_int_equal(twins(LIST("x"), LIST("cafe\xcc\x81", "caf\xc3\xa9")), 1);
	assert_int_equal(twins(LIST("x"), LIST("CAF\xc3\x89", "caf\xc3\xa9")), 1);
	assert_int_equal(twins(LIST("\xd0\xaf"), LIST("\xd1\x8f")), 1);
	assert_int_equal(twins(LIST("end"), LIST("end.")), 1);
	assert_int_equal(twins(LIST("A", "a"), LIST("b")), 0); /* not made by the run */
}

static void test_messages(void **state)
{
	static const char *const bad[] = {
		"",	  "\n \n",	   "Weir-Run: x", "a\n\nweir-trace: y", " WEIR-X :",
		"weir-=", "* Weir-Run: x", "a\x01",	  "a\xe2\x80\xae",	"a\xff"
	};
	static const char *const good[] = { "a", "Weir-Run is a trailer", "weir-gate does: x",
					    "a\tb\n\nc\\d", "\xc3\xa9t\xc3\xa9" };
	struct weir_err e = { 0 };
	struct buf b = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_true(message_check(bad[i], &e) < 0);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(message_check(good[i], &e), 0);
	assert_int_equal(message_check_author("A B <a@b>", &e), 0);
	assert_true(message_check_author("A B <a@b> x", &e) < 0);
	assert_true(message_check_author("A\nparent <a@b>", &e) < 0);
	assert_true(message_check_author("<a@b>", &e) < 0);
	message_add(&b, "\n\nhello\n\nworld  \n\n");
	assert_string_equal(buf_str(&b), "hello\n\nworld\n");
	buf_done(&b);
}

/* The same rules and paths for us and for git check-ignore. */
static void test_ignore_equals_git(void **state)
{
	static const char root[] =
		"*.o\n!keep.o\n/top\nbuild/\n# comment\n\\#odd\n  "
		"\nfoo/bar\n**/deep\nx/**\ny/**/z\n"
		"trail\\ \n[a-c]1\nq?\n\\!bang\nnot[!x]\ndir/*\n!dir/in\nsp ace   \n[[:digit:]]n\n";
	static const char sub[] = "*.log\n!a.o\nlocal\n/anchored\n";
	static const char *const paths[] = {
		"a.o",	       "keep.o",   "d/a.o",	   "top",
		"d/top",       "build/x",  "d/build/x",	   "build",
		"#odd",	       "foo/bar",  "d/foo/bar",	   "deep",
		"a/b/deep",    "x/a",	   "x/a/b",	   "x",
		"y/z",	       "y/a/b/z",  "trail ",	   "trail",
		"a1",	       "d1",	   "q1",	   "q",
		"q12",	       "!bang",	   "noty",	   "notx",
		"dir/a",       "dir/in",   "dir/in/x",	   "sub/a.log",
		"a.log",       "sub/a.o",  "sub/b.o",	   "sub/local",
		"sub/d/local", "local",	   "sub/anchored", "sub/d/anchored",
		"sp ace",      "5n",	   "an",	   "sub/top",
		"foo/bar/baz", ".git-not", "d/#odd",	   "sub/build/a.log",
	};
	char dir[] = "/tmp/t_ignore.XXXXXX", command[8192];
	struct ignore *rules = ignore_new();

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(ignore_add(rules, "", root, strlen(root)), 0);
	assert_int_equal(ignore_add(rules, "sub", sub, strlen(sub)), 0);
	for (size_t i = 0; i <= ARRAY_SIZE(paths); i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
			setenv("HOME", dir, 1);
			if (chdir(dir) < 0)
				_exit(99);
			if (i == 0) {
				FILE *f = fopen(".gitignore", "w");

				fputs(root, f);
				fclose(f);
				mkdir("sub", 0755);
				f = fopen("sub/.gitignore", "w");
				fputs(sub, f);
				fclose(f);
				execlp("git", "git", "init", "-q", (char *)NULL);
			}
			snprintf(command, sizeof(command), "./%s", paths[i - 1]);
			execlp("git", "git", "check-ignore", "-q", "--no-index", "--", command,
			       (char *)NULL);
			_exit(99);
		}
		waitpid(pid, &status, 0);
		assert_true(WIFEXITED(status));
		if (i == 0) {
			assert_int_equal(WEXITSTATUS(status), 0);
			continue;
		}
		if (ignore_match(rules, paths[i - 1]) != (WEXITSTATUS(status) == 0))
			fail_msg("%s: git says %d", paths[i - 1], WEXITSTATUS(status));
	}
	ignore_free(rules);
	fsio_remove_tree(AT_FDCWD, dir, NULL);
}

static void test_wildmatch_is_bounded(void **state)
{
	(void)state;
	assert_false(ignore_wildmatch(
		"*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true));
	assert_true(ignore_wildmatch("a[]b]c", "a]c", true));
	assert_false(ignore_wildmatch("a[", "a[", true));
	assert_false(ignore_wildmatch("*", "a/b", true));
	assert_true(ignore_wildmatch("a/**/b", "a/b", true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_twins),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_ignore_equals_git),
		cmocka_unit_test(test_wildmatch_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
