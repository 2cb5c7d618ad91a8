/* SPDX-License-Identifier: MIT */
#include "user/tree/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/buf.h"
#include "user/base/cleanup.h"
#include "user/base/fsio.h"

#define READ_CHUNK (128 * 1024)
#define NAMES_MAX ((size_t)1 << 30) /* bytes of the names of one directory */

/* One directory on the way down. */
struct level {
	struct buf names; /* each with its NUL */
	uint32_t *order;  /* offsets in names, sorted */
	size_t count;
	size_t at;
	size_t path_len; /* of the directory, in the walk's path */
	dev_t dev;
	ino_t ino;
};

struct tree_walk {
	int root_fd; /* borrowed */
	int fd;	     /* the directory of the top level */
	char *skip;
	struct level *levels;
	size_t depth;
	struct buf path;
	struct stat st; /* of the entry given last */
	bool started;
	bool enter; /* the entry given last is a directory to go into */
	uint64_t entries;
	struct digest *digest;
	char *chunk;
};

int tree_path_compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t len = a_len < b_len ? a_len : b_len, i = 0;
	unsigned char x, y;

	while (i < len && a[i] == b[i])
		i++;
	if (i == len)
		return a_len == b_len ? 0 : (a_len < b_len ? -1 : 1);
	x = (unsigned char)a[i];
	y = (unsigned char)b[i];
	if (x == '/' || y == '/')
		return x == '/' ? -1 : 1;
	return x < y ? -1 : 1;
}

static const char *shown(struct tree_walk *w, char *out, size_t size)
{
	size_t len = w->path.len, half = size / 2 - 4;

	if (len == 0)
		return ".";
	if (len < size) {
		memcpy(out, w->path.data, len);
		out[len] = '\0';
		return out;
	}
	memcpy(out, w->path.data, half);
	memcpy(out + half, "...", 3);
	memcpy(out + half + 3, w->path.data + len - half, half);
	out[2 * half + 3] = '\0';
	return out;
}

static int failed(struct tree_walk *w, int err, const char *doing, struct weir_err *e)
{
	char path[256];
	const char *name = shown(w, path, sizeof(path));

	if (err == -EXDEV)
		return err_code(e, err, "tree-mount",
				"'%s' is a mount point; the tree must lie on one file system",
				name);
	if (err == -ESTALE)
		return err_code(e, err, "tree-changed", "'%s' changed while it was read", name);
	return err_errno(e, err, "%s '%s'", doing, name);
}

static void level_done(struct level *l)
{
	buf_done(&l->names);
	free(l->order);
}

int tree_walk_new(int root_fd, const char *skip, struct tree_walk **ret_walk, struct weir_err *e)
{
	struct tree_walk *w = calloc(1, sizeof(*w));

	if (!w)
		return err_errno(e, -ENOMEM, "walking a tree");
	w->root_fd = root_fd;
	w->fd = -1;
	w->path.max = TREE_PATH_MAX;
	w->digest = digest_new();
	w->chunk = malloc(READ_CHUNK);
	w->skip = skip ? strdup(skip) : NULL;
	if (!w->digest || !w->chunk || (skip && !w->skip)) {
		tree_walk_free(w);
		return err_errno(e, -ENOMEM, "walking a tree");
	}
	if (fstat(root_fd, &w->st) < 0 || !S_ISDIR(w->st.st_mode)) {
		tree_walk_free(w);
		return err_set(e, -ENOTDIR, "the root of the tree is no directory");
	}
	*ret_walk = w;
	return 0;
}

void tree_walk_free(struct tree_walk *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->depth; i++)
		level_done(&w->levels[i]);
	if (w->fd >= 0)
		close(w->fd);
	free(w->levels);
	free(w->skip);
	free(w->chunk);
	buf_done(&w->path);
	digest_free(w->digest);
	free(w);
}

static int by_name(const void *a, const void *b, void *names)
{
	return strcmp((const char *)names + *(const uint32_t *)a,
		      (const char *)names + *(const uint32_t *)b);
}

