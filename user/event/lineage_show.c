/* SPDX-License-Identifier: MIT */
/* Images, and what reports see of a chain of processes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/buf.h"
#include "user/base/cleanup.h"
#include "user/event/lineage.h"
#include "user/event/lineage_proc.h"

/* Of a long chain a report shows so many nearest and so many first processes. */
#define SHOW_NEAR 16u
#define SHOW_FIRST 8u
/* Arguments of an ancestor that a report shows. Units: bytes */
#define SHOW_ARGS 160u

struct lineage_image *lineage_image_new(const char *exe, size_t exe_len, const char *args,
					size_t args_len, uint32_t args_total)
{
	struct lineage_image *image = malloc(sizeof(*image) + exe_len + 1 + args_len);

	if (!image)
		return NULL;
	*image = (struct lineage_image){
		.refs = 1,
		.exe_len = (uint32_t)exe_len,
		.args_len = (uint32_t)args_len,
		.args_total = args_total,
	};
	memcpy(image->data, exe, exe_len);
	image->data[exe_len] = '\0';
	if (args_len > 0)
		memcpy(image->data + exe_len + 1, args, args_len);
	return image;
}

struct lineage_image *lineage_image_get(struct lineage_image *image)
{
	if (image)
		image->refs++;
	return image;
}

void lineage_image_put(struct lineage_image *image)
{
	if (image && --image->refs == 0)
		free(image);
}

static void fill_level(const struct lineage_proc *proc, const struct lineage_image *image,
		       uint32_t elided, struct lineage_level *level)
{
	*level = (struct lineage_level){
		.pid = proc->tgid,
		.ns_pid = proc->ns_pid,
		.uid = proc->uid,
		.elided = elided,
		.start_ns = proc->start_ns,
		.exe = image ? image->data : "",
		.args = image ? image->data + image->exe_len + 1 : "",
		.args_len = image ? image->args_len : 0,
		.args_total = image ? image->args_total : 0,
	};
}

int lineage_level(const struct lineage_actor *actor, unsigned int depth,
		  struct lineage_level *ret_level)
{
	const struct lineage_proc *proc = actor->proc;
	const struct lineage_image *image = actor->image;
	uint32_t elided = 0;

	for (; depth > 0 && proc; depth--) {
		elided = proc->elided;
		image = proc->birth;
		proc = proc->parent;
	}
	if (!proc)
		return -ENOENT;
	fill_level(proc, image, elided, ret_level);
	return 0;
}

static json_t *escaped(const char *text, size_t len)
{
	cleanup_buf struct buf b = { 0 };

	return buf_add_escaped(&b, text, len) < 0 ? NULL : json_string(buf_str(&b));
}

/* Sets "args", and "args_cut" when less is shown than there was. */
static int set_args(json_t *o, const struct lineage_level *level, uint32_t max)
{
	uint32_t len = level->args_len < max ? level->args_len : max;
	json_t *list = json_array();

	for (uint32_t at = 0; list && at < len;) {
		const char *end = memchr(level->args + at, '\0', len - at);
		uint32_t n = end ? (uint32_t)(end - level->args) - at : len - at;

		if (json_array_append_new(list, escaped(level->args + at, n)) < 0) {
			json_decref(list);
			return -ENOMEM;
		}
		at += n + 1;
	}
	if (json_object_set_new(o, "args", list) < 0)
		return -ENOMEM;
	if (len < level->args_total)
		return json_object_set_new(o, "args_cut", json_true());
	return 0;
}

static json_t *level_json(const struct lineage_level *level, uint32_t max_args)
{
	json_t *o = json_pack("{s:I, s:o}", "pid", (json_int_t)level->pid, "exe",
			      escaped(level->exe, strlen(level->exe)));

	if (o && set_args(o, level, max_args) == 0 &&
	    (level->elided == 0 ||
	     json_object_set_new(o, "elided", json_integer(level->elided)) == 0))
		return o;
	json_decref(o);
	return NULL;
}

static unsigned int chain_length(const struct lineage_actor *actor)
{
	unsigned int n = 0;

	for (const struct lineage_proc *p = actor->proc; p; p = p->parent)
		n++;
	return n;
}

static json_t *ancestors_json(const struct lineage_actor *actor)
{
	const struct lineage_proc *proc = actor->proc;
	unsigned int count = chain_length(actor) - 1;
	json_t *list = json_array();
	uint32_t skipped = 0;

	for (unsigned int i = 0; list && i < count; i++, proc = proc->parent) {
		struct lineage_level level;

		if (i >= SHOW_NEAR && i + SHOW_FIRST < count) {
			skipped += 1 + proc->elided;
			continue;
		}
		fill_level(proc->parent, proc->birth, skipped + proc->elided, &level);
		skipped = 0;
		if (json_array_append_new(list, level_json(&level, SHOW_ARGS)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

json_t *lineage_actor_json(const struct lineage_actor *actor)
{
	struct lineage_level level = { .exe = "", .args = "" };
	json_t *o;

	if (actor)
		fill_level(actor->proc, actor->image, 0, &level);
	o = level_json(&level, UINT32_MAX);
	if (o && json_object_set_new(o, "ns_pid", json_integer(level.ns_pid)) == 0 &&
	    json_object_set_new(o, "uid", json_integer(level.uid)) == 0 &&
	    json_object_set_new(o, "ancestors", actor ? ancestors_json(actor) : json_array()) == 0)
		return o;
	json_decref(o);
	return NULL;
}
