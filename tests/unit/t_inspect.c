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

	assert_int_equal(names_inspect_link(&h, at, 0, target), 0);
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
	assert_int_equal(path(".g\xd1\x96t/x"), ONE(LOOKALIKE)); /* Cyrillic i */
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
	assert_int_equal(link_kinds("a", "b\033"), ONE(CONTROL));
	assert_int_equal(link_kinds("a", "b\xe2\x80\xae"), ONE(HIDDEN));
	assert_int_equal(link_kinds(".gitmodules", "x"), ONE(METALINK));
	assert_int_equal(link_kinds("d/.GitAttributes", "x"), ONE(METALINK));
}

static struct hazards content;

static uint64_t content_kinds(const char *at, const char *text, size_t len)
{
	hazards_done(&content);
	assert_true(content_matters(at));
	assert_int_equal(content_inspect(&content, at, text, len), 0);
	return found(&content);
}

#define ATTRIBUTES_OF(text) content_kinds("a/.gitattributes", text, sizeof(text) - 1)
#define MODULES_OF(text) content_kinds(".gitmodules", text, sizeof(text) - 1)

static void test_attributes(void **state)
{
	(void)state;
	assert_false(content_matters("src/main.c"));
	assert_true(content_matters("a/.GITATTRIBUTES"));
	assert_true(content_matters(".git\xe2\x80\x8c"
				    "attributes"));
	assert_int_equal(ATTRIBUTES_OF(""), 0);
	assert_int_equal(ATTRIBUTES_OF("*.c text eol=lf\n*.png -diff -merge\n# filter=x\n"), 0);
	assert_int_equal(ATTRIBUTES_OF("*.py diff=python merge=union\n*.md -filter !diff\n"), 0);
	assert_int_equal(ATTRIBUTES_OF("filter=x text\n\"a filter=b\" text\n"), 0); /* patterns */
	assert_int_equal(ATTRIBUTES_OF("* text\n\n*.c filter=lab\n*.d filter\n"), ONE(FILTER));
	assert_string_equal(content.items[0].place, "3:1");
	assert_string_equal(content.items[0].detail, "filter=lab");
	assert_int_equal(content.items[0].times, 2);
	assert_int_equal(ATTRIBUTES_OF("* text\n*.c\tdiff=driver"), ONE(FILTER));
	assert_int_equal(ATTRIBUTES_OF("*.c merge=ours\n"), ONE(FILTER));
	assert_int_equal(ATTRIBUTES_OF("[attr]x filter=lab\n"), ONE(FILTER));
	assert_int_equal(ATTRIBUTES_OF("\"a \\\" b\" Filter=lab\n"), ONE(FILTER));
	assert_int_equal(ATTRIBUTES_OF("*.c text\0filter"), ONE(FILTER));
	assert_int_equal(ATTRIBUTES_OF("*.c ident\n"), ONE(ATTRIBUTES));
	assert_int_equal(ATTRIBUTES_OF("a export-subst\nb working-tree-encoding=UTF-16\n"),
			 ONE(ATTRIBUTES));
	hazards_done(&content);
}

static void test_modules(void **state)
{
	static const char *const bad[] = {
		"[submodule \"x\"]\n\tpath = \"sub\r\"\n",
		"[submodule \"x\"]\n\tpath = sub\r\n",
		"[submodule \"../../x\"]\n\tpath = x\n",
		"[submodule \"x\"]\n\tpath = ../../.git/hooks\n",
		"[submodule \"x\"]\n\tpath = .GIT/hooks\n",
		"[submodule \"x\"]\n\tpath = /etc\n",
		"[submodule \"x\"]\n\tpath = -sub\n",
		"[submodule \"x\"]\n\tpath = a\\..\\b\n",
		"[submodule \"x\"]\n\turl = ext::sh -c x\n",
		"[submodule \"x\"]\n\turl = file:///etc\n",
		"[submodule \"x\"]\n\turl = -u./x\n",
		"[submodule \"x\"]\n\turl = https://-oProxyCommand=x/\n",
		"[submodule \"x\"]\n\turl = ssh://a%0ab/\n",
		"[submodule \"x\"]\n\turl = ./y\n",
		"[submodule \"x\"]\n\turl = https://a b\n",
		"[submodule \"x\"]\n\turl = git@host:-x\n",
		"[submodule \"x\"]\n\tupdate = !x\n",
		"[submodule \"x\"]\n\tupdate = checkout\n",
		"[core]\n\tfsmonitor = x\n",
		"[include]\n\tpath = /etc/x\n",
		"path = x\n",
		"[submodule \"x\"] path = x\n",
		"[submodule \"x\"]\n\tpath = a\\\nb\n",
	};

	(void)state;
	assert_int_equal(MODULES_OF(""), 0);
	assert_int_equal(
		MODULES_OF("# one\n[submodule \"libs/x\"]\n\tpath = libs/x\n"
			   "\turl = https://example.org/x..y.git\n\tbranch = main\n"
			   "[submodule \"y\"]\n\tpath = \"y\"\n\turl = git@host.org:a/b.git\n"),
		0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (content_kinds(".gitmodules", bad[i], strlen(bad[i])) != ONE(MODULES))
			fail_msg("passes: %s", bad[i]);
	assert_int_equal(MODULES_OF("[submodule \"x\"]\n\tpath = x\0y\n"), ONE(MODULES));
	assert_string_equal(content.items[0].place, "2:1");
	assert_string_equal(content.items[0].detail, "a control character");
	hazards_done(&content);
}

static uint64_t twin_kinds;

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
	twin_kinds = found(&h);
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
	/* full folding and any script: sharp s, dotless forms, Hangul, Georgian, deep in a path */
	assert_int_equal(twins(LIST("stra\xc3\x9f"
				    "e"),
			       LIST("STRASSE")),
			 1);
	assert_int_equal(twins(LIST("\xea\xb0\x80"), LIST("\xe1\x84\x80\xe1\x85\xa1")), 1);
	assert_int_equal(twins(LIST("\xe1\x83\x90"), LIST("\xe1\xb2\x90")), 1);
	assert_int_equal(twins(LIST("\xe1\xb8\xb1"), LIST("k\xcc\x81")), 1);
	assert_int_equal(twins(LIST("a\xe2\x80\x8d"), LIST("A")), 1);
	/* letters of another script that look the same */
	assert_int_equal(twins(LIST("src/admin.c"), LIST("src/\xd0\xb0"
							 "dmin.c")),
			 1);
	assert_int_equal(twin_kinds, ONE(LOOKALIKE));
	assert_int_equal(twins(LIST("\xd1\x81\xd0\xb0\xd0\xbe.c"), LIST("cao.c")), 1);
	assert_int_equal(twin_kinds, ONE(LOOKALIKE));
	assert_int_equal(twins(LIST("x"), LIST("\xef\xbd\x98")), 1); /* fullwidth */
	assert_int_equal(twins(LIST("\xd0\xbc\xd0\xb8\xd1\x80"), LIST("mir", "\xd0\xbc\xd0\xb8")),
			 0);
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
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_twins),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_ignore_equals_git),
		cmocka_unit_test(test_wildmatch_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
