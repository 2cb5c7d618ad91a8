/* SPDX-License-Identifier: MIT */
#include "writeback/keyhist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/json.h"
#include "writeback/sshkey.h"
#include "writeback/sshpub.h"
#include "writeback/sshwire.h"

#define CACHE_MAX ((size_t)1 << 20)
#define CACHE_BEHIND 64 /* entries; then it is written again */

void keyhist_done(struct keyhist *h)
{
	for (size_t i = 0; i < h->count; i++) {
		ledger_entry_done(&h->items[i].entry);
		buf_done(&h->items[i].text);
	}
	free(h->items);
	*h = (struct keyhist){ 0 };
}

/* Takes an entry of another kind for none. Returns: 1 when it was taken, 0, -EBADMSG, -E2BIG,
 * -ENOMEM. */
static int take(struct keyhist *h, uint64_t index, const char *text, size_t len)
{
	struct keyhist_item *items, *item;
	struct ledger_entry n;
	struct weir_err none = { 0 };

	if (ledger_entry_parse(text, len, &n, &none) < 0)
		return -EBADMSG;
	if (n.kind != LEDGER_KEY) {
		ledger_entry_done(&n);
		return 0;
	}
	items = h->count < KEYHIST_MAX ? reallocarray(h->items, h->count + 1, sizeof(*items))
				       : NULL;
	if (!items) {
		ledger_entry_done(&n);
		return h->count < KEYHIST_MAX ? -ENOMEM : -E2BIG;
	}
	h->items = items;
	item = &items[h->count++];
	*item = (struct keyhist_item){ .index = index, .entry = n };
	return buf_add(&item->text, text, len) < 0 ? -ENOMEM : 1;
}

static int load_one(struct keyhist *h, struct ledger *l, uint64_t index, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	int err = ledger_read(l, index, &text, e);

	if (err < 0)
		return err;
	err = take(h, index, buf_str(&text), text.len);
	return err < 0 ? err_errno(e, err, "entry %llu of the ledger", (unsigned long long)index)
		       : 0;
}

static int load_from(struct keyhist *h, struct ledger *l, uint64_t from, struct weir_err *e)
{
	int err = 0;

	for (uint64_t i = from; err == 0 && i < l->checkpoint.size; i++)
		err = load_one(h, l, i, e);
	if (err < 0)
		keyhist_done(h);
	return err;
}

int keyhist_load(struct ledger *l, struct keyhist *ret_history, struct weir_err *e)
{
	*ret_history = (struct keyhist){ 0 };
	return load_from(ret_history, l, 0, e);
}

/* What the cache names must be entries of this kind; else it is taken for none. */
static uint64_t load_cache(struct keyhist *h, struct ledger *l, const struct repo *r)
{
	cleanup_buf struct buf text = { 0 };
	struct weir_err none = { 0 };
	unsigned long long size, index;
	char *at;

	if (fsio_read_file(r->fd, KEYHIST_CACHE, CACHE_MAX, &text, &none) < 0 || text.len == 0)
		return 0;
	size = strtoull(text.data, &at, 10);
	if (size > l->checkpoint.size)
		return 0;
	while (*at == ' ') {
		size_t had = h->count;

		index = strtoull(at + 1, &at, 10);
		if (index >= size || load_one(h, l, index, &none) < 0 || h->count == had) {
			keyhist_done(h);
			return 0;
		}
	}
	return size;
}

int keyhist_load_cached(struct ledger *l, const struct repo *r, struct keyhist *ret_history,
			struct weir_err *e)
{
	struct keyhist *h = ret_history;
	cleanup_buf struct buf text = { 0 };
	uint64_t from;
	int err;

	*h = (struct keyhist){ 0 };
	from = load_cache(h, l, r);
	err = load_from(h, l, from, e);
	if (err < 0 || l->checkpoint.size - from < CACHE_BEHIND)
		return err;
	buf_addf(&text, "%llu", (unsigned long long)l->checkpoint.size);
	for (size_t i = 0; i < h->count; i++)
		buf_addf(&text, " %llu", (unsigned long long)h->items[i].index);
	buf_addf(&text, "\n");
	if (text.failed)
		err = err_errno(e, -ENOMEM, "the history of keys");
	else
		err = fsio_replace(r->fd, KEYHIST_CACHE, text.data, text.len, 0600, e);
	if (err < 0)
		keyhist_done(h);
	return err;
}

int keyhist_line(const struct keyhist *h, struct buf *ret_value)
{
	cleanup_buf struct buf all = { 0 };
	unsigned char hash[DIGEST_SIZE];
	char hex[DIGEST_HEX];

	for (size_t i = 0; i < h->count; i++)
		buf_add(&all, h->items[i].text.data, h->items[i].text.len);
	if (all.failed || digest_bytes(buf_str(&all), all.len, hash) < 0)
		return -ENOMEM;
	digest_hex(hash, sizeof(hash), hex);
	return buf_addf(ret_value, "%zu %s", h->count, hex);
}

