/* SPDX-License-Identifier: MIT */
/*
 * Hostile names made safe. Everything that came from a run (paths, arguments) goes
 * through here before it reaches a terminal or a JSON text.
 *
 * Form: printable UTF-8 stays; backslash becomes \\; control bytes, DEL, bytes that
 * are no valid UTF-8, bidi controls, zero-width and tag characters become \xHH for
 * each of their bytes. The exact bytes can be recovered.
 */
#ifndef WEIR_BASE_ESCAPE_H
#define WEIR_BASE_ESCAPE_H

#include <stddef.h>

/* Writes the escaped form of len bytes into out, always terminated; cuts at a whole
 * escape when size is too small (4 * len + 1 is always enough).
 * Returns: bytes written without the NUL. Borrows: in. Units: bytes. */
size_t escape_bytes(const char *in, size_t len, char *out, size_t size);

/* The same for running text: a backslash stays as it is. For texts that are escaped
 * already in their parts. Returns: bytes written without the NUL. Borrows: in. */
size_t escape_text(const char *in, size_t len, char *out, size_t size);

/* Undoes escape_bytes in place. Returns: bytes left, or -EINVAL for a broken escape. */
long escape_undo(char *text);

/* Length of the well-formed UTF-8 sequence at in (1 to 4), 0 if there is none.
 * Source: Unicode 15, table 3-7. Borrows: in. Returns: bytes. */
size_t escape_utf8_len(const unsigned char *in, size_t len);

#endif
