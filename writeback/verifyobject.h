/* SPDX-License-Identifier: MIT */
/* The object that is verified, commit or tag: its bytes, its head, its signature; see verify.h. */
#ifndef WEIR_WRITEBACK_VERIFYOBJECT_H
#define WEIR_WRITEBACK_VERIFYOBJECT_H

#include "writeback/verify.h"

/* Reads raw and head. Returns: 0, refused naming the link, or a negative errno with e. */
int verifyobject_read(struct verify *v, struct weir_err *e);

/* Takes the one signature out of raw: plain is what was signed. A commit has it as field gpgsig
 * (gitformat-signature(5)), a tag behind its message. Returns: 0 or -EBADMSG. */
int verifyobject_split(struct verify *v, struct buf *ret_armor);

#endif
