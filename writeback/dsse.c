/* SPDX-License-Identifier: MIT */
#include "writeback/dsse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/json.h"
#include "writeback/sshwire.h"

#define SIGNATURES_MAX 16u

int dsse_pae(const char *type, const void *payload, size_t len, struct buf *ret_bytes)
{
	buf_addf(ret_bytes, "DSSEv1 %zu %s %zu ", strlen(type), type, len);
	return buf_add(ret_bytes, payload, len);
}

int dsse_format(const char *type, const void *payload, size_t len, const char *keyid,
		const unsigned char signature[ED25519_SIGNATURE], struct buf *ret_text)
{
	/* what stands here needs no escapes: base64, a media type, a fingerprint */
	buf_addf(ret_text, "{\"payload\":\"");
	base64_write(payload, len, 0, ret_text);
	buf_addf(ret_text, "\",\"payloadType\":\"%s\",\"signatures\":[{\"keyid\":\"%s\",\"sig\":\"",
		 type, keyid);
	base64_write(signature, ED25519_SIGNATURE, 0, ret_text);
	return buf_addf(ret_text, "\"}]}\n");
}

/* Either alphabet; white space is in neither. */
static int read_base64(const json_t *text, struct buf *ret_bytes)
{
	cleanup_free char *copy = json_is_string(text) ? strdup(json_string_value(text)) : NULL;

	if (!copy)
		return json_is_string(text) ? -ENOMEM : -EBADMSG;
	for (char *at = copy; *at; at++) {
		if ((unsigned char)*at <= ' ')
			return -EBADMSG;
		*at = *at == '-' ? '+' : *at == '_' ? '/' : *at;
	}
	return base64_read(copy, strlen(copy), ret_bytes);
}

static int check(const json_t *signatures, const unsigned char key[ED25519_PUBLIC],
		 const struct buf *pae)
{
	size_t count = json_array_size(signatures);

	if (count == 0 || count > SIGNATURES_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < count; i++) {
		cleanup_buf struct buf raw = { 0 };
		int err = read_base64(json_object_get(json_array_get(signatures, i), "sig"), &raw);

		if (err < 0)
			return err;
		if (raw.len == ED25519_SIGNATURE &&
		    digest_verify(key, pae->data, pae->len, (const unsigned char *)raw.data) == 0)
			return 0;
	}
	return -EBADMSG;
}

int dsse_open(const char *type, const unsigned char key[ED25519_PUBLIC], const char *text,
	      size_t len, struct buf *ret_payload, struct weir_err *e)
{
	cleanup_json json_t *root = NULL;
	cleanup_buf struct buf payload = { 0 };
	cleanup_buf struct buf pae = { 0 };
	int err;

	if (len > DSSE_MAX)
		return err_set(e, -EBADMSG, "the envelope is too large");
	root = json_read(text, len, "envelope", e);
	if (!root)
		return -EBADMSG;
	if (!json_text_is(root, "payloadType", type))
		return err_set(e, -EBADMSG, "the envelope's payload is not %s", type);
	err = read_base64(json_object_get(root, "payload"), &payload);
	if (err == 0)
		err = dsse_pae(type, buf_str(&payload), payload.len, &pae);
	if (err < 0)
		return err_set(e, err, "the envelope's payload can't be read");
	err = check(json_object_get(root, "signatures"), key, &pae);
	if (err < 0)
		return err_set(e, err, "the envelope is not signed by the key");
	return buf_add(ret_payload, buf_str(&payload), payload.len);
}
