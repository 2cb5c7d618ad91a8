/* SPDX-License-Identifier: MIT */
#include "user/event/note.h"

#include <errno.h>

#include "user/event/mounts.h"

static const char *text_of(const json_t *json, const char *name)
{
	const json_t *value = json_object_get(json, name);

	return value ? json_string_value(value) : "";
}

/* More is no count of this world, and sums of many stay below 2^64. */
#define COUNT_MAX ((uint64_t)1 << 40)

/* A number that may be absent. Returns: false when it is something else. */
static bool read_number(const json_t *json, const char *name, uint64_t preset, uint64_t *ret_value)
{
	const json_t *value = json_object_get(json, name);

	*ret_value = preset;
	if (!value)
		return true;
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*ret_value = (uint64_t)json_integer_value(value);
	return true;
}

/* A name that may be absent. Returns: false when it is unknown. */
static bool read_name(const json_t *json, const char *name, int (*find)(const char *),
		      unsigned int *ret_id)
{
	const json_t *value = json_object_get(json, name);
	int id = 0;

	if (value)
		id = json_is_string(value) ? find(json_string_value(value)) : -ENOENT;
	*ret_id = id < 0 ? 0 : (unsigned int)id;
	return id >= 0;
}

int note_from_json(const json_t *json, struct note *ret_note, struct weir_err *e)
{
	struct note n = { .path = text_of(json, "path"), .text = text_of(json, "text") };
	const char *dev = text_of(json, "dev");
	unsigned int severity;

	if (!json_is_object(json))
		return err_set(e, -EINVAL, "note: not an object");
	if (!json_object_get(json, "kind") || !json_object_get(json, "severity"))
		return err_set(e, -EINVAL, "note: kind or severity is missing");
	if (!read_name(json, "kind", names_find_kind, &n.kind) ||
	    !read_name(json, "severity", names_find_severity, &severity) ||
	    !read_name(json, "op", names_find_op, &n.op) ||
	    !read_name(json, "outcome", names_find_outcome, &n.outcome))
		return err_set(e, -EINVAL, "note: kind, severity, op or outcome is unknown");
	if (!n.path || !n.text || !dev || (*dev && mounts_dev_parse(dev, &n.dev) < 0) ||
	    !read_number(json, "ino", 0, &n.ino) || !read_number(json, "count", 1, &n.count) ||
	    n.count > COUNT_MAX)
		return err_set(e, -EINVAL, "note: a member has the wrong type");
	n.severity = (enum severity)severity;
	*ret_note = n;
	return 0;
}

json_t *note_to_json(const struct note *n)
{
	char dev[MOUNTS_DEV_SIZE];

	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I}", "kind",
			 names_kind(n->kind), "severity", names_severity(n->severity), "op",
			 names_op(n->op), "outcome", names_outcome(n->outcome), "path",
			 n->path ? n->path : "", "text", n->text ? n->text : "", "dev",
			 mounts_dev_text(n->dev, dev), "ino", (json_int_t)n->ino, "count",
			 (json_int_t)n->count);
}