int keyhist_format(const struct keyhist *h, struct ledger *l, struct buf *ret_text,
		   struct weir_err *e)
{
	json_t *list = json_array();
	cleanup_json json_t *root = json_pack("{s:s, s:o}", "schema", KEYHIST_SCHEMA, "keys", list);
	int err = root ? 0 : -ENOMEM;

	for (size_t i = 0; err == 0 && i < h->count; i++) {
		cleanup_buf struct buf proof = { 0 };

		err = ledger_prove(l, h->items[i].index, &proof, e);
		if (err < 0)
			return err;
		err = json_array_append_new(list, json_pack("{s:s, s:s}", "entry",
							    buf_str(&h->items[i].text), "proof",
							    buf_str(&proof)));
	}
	if (err < 0 || json_canonical(root, ret_text) < 0)
		return err_errno(e, -ENOMEM, "the history of keys");
	return 0;
}

static int parse_one(const struct note_key *k, const json_t *item, struct keyhist *h,
		     struct weir_err *e)
{
	const char *text = json_string_value(json_object_get(item, "entry"));
	const char *proof = json_string_value(json_object_get(item, "proof"));
	struct merkle_hash leaf;
	struct tlog_proof p;
	int err;

	if (!text || !proof || json_object_size(item) != 2)
		return err_set(e, -EBADMSG, "an entry of `keys` is none");
	if (tlog_proof_parse(k, proof, strlen(proof), &p, e) < 0)
		return -EBADMSG;
	if (merkle_leaf(text, strlen(text), &leaf) < 0 ||
	    merkle_check_inclusion(&leaf, p.index, p.checkpoint.size, &p.path, &p.checkpoint.root) <
		    0)
		return err_set(e, -EBADMSG, "an entry of `keys` is not in the ledger");
	if (h->count > 0 && h->items[h->count - 1].index >= p.index)
		return err_set(e, -EBADMSG, "`keys` is out of order");
	err = take(h, p.index, text, strlen(text));
	return err == 1 ? 0 : err_set(e, err < 0 ? err : -EBADMSG, "an entry of `keys` is none");
}

int keyhist_parse(const struct note_key *k, const char *text, size_t len,
		  struct keyhist *ret_history, struct weir_err *e)
{
	cleanup_json json_t *root = json_read(text, len, KEYHIST_FILE, e);
	const json_t *list = json_object_get(root, "keys");
	int err = 0;

	*ret_history = (struct keyhist){ 0 };
	if (!root)
		return -EBADMSG;
	if (!json_text_is(root, "schema", KEYHIST_SCHEMA) || !json_is_array(list) ||
	    json_object_size(root) != 2)
		return err_set(e, -EBADMSG, "`keys` has another version");
	for (size_t i = 0; err == 0 && i < json_array_size(list); i++)
		err = parse_one(k, json_array_get(list, i), ret_history, e);
	if (err < 0)
		keyhist_done(ret_history);
	return err;
}

static bool is(const char *text, const char *key)
{
	return text && strcmp(text, key) == 0;
}

/* From where on one that ends is not trusted. */
static uint64_t end_of(const struct keyhist_item *item)
{
	return item->entry.since ? strtoull(item->entry.since, NULL, 10) : item->index;
}

int keyhist_judge(const struct keyhist *h, const char *role, const char *key, uint64_t index,
		  struct weir_err *e)
{
	bool open = true, named = false, good = false;
	uint64_t from = 0, until = 0;

	for (size_t i = 0; i < h->count; i++) {
		const struct keyhist_item *item = &h->items[i];

		if (strcmp(item->entry.role, role) != 0)
			continue;
		if (is(item->entry.new_key, key)) {
			if (!named || !open)
				from = item->index;
			named = open = true;
		} else if (is(item->entry.old_key, key)) {
			until = open || end_of(item) < until ? end_of(item) : until;
			/* of what is lost, earlier times end there as well */
			good = (good || (open && index >= from)) && index < until;
			named = true;
			open = false;
		}
	}
	if (good || (open && index >= from))
		return 0;
	return err_set(e, -EPERM,
		       open ? "its key came with entry %llu of the ledger, this is entry %llu"
			    : "its key ended with entry %llu of the ledger, this is entry %llu",
		       (unsigned long long)(open ? from : until), (unsigned long long)index);
}

int keyhist_name(const struct buf *blob, struct buf *ret_key)
{
	struct sshwire w = sshwire_of(blob), type;

	if (sshwire_string(&w, &type) < 0)
		return -EBADMSG;
	buf_addf(ret_key, "%.*s ", (int)type.left, (const char *)type.at);
	return base64_write(blob->data, blob->len, 0, ret_key);
}

bool keyhist_begun(const struct keyhist *h, const char *role, const char *key)
{
	bool begun = false;

	for (size_t i = 0; i < h->count; i++) {
		const struct ledger_entry *n = &h->items[i].entry;

		if (strcmp(n->role, role) != 0)
			continue;
		if (n->new_key && strcmp(n->new_key, key) == 0)
			begun = true;
		else if (n->old_key && strcmp(n->old_key, key) == 0)
			begun = false;
	}
	return begun;
}
