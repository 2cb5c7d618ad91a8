/* SPDX-License-Identifier: MIT */
/*
 * The difference between a commit's tree and a manifest: what a promotion is about.
 */
#ifndef WEIR_WRITEBACK_CHANGES_H
#define WEIR_WRITEBACK_CHANGES_H

#include "user/tree/manifest.h"
#include "writeback/repo.h"

/* One path of a commit's tree that is no directory. */
struct base_entry {
	char *path;
	size_t len;
	uint32_t mode; /* of git */
	git_oid oid;
};

struct base {
	struct base_entry *entries; /* by tree_path_compare */
	size_t count;
};

/* Lists a tree with all below it. Returns: 0 or a negative errno with e. Gives: ret_base. */
int base_load(const struct repo *r, const git_oid *tree, struct base *ret_base, struct weir_err *e);
void base_done(struct base *b);
#define cleanup_base __attribute__((__cleanup__(base_done)))

/* Finds a path. Returns: the entry, borrowed from b, or NULL. Borrows: path. */
const struct base_entry *base_find(const struct base *b, const char *path, size_t len);

/* Where a path is or would be: from there on come itself, then all below it. Returns: an index, the
 * count past the end. Borrows: path. */
size_t base_find_from(const struct base *b, const char *path, size_t len);

struct change {
	char *path; /* raw bytes below the root */
	size_t len;
	uint32_t old_mode; /* of git; 0: the base does not have it */
	uint32_t new_mode; /* of git; 0: deleted */
	uint32_t st_mode;  /* of the workspace, with all permission bits; 0: deleted */
	uint64_t size;	   /* bytes, after */
	uint64_t ino;
	unsigned char sha256[DIGEST_SIZE]; /* content or link target, after */
	git_oid old_oid;
	git_oid oid;  /* after; set by the quarantine */
	bool ignored; /* untracked, and the base's ignore rules name it */
	bool special; /* FIFO, socket, device: git can't hold it */
};

struct changes {
	struct change *items; /* by tree_path_compare */
	size_t count;
	size_t cap;
};

void changes_done(struct changes *c);
#define cleanup_changes __attribute__((__cleanup__(changes_done)))

/* Lists what differs between base and manifest(after), tracked or not, ignored or not. SHA-256 of
 * base blobs is computed where sizes are equal, but not of those that manifest(before) has with the
 * same type, bits and content (NULL: of all). Directories are no entries; gitlinks are
 * compared by being there. Returns: 0 or a negative errno with e. Borrows: all. */
int changes_find(const struct repo *r, const struct base *b, const struct manifest *before,
		 const struct manifest *after, struct changes *ret_changes, struct weir_err *e);

/* Lists what differs between two trees, with sizes and SHA-256 of the new blobs; gitlinks have
 * neither. Returns: 0 or a negative errno with e. Borrows: all. Gives: ret_changes. */
int changes_between(const struct repo *r, const struct base *old, const struct base *new_base,
		    struct changes *ret_changes, struct weir_err *e);

/* Whether a manifest's row equals a base entry in type, executable bit and content.
 * Returns: 1, 0, or a negative errno with e. Borrows: all. */
int base_entry_equals(const struct repo *r, const struct base_entry *b,
		      const struct manifest_row *row, struct weir_err *e);

/* git's mode for st_mode; 0 for what git can't hold. Returns: the mode. */
uint32_t change_git_mode(uint32_t st_mode);

/* Moves the items that keep() is true for to the end of `to`; order is kept in both.
 * Returns: 0 or -ENOMEM. Borrows: arg. */
int changes_move(struct changes *from, struct changes *to,
		 bool (*pick)(const struct change *c, void *arg), void *arg);

/* "A", "M" or "D". Returns: static text. */
const char *change_letter(const struct change *c);

#endif
