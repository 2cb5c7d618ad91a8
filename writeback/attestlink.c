/* SPDX-License-Identifier: MIT */
#include "writeback/attestlink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"

/* A string in OLPC canonical JSON, of text that holds no control characters. */
static void add_string(struct buf *b, const char *text, size_t len)
{
	buf_add(b, "\"", 1);
	while (len > 0) {
		size_t plain = 0;

		while (plain < len && text[plain] != '"' && text[plain] != '\\')
			plain++;
		buf_add(b, text, plain);
		if (plain < len) {
			buf_add(b, "\\", 1);
			buf_add(b, text + plain++, 1);
		}
		text += plain;
		len -= plain;
	}
	buf_add(b, "\"", 1);
}

struct product {
	const char *name; /* escaped */
	const unsigned char *sha256;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct product *)a)->name, ((const struct product *)b)->name);
}

/* The promoted files by their escaped names, in the order of bytes, which is that of code points
 * but not that of paths. */
static int list_products(const struct promotion *p, struct buf *names, struct product *list,
			 size_t *ret_count)
{
	size_t count = 0, at = 0;

	for (size_t i = 0; i < p->changes.count; i++) {
		const struct change *c = &p->changes.items[i];

		if (c->new_mode == 0)
			continue;
		buf_add_escaped(names, c->path, c->len);
		buf_add(names, "", 1);
		list[count++].sha256 = c->sha256;
	}
	if (names->failed)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		list[i].name = names->data + at;
		at += strlen(list[i].name) + 1;
	}
	if (count > 0)
		qsort(list, count, sizeof(*list), compare);
	*ret_count = count;
	return 0;
}

static int add_products(const struct promotion *p, struct buf *b)
{
	cleanup_free struct product *list = calloc(p->changes.count + 1, sizeof(*list));
	cleanup_buf struct buf names = { 0 };
	size_t count = 0;
	int err = list ? list_products(p, &names, list, &count) : -ENOMEM;

	for (size_t i = 0; err == 0 && i < count; i++) {
		char hex[DIGEST_HEX];

		digest_hex(list[i].sha256, DIGEST_SIZE, hex);
		if (i > 0)
			buf_add(b, ",", 1);
		add_string(b, list[i].name, strlen(list[i].name));
		buf_addf(b, ":{\"sha256\":\"%s\"}", hex);
	}
	return err;
}

static int add_signed(const struct promotion *p, struct buf *b)
{
	char commit[OID_HEX];
	int err;

	git_oid_tostr(commit, sizeof(commit), &p->commit);
	buf_addf(b,
		 "{\"_type\":\"link\",\"byproducts\":{\"commit\":\"%s\",\"promotion\":\"%s\","
		 "\"return-value\":%d},\"command\":[],\"environment\":{},\"materials\":{\"base\":"
		 "{\"sha1\":\"%s\"}},\"name\":\"" ATTESTLINK_STEP "\",\"products\":{",
		 commit, p->digest, p->statement.exit_code, p->nonce.commit);
	err = add_products(p, b);
	buf_addf(b, "}}");
	return err < 0 || b->failed ? -ENOMEM : 0;
}

static int key_id(const struct keys_raw *k, char ret_hex[DIGEST_HEX])
{
	cleanup_buf struct buf text = { 0 };
	unsigned char hash[DIGEST_SIZE];
	char public_key[2 * ED25519_PUBLIC + 1];

	digest_hex(k->public_key, ED25519_PUBLIC, public_key);
	buf_addf(&text,
		 "{\"keyid_hash_algorithms\":[\"sha256\",\"sha512\"],\"keytype\":\"ed25519\","
		 "\"keyval\":{\"public\":\"%s\"},\"scheme\":\"ed25519\"}",
		 public_key);
	if (text.failed || digest_bytes(text.data, text.len, hash) < 0)
		return -ENOMEM;
	digest_hex(hash, sizeof(hash), ret_hex);
	return 0;
}

int attestlink_make(const struct promotion *p, const struct keys_raw *k, struct buf *ret_text,
		    struct weir_err *e)
{
	cleanup_buf struct buf body = { 0 };
	unsigned char signature[ED25519_SIGNATURE];
	char id[DIGEST_HEX], hex[2 * ED25519_SIGNATURE + 1];
	int err = add_signed(p, &body);

	if (err == 0)
		err = key_id(k, id);
	if (err < 0)
		return err_errno(e, err, "making the link");
	err = keys_sign_raw(k, body.data, body.len, signature, e);
	if (err < 0)
		return err;
	digest_hex(signature, sizeof(signature), hex);
	buf_addf(ret_text, "{\"signatures\":[{\"keyid\":\"%s\",\"sig\":\"%s\"}],\"signed\":", id,
		 hex);
	buf_add(ret_text, body.data, body.len);
	return buf_addf(ret_text, "}\n") < 0 ? err_errno(e, -ENOMEM, "making the link") : 0;
}
