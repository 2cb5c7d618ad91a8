/* SPDX-License-Identifier: MIT */
/*
 * Taking one file into quarantine: read once, hashed twice (SHA-256 for us, git's object id
 * with collision detection), scanned, packed, all in one pass; the SHA-256 must be the manifest's.
 * Small files are held whole, large ones pass through a buffer of 1 MiB. What is found in a file
 * counts when its content is not the base's.
 */
#ifndef WEIR_WRITEBACK_INTAKE_H
#define WEIR_WRITEBACK_INTAKE_H

#include "writeback/changes.h"
#include "writeback/hazard.h"
#include "writeback/pack.h"
#include "writeback/reader.h"
#include "writeback/repo.h"
#include "writeback/scan.h"

#define INTAKE_SMALL ((size_t)1 << 20)	/* bytes; larger files are streamed */
#define INTAKE_BLOB ((size_t)256 << 20) /* bytes; blobs are held whole */

struct intake {
	const struct repo *repo;
	struct pack *pack;
	struct hazards *hazards;
	struct digest *sha256;
	struct scan *scan;
	size_t root;	       /* bytes at the start of paths that links may not lead above */
	unsigned char *buffer; /* SCAN_OVERLAP + INTAKE_SMALL + 1 bytes */
};

/* Starts with repo, pack and hazards set. Returns: 0 or -ENOMEM. */
int intake_init(struct intake *in);
void intake_done(struct intake *in);

/* Takes the file of a change and sets c->oid. Returns: 0; refused with code
 * "changed-after-run" or "object-collision"; or a negative errno. Borrows: file. */
int intake_file(struct intake *in, struct change *c, const struct reader_file *file,
		struct weir_err *e);

/* Inspects the content of a change that is a blob of the repository already; c->oid and c->sha256
 * are set. Returns: 0; refused with code "limit" above INTAKE_BLOB; or a negative errno.
 * Borrows: c. */
int intake_blob(struct intake *in, const struct change *c, struct weir_err *e);

#endif
