/* SPDX-License-Identifier: MIT */
/*
 * Manifests: the state of a tree, as a sorted list. Version 1.
 *
 * Lines of text, each ended by one newline (0x0a):
 *
 *   weir.manifest/1
 *   taken TIME TICK
 *   TYPE MODE SIZE SHA256 INO CTIME MTIME PATH      any number
 *   end COUNT
 *
 * One blank between fields; no other blanks, no empty lines, nothing after the last
 * newline. Numbers are decimal without sign or leading zeros ("0" is zero), but for
 * times, which may be negative ("-1").
 *
 *   TIME     when the walk started, nanoseconds since 1970 (CLOCK_REALTIME)
 *   TICK     nanoseconds in which two changes can carry the same time stamp
 *   TYPE     f file, d directory, l symbolic link, p FIFO, s socket, b block device,
 *            c character device
 *   MODE     permission bits, four octal digits
 *   SIZE     bytes of f, length of an l's target, device number of b and c (makedev), else 0
 *   SHA256   64 lower-case hex digits: content of f, target of l; "-" for the rest
 *   INO      inode number
 *   CTIME    change of the inode, nanoseconds since 1970
 *   MTIME    change of the content
 *   PATH     below the root, escaped by user/base/escape.h in its one form; blanks stand
 *            as they are; "." is the root and comes first
 *   COUNT    entries
 *
 * Valid if and only if: all of this holds; paths are strictly ascending by components
 * (tree_path_compare); no component is empty, "." or ".."; the directory of each path is
 * an earlier entry of type d; the root is of type d. Each state thus has one spelling,
 * and the SHA-256 of the file names it. A file cut anywhere lacks its end line and is refused.
 *
 * Comparing by stat data alone is sound only for an entry that can't have changed after
 * it was hashed within the same time stamp: CTIME + TICK < TIME (manifest_entry_is_racy).
 */
#ifndef WEIR_TREE_MANIFEST_H
#define WEIR_TREE_MANIFEST_H

#include "user/base/buf.h"
#include "user/tree/walk.h"

/* Longest line: fields and a path of which each byte is escaped. */
#define MANIFEST_LINE_MAX (4 * TREE_PATH_MAX + 256)

/* Two changes of one tick of the kernel's coarse clock look the same: 10 ms at HZ=100,
 * doubled; and file systems that keep whole seconds (or two, FAT) are seen by their zeros. */
#define MANIFEST_TICK_NS 20000000LL
#define MANIFEST_TICK_COARSE_NS 2000000000LL

struct manifest_summary {
	uint64_t entries;
	uint64_t bytes;			   /* of the manifest file */
	unsigned char sha256[DIGEST_SIZE]; /* of the manifest file */
};

/* Walks the tree at root_fd, hashes every file, writes the manifest to out_fd from its
 * current position. skip as in tree_walk_new (".git" for workspaces). No sync.
 * Returns: 0 or a negative errno; out_fd then holds no valid manifest. Borrows: all. */
int manifest_write_tree(int root_fd, const char *skip, int out_fd,
			struct manifest_summary *ret_summary, struct weir_err *e);

struct manifest_writer;

/* The same from entries that the caller has (a commit's tree): start, add in order, end.
 * Gives: a writer for manifest_writer_free. Borrows: out_fd. Units: nanoseconds.
 * Returns: 0 or -ENOMEM. */
int manifest_writer_new(int out_fd, int64_t taken_ns, int64_t tick_ns,
			struct manifest_writer **ret_writer, struct weir_err *e);
/* Adds an entry. Returns: 0, -EINVAL for one that breaks the format's rules, or the errno
 * of writing. Borrows: entry. */
int manifest_writer_add(struct manifest_writer *m, const struct tree_entry *entry,
			struct weir_err *e);
/* Writes the end. Returns: 0 or a negative errno. */
int manifest_writer_end(struct manifest_writer *m, struct manifest_summary *ret_summary,
			struct weir_err *e);
void manifest_writer_free(struct manifest_writer *m);
static inline void cleanup_manifest_writer_fn(struct manifest_writer **m)
{
	manifest_writer_free(*m);
}
#define cleanup_manifest_writer __attribute__((cleanup(cleanup_manifest_writer_fn)))

struct manifest_reader;

/* Reads a manifest, entry by entry, with memory for one line and one path, from a descriptor
 * or from bytes. `name` is for messages, which are NAME:LINE:COLUMN: what; nothing is
 * believed: any breach of the format is refused where it stands.
 * Gives: a reader for manifest_reader_free. Borrows: fd or bytes (must stay), name.
 * Returns: 0, -EBADMSG for a bad head, -ENOMEM, or the errno of reading. */
int manifest_reader_new(int fd, const char *name, struct manifest_reader **ret_reader,
			struct weir_err *e);
/* As above. Borrows: bytes, name. Returns: as above. */
int manifest_reader_new_bytes(const void *bytes, size_t len, const char *name,
			      struct manifest_reader **ret_reader, struct weir_err *e);
/* Next entry; hashed is set where there is a hash. Gives: ret_entry, borrowed from r until the
 * next call. Returns: 1, 0 at a good end, -EBADMSG for a breach, or the errno of reading. */
int manifest_reader_next(struct manifest_reader *r, struct tree_entry *ret_entry,
			 struct weir_err *e);
/* Facts of the head, and of the file after the end was reached. Returns: the value.
 * Gives: ret_summary. Units: nanoseconds. */
int64_t manifest_reader_taken_ns(const struct manifest_reader *r);
int64_t manifest_reader_tick_ns(const struct manifest_reader *r);
void manifest_reader_summary(const struct manifest_reader *r, struct manifest_summary *ret_summary);
void manifest_reader_free(struct manifest_reader *r);
static inline void cleanup_manifest_reader_fn(struct manifest_reader **r)
{
	manifest_reader_free(*r);
}
#define cleanup_manifest_reader __attribute__((cleanup(cleanup_manifest_reader_fn)))

/* A whole manifest as a table, 80 bytes and the path for each entry. */
struct manifest_row {
	uint64_t path; /* offset in `paths` */
	uint64_t size;
	uint64_t ino;
	int64_t ctime_ns;
	int64_t mtime_ns;
	uint32_t path_len;
	uint32_t mode;
	unsigned char sha256[DIGEST_SIZE];
};

struct manifest {
	struct manifest_row *rows; /* sorted */
	size_t count;
	char *paths;
	size_t paths_len;
	int64_t taken_ns;
	int64_t tick_ns;
	struct manifest_summary summary;
};

/* Reads all. Gives: a table for manifest_free. Borrows: fd, name. Returns: as
 * manifest_reader_next, -ENOMEM. */
int manifest_load(int fd, const char *name, struct manifest **ret_manifest, struct weir_err *e);
void manifest_free(struct manifest *m);
static inline void cleanup_manifest_fn(struct manifest **m)
{
	manifest_free(*m);
}
#define cleanup_manifest __attribute__((cleanup(cleanup_manifest_fn)))

/* The row as an entry. Gives: ret_entry, borrowed from m. */
void manifest_get(const struct manifest *m, size_t row, struct tree_entry *ret_entry);

/* Finds a path. Borrows: path. Returns: true and the row, or false. */
bool manifest_find(const struct manifest *m, const char *path, size_t len, size_t *ret_row);

/* Whether an entry may have changed after it was hashed without a new time stamp.
 * Returns: truth. Units: nanoseconds. */
bool manifest_entry_is_racy(const struct tree_entry *entry, int64_t taken_ns, int64_t tick_ns);

#endif
