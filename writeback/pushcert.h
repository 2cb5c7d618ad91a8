/* SPDX-License-Identifier: MIT */
/*
 * Push certificates, as git push --signed sends them and receive-pack keeps them as a blob
 * (gitprotocol-pack(5), "Push Certificate"):
 *
 *   certificate version 0.1
 *   pusher IDENT SECONDS ZONE
 *   pushee URL                 optional
 *   nonce NONCE                of the server, for this push
 *   push-option TEXT           any number
 *   (blank line)
 *   OLD NEW REF                one line for each ref
 *   -----BEGIN SSH SIGNATURE-----   namespace git, over all lines above
 *
 * Only those are read that are about one ref, signed with an SSH key, and say why they were made
 * (push option `reason=TEXT`).
 */
#ifndef WEIR_WRITEBACK_PUSHCERT_H
#define WEIR_WRITEBACK_PUSHCERT_H

#include <git2.h>

#include "user/base/buf.h"
#include "user/base/err.h"

#define PUSHCERT_MAX ((size_t)64 << 10)
#define PUSHCERT_REASON_MAX 500u

struct pushcert {
	char *nonce;
	char *reason;
	char *ref;
	git_oid old;
	git_oid new_id;
	size_t signed_len; /* bytes that are signed; the signature follows */
	size_t len;	   /* bytes of all of it */
};

void pushcert_done(struct pushcert *c);
#define cleanup_pushcert __attribute__((__cleanup__(pushcert_done)))

/* Reads the certificate that a text begins with. Returns: 0; -EBADMSG with why in e; -ENOMEM.
 * Borrows: text. Gives: ret_cert. */
int pushcert_parse(const char *text, size_t len, struct pushcert *ret_cert, struct weir_err *e);

/* Checks its signature. Gives: the public blob that signed. Returns: 0, -EBADMSG, -ENOTSUP,
 * -EKEYREJECTED with e. Borrows: text, the one that was parsed. */
int pushcert_verify(const struct pushcert *c, const char *text, struct buf *ret_blob,
		    struct weir_err *e);

#endif
