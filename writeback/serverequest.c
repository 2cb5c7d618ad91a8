/* SPDX-License-Identifier: MIT */
/* Requests and answers of the service as bytes; contract in serve.h. */
#include <errno.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/tree/rundir.h"
#include "writeback/json.h"
#include "writeback/reason.h"
#include "writeback/serve.h"
#include "writeback/verifydir.h"

static const struct serve_row rows[SERVE_OP_COUNT] = {
#define WEIR_X(id, name, command, who, needed, allowed, form, request, result, seconds) \
	[SERVE_OP_##id] = { name, command, who, needed, allowed, form, request, result, seconds },
	SERVE_OPS(WEIR_X)
#undef WEIR_X
};

static const struct serve_value members[SERVE_MEMBER_COUNT] = {
#define WEIR_X(id, name, class, max, option) [SERVE_M_##id] = { name, class, max, option },
	SERVE_MEMBERS(WEIR_X)
#undef WEIR_X
};

const struct serve_row *serve_op(enum serve_op op)
{
	return &rows[op];
}

const struct serve_value *serve_member(enum serve_member member)
{
	return &members[member];
}

enum serve_op serve_op_find(const char *name)
{
	unsigned int i = 0;

	while (i < SERVE_OP_COUNT && strcmp(rows[i].name, name) != 0)
		i++;
	return (enum serve_op)i;
}

enum serve_member serve_member_find(const char *name)
{
	unsigned int i = 0;

	while (i < SERVE_MEMBER_COUNT && strcmp(members[i].name, name) != 0)
		i++;
	return (enum serve_member)i;
}

void serve_request_done(struct serve_request *r)
{
	for (unsigned int i = 0; i < SERVE_MEMBER_COUNT; i++)
		free(r->values[i]);
	*r = (struct serve_request){ 0 };
}

static bool is_word(const char *text, size_t len)
{
	static const char set[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				  "._/~^@:+-";

	return len > 0 && text[0] != '-' && strspn(text, set) >= len;
}

static bool is_list(const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		if (!is_word(text, len) || text[len] != '\n')
			return false;
		text += len + 1;
	}
	return true;
}

static bool is_utf8(const char *text, size_t len, bool lines)
{
	for (size_t i = 0; i < len;) {
		size_t n = escape_utf8_len((const unsigned char *)text + i, len - i);
		unsigned char c = (unsigned char)text[i];

		if (n == 0 || c == 0x7f || (c < 0x20 && !(lines && (c == '\n' || c == '\t'))))
			return false;
		i += n;
	}
	return true;
}

bool serve_value_fits(enum serve_member member, const char *text)
{
	const struct serve_value *v = &members[member];
	size_t len = strnlen(text, v->max + 1);

	/* weir-gate verify takes directories as well; nobody else's eyes are lent for those */
	if (len > v->max || (member == SERVE_M_COMMIT && verifydir_is_path(text)))
		return false;
	switch (v->class) {
	case SERVE_HEX:
		return len == v->max && strspn(text, "0123456789abcdef") == len;
	case SERVE_RUN_ID:
		return rundir_id_is_valid(text);
	case SERVE_WORD:
		return is_word(text, len);
	case SERVE_LINE:
		return is_utf8(text, len, false);
	case SERVE_BOOL:
		return strcmp(text, "true") == 0;
	case SERVE_LIST:
		return is_list(text);
	case SERVE_LONG:
	case SERVE_FILE:
	default:
		return is_utf8(text, len, true);
	}
}

/* Returns: the value as a text for free(), NULL for one of another type or no memory. */
static char *value_text(const json_t *value, enum serve_class class)
{
	cleanup_buf struct buf lines = { 0 };

	if (class == SERVE_BOOL)
		return json_is_true(value) ? strdup("true") : NULL;
	if (class != SERVE_LIST)
		return json_is_string(value) ? strdup(json_string_value(value)) : NULL;
	if (!json_is_array(value))
		return NULL;
	for (size_t i = 0; i < json_array_size(value); i++) {
		const char *word = json_string_value(json_array_get(value, i));

		if (!word || !is_word(word, strlen(word)) || buf_addf(&lines, "%s\n", word) < 0)
			return NULL;
	}
	return strdup(buf_str(&lines));
}

static int take_member(const char *key, const json_t *value, struct serve_request *r,
		       struct weir_err *e)
{
	enum serve_member m = serve_member_find(key);
	const struct serve_row *row = &rows[r->op];
	char safe[64];

	if (m == SERVE_MEMBER_COUNT || !((row->needed | row->allowed) & (1u << m))) {
		escape_bytes(key, strnlen(key, 32), safe, sizeof(safe));
		return refuse(e, REASON_REQUEST, "%s has no member %s", row->name, safe);
	}
	r->values[m] = value_text(value, members[m].class);
	if (!r->values[m] || !serve_value_fits(m, r->values[m]))
		return refuse(e, REASON_REQUEST, "%s can't have this value, or not one so long",
			      members[m].name);
	return 0;
}

static int take_members(const json_t *root, struct serve_request *r, struct weir_err *e)
{
	const struct serve_row *row = &rows[r->op];
	json_t *object = (json_t *)(uintptr_t)root; /* its iterators ask for one; nothing changes */

	for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
		const char *key = json_object_iter_key(at);
		int err = strcmp(key, "schema") == 0 || strcmp(key, "op") == 0
				  ? 0
				  : take_member(key, json_object_iter_value(at), r, e);

		if (err < 0)
			return err;
	}
	for (unsigned int m = 0; m < SERVE_MEMBER_COUNT; m++)
		if ((row->needed & (1u << m)) && !r->values[m])
			return refuse(e, REASON_REQUEST, "%s needs a member %s", row->name,
				      members[m].name);
	return 0;
}

