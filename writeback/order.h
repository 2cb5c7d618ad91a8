/* SPDX-License-Identifier: MIT */
/*
 * Orders: what stands where a run has its host's statement, for promotions that no run made.
 * Somebody asked the gate for it; the gate writes down who and what, and the promotion text binds it
 * by its SHA-256. Kept as statement.json of the record (writeback/record.h), without a signature
 * of its own: the object that the gate signs names the promotion.
 *
 * Canonical JSON and a newline, schema "weir.order/1", with these members and no others:
 *
 *   kind         of writeback/kind.h
 *   id           KIND-12 hex digits of the nonce: stands where a run has its id
 *   nonce        of its own, for one use
 *   repository   id of gate.yaml
 *   ref          that is to be written, escaped by user/base/escape.h
 *   base         commit whose policy and people judge it
 *   object       commit that it is about
 *   caller       uid of who asked
 */
#ifndef WEIR_WRITEBACK_ORDER_H
#define WEIR_WRITEBACK_ORDER_H

#include <sys/types.h>

#include "user/base/buf.h"
#include "user/base/digest.h"
#include "user/base/err.h"
#include "writeback/kind.h"
#include "writeback/nonce.h"

#define ORDER_SCHEMA "weir.order/1"
#define ORDER_MAX ((size_t)64 << 10)

struct order {
	enum promotion_kind kind;
	char *id;
	char *ref;
	char nonce[NONCE_HEX];
	char repository[33];
	char base[41];
	char object[41];
	uid_t caller;
	char sha256[DIGEST_HEX]; /* of the text; set by order_parse */
};

void order_done(struct order *o);
#define cleanup_order __attribute__((__cleanup__(order_done)))

/* Appends the text; id is made from kind and nonce. Returns: 0 or -ENOMEM. Borrows: o. */
int order_format(const struct order *o, struct buf *ret_text);

/* Reads a text that order_format could have written. Returns: 0, refused with code "order-text",
 * -ENOMEM. Borrows: text. Gives: ret_order. */
int order_parse(const char *text, size_t len, struct order *ret_order, struct weir_err *e);

#endif
