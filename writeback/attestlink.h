/* SPDX-License-Identifier: MIT */
/*
 * A link of in-toto 1.0 (classic metadata), as Debian's in-toto reads it:
 *
 *   {"signatures": [{"keyid": hex, "sig": hex}], "signed": {"_type": "link", "name": "weir-run",
 *    "command": [], "materials": {"base": {"sha1": COMMIT}}, "products": {PATH: {"sha256":
 *    hex}}, "byproducts": {...}, "environment": {}}}
 *
 * Signed: OLPC canonical JSON of "signed": sorted keys, no white space, strings in which only
 * backslash and quote are escaped. keyid: SHA-256 of the same form of {keyid_hash_algorithms,
 * keytype, keyval {public}, scheme}. Products are the promoted files; PATH is escaped as
 * in user/base/escape.h.
 */
#ifndef WEIR_WRITEBACK_ATTESTLINK_H
#define WEIR_WRITEBACK_ATTESTLINK_H

#include "writeback/keys.h"
#include "writeback/promotion.h"

#define ATTESTLINK_STEP "weir-run"

/* Makes the link of a promotion. Returns: 0, refused with code "key", or a negative errno.
 * Borrows: p, k. Gives: ret_text. */
int attestlink_make(const struct promotion *p, const struct keys_raw *k, struct buf *ret_text,
		    struct weir_err *e);

#endif
