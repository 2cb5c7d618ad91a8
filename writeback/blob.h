/* SPDX-License-Identifier: MIT */
/*
 * Contents of blobs of the trusted repository, whatever their size: small ones through libgit2,
 * large ones from their pack piece by piece.
 */
#ifndef WEIR_WRITEBACK_BLOB_H
#define WEIR_WRITEBACK_BLOB_H

#include "user/base/digest.h"
#include "writeback/packread.h"
#include "writeback/repo.h"

#define BLOB_WHOLE ((size_t)8 << 20) /* bytes; larger ones come in pieces */

/* Reads a blob: fn gets it whole or in pieces, in order; an empty one has no piece. A large one that
 * is in no pack as it is (loose, or a delta) is read whole. Returns: 0 or a negative errno with
 * e. Borrows: all. */
int blob_read(const struct repo *r, const git_oid *oid, packread_fn *fn, void *arg,
	      struct weir_err *e);

/* SHA-256 of a blob's content. Returns: as blob_read. Borrows: r, oid. */
int blob_sha256(const struct repo *r, const git_oid *oid, unsigned char ret_sha256[DIGEST_SIZE],
		struct weir_err *e);

#endif
