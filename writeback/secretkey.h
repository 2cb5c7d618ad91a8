/* SPDX-License-Identifier: MIT */
/*
 * Private keys as files have them. A headline alone is none: programs that read keys contain
 * it. So the first bytes of the content are looked at too.
 */
#ifndef WEIR_WRITEBACK_SECRETKEY_H
#define WEIR_WRITEBACK_SECRETKEY_H

#include <stdbool.h>
#include <stddef.h>

/* A PEM, OpenSSH or PGP private key whose "-----BEGIN " is at data; also as a string of a program
 * or of JSON, with "\n" for newlines. Returns: bytes of it that are there, 0 if it is none;
 * whether a passphrase guards it in ret_locked. Borrows: data. Source: RFC 7468, RFC 1421,
 * PROTOCOL.key, RFC 9580. */
size_t secretkey_pem(const unsigned char *data, size_t len, bool *ret_locked);

/* The same for PuTTY's files ("PuTTY-User-Key-File-" is at data). Source: PuTTY's manual,
 * appendix C. Borrows: data. Returns: as above. */
size_t secretkey_putty(const unsigned char *data, size_t len, bool *ret_locked);

/* Whether the bytes are an age identity with a good checksum. Source: BIP 173; the prefix is
 * "AGE-SECRET-KEY-". Borrows: data. Returns: truth. */
bool secretkey_is_age(const unsigned char *data, size_t len);

#endif
