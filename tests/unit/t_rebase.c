/* SPDX-License-Identifier: MIT */
/* Whether a path, and what is above and below it, is the same in two trees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/tree/manifest.h"
#include "writeback/rebase.h"

#define MAX 16

struct tree {
	struct base_entry entries[MAX];
	struct base base;
};

static int by_path(const void *a, const void *b)
{
	const struct base_entry *x = a, *y = b;

	return tree_path_compare(x->path, x->len, y->path, y->len);
}

/* Entries "PATH" or "PATH=N", N being another content. */
static void make(struct tree *t, const char *const *list)
{
	*t = (struct tree){ .base.entries = t->entries };
	for (; *list; list++) {
		struct base_entry *e = &t->entries[t->base.count++];
		const char *equals = strchr(*list, '=');

		e->path = (char *)(uintptr_t)*list;
		e->len = equals ? (size_t)(equals - *list) : strlen(*list);
		e->mode = GIT_MODE_FILE;
		e->oid.id[0] = equals ? (unsigned char)equals[1] : 0;
	}
	qsort(t->entries, t->base.count, sizeof(t->entries[0]), by_path);
}

static void test_paths(void **state)
{
	static const struct {
		const char *began[MAX];
		const char *onto[MAX];
		const char *path;
		bool good;
	} rows[] = {
		{ { "a", "b" }, { "a", "b" }, "a", true },
		{ { "a", "b" }, { "a", "b=1" }, "a", true },
		{ { "a", "b" }, { "a=1", "b" }, "a", false },
		{ { "a", "b" }, { "b" }, "a", false },
		{ { "b" }, { "a", "b" }, "a", false },
		{ { "b" }, { "b" }, "a", true },
		/* above */
		{ { "b" }, { "a", "b" }, "a/c", false },
		{ { "a" }, { "b" }, "a/c", false },
		{ { "a/x" }, { "a/x=1" }, "a/c", true },
		/* below, and names that only begin like it */
		{ { "a/x", "a/y" }, { "a/x", "a/y" }, "a", true },
		{ { "a/x" }, { "a/x", "a/y" }, "a", false },
		{ { "a/x", "a/y" }, { "a/y" }, "a", false },
		{ { "a/x" }, { "a/x=1" }, "a", false },
		{ { "a/x/y" }, { "a/x/y=1" }, "a/x", false },
		{ { "b" }, { "a/x", "b" }, "a", false },
		{ { "a-b", "a.c" }, { "a-b=1", "a.c=1", "a0=1", "ab/c=1" }, "a", true },
		{ { "a-b/x", "a/x" }, { "a-b/x=1", "a/x", "a0/x=1" }, "a", true },
		{ { "z" }, { "z" }, "zz/z", true },
		{ { NULL }, { NULL }, "a", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tree began, onto;
		struct weir_err e = { 0 };
		int err;

		make(&began, rows[i].began);
		make(&onto, rows[i].onto);
		err = rebase_check_path(&began.base, &onto.base, rows[i].path, strlen(rows[i].path),
					&e);
		if ((err == 0) != rows[i].good)
			fail_msg("row %zu (%s): %s", i, rows[i].path, e.text);
		if (err < 0)
			assert_string_equal(e.code, "rebase-conflict");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_paths) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
