/* SPDX-License-Identifier: MIT */
/* The reader's own process; contract in reader.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/priv.h"
#include "writeback/reader.h"

struct batch {
	struct buf answer;
	int fds[PROTO_FDS];
	unsigned int fd_count;
};

static void batch_done(struct batch *b)
{
	for (unsigned int i = 0; i < b->fd_count; i++)
		close(b->fds[i]);
	buf_done(&b->answer);
}

static int64_t nanoseconds(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A symlink or whatever else is no regular file: looked at, not opened. */
static int look(int root, const char *path, struct stat *st, char *target)
{
	cleanup_close int fd = fsio_open_beneath(root, path, O_PATH, 0, true);
	ssize_t n;

	if (fd < 0)
		return fd;
	if (fstat(fd, st) < 0)
		return -errno;
	if (!S_ISLNK(st->st_mode))
		return 0;
	n = readlinkat(fd, "", target, READER_PATH_MAX + 1);
	if (n < 0)
		return -errno;
	return n > READER_PATH_MAX ? -ENAMETOOLONG : (int)n;
}

static int open_file(int root, const char *path, struct stat *st, int *ret_fd)
{
	cleanup_close int fd = fsio_open_beneath(root, path, O_RDONLY | O_NOCTTY, 0, true);

	if (fd < 0)
		return fd;
	if (fstat(fd, st) < 0)
		return -errno;
	if (S_ISREG(st->st_mode))
		*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Returns: length of the target of a link, 0, or a negative errno. */
static int open_entry(int root, const char *path, uint32_t mode, struct reader_stat *s,
		      char *target, int *ret_fd)
{
	struct stat st;
	int len =
		S_ISREG(mode) ? open_file(root, path, &st, ret_fd) : look(root, path, &st, target);

	if (len < 0)
		return len;
	*s = (struct reader_stat){ .mode = st.st_mode,
				   .nlink = (uint32_t)st.st_nlink,
				   .size = (uint64_t)st.st_size,
				   .ino = st.st_ino,
				   .ctime_ns = nanoseconds(st.st_ctim),
				   .mtime_ns = nanoseconds(st.st_mtim) };
	/* not what was asked for: the keeper sees another mode */
	if (S_ISREG(st.st_mode) && *ret_fd < 0)
		return -ENOENT;
	return len;
}

static int add_entry(int root, const char *path, uint32_t mode, struct batch *b)
{
	char target[READER_PATH_MAX + 1];
	struct reader_stat s = { 0 };
	int fd = -1;
	int len = open_entry(root, path, mode, &s, target, &fd);

	if (len < 0)
		s = (struct reader_stat){ .err = len };
	if (fd >= 0)
		b->fds[b->fd_count++] = fd;
	buf_add(&b->answer, &s, sizeof(s));
	return proto_put_bytes(&b->answer, target, len > 0 ? (size_t)len : 0);
}

static int answer_open(int root, int fd, struct proto_message *m)
{
	__attribute__((__cleanup__(batch_done))) struct batch b = { .answer = {
									    .max = PROTO_MAX } };
	unsigned int count = 0;

	while (m->at < m->data.len) {
		char path[READER_PATH_MAX + 1];
		const void *head = proto_take(m, sizeof(uint32_t));
		size_t len;
		const char *bytes = head ? proto_take_bytes(m, &len) : NULL;
		uint32_t mode;
		int err;

		if (!bytes || len > READER_PATH_MAX || ++count > READER_BATCH)
			return -EBADMSG;
		memcpy(path, bytes, len);
		path[len] = '\0';
		memcpy(&mode, head, sizeof(mode));
		err = add_entry(root, path, mode, &b);
		if (err < 0)
			return err;
	}
	return proto_send(fd, READER_FILES, b.answer.data, b.answer.len, b.fds, b.fd_count);
}

static int send_differences(int fd, const struct tree_changes *changes)
{
	for (size_t i = 0; i < changes->count && i < READER_DIFFS; i++) {
		cleanup_buf struct buf b = { 0 };
		const struct tree_change *c = &changes->items[i];
		uint32_t word[2] = { c->kind, c->what };
		int err;

		buf_add(&b, word, sizeof(word));
		proto_put_bytes(&b, c->path, c->path_len);
		err = b.failed ? -ENOMEM : proto_send(fd, READER_DIFF, b.data, b.len, NULL, 0);
		if (err < 0)
			return err;
	}
	return 0;
}

static int compare(int root, int manifest_fd, uint32_t strength, struct tree_changes *changes,
		   struct weir_err *e)
{
	cleanup_manifest_reader struct manifest_reader *manifest = NULL;
	int err = manifest_reader_new(manifest_fd, "manifest.after", &manifest, e);

	if (err < 0)
		return err;
	return tree_compare_tree(
		manifest, root, ".git",
		strength == TREE_STRENGTH_FULL ? TREE_STRENGTH_FULL : TREE_STRENGTH_STAT,
		TREE_CHANGED_TYPE | TREE_CHANGED_MODE | TREE_CHANGED_CONTENT, changes, e);
}

static int answer_compare(int root, int fd, struct proto_message *m)
{
	cleanup_tree_changes struct tree_changes changes = { 0 };
	cleanup_buf struct buf b = { 0 };
	cleanup_close int manifest_fd = proto_take_fd(m);
	const uint32_t *strength = proto_take(m, sizeof(*strength));
	struct weir_err e = { 0 };
	struct reader_done done = { 0 };
	int err;

	if (manifest_fd < 0 || !strength)
		return -EBADMSG;
	done.err = compare(root, manifest_fd, *strength, &changes, &e);
	done.differences = changes.count;
	done.hashed_files = changes.hashed_files;
	done.hashed_bytes = changes.hashed_bytes;
	err = done.err < 0 ? 0 : send_differences(fd, &changes);
	if (err < 0)
		return err;
	buf_add(&b, &done, sizeof(done));
	proto_put_bytes(&b, e.text, strlen(e.text));
	return b.failed ? -ENOMEM : proto_send(fd, READER_DONE, b.data, b.len, NULL, 0);
}

static int serve(int root, int fd)
{
	for (;;) {
		cleanup_proto struct proto_message m = { 0 };
		int err = proto_recv(fd, &m);

		if (err == -EPIPE)
			return 0;
		if (err == 0 && m.type == READER_OPEN)
			err = answer_open(root, fd, &m);
		else if (err == 0 && m.type == READER_COMPARE)
			err = answer_compare(root, fd, &m);
		else if (err == 0)
			err = -EBADMSG;
		if (err < 0)
			return err;
	}
}

static int reader_main(int workspace_fd, int socket_fd)
{
	int keep[] = { workspace_fd, socket_fd };
	struct weir_err e = { 0 };
	int err = priv_close_others(keep, ARRAY_SIZE(keep));

	if (err == 0)
		err = priv_become_reader(&e);
	if (err == 0)
		err = serve(workspace_fd, socket_fd);
	if (err < 0)
		fprintf(stderr, "weir-gate: workspace reader: %s\n",
			e.text[0] ? e.text : strerror(-err));
	return err < 0 ? 1 : 0;
}

int reader_start(int workspace_fd, int *ret_fd, pid_t *ret_pid, struct weir_err *e)
{
	int pair[2];
	int err = proto_pair(pair);
	pid_t pid;

	if (err < 0)
		return err_errno(e, err, "starting the workspace reader");
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(reader_main(workspace_fd, pair[1]));
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return err_errno(e, -errno, "starting the workspace reader");
	}
	*ret_fd = pair[0];
	*ret_pid = pid;
	return 0;
}
