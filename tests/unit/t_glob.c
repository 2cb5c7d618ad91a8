/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/base/cleanup.h"
#include "user/base/glob.h"

static void t_match(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool match;
	} rows[] = {
		{ "Makefile", "Makefile", true },
		{ "Makefile", "src/Makefile", false },
		{ "Makefile", "makefile", false },
		{ "src", "src/a", false },
		{ "src/", "src/a", true },
		{ "src/", "src/a/b", true },
		{ "src/", "src", false },
		{ "src/**", "src/a/b", true },
		{ "src/**", "src", false },
		{ "src/**", "srcx/a", false },
		{ "**", "a", true },
		{ "**", ".github/x", true },
		{ "**/x", "x", true },
		{ "**/x", "a/b/x", true },
		{ "**/x", "a/b/xy", false },
		{ "a/**/b", "a/b", true },
		{ "a/**/b", "a/x/y/b", true },
		{ "a/**/b", "a/x/y/b/c", false },
		{ "a/**/b/**/c", "a/b/b/x/c", true },
		{ "**/a/**/a/**", "a/a/b", true },
		{ "**/a/**/a/**", "a/b", false },
		{ "*.c", "main.c", true },
		{ "*.c", ".c", true },
		{ "*.c", "src/main.c", false },
		{ "*", "a/b", false },
		{ "*/*", "a/b", true },
		{ "a*b*c", "aXbYbZc", true },
		{ "a*b*c", "aXbYbZ", false },
		{ "*a", "aaaa", true },
		{ "?", "a", true },
		{ "?", "\xc3\xa9", true },
		{ "?", "\xff", true },
		{ "??", "\xc3\xa9", false },
		{ "?", "", false },
		{ "a?c", "a/c", false },
		{ "[a-c]x", "bx", true },
		{ "[a-c]x", "dx", false },
		{ "[!a-c]x", "dx", true },
		{ "[^a-c]x", "bx", false },
		{ "[!a]", "\xc3\xa9", true },
		{ "[]a]", "]", true },
		{ "[a-]", "-", true },
		{ "[!]]", "]", false },
		{ "[*]", "*", true },
		{ "[*]", "a", false },
		{ "\\*", "*", true },
		{ "\\*", "a", false },
		{ "\\[x", "[x", true },
		{ "caf\xc3\xa9", "caf\xc3\xa9", true },
		{ "\\\xc3\xa9", "\xc3\xa9", true },
		{ "a\\\\b", "a\\b", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(glob_check(rows[i].pattern, NULL), 0);
		if (glob_match(rows[i].pattern, rows[i].path, strlen(rows[i].path)) !=
		    rows[i].match)
			fail_msg("%s on %s", rows[i].pattern, rows[i].path);
	}
}

static void t_check(void **state)
{
	static const struct {
		const char *pattern, *what;
	} rows[] = {
		{ "", "is empty; write ** for all files" },
		{ "/a", "begins with /" },
		{ "a//b", "empty component" },
		{ "./a", "a . or .. component" },
		{ "a/..", "a . or .. component" },
		{ "a**", "** beside other characters" },
		{ "***", "** beside other characters" },
		{ "a\\", "ends a component in \\" },
		{ "a\\/b", "ends a component in \\" },
		{ "[a", "has a [ without ]" },
		{ "[]", "has a [ without ]" },
		{ "[!]", "has a [ without ]" },
		{ "[", "has a [ without ]" },
		{ "[a/b]", "has a [ without ]" },
		{ "[\xc3\xa9]", "outside ASCII" },
		{ "a\nb", "control character" },
	};
	char big[GLOB_MAX + 2];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct weir_err e = { 0 };

		if (glob_check(rows[i].pattern, &e) == 0 || !strstr(e.text, rows[i].what))
			fail_msg("%s: %s", rows[i].pattern, e.text);
	}
	memset(big, 'a', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	assert_true(glob_check(big, NULL) < 0);
	big[sizeof(big) - 2] = '\0';
	assert_int_equal(glob_check(big, NULL), 0);
}

/* Stars that never match must not take exponential time. */
static void t_time(void **state)
{
	char pattern[GLOB_MAX + 1], path[4096];

	(void)state;
	for (size_t i = 0; i < 4000; i += 2)
		memcpy(pattern + i, "*a", 2);
	memcpy(pattern + 4000, "b", 2);
	memset(path, 'a', sizeof(path));
	assert_false(glob_match(pattern, path, 255));
	for (size_t i = 0; i < 3990; i += 5)
		memcpy(pattern + i, "**/a/", 5);
	memcpy(pattern + 3990, "b", 2);
	for (size_t i = 1; i < sizeof(path); i += 2)
		path[i] = '/';
	assert_false(glob_match(pattern, path, sizeof(path) - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_match),
		cmocka_unit_test(t_check),
		cmocka_unit_test(t_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
