/* SPDX-License-Identifier: MIT */
/*
 * SSH certificates (PROTOCOL.certkeys of OpenSSH). A blob of type TYPE-cert-v01@openssh.com:
 *
 *   string type, string nonce, the fields of the plain blob after its type, u64 serial,
 *   u32 kind (1: user), string key id, string principals (strings), u64 valid after,
 *   u64 valid before, string critical options, string extensions, string reserved,
 *   string authority's blob, string signature (over all before it)
 */
#ifndef WEIR_WRITEBACK_SSHCERT_H
#define WEIR_WRITEBACK_SSHCERT_H

#include <stdint.h>

#include "writeback/sshwire.h"

struct sshcert {
	struct buf plain; /* blob of the certified key */
	uint64_t serial;
	uint64_t after; /* seconds since 1970; valid while after <= now < before */
	uint64_t before;
	/* borrowed from the blob */
	struct sshwire key_id;
	struct sshwire principals;
	struct sshwire authority;
};

void sshcert_done(struct sshcert *c);
#define cleanup_sshcert __attribute__((__cleanup__(sshcert_done)))

/* Whether a blob is a certificate of a type known here. Returns: truth. Borrows: blob. */
bool sshcert_is(const struct sshwire *blob);

/* Reads a certificate and checks its authority's signature; whether that authority is
 * trusted, and the time, are the caller's questions.
 * Returns: 0, -EBADMSG when it is damaged or wrongly signed, -ENOTSUP for one of a host, with
 * critical options, or of an unknown type. Gives: ret_cert. Borrows: blob, for as long as
 * ret_cert is used. */
int sshcert_read(const struct sshwire *blob, struct sshcert *ret_cert);

#endif
