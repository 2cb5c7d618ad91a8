/* SPDX-License-Identifier: MIT */
#include "writeback/order.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/json.h"
#include "writeback/reason.h"

#define ID_SIZE 64
#define ID_DIGITS 12

void order_done(struct order *o)
{
	free(o->id);
	free(o->ref);
	*o = (struct order){ 0 };
}

static void make_id(const struct order *o, char ret_id[ID_SIZE])
{
	snprintf(ret_id, ID_SIZE, "%s-%.*s", kind_of(o->kind)->name, ID_DIGITS, o->nonce);
}

int order_format(const struct order *o, struct buf *ret_text)
{
	char id[ID_SIZE];
	cleanup_json json_t *root = NULL;

	make_id(o, id);
	root = json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:I}", "schema", ORDER_SCHEMA,
			 "kind", kind_of(o->kind)->name, "id", id, "nonce", o->nonce, "repository",
			 o->repository, "ref", json_escaped(o->ref), "base", o->base, "object",
			 o->object, "caller", (json_int_t)o->caller);
	return root ? json_canonical(root, ret_text) : -ENOMEM;
}

static int parse(const json_t *root, struct order *o)
{
	const json_t *caller = json_object_get(root, "caller");
	const char *kind = json_string_value(json_object_get(root, "kind"));
	char id[ID_SIZE];

	o->kind = kind ? kind_find(kind) : KIND_COUNT;
	if (!json_text_is(root, "schema", ORDER_SCHEMA) || json_object_size(root) != 9 ||
	    o->kind == KIND_COUNT || kind_of(o->kind)->has_run || !json_is_integer(caller) ||
	    json_take_fixed(root, "nonce", o->nonce, sizeof(o->nonce)) < 0 ||
	    json_take_fixed(root, "repository", o->repository, sizeof(o->repository)) < 0 ||
	    json_take_fixed(root, "base", o->base, sizeof(o->base)) < 0 ||
	    json_take_fixed(root, "object", o->object, sizeof(o->object)) < 0)
		return -EBADMSG;
	o->caller = (uid_t)json_integer_value(caller);
	make_id(o, id);
	if (!json_text_is(root, "id", id))
		return -EBADMSG;
	o->id = strdup(id);
	o->ref = json_take_escaped(root, "ref");
	return o->id && o->ref ? 0 : -EBADMSG;
}

int order_parse(const char *text, size_t len, struct order *ret_order, struct weir_err *e)
{
	struct weir_err cause = { 0 };
	cleanup_json json_t *root = json_read(text, len, "order", &cause);
	cleanup_buf struct buf again = { 0 };
	unsigned char hash[DIGEST_SIZE];

	*ret_order = (struct order){ 0 };
	if (!root || parse(root, ret_order) < 0 || order_format(ret_order, &again) < 0 ||
	    again.len != len || memcmp(again.data, text, len) != 0 ||
	    digest_bytes(text, len, hash) < 0) {
		order_done(ret_order);
		return refuse(e, REASON_ORDER_TEXT, "it is no " ORDER_SCHEMA " text");
	}
	digest_hex(hash, sizeof(hash), ret_order->sha256);
	return 0;
}