static json_t *read_object(const char *text, size_t len)
{
	json_t *root = json_loadb(text ? text : "", len, JSON_REJECT_DUPLICATES, NULL);

	if (json_is_object(root))
		return root;
	json_decref(root);
	return NULL;
}

int serve_request_parse(const char *text, size_t len, struct serve_request *ret_request,
			struct weir_err *e)
{
	cleanup_json json_t *root = read_object(text, len);
	const char *op = json_string_value(json_object_get(root, "op"));
	struct serve_request *r = ret_request;
	int err;

	*r = (struct serve_request){ 0 };
	if (!root || !json_text_is(root, "schema", SERVE_REQUEST) || !op)
		return refuse(e, REASON_REQUEST, "it is no JSON object of schema " SERVE_REQUEST);
	r->op = serve_op_find(op);
	if (r->op == SERVE_OP_COUNT)
		err = refuse(e, REASON_REQUEST, "there is no such operation");
	else if (len > rows[r->op].request_kib << 10)
		err = refuse(e, REASON_LIMIT, "%s takes %zu KiB at most", op,
			     rows[r->op].request_kib);
	else
		err = take_members(root, r, e);
	if (err < 0)
		serve_request_done(r);
	return err;
}

static json_t *value_json(enum serve_class class, const char *text)
{
	json_t *list;

	if (class == SERVE_BOOL)
		return json_true();
	if (class != SERVE_LIST)
		return json_string(text);
	list = json_array();
	while (list && *text) {
		size_t len = strcspn(text, "\n");

		if (json_array_append_new(list, json_stringn(text, len)) < 0) {
			json_decref(list);
			return NULL;
		}
		text += len + (text[len] == '\n');
	}
	return list;
}

int serve_request_format(const struct serve_request *r, struct buf *ret_text)
{
	cleanup_json json_t *root =
		json_pack("{s:s, s:s}", "schema", SERVE_REQUEST, "op", rows[r->op].name);

	for (unsigned int m = 0; root && m < SERVE_MEMBER_COUNT; m++)
		if (r->values[m] &&
		    json_object_set_new(root, members[m].name,
					value_json(members[m].class, r->values[m])) < 0)
			return -ENOMEM;
	return root ? json_canonical(root, ret_text) : -ENOMEM;
}

int serve_hello_parse(const char *text, size_t len, char **ret_principal, struct weir_err *e)
{
	cleanup_json json_t *root = read_object(text, len);
	const char *principal = json_string_value(json_object_get(root, "principal"));

	if (!root || !json_text_is(root, "schema", SERVE_HELLO))
		return 0;
	if (json_object_size(root) != 2 || !principal || strlen(principal) > 256 ||
	    !is_word(principal, strlen(principal)))
		return refuse(e, REASON_REQUEST, "a hello has a principal and nothing else");
	*ret_principal = strdup(principal);
	return *ret_principal ? 1 : -ENOMEM;
}

int serve_hello_format(const char *principal, struct buf *ret_text)
{
	cleanup_json json_t *root =
		json_pack("{s:s, s:s}", "schema", SERVE_HELLO, "principal", principal);

	return root ? json_canonical(root, ret_text) : -ENOMEM;
}
