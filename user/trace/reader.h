/* SPDX-License-Identifier: MIT */
/*
 * Reads a trace (user/trace/format.h) front to back with bounded memory: one frame, and
 * one record that was split. The file is hostile. It may still be growing: after a 0 the
 * next call looks again.
 */
#ifndef WEIR_TRACE_READER_H
#define WEIR_TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/err.h"
#include "user/trace/format.h"

struct trace_reader;

/* Borrowed from the reader until its next call. */
struct trace_record {
	enum trace_type type;
	const void *bytes; /* aligned to 8 */
	size_t len;	   /* Units: bytes */
	uint64_t frame;	   /* number of the frame where it starts */
	uint64_t offset;   /* of its head in the file. Units: bytes */
};

/* Checks the first bytes. fd is read with pread(2) from offset 0. Returns: 0, -EBADMSG
 * (no trace, or of another version), -ENOMEM, an errno of reading. Borrows: fd, until the
 * reader is freed. Gives: *ret_reader. */
int trace_reader_new(int fd, struct trace_reader **ret_reader, struct weir_err *e);
void trace_reader_free(struct trace_reader *r);
static inline void cleanup_trace_reader_fn(struct trace_reader **r)
{
	trace_reader_free(*r);
}
#define cleanup_trace_reader __attribute__((__cleanup__(cleanup_trace_reader_fn)))

/* Next record. Returns: 1; 0 at the end of the file (see trace_reader_ended and
 * trace_reader_torn); -EBADMSG with "at byte N (frame M): why" and the rule that is broken,
 * again on every later call; -ENOMEM or an errno of reading. Borrows: r. */
int trace_reader_next(struct trace_reader *r, struct trace_record *ret_record, struct weir_err *e);

/* Returns: true once END was handed out. Borrows: r. */
bool trace_reader_ended(const struct trace_reader *r);

/* Returns: bytes after the last whole frame (TR-9), known after a 0. Borrows: r. */
uint64_t trace_reader_torn(const struct trace_reader *r);

/* Chain of the frames checked so far and where they end: root and size of the trace after
 * a 0. Borrows: r. Units: bytes. */
void trace_reader_root(const struct trace_reader *r, unsigned char ret_root[DIGEST_SIZE]);
uint64_t trace_reader_size(const struct trace_reader *r);

/* Returns: the name of a type, "unknown"; static. */
const char *trace_type_name(unsigned int type);

#endif
