/* SPDX-License-Identifier: MIT */
/*
 * The SSH wire encoding (RFC 4251, section 5): u32 big endian, and strings as a u32
 * length and the bytes. Reading never goes past the end and never copies.
 */
#ifndef WEIR_WRITEBACK_SSHWIRE_H
#define WEIR_WRITEBACK_SSHWIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/buf.h"

struct sshwire {
	const unsigned char *at;
	size_t left; /* bytes */
};

/* Takes an integer. Returns: 0 or -EBADMSG at the end of the data. */
int sshwire_u8(struct sshwire *w, unsigned char *ret_value);
int sshwire_u32(struct sshwire *w, uint32_t *ret_value);
int sshwire_u64(struct sshwire *w, uint64_t *ret_value);

/* Takes a string; it points into the data of w. Returns: 0 or -EBADMSG. */
int sshwire_string(struct sshwire *w, struct sshwire *ret_string);

/* Returns: whether the bytes left equal the text. Borrows: text. */
bool sshwire_is(const struct sshwire *w, const char *text);

/* Appends a string. Returns: as buf_add. Borrows: data. */
int sshwire_put(struct buf *b, const void *data, size_t len);
int sshwire_put_text(struct buf *b, const char *text);

/* Reads or writes base64 (RFC 4648, with padding). wrap: characters a line, 0 for one
 * line; each line ends with a newline when it is set. White space in the input is
 * skipped. Returns: 0, -EBADMSG for anything that is no canonical base64, -ENOMEM.
 * Borrows: the input. */
int base64_read(const char *text, size_t len, struct buf *ret_bytes);
int base64_write(const void *data, size_t len, unsigned int wrap, struct buf *ret_text);

#endif
