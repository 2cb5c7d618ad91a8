/* SPDX-License-Identifier: MIT */
#include "writeback/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/attest.h"
#include "writeback/keyhist.h"
#include "writeback/pack.h"

#define FILE_MAX ((size_t)1 << 30)
#define TREE_MAX ((size_t)64 << 20)
#define LEVEL 1			      /* zlib */
#define STORED_FROM ((size_t)1 << 20) /* of a large record mostly hashes, which don't shrink */
#define PACK_FILE "weir/record.pack"
#define INDEX_FILE "weir/record.idx"

static const struct {
	const char *name;
	size_t offset; /* in struct record */
	bool needed;
} files[] = {
	{ "changes", offsetof(struct record, changes), true },
	{ "promotion", offsetof(struct record, promotion), true },
	{ "statement.json", offsetof(struct record, statement), true },
	{ "statement.sig", offsetof(struct record, signature), false },
	{ "done", offsetof(struct record, done), false },
	{ "done.tlog-proof", offsetof(struct record, proof), false },
	{ "done.consistency", offsetof(struct record, consistency), false },
	{ "intent", offsetof(struct record, intent), false },
	{ "intent.tlog-proof", offsetof(struct record, intent_proof), false },
	{ "intent.consistency", offsetof(struct record, intent_consistency), false },
};

static struct buf *buf_at(struct record *r, size_t file)
{
	return (struct buf *)((char *)r + files[file].offset);
}

void record_done(struct record *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		buf_done(buf_at(r, i));
}

void record_add(struct record_write *w, const char *name, const struct buf *data)
{
	if (w->count < RECORD_FILES_MAX)
		w->files[w->count] = (struct record_file){ name, data };
	w->count++;
}

static int add_object(struct pack *pack, enum pack_type type, git_object_t git_type,
		      const struct buf *data, git_oid *ret_oid)
{
	static const unsigned char none[DIGEST_SIZE];
	int err = repo_hash(git_type, buf_str(data), data->len, ret_oid);

	return err < 0 ? err : pack_add(pack, type, buf_str(data), data->len, ret_oid->id, none);
}

struct entry {
	const char *name;
	size_t len; /* of the whole entry: mode, name, NUL and id */
};

/* The entry at the front of a part of a tree. Returns: 0 or -EBADMSG. */
static int read_entry(const char *at, size_t len, struct entry *ret_entry)
{
	const char *name = memchr(at, ' ', len);
	const char *stop = name ? memchr(name, '\0', len - (size_t)(name - at)) : NULL;

	if (!stop || len - (size_t)(stop - at) < 1 + PACK_ID)
		return -EBADMSG;
	ret_entry->name = name + 1;
	ret_entry->len = (size_t)(stop - at) + 1 + PACK_ID;
	return 0;
}

static void add_entry(struct buf *tree, const char *name, const char *mode, const git_oid *id)
{
	buf_addf(tree, "%s %s", mode, name);
	buf_add(tree, "\0", 1);
	buf_add(tree, id->id, PACK_ID);
}

/* Entries of one tree are all files or all directories here, so bytes decide their order. */
static int set_entry(const struct buf *old, const char *name, const char *mode, const git_oid *id,
		     struct buf *ret_tree)
{
	bool put = false;
	struct entry entry;

	for (size_t at = 0; at < old->len; at += entry.len) {
		int err = read_entry(buf_str(old) + at, old->len - at, &entry), order;

		if (err < 0)
			return err;
		order = strcmp(entry.name, name);
		if (order >= 0 && !put) {
			add_entry(ret_tree, name, mode, id);
			put = true;
		}
		if (order != 0)
			buf_add(ret_tree, buf_str(old) + at, entry.len);
	}
	if (!put)
		add_entry(ret_tree, name, mode, id);
	return ret_tree->failed ? -ENOMEM : 0;
}

/* The tree object at a path below a root; empty when there is none. */
static int read_tree(const struct repo *r, const git_oid *root, const char *path,
		     struct buf *ret_tree, struct weir_err *e)
{
	struct weir_err cause = { 0 };
	git_oid id = *root;
	uint32_t mode;
	int err = 0;

	if (git_oid_is_zero(root))
		return 0;
	if (path)
		err = repo_find(r, root, path, &id, &mode, &cause);
	if (err == -ENOENT)
		return 0;
	if (err < 0) {
		*e = cause;
		return err;
	}
	return repo_read_object(r, &id, GIT_OBJECT_TREE, TREE_MAX, ret_tree, e);
}

