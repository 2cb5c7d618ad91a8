/* SPDX-License-Identifier: MIT */
/*
 * What inspection finds, one row for each class. A finding has a class, a path, a place in the
 * file, a reason in words and an id, so that a signed exception can name it.
 *
 * Id: CLASS "-" and the first 32 hex digits of the SHA-256 over
 *
 *   "weir-finding/1" NUL CLASS NUL PATH NUL SUBJECT
 *
 * SUBJECT is what was found and nothing around it: the SHA-256 of the file where its content is
 * at fault, the bytes of a secret, "" where the path says all. So an id stays when other lines
 * or other files change, and an exception for one content never covers another.
 *
 * Classes are stable names. Weights follow what a system that checks the tree out would suffer:
 * "refuse" ends the promotion, "strict" does so under writeback.strict and is a warning else,
 * "warn" is always a warning. The role is who may accept the finding by a signed exception, and
 * whose approval it asks for; what has "nobody" can't be stored or would harm whoever reads it.
 */
#ifndef WEIR_WRITEBACK_HAZARD_H
#define WEIR_WRITEBACK_HAZARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/err.h"
#include "writeback/reason.h"

enum hazard_weight {
	HAZARD_REFUSE,
	HAZARD_STRICT,
	HAZARD_WARN,
};

/* Who may accept a finding; names as in .weir/roles. */
enum hazard_role {
	HAZARD_ROLE_NOBODY,
	HAZARD_ROLE_APPROVER,
	HAZARD_ROLE_SECURITY,
	HAZARD_ROLE_POLICY,
	HAZARD_ROLE_PLATFORM,
	HAZARD_ROLES,
};

