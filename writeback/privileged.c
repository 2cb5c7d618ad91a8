/* SPDX-License-Identifier: MIT */
#include "writeback/privileged.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi/control.h"
#include "user/base/cleanup.h"
#include "writeback/names.h"

/*
 * X(class, row). A row is a name (of a file or of a directory with all below it), "DIR/NAME" (that
 * name right below such a directory), or "*END" (names with that end). The more special row
 * stands first: the first that matches decides.
 */
/* clang-format off */
#define PRIVILEGED_ROWS(X) \
	X(OWNERS, "CODEOWNERS") X(OWNERS, ".github/CODEOWNERS") X(OWNERS, "MAINTAINERS") \
	X(AGENT, ".github/copilot-instructions.md") X(AGENT, ".github/instructions") \
	X(AGENT, ".github/prompts") X(AGENT, ".github/agents") X(AGENT, ".github/chatmodes") \
	X(CI, ".github") X(CI, ".gitlab-ci.yml") X(CI, ".gitlab") X(CI, "Jenkinsfile") \
	X(CI, ".circleci") X(CI, ".buildkite") X(CI, "azure-pipelines.yml") X(CI, ".azure-pipelines") \
	X(CI, ".tekton") X(CI, ".drone.yml") X(CI, ".travis.yml") X(CI, "appveyor.yml") \
	X(CI, ".appveyor.yml") X(CI, "bitbucket-pipelines.yml") X(CI, ".woodpecker") \
	X(CI, ".woodpecker.yml") X(CI, ".forgejo") X(CI, ".gitea") X(CI, ".cirrus.yml") \
	X(CI, ".semaphore") X(CI, "cloudbuild.yaml") X(CI, "buildspec.yml") X(CI, "dependabot.yml") \
	X(CI, "renovate.json") X(CI, ".renovaterc") X(CI, ".renovaterc.json") X(CI, ".ci") \
	X(HOOK, ".husky") X(HOOK, "lefthook.yml") X(HOOK, ".lefthook.yml") X(HOOK, "lefthook.yaml") \
	X(HOOK, ".pre-commit-config.yaml") X(HOOK, ".pre-commit-hooks.yaml") X(HOOK, ".githooks") \
	X(HOOK, ".overcommit.yml") X(HOOK, ".gitconfig") X(HOOK, ".lintstagedrc") \
	X(HOOK, ".lintstagedrc.json") X(HOOK, ".commitlintrc.js") X(HOOK, ".gitmodules") \
	X(EDITOR, ".vscode") X(EDITOR, ".idea") X(EDITOR, ".devcontainer") X(EDITOR, ".devcontainer.json") \
	X(EDITOR, "*.code-workspace") X(EDITOR, ".vim") X(EDITOR, ".vimrc") X(EDITOR, ".gvimrc") \
	X(EDITOR, ".exrc") X(EDITOR, ".nvimrc") X(EDITOR, ".nvim.lua") X(EDITOR, ".nvim") \
	X(EDITOR, ".dir-locals.el") X(EDITOR, ".dir-locals-2.el") X(EDITOR, ".editorconfig") \
	X(EDITOR, ".zed") X(EDITOR, ".fleet") X(EDITOR, ".helix") X(EDITOR, ".sublime-project") \
	X(EDITOR, "*.sublime-project") X(EDITOR, ".gitpod.yml") X(EDITOR, ".ripgreprc") \
	X(AGENT, ".claude") X(AGENT, "CLAUDE.md") X(AGENT, "CLAUDE.local.md") X(AGENT, "AGENTS.md") \
	X(AGENT, "AGENT.md") X(AGENT, ".mcp.json") X(AGENT, ".cursor") \
	X(AGENT, ".cursorrules") X(AGENT, ".cursorignore") X(AGENT, ".gemini") X(AGENT, "GEMINI.md") \
	X(AGENT, ".codex") X(AGENT, ".aider.conf.yml") X(AGENT, ".aiderignore") X(AGENT, ".windsurf") \
	X(AGENT, ".windsurfrules") X(AGENT, ".clinerules") X(AGENT, ".roo") X(AGENT, ".roorules") \
	X(AGENT, ".continue") X(AGENT, ".kiro") X(AGENT, ".amazonq") X(AGENT, ".junie") \
	X(AGENT, ".opencode") X(AGENT, "opencode.json") X(AGENT, ".goosehints") X(AGENT, ".agents") \
	X(AGENT, "mcp.json") \
	X(SHELL, ".envrc") X(SHELL, ".env") X(SHELL, ".env.local") X(SHELL, ".tool-versions") \
	X(SHELL, "mise.toml") X(SHELL, ".mise.toml") X(SHELL, ".bashrc") X(SHELL, ".bash_profile") \
	X(SHELL, ".bash_login") X(SHELL, ".bash_logout") X(SHELL, ".profile") X(SHELL, ".zshrc") \
	X(SHELL, ".zshenv") X(SHELL, ".zprofile") X(SHELL, ".zlogin") X(SHELL, ".cshrc") \
	X(SHELL, ".tcshrc") X(SHELL, ".kshrc") X(SHELL, ".inputrc") X(SHELL, ".xprofile") \
	X(SHELL, ".nvmrc") X(SHELL, ".autoenv") X(SHELL, ".screenrc") X(SHELL, ".tmux.conf") \
	X(SHELL, ".gdbinit") X(SHELL, ".lldbinit") X(SHELL, "fish/config.fish") \
	X(STARTUP, "*.pth") X(STARTUP, "sitecustomize.py") X(STARTUP, "usercustomize.py") \
	X(STARTUP, ".pythonrc") X(STARTUP, ".pythonrc.py") X(STARTUP, "pyvenv.cfg") \
	X(STARTUP, ".irbrc") X(STARTUP, ".pryrc") X(STARTUP, ".rspec") X(STARTUP, ".perltidyrc") \
	X(STARTUP, ".Rprofile") X(STARTUP, ".Renviron") X(STARTUP, ".noderc") X(STARTUP, ".node-options") \
	X(STARTUP, "autoload.php") X(STARTUP, ".user.ini") X(STARTUP, ".htaccess") \
	X(BUILD, "Makefile") X(BUILD, "GNUmakefile") X(BUILD, "*.mk") X(BUILD, "*.mak") \
	X(BUILD, "Makefile.am") X(BUILD, "Makefile.in") X(BUILD, "CMakeLists.txt") X(BUILD, "*.cmake") \
	X(BUILD, "CMakePresets.json") X(BUILD, "meson.build") X(BUILD, "SConstruct") \
	X(BUILD, "SConscript") X(BUILD, "wscript") X(BUILD, "build.ninja") X(BUILD, "configure") \
	X(BUILD, "configure.ac") X(BUILD, "configure.in") X(BUILD, "aclocal.m4") X(BUILD, "*.m4") \
	X(BUILD, "autogen.sh") X(BUILD, "bootstrap.sh") X(BUILD, "package.json") \
	X(BUILD, "package-lock.json") X(BUILD, "npm-shrinkwrap.json") X(BUILD, "yarn.lock") \
	X(BUILD, "pnpm-lock.yaml") X(BUILD, "pnpm-workspace.yaml") X(BUILD, "bun.lockb") \
	X(BUILD, "bun.lock") X(BUILD, "deno.json") X(BUILD, "deno.lock") X(BUILD, ".npmrc") \
	X(BUILD, ".yarnrc") X(BUILD, ".yarnrc.yml") X(BUILD, ".yarn") X(BUILD, ".pnpmfile.cjs") \
	X(BUILD, "binding.gyp") X(BUILD, "gulpfile.js") X(BUILD, "Gruntfile.js") \
	X(BUILD, "webpack.config.js") X(BUILD, "rollup.config.js") X(BUILD, "vite.config.js") \
	X(BUILD, "vite.config.ts") X(BUILD, "jest.config.js") X(BUILD, "babel.config.js") \
	X(BUILD, ".babelrc") X(BUILD, ".babelrc.js") X(BUILD, ".eslintrc.js") X(BUILD, "eslint.config.js") \
	X(BUILD, "setup.py") X(BUILD, "setup.cfg") X(BUILD, "pyproject.toml") X(BUILD, "conftest.py") \
	X(BUILD, "noxfile.py") X(BUILD, "tox.ini") X(BUILD, "tasks.py") X(BUILD, "pytest.ini") \
	X(BUILD, "requirements.txt") X(BUILD, "Pipfile") X(BUILD, "Pipfile.lock") X(BUILD, "poetry.lock") \
	X(BUILD, "uv.lock") X(BUILD, "pip.conf") X(BUILD, "manage.py") X(BUILD, "build.rs") \
	X(BUILD, ".cargo") X(BUILD, "Cargo.toml") X(BUILD, "Cargo.lock") X(BUILD, "rust-toolchain") \
	X(BUILD, "rust-toolchain.toml") X(BUILD, "build.gradle") X(BUILD, "build.gradle.kts") \
	X(BUILD, "settings.gradle") X(BUILD, "settings.gradle.kts") X(BUILD, "gradle.properties") \
	X(BUILD, "gradle-wrapper.jar") X(BUILD, "gradle-wrapper.properties") X(BUILD, "gradlew") \
	X(BUILD, "gradlew.bat") X(BUILD, "pom.xml") X(BUILD, "mvnw") X(BUILD, ".mvn") X(BUILD, "build.xml") \
	X(BUILD, "build.sbt") X(BUILD, "go.mod") X(BUILD, "go.sum") X(BUILD, "go.work") \
	X(BUILD, "magefile.go") X(BUILD, "Gemfile") X(BUILD, "Gemfile.lock") X(BUILD, "Rakefile") \
	X(BUILD, "*.gemspec") X(BUILD, "composer.json") X(BUILD, "composer.lock") X(BUILD, "mix.exs") \
	X(BUILD, "rebar.config") X(BUILD, "Package.swift") X(BUILD, "Podfile") X(BUILD, "Fastfile") \
	X(BUILD, "*.csproj") X(BUILD, "*.fsproj") X(BUILD, "*.vbproj") X(BUILD, "*.vcxproj") \
	X(BUILD, "*.sln") X(BUILD, "*.props") X(BUILD, "*.targets") X(BUILD, "nuget.config") \
	X(BUILD, "global.json") X(BUILD, "Dockerfile") X(BUILD, "Containerfile") X(BUILD, "*.dockerfile") \
	X(BUILD, "docker-compose.yml") X(BUILD, "docker-compose.yaml") X(BUILD, "compose.yaml") \
	X(BUILD, "compose.yml") X(BUILD, "docker-bake.hcl") X(BUILD, ".bazelrc") X(BUILD, "WORKSPACE") \
	X(BUILD, "WORKSPACE.bazel") X(BUILD, "MODULE.bazel") X(BUILD, "BUILD") X(BUILD, "BUILD.bazel") \
	X(BUILD, "*.bzl") X(BUILD, ".buckconfig") X(BUILD, "BUCK") X(BUILD, "flake.nix") \
	X(BUILD, "flake.lock") X(BUILD, "default.nix") X(BUILD, "shell.nix") X(BUILD, "justfile") \
	X(BUILD, "Taskfile.yml") X(BUILD, "Taskfile.yaml") X(BUILD, "Earthfile") X(BUILD, "Vagrantfile") \
	X(BUILD, "Procfile") X(BUILD, "debian/rules") X(BUILD, "*.spec") X(BUILD, "PKGBUILD") \
	X(BUILD, "Tiltfile") X(BUILD, "skaffold.yaml") X(BUILD, "*.pro") X(BUILD, "Build.PL") \
	X(BUILD, "Makefile.PL")
