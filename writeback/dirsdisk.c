/* SPDX-License-Identifier: MIT */
/* Making and exchanging directories; dirscheck.c compares them. */
#include "writeback/dirsdisk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/blob.h"
#include "writeback/changestext.h"
#include "writeback/reason.h"

#define LINK_MAX_BYTES 4096

/* The directory above PATH, and the two names in it. */
struct place {
	int fd;
	const char *name; /* inside d->path */
	char *stage;
};

static void place_done(struct place *p)
{
	if (p->fd >= 0)
		close(p->fd);
	free(p->stage);
}
#define cleanup_place __attribute__((__cleanup__(place_done)))

/* Whoever else could write there could exchange what was compared. */
static int place_open(const struct gate_dir *d, struct place *p, struct weir_err *e)
{
	const char *slash = strrchr(d->path, '/');
	cleanup_free char *above = strndup(d->path, (size_t)(slash - d->path) + (slash == d->path));
	struct stat st;

	p->fd = -1;
	p->name = slash + 1;
	if (!above || asprintf(&p->stage, ".weir-%s", d->name) < 0) {
		p->stage = NULL;
		return err_errno(e, -ENOMEM, "%s", d->path);
	}
	p->fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (p->fd < 0 || fstat(p->fd, &st) < 0)
		return err_errno(e, -errno, "%s", above);
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & 022))
		return err_set(e, -EPERM,
			       "%s must belong to root or the gate's user, and nobody else may "
			       "write there (now mode %04o, uid %u)",
			       above, st.st_mode & 07777, st.st_uid);
	return 0;
}

