/* SPDX-License-Identifier: MIT */
/*
 * Texts and names of a tiled transparency log; pure.
 *
 * Checkpoint (c2sp.org/tlog-checkpoint), a signed note whose text is
 *   ORIGIN "\n" SIZE "\n" base64(root) "\n" [extension lines]
 * ORIGIN is the name of the key.
 *
 * Tiles (c2sp.org/tlog-tiles): tile/LEVEL/N[.p/W] has up to 256 hashes, tile/entries/N[.p/W]
 * as many entries as u16 length (big endian) and bytes. N in groups of three digits, all
 * but the last with an "x" in front: x001/x234/067. W: width of one that is not full yet.
 *
 * Proof (c2sp.org/tlog-proof):
 *   "c2sp.org/tlog-proof@v1\n" ["extra " base64 "\n"] "index " N "\n" {base64(hash) "\n"}
 *   "\n" checkpoint
 *
 * Consistency (the request's body of c2sp.org/tlog-witness, without the checkpoint):
 *   "old " N "\n" {base64(hash) "\n"}
 */
#ifndef WEIR_WRITEBACK_TLOG_H
#define WEIR_WRITEBACK_TLOG_H

#include "writeback/merkle.h"
#include "writeback/note.h"

#define TLOG_ENTRY_MAX 65535u
#define TLOG_PATH_MAX 64u
#define TLOG_BUNDLE_MAX (MERKLE_TILE * (2u + TLOG_ENTRY_MAX))
#define TLOG_ENTRIES (-1) /* as the level of a path: the bundle of entries */

struct tlog_checkpoint {
	uint64_t size;
	struct merkle_hash root;
};

/* Appends a signed checkpoint. Returns: 0 or a negative errno. Borrows: all. */
int tlog_checkpoint_sign(const struct tlog_checkpoint *c, const struct note_key *k,
			 const unsigned char seed[ED25519_SEED], struct buf *ret_note);

/* Reads one that this key signed; the origin must be the key's name.
 * Returns: 0, -EBADMSG with why in e. Borrows: all. */
int tlog_checkpoint_open(const struct note_key *k, const char *note, size_t len,
			 struct tlog_checkpoint *ret_checkpoint, struct weir_err *e);

/* Writes the path of a tile below the log's directory; width 256 is a full one.
 * Returns: 0 or -ENAMETOOLONG. */
int tlog_path(int level, uint64_t index, unsigned int width, char ret_path[TLOG_PATH_MAX]);

/* Entries of a bundle, pointing into its bytes. */
struct tlog_entry {
	const char *data;
	size_t len; /* bytes */
};

/* Takes a bundle of exactly `width` entries apart. Returns: 0 or -EBADMSG. Borrows: data. */
int tlog_bundle_parse(const char *data, size_t len, unsigned int width,
		      struct tlog_entry ret_entries[MERKLE_TILE]);

/* Appends an entry to a bundle. Returns: 0, -EFBIG past TLOG_ENTRY_MAX, -ENOMEM. */
int tlog_bundle_add(struct buf *bundle, const void *entry, size_t len);

struct tlog_proof {
	uint64_t index;
	struct merkle_path path;
	struct tlog_checkpoint checkpoint;
};

/* Appends a proof around a signed checkpoint. Returns: 0 or -ENOMEM. Borrows: all. */
int tlog_proof_format(uint64_t index, const struct merkle_path *path, const struct buf *checkpoint,
		      struct buf *ret_text);

/* Reads a proof whose checkpoint this key signed. Returns: 0, -EBADMSG with why in e.
 * Borrows: all. */
int tlog_proof_parse(const struct note_key *k, const char *text, size_t len,
		     struct tlog_proof *ret_proof, struct weir_err *e);

/* Appends or reads a proof of consistency. Returns: 0, -EBADMSG, -ENOMEM. Borrows: all. */
int tlog_consistency_format(uint64_t old, const struct merkle_path *path, struct buf *ret_text);
int tlog_consistency_parse(const char *text, size_t len, uint64_t *ret_old,
			   struct merkle_path *ret_path);

/* Reads a decimal number without sign and leading zeros; *at moves behind its newline.
 * Returns: 0 or -EBADMSG. */
int tlog_number(const char **at, const char *end, uint64_t *ret_number);

#endif
