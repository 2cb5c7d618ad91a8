/* SPDX-License-Identifier: MIT */
/*
 * Reading one large object out of a pack, piece by piece: libgit2 has every object whole in
 * memory. Formats: gitformat-pack(5), as in pack.h; index version 2 only. Nothing is believed:
 * offsets are inside the file, sizes are met exactly. Deltas are left to libgit2; git makes none of
 * what is larger than core.bigFileThreshold, and we make none at all.
 */
#ifndef WEIR_WRITEBACK_PACKREAD_H
#define WEIR_WRITEBACK_PACKREAD_H

#include <stddef.h>
#include <stdint.h>

#include "writeback/pack.h"

/* Is given the next piece. Returns: 0 or a negative errno, which ends the reading.
 * Borrows: data, arg. */
typedef int packread_fn(const void *data, size_t len, void *arg);

/* Finds an object in an index. Gives: its offset in the pack. Returns: 0, -ENOENT, -EBADMSG for a
 * damaged index, or the errno of reading. Borrows: idx_fd, id. */
int packread_find(int idx_fd, const unsigned char id[PACK_ID], uint64_t *ret_offset);

/* Streams the blob at an offset, which must have this size. Returns: 0; -EMEDIUMTYPE for a delta;
 * -EBADMSG for another type or size or a damaged stream; what fn returned; or the errno of
 * reading. Borrows: pack_fd, arg. Units: bytes. */
int packread_stream(int pack_fd, uint64_t offset, uint64_t size, packread_fn *fn, void *arg);

#endif
