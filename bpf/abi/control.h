/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Control names: files that make tools run code (hooks, CI, agents, editors).
 * Compared after ASCII case folding, at any depth below a rule, whether or not
 * they exist yet. A rule whose own root is such a path grants it.
 */
#ifndef WEIR_ABI_CONTROL_H
#define WEIR_ABI_CONTROL_H

#include "bpf/abi/limits.h"
#include "bpf/abi/types.h"

enum weir_name_class {
	WEIR_NAME_PLAIN = 0,
	WEIR_NAME_CONTROL = 1,	/* this name and all below it */
	WEIR_NAME_GIT = 2,	/* .git: see WEIR_GIT_CONTROL */
	WEIR_NAME_GITSUB = 3,	/* below .git: control at the place given */
	WEIR_NAME_GITABOVE = 4, /* below .git: control files can lie below; no tree is put there */
	WEIR_NAME_GITKEEP = 5,	/* below .git: directories of other gits, see WEIR_GIT_NESTED */
	WEIR_NAME_GITNEST = 6,	/* control in such a directory */
};

/* clang-format off */
/* X(name): control wherever they appear */
#define WEIR_CONTROL_NAMES(X) \
	X(".gitmodules") X(".github") X(".gitlab-ci.yml") X(".circleci") X(".buildkite") \
	X(".drone.yml") X(".tekton") X(".travis.yml") X(".husky") X(".githooks") \
	X(".pre-commit-config.yaml") X(".lefthook.yml") X(".vscode") X(".idea") X(".devcontainer") \
	X(".vim") X(".vimrc") X(".exrc") X(".nvim.lua") X(".dir-locals.el") X(".claude") \
	X(".mcp.json") X(".cursor") X(".cursorrules") X(".gemini") X(".codex") X(".windsurf") \
	X(".windsurfrules") X(".aider.conf.yml") X(".envrc") X(".yarnrc.yml") X(".pnpmfile.cjs") \
	X(".gitconfig") X(".ripgreprc") X(".weir")

/* X(first, second, third): paths below the workspace's own .git that are control files;
 * "" matches nothing, "*" any one component, and all below a match is control too. */
#define WEIR_GIT_CONTROL(X) \
	X("hooks", "", "") \
	X("config", "", "") \
	X("config.worktree", "", "") \
	X("commondir", "", "") \
	X("gitdir", "", "") \
	X("shallow", "", "") \
	X("info", "attributes", "") \
	X("info", "exclude", "") \
	X("info", "grafts", "") \
	X("info", "sparse-checkout", "") \
	X("objects", "info", "alternates") \
	X("refs", "replace", "") \
	X("worktrees", "*", "gitdir") \
	X("worktrees", "*", "commondir") \
	X("worktrees", "*", "config.worktree")

/* X(first, second, third): places below .git that hold directories of other gits, at any
 * depth (a submodule "libs/zlib" has modules/libs/zlib). */
#define WEIR_GIT_KEEPS(X) \
	X("modules", "", "") \
	X("worktrees", "*", "modules")

/* X(name): control in those directories */
#define WEIR_GIT_NESTED(X) \
	X("hooks") X("config") X("config.worktree") X("commondir") X("gitdir") X("shallow") \
	X("info") X("alternates")
/* clang-format on */

/* Stands for "*" in the hashes of places below .git. */
#define WEIR_NAME_ANY 0x2aull

/* FNV-1a's constants, 64 bit. Source: Fowler, Noll, Vo; draft-eastlake-fnv. */
#define WEIR_FNV_BASIS 0xcbf29ce484222325ull
#define WEIR_FNV_PRIME 0x100000001b3ull

/*
 * Names are hashed in words of 8 bytes, the last one filled up with zeros, which no name holds:
 * a loop over bytes would cost the programs a branch for each. Control names start from
 * WEIR_FNV_BASIS, folded to lower case: a collision can only make a name a control name, that
 * is, deny more. Names of rules start from their length
 * and the host's secret seed, which also follows each word, so that nobody can look for a name that
 * passes for another: after a single multiplication the highest bit of a word would cancel with
 * bits of the next, whatever the seed.
 */
static inline __u64 weir_hash_word(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

static inline __u64 weir_hash_secret(__u64 hash, __u64 word, __u64 seed)
{
	return weir_hash_word(weir_hash_word(hash, word), seed);
}

/* One byte of an FNV-1a hash, folded to lower case: for tables of user space. */
static inline __u64 weir_fold_step(__u64 hash, unsigned char byte)
{
	if (byte >= 'A' && byte <= 'Z')
		byte |= 0x20;
	return (hash ^ byte) * WEIR_FNV_PRIME;
}

#define WEIR_EACH_BYTE(byte) (0x0101010101010101ull * (byte))

/* Sets bit 5 of each byte that is an ASCII capital, without a branch: adding to the lower seven
 * bits carries into the eighth from a given letter on. */
static inline __u64 weir_fold_word(__u64 word)
{
	__u64 seven = word & WEIR_EACH_BYTE(0x7f);
	__u64 from_a = seven + WEIR_EACH_BYTE(0x80 - 'A');
	__u64 after_z = seven + WEIR_EACH_BYTE(0x7f - 'Z');
	__u64 capital = (from_a ^ after_z) & ~word & WEIR_EACH_BYTE(0x80);

	return word | capital >> 2;
}

#endif
