/* SPDX-License-Identifier: MIT */
/* A directory of artefacts against what it should hold; contract in dirsdisk.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/base/fsio.h"
#include "user/tree/walk.h"
#include "writeback/changestext.h"
#include "writeback/digest.h"
#include "writeback/dirsdisk.h"
#include "writeback/kind.h"
#include "writeback/reason.h"
#include "writeback/record.h"

#define OWN_MAX ((size_t)256 << 20)

struct check {
	const struct dirs_want *want;
	struct tree_walk *walk;
	struct tree_entry entry;
	bool have; /* entry is not used up */
};

static int differs(struct weir_err *e, const char *path, const char *how)
{
	cleanup_buf struct buf name = { 0 };

	buf_add_escaped(&name, path, strlen(path));
	return err_set(e, -EBADMSG, "%s %s", buf_str(&name), how);
}

/* The gate's own two, at the top: they are compared by themselves. */
static bool is_own(const struct check *c)
{
	const char *path = c->entry.path;

	return S_ISREG(c->entry.mode) &&
	       (strcmp(path, DIRS_SUMS) == 0 || strcmp(path, c->want->bundle) == 0);
}

/* The next file or link; a directory must lead to one of the wanted files, which `next` is the
 * first of. Returns: 1, 0 at the end, or a negative errno with e. */
static int advance(struct check *c, const char *next, struct weir_err *e)
{
	while (!c->have) {
		struct tree_entry *entry = &c->entry;
		int err = tree_walk_next(c->walk, entry, e);

		if (err <= 0)
			return err;
		if (is_own(c))
			continue;
		c->have = !S_ISDIR(entry->mode);
		if (!c->have && entry->path_len > 0 &&
		    (!next || strncmp(next, entry->path, entry->path_len) != 0 ||
		     next[entry->path_len] != '/'))
			return differs(e, entry->path, "is a directory that does not belong there");
	}
	return 1;
}

static int check_entry(const struct changes_line *l, void *arg, struct weir_err *e)
{
	struct check *c = arg;
	const char *name = dirs_inside(c->want->from, l->path);
	uint32_t mode = (uint32_t)strtoul(l->new_mode, NULL, 8);
	struct tree_entry *entry = &c->entry;
	char hex[DIGEST_HEX];
	int order, err = name ? advance(c, name, e) : err_set(e, -EBADMSG, "%s", l->path);

	if (err < 0)
		return err;
	order = err == 0 ? -1 : tree_path_compare(name, strlen(name), entry->path, entry->path_len);
	if (order < 0)
		return differs(e, name, "is missing");
	if (order > 0)
		return differs(e, entry->path, "does not belong there");
	c->have = false;
	if (mode == GIT_MODE_LINK ? !S_ISLNK(entry->mode) : !S_ISREG(entry->mode))
		return differs(e, name, "has another type");
	if (S_ISREG(entry->mode) &&
	    ((entry->mode & 07000) || !(entry->mode & 0100) != (mode == GIT_MODE_FILE)))
		return differs(e, name, "has another mode");
	err = tree_walk_hash(c->walk, entry, e);
	if (err < 0)
		return err;
	digest_hex(entry->sha256, DIGEST_SIZE, hex);
	return strcmp(hex, l->sha256) == 0 ? 0 : differs(e, name, "has another content");
}

static int check_own(int dir, const char *name, const struct buf *want, struct weir_err *e)
{
	cleanup_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	cleanup_buf struct buf text = { 0 };
	struct stat st;
	int err;

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT ? differs(e, name, "is missing")
				       : err_errno(e, -errno, "%s", name);
	if (!S_ISREG(st.st_mode))
		return differs(e, name, "has another type");
	err = fsio_read_fd(fd, OWN_MAX, &text);
	if (err < 0)
		return err_errno(e, err, "%s", name);
	return text.len == want->len && memcmp(buf_str(&text), buf_str(want), want->len) == 0
		       ? 0
		       : differs(e, name, "is not the one that the gate wrote last");
}

static int check_files(int dir, const struct dirs_want *want, struct weir_err *e)
{
	cleanup_tree_walk struct tree_walk *walk = NULL;
	struct check c = { .want = want };
	int err = tree_walk_new(dir, NULL, &walk, e);

	c.walk = walk;
	if (err == 0)
		err = changestext_each(want->changes, check_entry, &c, e);
	if (err == 0)
		err = advance(&c, NULL, e);
	if (err != 1)
		return err;
	return differs(e, c.entry.path ? c.entry.path : ".", "does not belong there");
}

/* The bundle first: it tells that a whole directory is of another promotion. */
int dirsdisk_check(int dir, const struct dirs_want *want, struct weir_err *e)
{
	cleanup_buf struct buf sums = { 0 };
	int err = check_own(dir, want->bundle, want->envelopes, e);

	if (err == 0)
		err = dirs_sums(want->changes, want->from, &sums, e);
	if (err == 0)
		err = check_own(dir, DIRS_SUMS, &sums, e);
	return err < 0 ? err : check_files(dir, want, e);
}

static int read_bundle(const struct repo *r, const git_oid *old, struct buf *ret_text,
		       struct weir_err *e)
{
	int err = 0;

	for (enum attest_kind kind = 0; err == 0 && kind < ATTEST_KIND_COUNT; kind++)
		if (kind_attests(KIND_DIR, kind))
			err = record_read_file(r, old, attest_file(kind), ret_text, e);
	return err;
}

static int compare_old(const struct repo *r, const struct gate_dir *d, int dir, const git_oid *old,
		       struct weir_err *e)
{
	cleanup_record struct record record = { 0 };
	cleanup_buf struct buf from = { 0 };
	cleanup_buf struct buf bundle = { 0 };
	struct weir_err cause = { 0 };
	struct dirs_want want = { .bundle = d->bundle, .envelopes = &bundle };
	int err = record_read(r, old, &record, e);

	if (err == 0)
		err = read_bundle(r, old, &bundle, e);
	if (err == 0 && digest_find(buf_str(&record.promotion), "from", &from) < 0)
		err = err_set(e, -EBADMSG, "the record of %s is damaged", d->path);
	/* it stands there escaped: a name may hold anything but a blank */
	if (err == 0 && escape_undo(from.data) < 0)
		err = err_set(e, -EBADMSG, "the record of %s is damaged", d->path);
	if (err < 0)
		return err;
	want.changes = buf_str(&record.changes);
	want.from = buf_str(&from);
	return dirsdisk_check(dir, &want, &cause) < 0
		       ? refuse(e, REASON_DIRECTORY, "%s is not what the gate left there: %s",
				d->path, cause.text)
		       : 0;
}

int dirsdisk_check_old(const struct repo *r, const struct gate_dir *d, const git_oid *old,
		       uint64_t *ret_ino, struct weir_err *e)
{
	cleanup_close int dir = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	*ret_ino = 0;
	if (dir < 0 && errno == ENOENT)
		return 0;
	if (dir < 0 || fstat(dir, &st) < 0)
		return refuse(e, REASON_DIRECTORY, "%s: %s", d->path, strerror(errno));
	if (git_oid_is_zero(old))
		return refuse(e, REASON_DIRECTORY, "%s is there, and no gate made it", d->path);
	*ret_ino = st.st_ino;
	return compare_old(r, d, dir, old, e);
}
