/* SPDX-License-Identifier: MIT */
/*
 * Files by descriptor: bounded reads, whole writes, atomic replacement, opens that
 * can't leave a directory.
 */
#ifndef WEIR_BASE_FSIO_H
#define WEIR_BASE_FSIO_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "user/base/buf.h"
#include "user/base/err.h"

/* Opens path beneath dirfd without following links, magic links or mounts out of it
 * (openat2: RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS, RESOLVE_NO_MAGICLINKS; with
 * same_mount also RESOLVE_NO_XDEV). Always close-on-exec and without blocking on FIFOs.
 * Returns: a descriptor or a negative errno. Borrows: path. */
int fsio_open_beneath(int dirfd, const char *path, int flags, mode_t mode, bool same_mount);

/* Appends the whole file, at most max bytes. Returns: 0 or a negative errno, -EFBIG when
 * there is more. Borrows: path. */
int fsio_read_fd(int fd, size_t max, struct buf *b);
int fsio_read_file(int dirfd, const char *path, size_t max, struct buf *b, struct weir_err *e);

/* Writes all bytes, going on after interruptions. Returns: 0 or a negative errno.
 * Borrows: data. */
int fsio_write_all(int fd, const void *data, size_t len);

/* Replaces a file: temporary file beside it, fsync, rename, fsync of the directory.
 * Returns: 0 or a negative errno; on error the old file is untouched. Borrows: all. */
int fsio_replace(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
		 struct weir_err *e);

/* Makes a directory and its parents. Returns: 0 or a negative errno. Borrows: path. */
int fsio_mkdir_p(const char *path, mode_t mode, struct weir_err *e);

/* Removes a tree beneath dirfd without following links. Returns: 0 or a negative errno,
 * 0 when it does not exist. Borrows: name. */
int fsio_remove_tree(int dirfd, const char *name, struct weir_err *e);

#endif
