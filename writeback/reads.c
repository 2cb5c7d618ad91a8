/* SPDX-License-Identifier: MIT */
#include "writeback/reads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bpf/abi/policy.h"
#include "user/base/cleanup.h"

struct read_item {
	char *path;
	uint64_t ino;
	uint32_t dev;
	bool exec;
};

static const char *const hows[] = {
#define WEIR_X(id, name) name,
	READS_HOWS(WEIR_X)
#undef WEIR_X
};

void reads_done(struct reads *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->items[i].path);
	free(r->items);
	free(r->root);
	*r = (struct reads){ 0 };
}

int reads_start(struct reads *r, uint32_t dev, const char *root)
{
	r->dev = dev;
	r->root = strdup(root);
	return r->root ? 0 : -ENOMEM;
}

static int compare(const void *pa, const void *pb)
{
	const struct read_item *a = pa, *b = pb;
	int order = strcmp(a->path, b->path);

	if (order == 0)
		order = (a->dev > b->dev) - (a->dev < b->dev);
	if (order == 0)
		order = (a->ino > b->ino) - (a->ino < b->ino);
	return order ? order : (int)a->exec - (int)b->exec;
}

/* Sorts and drops what is there twice. */
static void compact(struct reads *r)
{
	size_t kept = 0;

	if (r->count > 1)
		qsort(r->items, r->count, sizeof(*r->items), compare);
	for (size_t i = 0; i < r->count; i++) {
		if (kept > 0 && compare(&r->items[kept - 1], &r->items[i]) == 0)
			free(r->items[i].path);
		else
			r->items[kept++] = r->items[i];
	}
	r->count = kept;
}

static bool make_room(struct reads *r)
{
	struct read_item *items;
	size_t room = r->room ? 2 * r->room : 256;

	if (r->count < r->room)
		return true;
	compact(r);
	if (r->count < r->room / 2)
		return true;
	if (r->count >= READS_MAX)
		return false;
	items = reallocarray(r->items, room, sizeof(*items));
	if (!items)
		return false;
	r->items = items;
	r->room = room;
	return true;
}

/* The path inside the file system, or below the workspace if it lies there. */
static char *path_of(const struct reads *r, uint32_t dev, const char *path)
{
	size_t len = r->root ? strlen(r->root) : 0;

	if (len == 1)
		len = 0; /* the file system is the workspace */
	if (r->root && dev == r->dev && strncmp(path, r->root, len) == 0 && path[len] == '/' &&
	    path[len + 1])
		return strdup(path + len + 1);
	return strdup(path);
}

static bool is_read(const struct event *e)
{
	const struct weir_opev *op = &e->op;

	return e->head.type == WEIR_RECORD_OP && op->outcome == WEIR_OUTCOME_PASSED &&
	       !(op->flags & (WEIR_EV_CANARY | WEIR_EV_OUTSIDER)) && (op->want & WEIR_RIGHT_READ) &&
	       S_ISREG(op->first.mode);
}

void reads_add(struct reads *r, const struct event *e)
{
	const struct weir_object *object;
	char path[EVENT_PATH_SIZE];
	bool exec = e->head.type == WEIR_RECORD_EXEC;
	char *kept;

	if ((!exec && !is_read(e)) || r->overflow)
		return;
	object = exec ? &e->exec.exe : &e->op.first;
	if (event_path_first(e, path, sizeof(path)) < 0)
		return;
	kept = make_room(r) ? path_of(r, object->dev, path) : NULL;
	if (!kept) {
		r->overflow = true;
		return;
	}
	r->items[r->count++] = (struct read_item){ kept, object->ino, object->dev, exec };
}

bool reads_have(struct reads *r, const char *path)
{
	size_t low = 0, high;

	compact(r);
	high = r->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(r->items[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->count && strcmp(r->items[low].path, path) == 0;
}

/* The hash that holds for what was read, or NULL. */
static const unsigned char *hash_of(const struct reads *r, const struct read_item *item,
				    const struct manifest *before, const struct manifest *after,
				    const struct mutations *m)
{
	const struct manifest_row *old, *new;
	size_t len = strlen(item->path), a, b;

	if (!before || !after || item->dev != r->dev || item->path[0] == '/' ||
	    !manifest_find(before, item->path, len, &a) ||
	    !manifest_find(after, item->path, len, &b))
		return NULL;
	old = &before->rows[a];
	new = &after->rows[b];
	if (!S_ISREG(new->mode) || old->mode != new->mode || old->ino != new->ino ||
	    new->ino != item->ino || old->size != new->size || old->ctime_ns != new->ctime_ns ||
	    old->mtime_ns != new->mtime_ns || memcmp(old->sha256, new->sha256, DIGEST_SIZE) != 0 ||
	    !m || mutations_explain(m, item->path, item->ino, NULL))
		return NULL;
	return new->sha256;
}

static void add_line(struct buf *b, enum reads_how how, const unsigned char *sha256,
		     const struct read_item *item)
{
	char hex[DIGEST_HEX] = "-";

	if (sha256)
		digest_hex(sha256, DIGEST_SIZE, hex);
	buf_addf(b, "%s %s %s %u:%u %llu ", hows[how], hex, item->exec ? "exec" : "read",
		 item->dev >> 20, item->dev & ((1u << 20) - 1), (unsigned long long)item->ino);
	buf_add_escaped(b, item->path, strlen(item->path));
	buf_add(b, "\n", 1);
}

int reads_format(struct reads *r, const struct manifest *before, const struct manifest *after,
		 const struct mutations *m, struct buf *ret_text,
		 uint64_t ret_counts[READS_HOW_COUNT])
{
	memset(ret_counts, 0, READS_HOW_COUNT * sizeof(*ret_counts));
	compact(r);
	buf_addf(ret_text, "%s\n", READS_HEAD);
	for (enum reads_how how = READS_AT_OPEN; how < READS_HOW_COUNT; how++) {
		for (size_t i = 0; i < r->count; i++) {
			const unsigned char *sha256 = hash_of(r, &r->items[i], before, after, m);

			if (how != (sha256 ? READS_AFTER : READS_UNHASHED))
				continue;
			add_line(ret_text, how, sha256, &r->items[i]);
			ret_counts[how]++;
		}
	}
	if (r->overflow)
		buf_addf(ret_text, "truncated\n");
	return ret_text->failed ? -ENOMEM : 0;
}
