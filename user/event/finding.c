/* SPDX-License-Identifier: MIT */
#include "user/event/finding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi/control.h"
#include "user/base/cleanup.h"
#include "user/base/escape.h"

#define BUCKETS 4096u

struct entry {
	struct finding finding;
	struct entry *next; /* in the bucket */
	char *path, *other, *text, *target;
};

struct findings {
	const struct mounts *mounts;
	struct lineage *lineage;
	struct entry **list;
	size_t count;
	size_t cap;
	size_t bytes; /* of texts */
	struct entry *buckets[BUCKETS];
	struct entry *overflow[WEIR_KIND_COUNT];
};

struct findings *findings_new(const struct mounts *mounts, struct lineage *lineage)
{
	struct findings *f = calloc(1, sizeof(*f));

	if (f) {
		f->mounts = mounts;
		f->lineage = lineage;
	}
	return f;
}

static void entry_free(struct entry *entry)
{
	free(entry->path);
	free(entry->other);
	free(entry->text);
	free(entry->target);
	free(entry);
}

void findings_free(struct findings *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->count; i++) {
		lineage_drop(f->lineage, f->list[i]->finding.actor);
		entry_free(f->list[i]);
	}
	free(f->list);
	free(f);
}

size_t findings_count(const struct findings *f)
{
	return f->count;
}

const struct finding *findings_at(const struct findings *f, size_t i)
{
	return &f->list[i]->finding;
}

/* What makes two findings the same; path is len bytes. */
struct key {
	unsigned int kind, op, outcome;
	const char *path;
	size_t len;
	const char *text;
	const char *target;
};

static unsigned int hash_key(const struct key *key)
{
	uint64_t hash = WEIR_FNV_BASIS ^ key->kind ^ key->op << 8 ^ key->outcome << 16;

	for (size_t i = 0; i < key->len; i++)
		hash = (hash ^ (unsigned char)key->path[i]) * WEIR_FNV_PRIME;
	for (const char *c = key->text; *c; c++)
		hash = (hash ^ (unsigned char)*c) * WEIR_FNV_PRIME;
	for (const char *c = key->target; *c; c++)
		hash = (hash ^ (unsigned char)*c) * WEIR_FNV_PRIME;
	return (unsigned int)(hash >> 32) % BUCKETS;
}

static struct entry *find(struct findings *f, const struct key *key, unsigned int bucket)
{
	struct entry *entry = f->buckets[bucket];

	for (; entry; entry = entry->next) {
		const struct finding *x = &entry->finding;

		if (x->kind == key->kind && x->op == key->op && x->outcome == key->outcome &&
		    x->path_len == key->len && memcmp(x->path, key->path, key->len) == 0 &&
		    strcmp(x->text, key->text) == 0 && strcmp(x->target, key->target) == 0)
			break;
	}
	return entry;
}

static char *copy_bytes(const char *bytes, size_t len)
{
	char *copy = malloc(len + 1);

	if (copy) {
		memcpy(copy, bytes, len);
		copy[len] = '\0';
	}
	return copy;
}

static int append(struct findings *f, struct entry *entry)
{
	if (f->count == f->cap) {
		size_t cap = f->cap ? 2 * f->cap : 64;
		struct entry **list = reallocarray(f->list, cap, sizeof(struct entry *));

		if (!list)
			return -ENOMEM;
		f->list = list;
		f->cap = cap;
	}
	f->list[f->count++] = entry;
	return 0;
}

/* Who got past the monitor's own defence may have blinded it. */
static enum severity severity_of(unsigned int kind, unsigned int outcome)
{
	if (kind == WEIR_KIND_TAMPER && outcome == WEIR_OUTCOME_PASSED)
		return SEVERITY_EMERGENCY;
	return names_kind_severity(kind);
}

/* Adds an empty finding. Returns: NULL when out of memory. */
static struct entry *add_entry(struct findings *f, const struct key *key, const char *other)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->path = copy_bytes(key->path, key->len);
	entry->other = strdup(other);
	entry->text = strdup(key->text);
	entry->target = strdup(key->target);
	if (!entry->path || !entry->other || !entry->text || !entry->target ||
	    append(f, entry) < 0) {
		entry_free(entry);
		return NULL;
	}
	f->bytes += key->len + strlen(other) + strlen(key->text) + strlen(key->target);
	entry->finding = (struct finding){
		.kind = key->kind,
		.op = key->op,
		.outcome = key->outcome,
		.severity = severity_of(key->kind, key->outcome),
		.family = "run",
		.path = entry->path,
		.path_len = key->len,
		.other = entry->other,
		.text = entry->text,
		.target = entry->target,
	};
	return entry;
}

static int count_overflow(struct findings *f, unsigned int kind, uint64_t count)
{
	const struct key key = {
		.kind = kind,
		.path = "",
		.target = "",
		.text = "further findings of this kind, counted but not listed one by one",
	};
	struct entry *entry = f->overflow[kind];
	int added = 0;

	if (!entry) {
		entry = add_entry(f, &key, "");
		if (!entry)
			return -ENOMEM;
		entry->finding.overflow = true;
		f->overflow[kind] = entry;
		added = 1;
	}
	entry->finding.count += count;
	return added;
}

