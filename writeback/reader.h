/* SPDX-License-Identifier: MIT */
/*
 * The keyless reader: a process of its own (writeback/priv.h) that alone sees the
 * workspace. It opens files beneath the workspace's descriptor without following links or
 * crossing mounts and hands over the descriptors of regular ones; and it compares the
 * workspace with manifest(after). What was a regular file in the manifest is opened as one,
 * without blocking: should it have become a FIFO meanwhile, the descriptor is closed again.
 *
 * Questions and answers (writeback/proto.h), numbers in host order:
 *   READER_OPEN     {u32 mode, bytes path} ...           at most READER_BATCH
 *     READER_FILES  {struct reader_stat, bytes target} ..., descriptors of regular files
 *   READER_COMPARE  u32 strength, one descriptor: the manifest
 *     READER_DIFF   u32 kind, u32 what, bytes path       any number, at most READER_DIFFS
 *     READER_DONE   struct reader_done, bytes text
 */
#ifndef WEIR_WRITEBACK_READER_H
#define WEIR_WRITEBACK_READER_H

#include <stdint.h>
#include <sys/types.h>

#include "user/base/err.h"
#include "user/tree/compare.h"
#include "writeback/proto.h"

#define READER_BATCH PROTO_FDS
#define READER_DIFFS 64
#define READER_PATH_MAX 4095

enum reader_type {
	READER_OPEN = 1,
	READER_FILES,
	READER_COMPARE,
	READER_DIFF,
	READER_DONE,
};

struct reader_stat {
	int32_t err; /* negative errno when it could not be opened */
	uint32_t mode;
	uint32_t nlink;
	uint32_t pad;
	uint64_t size;
	uint64_t ino;
	int64_t ctime_ns;
	int64_t mtime_ns;
};

struct reader_done {
	int32_t err;
	uint32_t pad;
	uint64_t differences; /* all of them, also those not listed */
	uint64_t hashed_files;
	uint64_t hashed_bytes;
};

struct reader_file {
	struct reader_stat stat;
	int fd;	      /* regular files, else -1; for the caller to close */
	char *target; /* symlinks, else NULL; for the caller to free */
	size_t target_len;
};

/* Forks the reader for a workspace directory. Called as root. Gives: the socket to ask it by
 * and its pid; it ends when the socket is closed. Returns: 0 or a negative errno.
 * Borrows: workspace_fd. */
int reader_start(int workspace_fd, int *ret_fd, pid_t *ret_pid, struct weir_err *e);

struct reader_path {
	const char *path;
	uint32_t mode; /* type and permissions that are expected */
};

/* Asks for up to READER_BATCH paths; the answer is fetched by reader_fetch, and one
 * question may be under way while the answer before it is used.
 * Returns: 0 or a negative errno. Borrows: paths. */
int reader_ask(int fd, const struct reader_path *paths, size_t count, struct weir_err *e);

/* Fetches the answer to the oldest question. Gives: ret_files[count]; -EBADMSG when the
 * reader breaks the protocol. Returns: 0 or a negative errno. */
int reader_fetch(int fd, struct reader_file *ret_files, size_t count, struct weir_err *e);
void reader_files_done(struct reader_file *files, size_t count);

typedef int reader_diff_fn(enum tree_change_kind kind, uint32_t what, const char *path, void *arg,
			   struct weir_err *e);

/* Compares the workspace with a manifest; calls fn for the first READER_DIFFS differences.
 * Returns: 0, what fn returned, or the errno of reading. Borrows: all. */
int reader_compare(int fd, int manifest_fd, enum tree_strength strength, reader_diff_fn *fn,
		   void *arg, struct reader_done *ret_done, struct weir_err *e);

#endif
