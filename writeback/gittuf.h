/* SPDX-License-Identifier: MIT */
/*
 * An approval in the form that gittuf reads: in-toto statement v1 with predicate
 * https://gittuf.dev/reference-authorization/v0.2 {targetRef, fromID, targetID}, subject digest
 * {gitTree}, in a DSSE envelope whose signature is base64 of an SSHSIG (namespace "git") over
 * the pre-authentication encoding. It says less than writeback/approval.h and never counts
 * as ours: its namespace is another.
 */
#ifndef WEIR_WRITEBACK_GITTUF_H
#define WEIR_WRITEBACK_GITTUF_H

#include "writeback/approval.h"
#include "writeback/signer.h"

/* Appends the in-toto statement. Returns: 0 or -ENOMEM. Borrows: a. */
int gittuf_statement(const struct approval *a, struct buf *ret_text);

/* Signs it with s's key and writes the envelope to a new file. Returns: as signer_sign, and
 * -EEXIST with e. Borrows: all. */
int gittuf_write(const struct signing *s, const struct approval *a, const char *path,
		 struct weir_err *e);

#endif