/* Counts into an existing finding, or makes one: then *ret_new is it, to be filled in.
 * Returns: number of new findings, or -ENOMEM. */
static int count_key(struct findings *f, const struct key *key, const char *other, uint64_t count,
		     struct entry **ret_new)
{
	unsigned int bucket = hash_key(key);
	struct entry *entry = find(f, key, bucket);

	*ret_new = NULL;
	if (entry) {
		entry->finding.count += count;
		return 0;
	}
	if (f->count >= FINDINGS_MAX || f->bytes + key->len + strlen(other) > FINDINGS_BYTES)
		return count_overflow(f, key->kind, count);
	entry = add_entry(f, key, other);
	if (!entry)
		return -ENOMEM;
	entry->next = f->buckets[bucket];
	f->buckets[bucket] = entry;
	entry->finding.count = count;
	*ret_new = entry;
	return 1;
}

/* Host path of one of the two objects; "" when the record has no such object. */
static int host_path(const struct mounts *mounts, const struct event *e, bool second, char *out,
		     size_t size)
{
	const struct weir_object *object = second ? &e->op.second : &e->op.first;
	char path[EVENT_PATH_SIZE];
	int len = second ? event_path_second(e, path, sizeof(path))
			 : event_path_first(e, path, sizeof(path));

	if (len == 0 && !event_object_present(object))
		return second ? (out[0] = '\0') : event_place(e, out, size);
	return len < 0 ? len : mounts_resolve(mounts, object->dev, path, out, size);
}

int finding_of_event(const struct event *e, bool second, const struct mounts *mounts,
		     struct finding_texts *texts, struct finding *ret_finding)
{
	int len = host_path(mounts, e, second, texts->path, sizeof(texts->path));
	int other = host_path(mounts, e, !second, texts->other, sizeof(texts->other));

	if (len < 0 || other < 0)
		return len < 0 ? len : other;
	*ret_finding = (struct finding){
		.kind = e->op.kind,
		.op = e->op.op,
		.outcome = e->op.outcome,
		.severity = severity_of(e->op.kind, e->op.outcome),
		.family = names_hook_family(e->op.hook),
		.path = texts->path,
		.path_len = (size_t)len,
		.other = texts->other,
		.text = "",
		.target = event_target(e, texts->target),
		.count = 1,
		.first_seq = e->head.seq,
		.ts_ns = e->head.ts_ns,
		.flags = e->op.flags,
		.rule = e->op.rule,
		.want = e->op.want,
		.have = e->op.have,
		.aux = e->op.aux,
		.pid = e->head.tgid,
		.ns_pid = e->head.ns_tgid,
		.uid = e->head.uid,
		.error = e->op.error,
		.powers = e->op.powers,
		.object = second ? e->op.second : e->op.first,
		.peer = e->op.peer,
	};
	return 0;
}

static int add_object(struct findings *f, const struct event *e, struct lineage_proc *proc,
		      bool second)
{
	struct finding_texts texts;
	struct finding x;
	struct entry *entry;
	struct key key;
	int added;

	if (finding_of_event(e, second, f->mounts, &texts, &x) < 0)
		return -ENOMEM;
	key = (struct key){ x.kind, x.op, x.outcome, x.path, x.path_len, x.text, x.target };
	added = count_key(f, &key, x.other, 1, &entry);
	if (!entry)
		return added;
	/* from here on they are its own */
	x.path = entry->path;
	x.other = entry->other;
	x.text = entry->text;
	x.target = entry->target;
	entry->finding = x;
	if (proc) {
		entry->finding.actor = lineage_hold(f->lineage, proc);
		if (!entry->finding.actor)
			return -ENOMEM;
	}
	return added;
}

int findings_add_event(struct findings *f, const struct event *e, struct lineage_proc *proc)
{
	bool second, first;
	int ret = 0, err;

	if (!event_is_finding(e))
		return 0;
	second = e->op.flags & WEIR_EV_BAD_SECOND;
	first = !second || (e->op.flags & WEIR_EV_BAD_FIRST);
	if (first)
		ret = add_object(f, e, proc, false);
	if (ret < 0 || !second)
		return ret;
	err = add_object(f, e, proc, true);
	return err < 0 ? err : ret + err;
}

int findings_add_note(struct findings *f, const struct note *n)
{
	const char *raw = n->path ? n->path : "";
	cleanup_free char *path = strdup(raw);
	struct key key = { .kind = n->kind, .op = n->op, .outcome = n->outcome };
	struct entry *entry;
	long len;
	int ret;

	if (!path)
		return -ENOMEM;
	len = escape_undo(path);
	key.path = len < 0 ? raw : path;
	key.len = len < 0 ? strlen(raw) : (size_t)len;
	key.text = n->text ? n->text : "";
	key.target = "";
	ret = count_key(f, &key, "", n->count, &entry);
	if (!entry)
		return ret;
	entry->finding.note = true;
	entry->finding.severity = n->severity;
	entry->finding.object.dev = n->dev;
	entry->finding.object.ino = n->ino;
	return ret;
}
