/* SPDX-License-Identifier: MIT */
/* Paths that others run or obey: each class, spellings that fold to it, and neighbours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/privileged.h"

static struct privileged *table;

static void classes(void **state)
{
	static const struct {
		const char *path;
		enum hazard_kind kind;
	} rows[] = {
		{ ".github/workflows/ci.yml", HAZARD_CI },
		{ ".GitHub/Workflows/ci.yml", HAZARD_CI },
		{ "sub/.github/actions/a/action.yml", HAZARD_CI },
		{ ".github/CODEOWNERS", HAZARD_OWNERS },
		{ "docs/CODEOWNERS", HAZARD_OWNERS },
		{ ".github/copilot-instructions.md", HAZARD_AGENT },
		{ ".github/instructions/c.instructions.md", HAZARD_AGENT },
		{ ".gitlab-ci.yml", HAZARD_CI },
		{ "Jenkinsfile", HAZARD_CI },
		{ ".circleci/config.yml", HAZARD_CI },
		{ ".husky/pre-commit", HAZARD_HOOK },
		{ "a/.pre-commit-config.yaml", HAZARD_HOOK },
		{ ".gitmodules", HAZARD_HOOK },
		{ ".vscode/tasks.json", HAZARD_EDITOR },
		{ "my.code-workspace", HAZARD_EDITOR },
		{ ".editorconfig", HAZARD_EDITOR },
		{ ".claude/settings.json", HAZARD_AGENT },
		{ ".CURSOR/MCP.json", HAZARD_AGENT },
		{ ".cursor/mcp.json", HAZARD_AGENT },
		{ "CLAUDE.md", HAZARD_AGENT },
		{ "x/AGENTS.md", HAZARD_AGENT },
		{ ".envrc", HAZARD_SHELL },
		{ ".bashrc", HAZARD_SHELL },
		{ "lib/evil.pth", HAZARD_STARTUP },
		{ "sitecustomize.py", HAZARD_STARTUP },
		{ "Makefile", HAZARD_BUILD },
		{ "makefile", HAZARD_BUILD },
		{ "rules.mk", HAZARD_BUILD },
		{ "a/b/package.json", HAZARD_BUILD },
		{ ".cargo/config.toml", HAZARD_BUILD },
		{ "debian/rules", HAZARD_BUILD },
		/* what some systems take for them: trailing dots and blanks, ignorables */
		{ ".envrc.", HAZARD_SHELL },
		{ ".vscode /tasks.json", HAZARD_EDITOR },
		{ ".en\xe2\x80\x8cvrc", HAZARD_SHELL },
		{ ".clau\xef\xbb\xbf"
		  "de/x",
		  HAZARD_AGENT },
		/* U+017F folds to s, U+212A to k */
		{ ".ba\xc5\xbfhrc", HAZARD_SHELL },
		{ ".hus\xe2\x84\xaay/x", HAZARD_HOOK },
		/* neighbours */
		{ "src/main.c", HAZARD_COUNT },
		{ "rules", HAZARD_COUNT },
		{ "x/debian/rulesx", HAZARD_COUNT },
		{ "build/x.o", HAZARD_COUNT },
		{ "configure/x", HAZARD_COUNT },
		{ "Makefile/a", HAZARD_COUNT },
		{ "github/x", HAZARD_COUNT },
		{ ".github.io", HAZARD_COUNT },
		{ "pth", HAZARD_COUNT },
		{ ".pthx", HAZARD_COUNT },
		{ "", HAZARD_COUNT },
		{ "a//b", HAZARD_COUNT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *row;
		enum hazard_kind kind = privileged_class(table, rows[i].path, &row);

		if (kind != rows[i].kind)
			fail_msg("%s: %s", rows[i].path,
				 kind == HAZARD_COUNT ? "none" : hazard_name(kind));
		assert_int_equal(row != NULL, kind != HAZARD_COUNT);
	}
}

static int start(void **state)
{
	(void)state;
	return privileged_new(&table);
}

static int stop(void **state)
{
	(void)state;
	privileged_free(table);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes),
	};

	return cmocka_run_group_tests_name("privileged", tests, start, stop);
}