/* clang-format on */

static const struct row {
	const char *text;
	enum hazard_kind kind;
} rows[] = {
#define WEIR_X(id, text) { text, HAZARD_##id },
	PRIVILEGED_ROWS(WEIR_X)
#undef WEIR_X
};

#define SLOTS 2048
#define PART_MAX 64 /* bytes of a component that can match: longer ones are no row */

_Static_assert(ARRAY_SIZE(rows) * 2 < SLOTS, "the table stays half empty");

/* Rows by the hash of the folded text behind their last "/" or "*". */
struct privileged {
	uint16_t slots[SLOTS]; /* number of a row from 1, 0: free */
	char folded[ARRAY_SIZE(rows)][PART_MAX];
};

static const char *key_of(const char *text)
{
	const char *slash = strrchr(text, '/');

	return slash ? slash + 1 : text[0] == '*' ? text + 1 : text;
}

static unsigned int slot_of(const char *folded)
{
	uint64_t hash = WEIR_FNV_BASIS;

	for (; *folded; folded++)
		hash = weir_fold_step(hash, (unsigned char)*folded);
	return (unsigned int)(hash ^ hash >> 32) % SLOTS;
}

int privileged_new(struct privileged **ret_privileged)
{
	struct privileged *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *key = key_of(rows[i].text);
		char folded[NAME_FOLD_MAX];
		unsigned int slot;

		name_fold(key, strlen(key), folded);
		memcpy(p->folded[i], folded, strnlen(folded, PART_MAX - 1));
		for (slot = slot_of(folded); p->slots[slot]; slot = (slot + 1) % SLOTS)
			;
		p->slots[slot] = (uint16_t)(i + 1);
	}
	*ret_privileged = p;
	return 0;
}