static int sort_names(struct level *l)
{
	size_t n = 0;

	l->order = calloc(l->count + 1, sizeof(l->order[0]));
	if (!l->order)
		return -ENOMEM;
	for (size_t at = 0; n < l->count; at += strlen(l->names.data + at) + 1)
		l->order[n++] = (uint32_t)at;
	qsort_r(l->order, l->count, sizeof(l->order[0]), by_name, l->names.data);
	return 0;
}

/* Lists the directory at fd. top: skip applies. */
static int list_directory(struct tree_walk *w, int fd, struct level *l, bool top)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_closedir DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (!dir) {
		int err = -errno;

		if (copy >= 0)
			close(copy);
		return err;
	}
	l->names.max = NAMES_MAX;
	for (;;) {
		struct dirent *d;
		int err;

		errno = 0;
		d = readdir(dir);
		if (!d && errno)
			return -errno;
		if (!d)
			return sort_names(l);
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
		    (top && w->skip && strcmp(d->d_name, w->skip) == 0))
			continue;
		err = buf_add(&l->names, d->d_name, strlen(d->d_name) + 1);
		if (err < 0)
			return err;
		l->count++;
	}
}

/* Goes into the directory that was given last, whose name is at the end of the path. */
static int descend(struct tree_walk *w, struct weir_err *e)
{
	bool top = w->depth == 0;
	const char *name = top ? "." : w->path.data + w->path.len;
	struct level *more = reallocarray(w->levels, w->depth + 1, sizeof(*more)), *l;
	struct stat st;
	int fd, err;

	if (!more)
		return failed(w, -ENOMEM, "reading", e);
	w->levels = more;
	while (!top && name > w->path.data && name[-1] != '/')
		name--;
	fd = top ? openat(w->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
		 : fsio_open_beneath(w->fd, name, O_RDONLY | O_DIRECTORY, 0, true);
	if (fd < 0)
		return failed(w, top ? -errno : (fd == -ENOENT ? -ESTALE : fd), "opening", e);
	l = &w->levels[w->depth];
	*l = (struct level){ .path_len = w->path.len };
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (st.st_dev != w->st.st_dev || st.st_ino != w->st.st_ino)
		err = -ESTALE;
	else
		err = list_directory(w, fd, l, top);
	if (err < 0) {
		level_done(l);
		close(fd);
		return failed(w, err, "listing", e);
	}
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	w->depth++;
	if (w->fd >= 0)
		close(w->fd);
	w->fd = fd;
	return 0;
}

/* Goes back to the directory above. ".." is believed only if it is the one we came from. */
static int ascend(struct tree_walk *w, struct weir_err *e)
{
	struct level *l;
	struct stat st;
	int fd;

	w->depth--;
	level_done(&w->levels[w->depth]);
	if (w->depth == 0)
		return 0;
	l = &w->levels[w->depth - 1];
	fd = openat(w->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return failed(w, -errno, "leaving", e);
	close(w->fd);
	w->fd = fd;
	if (fstat(fd, &st) < 0 || st.st_dev != l->dev || st.st_ino != l->ino)
		return failed(w, -ESTALE, "leaving", e);
	return 0;
}

static int64_t nanoseconds(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int hash_link(struct tree_walk *w, const char *name, struct tree_entry *entry)
{
	cleanup_close int fd = fsio_open_beneath(w->fd, name, O_PATH, 0, true);
	char target[4097];
	struct stat st;
	ssize_t len;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || st.st_ino != w->st.st_ino || !S_ISLNK(st.st_mode))
		return -ESTALE;
	len = readlinkat(fd, "", target, sizeof(target));
	if (len < 0)
		return -errno;
	if ((size_t)len >= sizeof(target))
		return -ENAMETOOLONG;
	entry->size = (uint64_t)len;
	entry->hashed = true;
	return digest_bytes(target, (size_t)len, entry->sha256);
}

static int fill(struct tree_walk *w, const char *name, struct tree_entry *entry)
{
	*entry = (struct tree_entry){
		.path = w->path.len ? buf_str(&w->path) : "",
		.path_len = w->path.len,
		.mode = w->st.st_mode,
		.ino = w->st.st_ino,
		.ctime_ns = nanoseconds(w->st.st_ctim),
		.mtime_ns = nanoseconds(w->st.st_mtim),
	};
	switch (w->st.st_mode & S_IFMT) {
	case S_IFREG:
		entry->size = (uint64_t)w->st.st_size;
		return 0;
	case S_IFBLK:
	case S_IFCHR:
		entry->size = w->st.st_rdev;
		return 0;
	case S_IFLNK:
		return hash_link(w, name, entry);
	case S_IFDIR:
		w->enter = true;
		return 0;
	}
	return 0;
}

static int next_name(struct tree_walk *w, struct tree_entry *ret_entry, struct weir_err *e)
{
	struct level *l = &w->levels[w->depth - 1];
	const char *name = l->names.data + l->order[l->at++];
	int err = 0;

	w->path.len = l->path_len;
	if (w->path.len)
		err = buf_add(&w->path, "/", 1);
	if (err == 0)
		err = buf_add(&w->path, name, strlen(name));
	if (err == -EFBIG)
		return failed(w, -ENAMETOOLONG, "below", e);
	if (err < 0)
		return failed(w, err, "reading", e);
	if (++w->entries > TREE_ENTRIES_MAX)
		return failed(w, -E2BIG, "too many entries, at", e);
	if (fstatat(w->fd, name, &w->st, AT_SYMLINK_NOFOLLOW) < 0)
		return failed(w, errno == ENOENT ? -ESTALE : -errno, "reading", e);
	err = fill(w, name, ret_entry);
	return err < 0 ? failed(w, err, "reading", e) : 1;
}

int tree_walk_next(struct tree_walk *w, struct tree_entry *ret_entry, struct weir_err *e)
{
	int err = 0;

	if (!w->started) {
		w->started = true;
		w->entries = 1;
		fill(w, "", ret_entry);
		return 1;
	}
	if (w->enter) {
		w->enter = false;
		err = descend(w, e);
	}
	while (err == 0 && w->depth > 0) {
		const struct level *l = &w->levels[w->depth - 1];

		if (l->at < l->count)
			return next_name(w, ret_entry, e);
		w->path.len = l->path_len;
		err = ascend(w, e);
	}
	return err;
}

static bool same_stat(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_mode == b->st_mode &&
	       a->st_size == b->st_size && nanoseconds(a->st_ctim) == nanoseconds(b->st_ctim) &&
	       nanoseconds(a->st_mtim) == nanoseconds(b->st_mtim);
}

static int hash_file(struct tree_walk *w, int fd, struct tree_entry *entry)
{
	struct stat st;
	uint64_t total = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!same_stat(&st, &w->st))
		return -ESTALE;
	for (;;) {
		ssize_t n = read(fd, w->chunk, READ_CHUNK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		total += (uint64_t)n;
		if (total > entry->size)
			return -ESTALE;
		if (digest_add(w->digest, w->chunk, (size_t)n) < 0)
			return -EIO;
	}
	if (digest_end(w->digest, entry->sha256) < 0)
		return -EIO;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!same_stat(&st, &w->st) || total != entry->size)
		return -ESTALE;
	entry->hashed = true;
	return 0;
}

int tree_walk_hash(struct tree_walk *w, struct tree_entry *entry, struct weir_err *e)
{
	const char *name = buf_str(&w->path) + w->path.len;
	cleanup_close int fd = -1;
	int err;

	if (entry->hashed || !S_ISREG(entry->mode))
		return 0;
	while (name > w->path.data && name[-1] != '/')
		name--;
	fd = fsio_open_beneath(w->fd, name, O_RDONLY | O_NOCTTY, 0, true);
	if (fd < 0)
		return failed(w, fd == -ENOENT || fd == -ELOOP ? -ESTALE : fd, "opening", e);
	err = hash_file(w, fd, entry);
	return err < 0 ? failed(w, err, "reading", e) : 0;
}
