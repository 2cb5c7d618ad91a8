/* SPDX-License-Identifier: MIT */
/*
 * The trusted repository through libgit2, and the safety around it: no configuration
 * outside the repository is read, the owner is checked, nothing is searched for upwards,
 * and whatever lends objects or history from elsewhere is refused: alternates, grafts,
 * replace refs, shallow, commondir, SHA-256. Only plain reads of objects and refs and hashing
 * are used: no writes, no index, no workdir, no transport; revparse only from an id onwards
 * (writeback/revision.h).
 */
#ifndef WEIR_WRITEBACK_REPO_H
#define WEIR_WRITEBACK_REPO_H

#include <git2.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/base/buf.h"
#include "user/base/digest.h"
#include "user/base/err.h"

#define OID_HEX 41

/* git modes of tree entries */
#define GIT_MODE_FILE 0100644u
#define GIT_MODE_EXEC 0100755u
#define GIT_MODE_LINK 0120000u
#define GIT_MODE_TREE 0040000u
#define GIT_MODE_COMMIT 0160000u

struct repo_known;

struct repo {
	git_repository *git;
	git_odb *odb;
	int fd; /* of the directory */
	char *path;
	struct repo_known *known; /* NULL until repo_known_load */
	git_oid records;	  /* commit that records are read from; zero: RECORD_REF's */
};

/* Sets libgit2 up for this process, once. Returns: 0 or a negative errno. */
int repo_start(struct weir_err *e);

/* Opens a bare repository. owner_check: it must belong to this process's user and nobody
 * else may write it. Returns: 0, refused with code "repository", or another negative
 * errno. Gives: ret_repo for repo_close. Borrows: path. */
int repo_open(const char *path, bool owner_check, struct repo *ret_repo, struct weir_err *e);
void repo_close(struct repo *r);
#define cleanup_repo __attribute__((__cleanup__(repo_close)))

/* Reads a direct ref. Returns: 0, -ENOENT when it does not exist, refused when it is
 * symbolic, or another negative errno. Borrows: name. */
int repo_read_ref(const struct repo *r, const char *name, git_oid *ret_oid, struct weir_err *e);

/* Reads an object and checks its type. Gives: its bytes appended to ret_data.
 * Returns: 0, -ENOENT, -EBADMSG for another type, -EFBIG past max. Units: bytes. */
int repo_read_object(const struct repo *r, const git_oid *oid, git_object_t type, size_t max,
		     struct buf *ret_data, struct weir_err *e);

struct repo_commit {
	git_oid tree;
	git_oid parent; /* the first; zero if none */
	unsigned int parents;
};

/* Reads the head of a commit. Returns: 0 or a negative errno with e. */
int repo_read_commit(const struct repo *r, const git_oid *oid, struct repo_commit *ret_commit,
		     struct weir_err *e);

/* Finds a path in a commit's tree. Returns: 0, -ENOENT, or another negative errno.
 * Borrows: path. */
int repo_find(const struct repo *r, const git_oid *tree, const char *path, git_oid *ret_oid,
	      uint32_t *ret_mode, struct weir_err *e);

/* Whether an object is there. Returns: truth. */
bool repo_has(const struct repo *r, const git_oid *oid);

/* Notes the ids of all loose objects, so that many look-ups cost no system call; then
 * repo_knows says whether an object was there at that time. Returns: 0 or a negative errno.
 * Returns of repo_knows: truth. */
int repo_known_load(struct repo *r);
bool repo_knows(const struct repo *r, const git_oid *oid);
void repo_known_free(struct repo_known *k);

/* Whether `old` is `tip` or reached from it by first and other parents within 10,000 commits.
 * Returns: 1, 0, or a negative errno. */
int repo_reaches(const struct repo *r, const git_oid *tip, const git_oid *old, struct weir_err *e);

/* Object id of bytes: SHA-1 with collision detection. Returns: 0 or -EBADMSG for a
 * collision attack. Borrows: data. */
int repo_hash(git_object_t type, const void *data, size_t len, git_oid *ret_oid);

/* The same for large content, in pieces; size must be met exactly.
 * Returns: 0, -EIO, -EBADMSG. Borrows: data. */
struct repo_stream;
int repo_stream_new(git_object_t type, uint64_t size, struct repo_stream **ret_stream);
int repo_stream_add(struct repo_stream *s, const void *data, size_t len);
int repo_stream_end(struct repo_stream *s, git_oid *ret_oid);
void repo_stream_free(struct repo_stream *s);
static inline void cleanup_repo_stream_fn(struct repo_stream **s)
{
	repo_stream_free(*s);
}
#define cleanup_repo_stream __attribute__((__cleanup__(cleanup_repo_stream_fn)))

/* Sets e to the text of libgit2's last error. Returns: -EIO. Borrows: what. */
int repo_error(struct weir_err *e, const char *what);

#endif
