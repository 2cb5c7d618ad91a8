/* SPDX-License-Identifier: MIT */
/*
 * Writes a trace (user/trace/format.h). Records gather in a frame of 64 KiB; a full frame
 * is closed, chained and written. What was added since the last flush is lost in a crash,
 * what was flushed survives the collector, what was synced survives the machine.
 *
 * Any failure (a full disk first of all) is for good: the file is cut back to its last
 * whole frame, and every later call returns the same error, so that no trace has a hole.
 */
#ifndef WEIR_TRACE_WRITER_H
#define WEIR_TRACE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "user/base/err.h"
#include "user/trace/format.h"

struct trace_writer;

/* fd: an empty regular file, open for writing at its start. Writes the first bytes.
 * Returns: 0 or a negative errno; -EEXIST when the file is not empty. Borrows: fd, which
 * must stay open until the writer is freed. Gives: *ret_writer. */
int trace_writer_new(int fd, struct trace_writer **ret_writer, struct weir_err *e);

/* Frees without writing: records that were not flushed are lost. */
void trace_writer_free(struct trace_writer *w);
static inline void cleanup_trace_writer_fn(struct trace_writer **w)
{
	trace_writer_free(*w);
}
#define cleanup_trace_writer __attribute__((__cleanup__(cleanup_trace_writer_fn)))

/* Adds a record; long ones are split (TR-6). START and END are synced at once.
 * Returns: 0; -EINVAL for a record that TR-6, TR-7 or TR-8 forbid, -EFBIG past
 * TRACE_RECORD_MAX (both leave the writer usable); or the error that ended the trace.
 * Borrows: bytes. */
int trace_writer_add(struct trace_writer *w, enum trace_type type, const void *bytes, size_t len,
		     struct weir_err *e);

/* Closes and writes the frame that is being gathered. Returns: 0 or the error that ended
 * the trace. */
int trace_writer_flush(struct trace_writer *w, struct weir_err *e);

/* Flushes, then waits for the disk. Returns: as trace_writer_flush. */
int trace_writer_sync(struct trace_writer *w, struct weir_err *e);

/* Root and size of what is in the file. Borrows: w. Units: bytes. */
void trace_writer_root(const struct trace_writer *w, unsigned char ret_root[DIGEST_SIZE]);
uint64_t trace_writer_size(const struct trace_writer *w);

#endif
