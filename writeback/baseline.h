/* SPDX-License-Identifier: MIT */
/*
 * One hash for the files of a tree, which a commit and a manifest have in common. The gate makes it
 * of what it writes into a workspace and keeps it with the nonce; when manifest(before) gives
 * the same, the workspace began as its base commit, and no blob has to be read again to see it.
 *
 * SHA-256 over the SHA-256 of each file, these in the order of their bytes, of
 *   "MODE SIZE SHA256 PATH": git's mode (100644, 100755, 120000), bytes in decimal, content
 * Directories and submodules do not count: git knows them by what is in them.
 */
#ifndef WEIR_WRITEBACK_BASELINE_H
#define WEIR_WRITEBACK_BASELINE_H

#include <stddef.h>
#include <stdint.h>

#include "user/base/digest.h"
#include "user/tree/manifest.h"

struct baseline {
	unsigned char (*items)[DIGEST_SIZE];
	size_t count;
	size_t cap;
	struct digest *digest; /* for all of them, one after another */
};

void baseline_done(struct baseline *b);
#define cleanup_baseline __attribute__((__cleanup__(baseline_done)))

/* Adds a file; mode as git has it, without the bits that it does not keep. Returns: 0, -ENOMEM or
 * -EIO. Borrows: all. */
int baseline_add(struct baseline *b, uint32_t mode, uint64_t size,
		 const unsigned char sha256[DIGEST_SIZE], const char *path, size_t len);

/* Ends it. Returns: 0 or -EIO. Gives: ret_hex. */
int baseline_end(struct baseline *b, char ret_hex[DIGEST_HEX]);

/* The same of a manifest. Returns: 0, -ENOMEM or -EIO. Borrows: m. Gives: ret_hex. */
int baseline_of(const struct manifest *m, char ret_hex[DIGEST_HEX]);

#endif