/* Returns: its inode number, 0 if there is nothing, UINT64_MAX for what is no directory. */
static uint64_t ino_of(const struct place *p, const char *name)
{
	struct stat st;

	if (fstatat(p->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : UINT64_MAX;
	return S_ISDIR(st.st_mode) ? st.st_ino : UINT64_MAX;
}

struct filling {
	const struct repo *repo;
	const char *from;
	int dir;
	int fd; /* of the file that is being written */
	struct digest *sha256;
	struct buf link;
};

static int take_piece(const void *data, size_t len, void *arg)
{
	struct filling *f = arg;
	int err = digest_add(f->sha256, data, len);

	if (err < 0)
		return err;
	return f->fd >= 0 ? fsio_write_all(f->fd, data, len) : buf_add(&f->link, data, len);
}

static int make_parents(int dir, const char *path)
{
	cleanup_free char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *slash = strchr(copy, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdirat(dir, copy, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

static int take_blob(struct filling *f, const struct changes_line *l, struct weir_err *e)
{
	unsigned char hash[DIGEST_SIZE];
	char hex[DIGEST_HEX];
	git_oid oid;
	int err;

	if (git_oid_fromstr(&oid, l->new_id) < 0)
		return err_set(e, -EBADMSG, "the list of changes is damaged");
	err = blob_read(f->repo, &oid, take_piece, f, e);
	if (err == 0 && digest_end(f->sha256, hash) < 0)
		err = err_errno(e, -EIO, "%s", l->path);
	if (err < 0)
		return err;
	digest_hex(hash, sizeof(hash), hex);
	return strcmp(hex, l->sha256) == 0
		       ? 0
		       : refuse(e, REASON_QUARANTINE, "%s has other bytes", l->path);
}

static int make_link(struct filling *f, const struct changes_line *l, const char *name,
		     struct weir_err *e)
{
	int err;

	f->fd = -1;
	f->link.len = 0;
	err = take_blob(f, l, e);
	if (err == 0 && (f->link.len == 0 || f->link.len > LINK_MAX_BYTES ||
			 symlinkat(buf_str(&f->link), f->dir, name) < 0))
		err = err_errno(e, f->link.len == 0 ? -EBADMSG : -errno, "%s", l->path);
	return err;
}

static int make_file(struct filling *f, const struct changes_line *l, const char *name, mode_t mode,
		     struct weir_err *e)
{
	cleanup_close int fd =
		openat(f->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	int err;

	if (fd < 0)
		return err_errno(e, -errno, "%s", l->path);
	f->fd = fd;
	err = take_blob(f, l, e);
	if (err == 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0))
		err = err_errno(e, -errno, "%s", l->path);
	return err;
}

static int make_entry(const struct changes_line *l, void *arg, struct weir_err *e)
{
	struct filling *f = arg;
	const char *name = dirs_inside(f->from, l->path);
	uint32_t mode = (uint32_t)strtoul(l->new_mode, NULL, 8);
	int err = name ? make_parents(f->dir, name) : -EBADMSG;

	if (err < 0)
		return err_errno(e, err, "%s", l->path);
	if (mode == GIT_MODE_LINK)
		return make_link(f, l, name, e);
	if (mode != GIT_MODE_FILE && mode != GIT_MODE_EXEC)
		return err_set(e, -EBADMSG, "%s is no file", l->path);
	return make_file(f, l, name, mode == GIT_MODE_EXEC ? 0755 : 0644, e);
}

static int add_own(int dir, const struct dirs_want *want, struct weir_err *e)
{
	cleanup_buf struct buf sums = { 0 };
	int err = dirs_sums(want->changes, want->from, &sums, e);

	if (err == 0)
		err = fsio_replace(dir, DIRS_SUMS, buf_str(&sums), sums.len, 0644, e);
	return err < 0 ? err
		       : fsio_replace(dir, want->bundle, buf_str(want->envelopes),
				      want->envelopes->len, 0644, e);
}

int dirsdisk_stage(const struct repo *r, const struct gate_dir *d, const struct dirs_want *want,
		   uint64_t *ret_ino, struct weir_err *e)
{
	cleanup_place struct place p = { .fd = -1 };
	cleanup_digest struct digest *sha256 = digest_new();
	struct filling f = { .repo = r, .from = want->from, .sha256 = sha256 };
	cleanup_close int dir = -1;
	struct stat st;
	int err = sha256 ? place_open(d, &p, e) : err_errno(e, -ENOMEM, "%s", d->path);

	if (err == 0)
		err = fsio_remove_tree(p.fd, p.stage, e);
	if (err < 0)
		return err;
	if (mkdirat(p.fd, p.stage, 0700) < 0)
		return err_errno(e, -errno, "a directory beside %s", d->path);
	dir = openat(p.fd, p.stage, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0)
		return err_errno(e, -errno, "a directory beside %s", d->path);
	f.dir = dir;
	err = changestext_each(want->changes, make_entry, &f, e);
	buf_done(&f.link);
	if (err == 0)
		err = add_own(dir, want, e);
	if (err < 0)
		return err;
	/* directories and links: no file of theirs was synced */
	if (fchmod(dir, 0755) < 0 || syncfs(dir) < 0 || fstat(dir, &st) < 0 || fsync(p.fd) < 0)
		return err_errno(e, -errno, "a directory beside %s", d->path);
	*ret_ino = st.st_ino;
	return 0;
}

static int exchange(const struct gate_dir *d, const struct place *p, const char *from,
		    const char *to, bool there, struct weir_err *e)
{
	if (renameat2(p->fd, from, p->fd, to, there ? RENAME_EXCHANGE : RENAME_NOREPLACE) < 0)
		return err_errno(e, -errno, "exchanging %s", d->path);
	return fsync(p->fd) < 0 ? err_errno(e, -errno, "%s", d->path) : 0;
}

int dirsdisk_swap(const struct gate_dir *d, const struct dirs_swap *s, struct weir_err *e)
{
	cleanup_place struct place p = { .fd = -1 };
	int err = place_open(d, &p, e);

	if (err < 0)
		return err;
	/* done before, but maybe not on the disk yet */
	if (ino_of(&p, p.name) == s->new_ino)
		return fsync(p.fd) < 0 ? err_errno(e, -errno, "%s", d->path) : 0;
	if (ino_of(&p, p.name) != s->old_ino || ino_of(&p, p.stage) != s->new_ino)
		return refuse(e, REASON_DIRECTORY,
			      "%s or .weir-%s was exchanged by another program", d->path, d->name);
	err = exchange(d, &p, p.stage, p.name, s->old_ino != 0, e);
	if (err < 0 || ino_of(&p, p.stage) == s->old_ino)
		return err;
	/* it came between the look and the exchange: what it put there goes back */
	exchange(d, &p, p.stage, p.name, true, e);
	return refuse(e, REASON_DIRECTORY, "%s was exchanged by another program", d->path);
}

int dirsdisk_swap_back(const struct gate_dir *d, const struct dirs_swap *s, struct weir_err *e)
{
	cleanup_place struct place p = { .fd = -1 };
	int err = place_open(d, &p, e);

	if (err < 0 || ino_of(&p, p.name) != s->new_ino || ino_of(&p, p.stage) != s->old_ino)
		return err;
	return exchange(d, &p, p.name, p.stage, s->old_ino != 0, e);
}

int dirsdisk_clean(const struct gate_dir *d, struct weir_err *e)
{
	cleanup_place struct place p = { .fd = -1 };
	int err = place_open(d, &p, e);

	return err < 0 ? err : fsio_remove_tree(p.fd, p.stage, e);
}
