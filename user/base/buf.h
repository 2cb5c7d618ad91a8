/* SPDX-License-Identifier: MIT */
/*
 * A byte buffer that grows up to a stated limit. A failed append sets `failed` and
 * further appends do nothing, so that a caller may check once at the end.
 */
#ifndef WEIR_BASE_BUF_H
#define WEIR_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data; /* NUL-terminated when len > 0 or after buf_str */
	size_t len;
	size_t cap;
	size_t max; /* bytes; 0: 1 GiB */
	bool failed;
};

/* Releases the memory and leaves an empty buffer. Owns: b's data. */
void buf_done(struct buf *b);
#define cleanup_buf __attribute__((__cleanup__(buf_done)))

/* Appends len bytes. Returns: 0, -ENOMEM, -EFBIG past the limit. Borrows: data. */
int buf_add(struct buf *b, const void *data, size_t len);

/* Appends a formatted text, without its NUL. Returns: as buf_add. Borrows: fmt. */
int buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends the escaped form of len bytes (user/base/escape.h). Returns: as buf_add.
 * Borrows: data. */
int buf_add_escaped(struct buf *b, const char *data, size_t len);

/* Appends integers, big endian as in SSH and git formats. Returns: as buf_add. */
int buf_add_u32be(struct buf *b, uint32_t v);
int buf_add_u64be(struct buf *b, uint64_t v);

/* Returns: the content as a string, "" if empty; borrowed from b until it changes. */
const char *buf_str(const struct buf *b);

#endif
