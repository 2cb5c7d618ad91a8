/* SPDX-License-Identifier: MIT */
#include "user/event/mutation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bpf/abi/control.h"
#include "bpf/abi/policy.h"
#include "user/base/cleanup.h"

#define FIRST_BUCKETS 1024u
_Static_assert(WEIR_OP_EXEC <= 64, "mutation.ops holds a bit for each operation on files");

struct entry {
	struct mutation mutation;
	struct entry *next;
	uint64_t hash;
	uint64_t ino; /* of an entry by inode; then len is 0 */
	uint32_t len;
	char path[]; /* and a NUL */
};

struct index {
	struct entry **buckets;
	size_t size; /* a power of two */
	size_t count;
};

struct mutations {
	struct index paths;
	struct index inodes;
	size_t bytes;
	uint64_t unresolved;
	bool overflowed;
	uint32_t dev;
	size_t root_len;
	char root[]; /* "" for "/" */
};

enum changes {
	CHANGES_NONE,
	CHANGES_FIRST,
	CHANGES_SECOND,
	CHANGES_BOTH,
	CHANGES_ASKED, /* the first object, if a right to change was asked for */
};

/* An unnamed temporary file (tmpfile) shows when it gets a name, by link. */
static const enum changes changes[WEIR_OP_COUNT] = {
	[WEIR_OP_READ] = CHANGES_ASKED,	       [WEIR_OP_WRITE] = CHANGES_FIRST,
	[WEIR_OP_CREATE] = CHANGES_FIRST,      [WEIR_OP_MKDIR] = CHANGES_FIRST,
	[WEIR_OP_MKNOD] = CHANGES_FIRST,       [WEIR_OP_SYMLINK] = CHANGES_FIRST,
	[WEIR_OP_LINK] = CHANGES_SECOND,       [WEIR_OP_RENAME] = CHANGES_BOTH,
	[WEIR_OP_EXCHANGE] = CHANGES_BOTH,     [WEIR_OP_UNLINK] = CHANGES_FIRST,
	[WEIR_OP_RMDIR] = CHANGES_FIRST,       [WEIR_OP_TRUNCATE] = CHANGES_FIRST,
	[WEIR_OP_CHMOD] = CHANGES_FIRST,       [WEIR_OP_CHOWN] = CHANGES_FIRST,
	[WEIR_OP_UTIMES] = CHANGES_FIRST,      [WEIR_OP_SETXATTR] = CHANGES_FIRST,
	[WEIR_OP_REMOVEXATTR] = CHANGES_FIRST, [WEIR_OP_SETACL] = CHANGES_FIRST,
	[WEIR_OP_IOCTL] = CHANGES_ASKED,       [WEIR_OP_MMAP] = CHANGES_ASKED,
	[WEIR_OP_RECEIVE] = CHANGES_ASKED,
};

static enum changes changes_of(unsigned int op, uint32_t want)
{
	enum changes what = op < WEIR_OP_COUNT ? changes[op] : CHANGES_NONE;

	if (what == CHANGES_ASKED)
		what = want & WEIR_RIGHTS_MUTATE ? CHANGES_FIRST : CHANGES_NONE;
	return what;
}

bool mutation_op_changes(unsigned int op, uint32_t want)
{
	return changes_of(op, want) != CHANGES_NONE;
}

struct mutations *mutations_new(uint32_t dev, const char *root)
{
	size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
	struct mutations *m = calloc(1, sizeof(*m) + len + 1);

	if (!m)
		return NULL;
	m->dev = dev;
	m->root_len = len;
	memcpy(m->root, root, len);
	return m;
}

static void index_done(struct index *index)
{
	for (size_t i = 0; i < index->size; i++) {
		while (index->buckets[i]) {
			struct entry *entry = index->buckets[i];

			index->buckets[i] = entry->next;
			free(entry);
		}
	}
	free(index->buckets);
}

void mutations_free(struct mutations *m)
{
	if (!m)
		return;
	index_done(&m->paths);
	index_done(&m->inodes);
	free(m);
}