/* X(ID, class, reason, weight, role, why) */
#define HAZARD_KINDS(X) \
	X(DOTGIT, "name-dotgit", TREE_UNSAFE, REFUSE, NOBODY, \
	  "a name that some systems take for .git") \
	X(NESTED, "nested-repository", TREE_UNSAFE, REFUSE, NOBODY, \
	  "a repository inside the workspace; its files are no part of the writeback") \
	X(CONTROL, "name-control", TREE_UNSAFE, REFUSE, NOBODY, "a name with control characters") \
	X(UTF8, "name-encoding", TREE_UNSAFE, REFUSE, NOBODY, "a name that is no valid UTF-8") \
	X(HIDDEN, "name-hidden", TREE_UNSAFE, REFUSE, SECURITY, \
	  "a name with bidirectional or invisible characters") \
	X(BACKSLASH, "name-backslash", TREE_UNSAFE, REFUSE, SECURITY, \
	  "a name that some systems take for a path") \
	X(STREAM, "name-stream", TREE_UNSAFE, REFUSE, SECURITY, \
	  "a name that Windows takes for a file's stream") \
	X(DEPTH, "path-limit", LIMIT, REFUSE, NOBODY, "a path that is too long or too deep") \
	X(SIZE, "size-limit", LIMIT, REFUSE, NOBODY, "a file that is too large") \
	X(SPECIAL, "special-file", TREE_UNREPRESENTABLE, REFUSE, NOBODY, \
	  "a FIFO, socket or device") \
	X(SETID, "setid", TREE_UNREPRESENTABLE, REFUSE, NOBODY, \
	  "a set-user-id, set-group-id or sticky file") \
	X(SUBMODULE, "submodule", TREE_UNSAFE, REFUSE, NOBODY, "a change of a submodule") \
	X(GITLINK, "link-git", TREE_UNSAFE, REFUSE, NOBODY, \
	  "a symbolic link into a .git directory") \
	X(METALINK, "link-metadata", TREE_UNSAFE, REFUSE, NOBODY, \
	  "a git control file that is a symbolic link") \
	X(WEIR, "weir-policy", CONTROL_FILE, REFUSE, NOBODY, \
	  "weir's own policy files are never changed by a run") \
	X(FILTER, "attributes-filter", CONTROL_FILE, REFUSE, SECURITY, \
	  "git attributes that make others run programs") \
	X(MODULES, "gitmodules", TREE_UNSAFE, REFUSE, SECURITY, \
	  "submodule settings that leave the tree") \
	X(OUTWARD, "link-outside", TREE_UNSAFE, STRICT, APPROVER, \
	  "a symbolic link that leads out of the tree") \
	X(HARDLINK, "hard-link", TREE_UNSAFE, STRICT, APPROVER, \
	  "a file with names outside the workspace; the tree stores it as an ordinary file") \
	X(TWIN, "name-twin", TREE_UNSAFE, STRICT, APPROVER, \
	  "names that are one under case folding or normalisation") \
	X(LOOKALIKE, "name-lookalike", TREE_UNSAFE, STRICT, SECURITY, \
	  "a name that reads like another one beside it, in letters of another script") \
	X(METASIZE, "metadata-size", LIMIT, REFUSE, NOBODY, \
	  "a git control file that is too large to be understood") \
	X(ATTRIBUTES, "attributes-rewrite", CONTROL_FILE, STRICT, SECURITY, \
	  "git attributes that change what is checked out or archived") \
	X(LOST, "not-representable", TREE_UNREPRESENTABLE, STRICT, APPROVER, \
	  "git has no place for it: it stays behind") \
	X(EXECUTABLE, "mode-executable", CONTROL_FILE, WARN, APPROVER, "it becomes executable") \
	X(DELETIONS, "mass-deletion", CONTROL_FILE, STRICT, APPROVER, \
	  "most of the project's files are gone") \
	X(BIDI, "text-bidi", TEXT, STRICT, SECURITY, \
	  "controls that show text in another order than it has") \
	X(INVISIBLE, "text-invisible", TEXT, STRICT, SECURITY, "characters that nobody sees") \
	X(MIXED, "text-mixed-script", TEXT, STRICT, SECURITY, \
	  "a word with letters of another script that look like its own") \
	X(ESCAPE, "text-escape", TEXT, STRICT, SECURITY, \
	  "characters that command the terminal it is shown on") \
	X(LONGLINE, "text-long-line", TEXT, WARN, APPROVER, "a line too long to be read") \
	X(LFS, "lfs-pointer", TREE_UNREPRESENTABLE, STRICT, APPROVER, \
	  "a pointer of git-lfs: the content itself is not promoted") \
	X(PROGRAM, "binary-program", TEXT, STRICT, SECURITY, "a program that nobody can read") \
	X(BINARY, "binary", TEXT, WARN, APPROVER, "content that is no text") \
	X(SECRETKEY, "secret-key", SECRET, REFUSE, SECURITY, "a private key") \
	X(SECRETTOKEN, "secret-token", SECRET, REFUSE, SECURITY, "a token that gives access") \
	X(SECRETLIKELY, "secret-likely", SECRET, STRICT, SECURITY, \
	  "what looks like a token that gives access") \
	X(SECRETLOCKED, "secret-locked", SECRET, STRICT, SECURITY, \
	  "a private key behind a passphrase") \
	X(SECRETMANY, "secret-many", SECRET, REFUSE, SECURITY, \
	  "more secrets in one file than are listed") \
	X(CI, "exec-ci", CONTROL_FILE, STRICT, PLATFORM, \
	  "continuous integration runs it, with its credentials") \
	X(HOOK, "exec-hook", CONTROL_FILE, STRICT, SECURITY, "git and its helpers run it") \
	X(EDITOR, "exec-editor", CONTROL_FILE, STRICT, SECURITY, \
	  "editors run it or what it names when they open the project") \
	X(AGENT, "exec-agent", CONTROL_FILE, STRICT, SECURITY, \
	  "coding agents obey it or run what it names") \
	X(SHELL, "exec-shell", CONTROL_FILE, STRICT, SECURITY, \
	  "shells and version managers run it when somebody enters the directory") \
	X(STARTUP, "exec-startup", CONTROL_FILE, STRICT, SECURITY, \
	  "an interpreter runs it whenever it starts") \
	X(OWNERS, "review-owners", CONTROL_FILE, STRICT, POLICY, \
	  "it decides who has to review what") \
	X(BUILD, "exec-build", CONTROL_FILE, WARN, APPROVER, "building or testing runs it") \
	X(REBASE_READ, "rebase-read", REBASE_CONFLICT, STRICT, APPROVER, \
	  "the run read it, and it has changed on the branch since")