void privileged_free(struct privileged *p)
{
	free(p);
}

/* Where a text was met. */
struct met {
	const char *path;
	const char *part; /* its component */
	bool is_end;	  /* the end of a component, not the whole */
	bool is_last;	  /* nothing below it */
};

/* Whether a row whose key has been met holds there. */
static bool row_holds(const char *text, const struct met *m)
{
	const char *slash = strrchr(text, '/'), *start;

	if ((text[0] == '*') != m->is_end)
		return false;
	/* a directory "build" is no file BUILD */
	if (!m->is_last && text[0] != '.')
		return false;
	if (!slash)
		return true;
	if (m->part == m->path)
		return false;
	for (start = m->part - 1; start > m->path && start[-1] != '/'; start--)
		;
	return slash - text == m->part - 1 - start &&
	       strncasecmp(start, text, (size_t)(slash - text)) == 0;
}

/* The first row for a folded component or an end of one. */
static unsigned int find_row(const struct privileged *p, const char *folded, const struct met *m,
			     unsigned int best)
{
	for (unsigned int slot = slot_of(folded); p->slots[slot]; slot = (slot + 1) % SLOTS) {
		unsigned int i = p->slots[slot] - 1u;

		if (i < best && strcmp(p->folded[i], folded) == 0 && row_holds(rows[i].text, m))
			best = i;
	}
	return best;
}

enum hazard_kind privileged_class(const struct privileged *p, const char *path,
				  const char **ret_row)
{
	unsigned int best = ARRAY_SIZE(rows);

	for (const char *at = path; *at;) {
		size_t len = strcspn(at, "/");
		struct met m = { .path = path, .part = at, .is_last = !at[len] };
		char folded[NAME_FOLD_MAX];

		if (len < PART_MAX && name_fold(at, len, folded) < PART_MAX) {
			const char *end = m.is_last ? strrchr(folded, '.') : NULL;

			best = find_row(p, folded, &m, best);
			m.is_end = true;
			if (end)
				best = find_row(p, end, &m, best);
		}
		at += len;
		at += *at == '/';
	}
	*ret_row = best < ARRAY_SIZE(rows) ? rows[best].text : NULL;
	return best < ARRAY_SIZE(rows) ? rows[best].kind : HAZARD_COUNT;
}