/* What is looked up: a path, or an inode (then len is 0). */
struct key {
	uint64_t hash;
	uint64_t ino;
	const char *path;
	size_t len;
};

static uint64_t hash_path(const char *path, size_t len)
{
	uint64_t hash = WEIR_FNV_BASIS;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)path[i]) * WEIR_FNV_PRIME;
	return hash ^ hash >> 29;
}

static struct key key_of_path(const char *path, size_t len)
{
	return (struct key){ .hash = hash_path(path, len), .path = path, .len = len };
}

static struct key key_of_ino(uint64_t ino)
{
	uint64_t hash = ino * 0x9e3779b97f4a7c15ull;

	return (struct key){ .hash = hash ^ hash >> 32, .ino = ino, .path = "" };
}

static struct entry *find(const struct index *index, const struct key *key)
{
	struct entry *entry = index->size ? index->buckets[key->hash & (index->size - 1)] : NULL;

	while (entry && (entry->hash != key->hash || entry->ino != key->ino ||
			 entry->len != key->len || memcmp(entry->path, key->path, key->len) != 0))
		entry = entry->next;
	return entry;
}

static int grow(struct index *index)
{
	size_t size = index->size ? 2 * index->size : FIRST_BUCKETS;
	struct entry **buckets;

	if (index->count < index->size)
		return 0;
	buckets = calloc(size, sizeof(struct entry *));
	if (!buckets)
		return -ENOMEM;
	for (size_t i = 0; i < index->size; i++) {
		while (index->buckets[i]) {
			struct entry *entry = index->buckets[i];

			index->buckets[i] = entry->next;
			entry->next = buckets[entry->hash & (size - 1)];
			buckets[entry->hash & (size - 1)] = entry;
		}
	}
	free(index->buckets);
	index->buckets = buckets;
	index->size = size;
	return 0;
}

static int insert(struct mutations *m, struct index *index, const struct key *key,
		  struct entry **ret_entry)
{
	struct entry *entry;
	int err;

	if (m->paths.count + m->inodes.count >= MUTATION_PATHS ||
	    m->bytes + key->len > MUTATION_BYTES) {
		m->overflowed = true;
		return -E2BIG;
	}
	err = grow(index);
	entry = err < 0 ? NULL : malloc(sizeof(*entry) + key->len + 1);
	if (!entry) {
		m->overflowed = true;
		return -ENOMEM;
	}
	*entry = (struct entry){
		.next = index->buckets[key->hash & (index->size - 1)],
		.hash = key->hash,
		.ino = key->ino,
		.len = (uint32_t)key->len,
	};
	memcpy(entry->path, key->path, key->len);
	entry->path[key->len] = '\0';
	index->buckets[key->hash & (index->size - 1)] = entry;
	index->count++;
	m->bytes += key->len;
	*ret_entry = entry;
	return 0;
}

static void count(struct mutation *x, const struct event *e, bool subtree)
{
	if (x->count == 0) {
		x->first_tgid = e->head.tgid;
		x->first_start_ns = e->head.start_ns;
		x->first_seq = e->head.seq;
	}
	if (x->count < UINT32_MAX)
		x->count++;
	x->ops |= 1ull << e->op.op;
	x->subtree |= subtree;
	x->last_tgid = e->head.tgid;
	x->last_start_ns = e->head.start_ns;
	x->last_seq = e->head.seq;
}

static int mark(struct mutations *m, const struct event *e, const struct key *key, bool subtree)
{
	struct index *index = key->ino ? &m->inodes : &m->paths;
	struct entry *entry = find(index, key);
	int err;

	if (!entry) {
		err = insert(m, index, key, &entry);
		if (err < 0)
			return err == -E2BIG ? 0 : err;
	}
	count(&entry->mutation, e, subtree);
	return 0;
}

