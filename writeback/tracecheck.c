/* SPDX-License-Identifier: MIT */
#include "writeback/tracecheck.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/json.h"
#include "writeback/reader.h"
#include "writeback/reason.h"

#define COVERAGE_MAX ((size_t)4 << 20)

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342 /* "XFSB"; missing in older headers */
#endif

/* What must be watched, of the families of coverage.json (user/cli/coverage.h). */
static const char *const families[] = { "file", "name", "attr", "task" };

/* File systems of this kernel alone: ext2 to ext4 share a number. */
static const uint64_t local[] = { EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
				  F2FS_SUPER_MAGIC, TMPFS_MAGIC };

static int no(struct weir_err *e, const char *why)
{
	return refuse(e, REASON_CROSSCHECK, "%s", why);
}

static int check_coverage(const struct promotion *p, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	cleanup_json json_t *root = NULL;
	struct weir_err cause = { 0 };
	const json_t *list;

	if (lseek(p->files[RUN_COVERAGE], 0, SEEK_SET) < 0 ||
	    fsio_read_fd(p->files[RUN_COVERAGE], COVERAGE_MAX, &text) < 0)
		return no(e, "coverage.json can't be read again");
	root = json_read(text.data, text.len, "coverage.json", &cause);
	if (!root)
		return no(e, cause.text);
	list = json_object_get(root, "families");
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (!json_is_true(json_object_get(json_object_get(list, families[i]), "watched")))
			return refuse(e, REASON_CROSSCHECK,
				      "the collector did not watch the family %s", families[i]);
	return 0;
}

int tracecheck_allow(const struct promotion *p, struct weir_err *e)
{
	bool here = false;

	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		here = here || p->ws_type == local[i];
	if (!here)
		return no(e, "the workspace lies on a file system that others may change");
	if (!p->nonce.checkout[0])
		return no(e, "the workspace is no checkout that the gate made for this nonce");
	if (!p->pristine)
		return no(e, "the workspace changed between the gate's checkout and the run");
	for (unsigned int i = 0; i < VERDICT_REASON_COUNT; i++)
		if (p->verdict.reasons[i] > 0)
			return no(e, "the trace has gaps");
	if (mutations_unresolved(p->mutations) > 0)
		return no(e, "the trace has events without a whole path");
	return check_coverage(p, e);
}

/* Paths to look at. */
struct look {
	struct promotion *p;
	const struct tree_changes *changes;
	struct reader_path paths[READER_BATCH];
	const struct manifest_row *rows[READER_BATCH]; /* NULL: nothing should be there */
	char *names;				       /* of the paths; READER_PATH_MAX + 1 each */
	size_t count;
	size_t bytes;
	uint64_t looked;
	struct weir_err *e;
};

static bool is_same(const struct reader_stat *s, const struct manifest_row *row)
{
	bool sized = S_ISREG(row->mode) || S_ISLNK(row->mode);

	return s->mode == row->mode && s->ino == row->ino && s->ctime_ns == row->ctime_ns &&
	       s->mtime_ns == row->mtime_ns && (!sized || s->size == row->size);
}

static int judge(const struct look *l, size_t i, const struct reader_stat *s)
{
	const struct manifest_row *row = l->rows[i];
	const char *how = NULL;
	bool link = s->err == -ELOOP;

	if (s->err < 0 && s->err != -ENOENT && s->err != -ENOTDIR && !link)
		return err_errno(l->e, s->err, "looking at %s", l->paths[i].path);
	if (!row && (s->err == 0 || link))
		how = "appeared";
	else if (row && s->err < 0)
		how = "vanished";
	else if (row && !is_same(s, row))
		how = "was touched";
	return how ? refuse(l->e, REASON_CHANGED_AFTER, "%s %s after the run ended",
			    l->paths[i].path, how)
		   : 0;
}

static int look_now(struct look *l)
{
	struct reader_file files[READER_BATCH];
	int err = l->count > 0 ? reader_ask(l->p->reader, l->paths, l->count, l->e) : 0;

	if (err == 0 && l->count > 0)
		err = reader_fetch(l->p->reader, files, l->count, l->e);
	if (err < 0 || l->count == 0)
		return err;
	for (size_t i = 0; err == 0 && i < l->count; i++)
		err = judge(l, i, &files[i].stat);
	reader_files_done(files, l->count);
	l->count = 0;
	l->bytes = 0;
	return err;
}

/* The workspace's own row has an empty path, and is not asked for: what it holds is. */
static int add(struct look *l, const char *path)
{
	const struct manifest *after = l->p->after;
	size_t len = strlen(path), row;
	bool there = manifest_find(after, path, len, &row);
	char *name = l->names + l->count * (READER_PATH_MAX + 1);

	if (len == 0)
		return 0;
	if (len > READER_PATH_MAX)
		return refuse(l->e, REASON_LIMIT, "a changed path of %zu bytes can't be opened",
			      len);
	memcpy(name, path, len + 1);
	l->rows[l->count] = there ? &after->rows[row] : NULL;
	/* the reader hands out regular files only as such, so that is what is asked for */
	l->paths[l->count++] =
		(struct reader_path){ name, there ? after->rows[row].mode : S_IFREG };
	l->bytes += len + 2 * sizeof(uint32_t);
	l->looked += there;
	return l->count == READER_BATCH || l->bytes > PROTO_MAX / 2 ? look_now(l) : 0;
}

static int by_path(const void *a, const void *b)
{
	const char *path = a;
	const struct tree_change *c = b;

	return tree_path_compare(path, strlen(path), c->path, c->path_len);
}

static int add_mutation(const char *path, const struct mutation *m, void *arg)
{
	struct look *l = arg;
	const struct tree_changes *list = l->changes;

	(void)m;
	/* no manifest has .git */
	if (strncmp(path, ".git", 4) == 0 && (path[4] == '\0' || path[4] == '/'))
		return 0;
	if (list->count > 0 &&
	    bsearch(path, list->items, list->count, sizeof(*list->items), by_path))
		return 0;
	return add(l, path);
}

int tracecheck_workspace(struct promotion *p, const struct tree_changes *changes,
			 struct weir_err *e)
{
	cleanup_free char *names = malloc((size_t)READER_BATCH * (READER_PATH_MAX + 1));
	cleanup_free struct look *l = calloc(1, sizeof(*l));
	int err = 0;

	if (!names || !l)
		return err_errno(e, -ENOMEM, "looking at the workspace");
	l->p = p;
	l->changes = changes;
	l->names = names;
	l->e = e;
	for (size_t i = 0; err == 0 && i < changes->count; i++)
		err = add(l, changes->items[i].path);
	if (err == 0)
		err = mutations_each(p->mutations, add_mutation, l);
	if (err == 0)
		err = look_now(l);
	if (err == 0)
		p->skipped = l->looked < p->after->count ? p->after->count - l->looked : 0;
	return err;
}
