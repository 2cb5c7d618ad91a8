/* SPDX-License-Identifier: MIT */
#include "writeback/statement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/json.h"
#include "writeback/reason.h"

#define TEXT(name) \
	{ \
#name, offsetof(struct statement, name), 0 \
	}
#define HEX(name) \
	{ \
#name, offsetof(struct statement, name), DIGEST_HEX \
	}

static const struct {
	const char *name;
	size_t offset;
	size_t hex; /* 0: escaped text */
} members[] = {
	TEXT(run),     TEXT(nonce),	     TEXT(machine),	  TEXT(boot),	TEXT(mode),
	TEXT(verdict), TEXT(repository),     TEXT(ref),		  TEXT(commit), HEX(host_key),
	HEX(coverage), HEX(manifest_before), HEX(manifest_after), HEX(policy),
};

/* schema, trace, counters, exit, workspace */
#define OTHER_MEMBERS 5

void statement_done(struct statement *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (members[i].hex == 0)
			free(*(char **)((char *)s + members[i].offset));
	free(s->workspace);
	*s = (struct statement){ 0 };
}

static int read_members(const json_t *root, struct statement *s, struct weir_err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		char *at = (char *)s + members[i].offset;
		bool good;

		if (members[i].hex > 0) {
			/* a run without policy; its verdict is refused for that */
			good = json_take_fixed(root, members[i].name, at, members[i].hex) == 0 ||
			       (strcmp(members[i].name, "policy") == 0 &&
				json_is_null(json_object_get(root, "policy")));
		} else {
			*(char **)at = json_take_escaped(root, members[i].name);
			good = *(char **)at != NULL;
		}
		if (!good)
			return refuse(e, REASON_STATEMENT, "statement.json: bad member %s",
				      members[i].name);
	}
	return 0;
}

static int read_exit(const json_t *exit, struct statement *s)
{
	const json_t *code = json_object_get(exit, "code");
	const json_t *signal = json_object_get(exit, "signal");

	if (json_object_size(exit) != 1 || !json_is_integer(code ? code : signal))
		return -EINVAL;
	s->exit_code = code ? (int)json_integer_value(code) : -1;
	s->exit_signal = signal ? (int)json_integer_value(signal) : 0;
	return code && (s->exit_code < 0 || s->exit_code > 255) ? -EINVAL : 0;
}

static int read_objects(const json_t *root, struct statement *s)
{
	const json_t *trace = json_object_get(root, "trace");
	const json_t *workspace = json_object_get(root, "workspace");
	const json_t *bytes = json_object_get(trace, "bytes");
	const json_t *ino = json_object_get(workspace, "ino");
	const json_t *dev = json_object_get(workspace, "dev");
	const json_t *counters = json_object_get(root, "counters");
	cleanup_buf struct buf text = { 0 };
	unsigned char hash[DIGEST_SIZE];

	s->workspace = json_take_escaped(workspace, "path");
	if (!s->workspace || !json_is_integer(bytes) || !json_is_integer(ino) ||
	    !json_is_integer(dev) || json_integer_value(bytes) < 0 || !json_is_object(counters) ||
	    json_take_fixed(trace, "root", s->trace_root, DIGEST_HEX) < 0 ||
	    read_exit(json_object_get(root, "exit"), s) < 0)
		return -EINVAL;
	s->trace_bytes = (uint64_t)json_integer_value(bytes);
	s->dev = (uint64_t)json_integer_value(dev);
	s->ino = (uint64_t)json_integer_value(ino);
	if (json_canonical(counters, &text) < 0 || digest_bytes(text.data, text.len, hash) < 0)
		return -ENOMEM;
	digest_hex(hash, sizeof(hash), s->counters);
	return 0;
}

int statement_parse(const char *text, size_t len, struct statement *ret_statement,
		    struct weir_err *e)
{
	struct weir_err cause = { 0 };
	cleanup_json json_t *root = json_read(text, len, "statement.json", &cause);
	cleanup_buf struct buf again = { 0 };
	struct statement *s = ret_statement;
	unsigned char hash[DIGEST_SIZE];
	int err;

	*s = (struct statement){ 0 };
	if (!root)
		return refuse(e, REASON_STATEMENT, "%s", cause.text);
	if (!json_text_is(root, "schema", STATEMENT_SCHEMA))
		return refuse(e, REASON_STATEMENT, "statement.json: schema is not %s",
			      STATEMENT_SCHEMA);
	if (json_canonical(root, &again) < 0 || again.len != len ||
	    memcmp(again.data, text, len) != 0)
		return refuse(e, REASON_STATEMENT, "statement.json is not in canonical form");
	err = read_members(root, s, e);
	if (err == 0 && (read_objects(root, s) < 0 ||
			 json_object_size(root) != ARRAY_SIZE(members) + OTHER_MEMBERS))
		err = refuse(e, REASON_STATEMENT,
			     "statement.json: bad trace, counters, exit or workspace, or other "
			     "members");
	if (err == 0 && digest_bytes(text, len, hash) < 0)
		err = err_errno(e, -EIO, "hashing the statement");
	if (err < 0) {
		statement_done(s);
		return err;
	}
	digest_hex(hash, sizeof(hash), s->sha256);
	return 0;
}

int statement_check(const struct statement *s, const char *text, size_t len,
		    const char *signature_hex, const struct gate_texts *hosts, struct weir_err *e)
{
	unsigned char key[ED25519_PUBLIC], signature[ED25519_SIGNATURE];
	char hex[2 * ED25519_SIGNATURE + 1] = "";
	cleanup_buf struct buf message = { 0 };
	size_t hex_len = strcspn(signature_hex, "\n");

	if (hosts && !gate_texts_have(hosts, s->host_key))
		return refuse(e, REASON_STATEMENT_SIGNATURE, "host key %.16s... is unknown here",
			      s->host_key);
	if (hex_len == sizeof(hex) - 1)
		memcpy(hex, signature_hex, hex_len);
	if (digest_unhex(hex, signature, sizeof(signature)) < 0 ||
	    digest_unhex(s->host_key, key, sizeof(key)) < 0)
		return refuse(e, REASON_STATEMENT_SIGNATURE, "statement.sig is damaged");
	buf_add(&message, STATEMENT_CONTEXT, sizeof(STATEMENT_CONTEXT));
	buf_add(&message, text, len);
	if (message.failed || digest_verify(key, message.data, message.len, signature) < 0)
		return refuse(e, REASON_STATEMENT_SIGNATURE, "the statement's signature is wrong");
	return 0;
}