/* The part of a path below the workspace, NULL when it lies elsewhere. */
static const char *relative(const struct mutations *m, const char *path)
{
	if (strncmp(path, m->root, m->root_len) != 0)
		return NULL;
	path += m->root_len;
	if (*path == '\0')
		return path;
	return *path == '/' ? path + 1 : NULL;
}

static int add_object(struct mutations *m, const struct event *e, bool second, bool subtree)
{
	const struct weir_object *object = second ? &e->op.second : &e->op.first;
	char path[EVENT_PATH_SIZE];
	const char *below;
	struct key key;
	int len;

	if (object->dev != m->dev)
		return 0;
	len = second ? event_path_second(e, path, sizeof(path))
		     : event_path_first(e, path, sizeof(path));
	if (len < 0)
		return len;
	/* also by a name outside of the workspace, or none */
	if (object->nlink > 1 && object->ino && !S_ISDIR(object->mode)) {
		key = key_of_ino(object->ino);
		len = mark(m, e, &key, false);
		if (len < 0)
			return len;
	}
	if (path[0] != '/') {
		m->unresolved++;
		return 0;
	}
	below = relative(m, path);
	if (!below)
		return 0;
	key = key_of_path(below, strlen(below));
	return mark(m, e, &key, subtree);
}

int mutations_add(struct mutations *m, const struct event *e)
{
	bool first_tree = false, second_tree = false;
	enum changes what;
	int err = 0;

	if (m->overflowed || e->head.type != WEIR_RECORD_OP ||
	    e->op.outcome != WEIR_OUTCOME_PASSED ||
	    (e->op.flags & (WEIR_EV_OUTSIDER | WEIR_EV_CANARY)))
		return 0;
	what = changes_of(e->op.op, e->op.want);
	if (e->op.op == WEIR_OP_RENAME || e->op.op == WEIR_OP_EXCHANGE) {
		first_tree = second_tree = S_ISDIR(e->op.first.mode);
		if (e->op.op == WEIR_OP_EXCHANGE && S_ISDIR(e->op.second.mode))
			first_tree = second_tree = true;
	}
	if (what == CHANGES_FIRST || what == CHANGES_BOTH)
		err = add_object(m, e, false, first_tree);
	if (err == 0 && (what == CHANGES_SECOND || what == CHANGES_BOTH))
		err = add_object(m, e, true, second_tree);
	return err;
}

static const struct entry *find_path(const struct mutations *m, const char *path, size_t len)
{
	const struct key key = key_of_path(path, len);

	return find(&m->paths, &key);
}

/* The nearest directory above path that stands for its whole subtree. */
static const struct entry *find_tree(const struct mutations *m, const char *path)
{
	size_t len = strlen(path);

	while (len > 0) {
		const struct entry *entry;

		do
			len--;
		while (len > 0 && path[len] != '/');
		entry = find_path(m, path, len);
		if (entry && entry->mutation.subtree)
			return entry;
	}
	return NULL;
}

bool mutations_explain(const struct mutations *m, const char *path, uint64_t ino,
		       struct mutation *ret_mutation)
{
	const struct key inode = key_of_ino(ino);
	const struct entry *entry;

	if (m->overflowed)
		return false;
	entry = find_path(m, path, strlen(path));
	if (!entry && ino)
		entry = find(&m->inodes, &inode);
	if (!entry)
		entry = find_tree(m, path);
	if (entry && ret_mutation)
		*ret_mutation = entry->mutation;
	return entry != NULL;
}

int mutations_each(const struct mutations *m, mutations_each_fn *fn, void *arg)
{
	int ret = 0;

	for (size_t i = 0; i < m->paths.size && ret == 0; i++)
		for (const struct entry *x = m->paths.buckets[i]; x && ret == 0; x = x->next)
			ret = fn(x->path, &x->mutation, arg);
	return ret;
}

size_t mutations_count(const struct mutations *m)
{
	return m->paths.count;
}

uint64_t mutations_unresolved(const struct mutations *m)
{
	return m->unresolved;
}

bool mutations_overflowed(const struct mutations *m)
{
	return m->overflowed;
}
