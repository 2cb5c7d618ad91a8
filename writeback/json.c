/* SPDX-License-Identifier: MIT */
#include "writeback/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/event/mounts.h"

json_t *json_read(const char *text, size_t len, const char *name, struct weir_err *e)
{
	json_error_t error;
	json_t *root = json_loadb(text ? text : "", len, JSON_REJECT_DUPLICATES, &error);

	if (json_is_object(root))
		return root;
	if (root)
		err_set(e, -EBADMSG, "%s: no JSON object", name);
	else
		err_set(e, -EBADMSG, "%s:%d:%d: %s", name, error.line, error.column, error.text);
	json_decref(root);
	return NULL;
}

int json_canonical(const json_t *json, struct buf *ret_text)
{
	char *text = json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT);
	int err = text ? buf_addf(ret_text, "%s\n", text) : -ENOMEM;

	free(text);
	return err;
}

json_t *json_escaped(const char *text)
{
	size_t len = strlen(text);
	cleanup_free char *out = malloc(4 * len + 1);

	if (!out)
		return NULL;
	escape_bytes(text, len, out, 4 * len + 1);
	return json_string(out);
}

json_t *json_dev(uint64_t dev)
{
	char text[MOUNTS_DEV_SIZE];

	snprintf(text, sizeof(text), "%u:%u", major(dev), minor(dev));
	return json_string(text);
}

char *json_take_escaped(const json_t *object, const char *name)
{
	const char *value = json_string_value(json_object_get(object, name));
	char *text = value ? strdup(value) : NULL;
	long len = text ? escape_undo(text) : -1;

	if (len < 0 || strlen(text) != (size_t)len) {
		free(text);
		return NULL;
	}
	return text;
}

int json_take_fixed(const json_t *object, const char *name, char *ret_text, size_t size)
{
	const char *value = json_string_value(json_object_get(object, name));

	if (!value || strlen(value) != size - 1 || strspn(value, "0123456789abcdef") != size - 1)
		return -EINVAL;
	memcpy(ret_text, value, size);
	return 0;
}

int json_take_dev(const json_t *object, const char *name, uint64_t *ret_dev)
{
	const char *value = json_string_value(json_object_get(object, name));
	uint32_t dev;

	if (!value || mounts_dev_parse(value, &dev) < 0)
		return -EINVAL;
	*ret_dev = makedev(dev >> 20, dev & 0xfffff);
	return 0;
}

bool json_text_is(const json_t *object, const char *name, const char *text)
{
	const char *value = json_string_value(json_object_get(object, name));

	return value && strcmp(value, text) == 0;
}