/* Where a record goes: the tree of the old tip, and the pack that gets what is new. */
struct place {
	const struct repo *repo;
	git_oid root; /* zero: there is none */
	struct pack *pack;
};

static int write_leaf(const struct place *p, const struct record_write *w, const char *hex,
		      git_oid *ret_oid, struct weir_err *e)
{
	cleanup_buf struct buf tree = { 0 };
	char path[64];
	int err;

	snprintf(path, sizeof(path), "%.2s/%s", hex, hex);
	err = read_tree(p->repo, &p->root, path, &tree, e);
	for (unsigned int i = 0; err == 0 && i < w->count; i++) {
		cleanup_buf struct buf next = { 0 };
		git_oid blob;

		err = add_object(p->pack, PACK_BLOB, GIT_OBJECT_BLOB, w->files[i].data, &blob);
		if (err == 0)
			err = set_entry(&tree, w->files[i].name, "100644", &blob, &next);
		if (err < 0)
			return err_errno(e, err, "writing the record");
		buf_done(&tree);
		tree = next;
		next = (struct buf){ 0 };
	}
	if (err == 0 && add_object(p->pack, PACK_TREE, GIT_OBJECT_TREE, &tree, ret_oid) < 0)
		err = err_errno(e, -EIO, "writing the record");
	return err;
}

/* Puts a tree into the tree at `path` of the old root (NULL: the root itself). */
static int write_above(const struct place *p, const char *path, const char *name,
		       const git_oid *child, git_oid *ret_oid, struct weir_err *e)
{
	cleanup_buf struct buf old = { 0 };
	cleanup_buf struct buf tree = { 0 };
	int err = read_tree(p->repo, &p->root, path, &old, e);

	if (err < 0)
		return err;
	err = set_entry(&old, name, "40000", child, &tree);
	if (err == 0)
		err = add_object(p->pack, PACK_TREE, GIT_OBJECT_TREE, &tree, ret_oid);
	return err < 0 ? err_errno(e, err, "writing the record") : 0;
}

static int write_commit(const struct record_write *w, const git_oid *root, struct pack *pack,
			git_oid *ret_oid)
{
	cleanup_buf struct buf text = { 0 };
	char root_hex[OID_HEX], commit_hex[OID_HEX], tip_hex[OID_HEX];
	long long now = time(NULL);

	git_oid_tostr(root_hex, sizeof(root_hex), root);
	git_oid_tostr(commit_hex, sizeof(commit_hex), &w->commit);
	git_oid_tostr(tip_hex, sizeof(tip_hex), &w->tip);
	buf_addf(&text, "tree %s\n", root_hex);
	if (!git_oid_is_zero(&w->tip))
		buf_addf(&text, "parent %s\n", tip_hex);
	buf_addf(&text, "author %s <%s> %lld +0000\ncommitter %s <%s> %lld +0000\n\n%s %s\n",
		 w->name, w->email, now, w->name, w->email, now, w->subject, commit_hex);
	return text.failed ? -ENOMEM
			   : add_object(pack, PACK_COMMIT, GIT_OBJECT_COMMIT, &text, ret_oid);
}

static int fill(const struct repo *r, const struct record_write *w, struct pack *pack,
		git_oid *ret_tip, struct weir_err *e)
{
	struct place place = { .repo = r, .pack = pack };
	char hex[OID_HEX], first[3];
	struct repo_commit head;
	git_oid leaf, mid, root, again;
	int err = 0;

	git_oid_tostr(hex, sizeof(hex), &w->commit);
	snprintf(first, sizeof(first), "%.2s", hex);
	if (!git_oid_is_zero(&w->tip)) {
		err = repo_read_commit(r, &w->tip, &head, e);
		if (err < 0)
			return err;
		place.root = head.tree;
	}
	if (w->object &&
	    (add_object(pack, w->is_tag ? PACK_TAG : PACK_COMMIT,
			w->is_tag ? GIT_OBJECT_TAG : GIT_OBJECT_COMMIT, w->object, &again) < 0 ||
	     !git_oid_equal(&again, &w->commit)))
		return err_set(e, -EIO, "the object got another id");
	err = write_leaf(&place, w, hex, &leaf, e);
	if (err == 0)
		err = write_above(&place, first, hex, &leaf, &mid, e);
	if (err == 0)
		err = write_above(&place, NULL, first, &mid, &root, e);
	if (err == 0 && write_commit(w, &root, pack, ret_tip) < 0)
		err = err_errno(e, -EIO, "writing the record");
	return err;
}

