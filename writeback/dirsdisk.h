/* SPDX-License-Identifier: MIT */
/*
 * Directories of artefacts on disk (writeback/dirs.h), and how one takes the place of another.
 *
 * The next one is made beside PATH as .weir-NAME, from blobs of the repository whose SHA-256 is
 * compared once more, and synced. renameat2(2) then exchanges the two, or puts it where nothing
 * was: who opens PATH finds the old directory or the new one, whole. What tells them apart
 * afterwards, also after a crash, are their inode numbers, which stand in the journal
 * (writeback/journal.h) before the exchange.
 *
 * Before, PATH is compared with the record of what the gate left there, file by file, by SHA-256:
 * the expected-old state. What others changed there is never overwritten.
 */
#ifndef WEIR_WRITEBACK_DIRSDISK_H
#define WEIR_WRITEBACK_DIRSDISK_H

#include "writeback/dirs.h"
#include "writeback/repo.h"

/* What a directory should hold. */
struct dirs_want {
	const char *changes; /* changes text */
	const char *from;
	const char *bundle;	     /* name of the file */
	const struct buf *envelopes; /* its text */
};

/* Compares an open directory with it: names, types, executable bits, contents, and nothing besides.
 * Returns: 0; -EBADMSG with e naming the first difference; another negative errno.
 * Borrows: dir, want. */
int dirsdisk_check(int dir, const struct dirs_want *want, struct weir_err *e);

/* That PATH is what the gate left there as the promotion `old` (zero: nothing may be there).
 * Gives: its inode number, 0 where nothing is. Returns: 0, refused with code "directory", or a
 * negative errno with e. Borrows: all. */
int dirsdisk_check_old(const struct repo *r, const struct gate_dir *d, const git_oid *old,
		       uint64_t *ret_ino, struct weir_err *e);

/* Makes the next one from a tree of the repository, durably. Gives: its inode number.
 * Returns: 0, refused with code "quarantine" when a blob has another SHA-256, or a negative errno
 * with e. Borrows: all. */
int dirsdisk_stage(const struct repo *r, const struct gate_dir *d, const struct dirs_want *want,
		   uint64_t *ret_ino, struct weir_err *e);

/* Which two directories are exchanged. */
struct dirs_swap {
	uint64_t new_ino;
	uint64_t old_ino; /* 0: there is none */
};

/* Puts the new one in the place of the old; does nothing when it is there already. Returns: 0,
 * refused with code "directory" when something else is there, or a negative errno with e. */
int dirsdisk_swap(const struct gate_dir *d, const struct dirs_swap *s, struct weir_err *e);

/* Puts the old one back, if the new one stands there. Returns: 0 or a negative errno with e. */
int dirsdisk_swap_back(const struct gate_dir *d, const struct dirs_swap *s, struct weir_err *e);

/* Removes what stands beside PATH: the old one, or one that did not come to be. Returns: 0 or a
 * negative errno with e. */
int dirsdisk_clean(const struct gate_dir *d, struct weir_err *e);

#endif