enum hazard_kind {
#define WEIR_X(id, name, reason, weight, role, why) HAZARD_##id,
	HAZARD_KINDS(WEIR_X)
#undef WEIR_X
	HAZARD_COUNT,
};

_Static_assert(HAZARD_COUNT <= 64, "sets of classes are bits of one word");

#define HAZARD_ID_MAX 64 /* bytes of an id with its NUL */

struct hazard {
	enum hazard_kind kind;
	char id[HAZARD_ID_MAX];
	char *path;	/* raw bytes below the root; "." for the whole tree */
	char *place;	/* of the first: "LINE:COLUMN" (from 1, bytes), "byte N" (from 0), or "" */
	char *detail;	/* what it is in words, printable; or "" */
	uint64_t times; /* how often in this file; 1 at least */
	bool accepted;	/* a signed exception covers it: it no longer refuses */
};

struct hazards {
	struct hazard *items; /* in the order found: paths ascending within a step */
	size_t count;
	size_t cap;
};

/* What a finding has beside class and path. All may be left out. */
struct hazard_note {
	const char *place;
	const char *detail; /* any bytes: it is escaped when it is added */
	const void *subject;
	size_t subject_len;
	uint64_t times;
};

void hazards_done(struct hazards *h);

/* Adds one that path and class say all about. Returns: 0 or -ENOMEM. Borrows: path. */
int hazards_add(struct hazards *h, enum hazard_kind kind, const char *path);

/* Adds one with all that is known. Returns: 0 or -ENOMEM. Borrows: path, note. */
int hazards_note(struct hazards *h, enum hazard_kind kind, const char *path,
		 const struct hazard_note *note);

/* Makes the id of a finding. Returns: 0 or -ENOMEM. Borrows: path, subject.
 * Gives: ret_id, HAZARD_ID_MAX bytes. */
int hazard_make_id(enum hazard_kind kind, const char *path, const void *subject, size_t len,
		   char *ret_id);

/* Removes the findings of these classes (bits of enum hazard_kind). */
void hazards_drop(struct hazards *h, uint64_t classes);

/* Returns: the first finding with this id, borrowed from h, or NULL. Borrows: id. */
struct hazard *hazards_find(const struct hazards *h, const char *id);

/* Returns: 0 when nothing refuses that is not accepted, else the refusal of the first that does;
 * e names up to three places and how many there are. Borrows: h. */
int hazards_judge(const struct hazards *h, bool strict, struct weir_err *e);

/* The same for findings that nobody may accept: they end a promotion before its content is
 * read. Returns: as hazards_judge. Borrows: h. */
int hazards_judge_hopeless(const struct hazards *h, struct weir_err *e);

/* Returns: class, English text, role; static. */
const char *hazard_name(enum hazard_kind kind);
const char *hazard_why(enum hazard_kind kind);
enum hazard_role hazard_role(enum hazard_kind kind);

/* Returns: "nobody", "approver", "security", "policy-owner", "platform-owner"; static. */
const char *hazard_role_name(enum hazard_role role);

/* Whether a finding of this class refuses. Returns: truth. */
bool hazard_refuses(enum hazard_kind kind, bool strict);

/* Returns: "refuse" or "warn" as the policy has it; static. */
const char *hazard_severity(enum hazard_kind kind, bool strict);

#endif