static int rename_to(const struct repo *r, const char *from, const unsigned char *id,
		     const char *suffix)
{
	char name[2 * PACK_ID + 1], path[128];

	digest_hex(id, PACK_ID, name);
	snprintf(path, sizeof(path), "objects/pack/pack-%s.%s", name, suffix);
	return renameat(r->fd, from, r->fd, path) < 0 ? -errno : 0;
}

static int publish_pack(const struct repo *r, struct pack *pack)
{
	cleanup_close int fd = openat(r->fd, INDEX_FILE,
				      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0444);
	cleanup_close int dir = openat(r->fd, "objects/pack", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_buf struct buf index = { 0 };
	struct pack_result result;
	int err = fd < 0 || dir < 0 ? -errno : pack_finish(pack, &result, &index);

	if (err == 0)
		err = fsio_write_all(fd, index.data, index.len);
	if (err == 0 && fsync(fd) < 0)
		err = -errno;
	if (err == 0)
		err = rename_to(r, PACK_FILE, result.name, "pack");
	if (err == 0)
		err = rename_to(r, INDEX_FILE, result.name, "idx");
	if (err == 0 && fsync(dir) < 0)
		err = -errno;
	return err;
}

void record_clean(const struct repo *r)
{
	unlinkat(r->fd, PACK_FILE, 0);
	unlinkat(r->fd, INDEX_FILE, 0);
}

static int level_of(const struct record_write *w)
{
	size_t bytes = 0;

	for (unsigned int i = 0; i < w->count; i++)
		bytes += w->files[i].data->len;
	return bytes < STORED_FROM ? LEVEL : 0;
}

int record_write(const struct repo *r, const struct record_write *w, git_oid *ret_tip,
		 struct weir_err *e)
{
	cleanup_pack struct pack *pack = NULL;
	cleanup_close int fd = -1;
	int err;

	if (w->count > RECORD_FILES_MAX)
		return err_errno(e, -E2BIG, "the record of a promotion");
	record_clean(r);
	fd = openat(r->fd, PACK_FILE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444);
	err = fd < 0 ? -errno : pack_new(fd, level_of(w), &pack);
	if (err < 0)
		return err_errno(e, err, "%s/%s", r->path, PACK_FILE);
	err = fill(r, w, pack, ret_tip, e);
	if (err == 0) {
		err = publish_pack(r, pack);
		if (err < 0)
			err_errno(e, err, "%s/%s", r->path, PACK_FILE);
	}
	if (err < 0)
		record_clean(r);
	else if (git_odb_refresh(r->odb) < 0)
		err = repo_error(e, "reading the new pack");
	return err;
}

bool record_knows(const char *name)
{
	static const char *const others[] = { "approvals", "exceptions", ATTEST_READS, ATTEST_LINK,
					      KEYHIST_FILE };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (strcmp(files[i].name, name) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(others[i], name) == 0)
			return true;
	for (enum attest_kind kind = 0; kind < ATTEST_KIND_COUNT; kind++)
		if (strcmp(attest_file(kind), name) == 0)
			return true;
	return false;
}

int record_read_file(const struct repo *r, const git_oid *commit, const char *name,
		     struct buf *ret_data, struct weir_err *e)
{
	char hex[OID_HEX], path[128];
	struct repo_commit head;
	git_oid tip = r->records, blob;
	uint32_t mode;
	int err = git_oid_is_zero(&tip) ? repo_read_ref(r, RECORD_REF, &tip, e) : 0;

	if (err == 0)
		err = repo_read_commit(r, &tip, &head, e);
	git_oid_tostr(hex, sizeof(hex), commit);
	snprintf(path, sizeof(path), "%.2s/%s/%s", hex, hex, name);
	if (err == 0)
		err = repo_find(r, &head.tree, path, &blob, &mode, e);
	return err < 0 ? err : repo_read_object(r, &blob, GIT_OBJECT_BLOB, FILE_MAX, ret_data, e);
}

int record_read(const struct repo *r, const git_oid *commit, struct record *ret_record,
		struct weir_err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct weir_err cause = { 0 };
		int err = record_read_file(r, commit, files[i].name, buf_at(ret_record, i), &cause);

		if (err == -ENOENT && !files[i].needed)
			continue;
		if (err < 0) {
			*e = cause;
			return err;
		}
	}
	return 0;
}
