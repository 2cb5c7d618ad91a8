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

/* The same inode again, for reading: by the descriptor, never by the name. */
static int reopen(int path_fd)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static int open_entry(int root, const char *path, struct reader_stat *s, char *target, int *ret_fd)
{
	cleanup_close int fd = fsio_open_beneath(root, path, O_PATH, 0, true);
	struct stat st;
	ssize_t n = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode)) {
		n = readlinkat(fd, "", target, READER_PATH_MAX + 1);
		if (n < 0 || n > READER_PATH_MAX)
			return n < 0 ? -errno : -ENAMETOOLONG;
	} else if (S_ISREG(st.st_mode)) {
		*ret_fd = reopen(fd);
		if (*ret_fd < 0)
			return *ret_fd;
	}
	*s = (struct reader_stat){ .mode = st.st_mode,
				   .nlink = (uint32_t)st.st_nlink,
				   .size = (uint64_t)st.st_size,
				   .ino = st.st_ino,
				   .ctime_ns = nanoseconds(st.st_ctim),
				   .mtime_ns = nanoseconds(st.st_mtim) };
	return (int)n;
}

static int add_entry(int root, const char *path, struct batch *b)
{
	char target[READER_PATH_MAX + 1];
	struct reader_stat s = { 0 };
	int fd = -1;
	int len = open_entry(root, path, &s, target, &fd);

	if (len < 0)
		s = (struct reader_stat){ .err = len };
	if (fd >= 0)
		b->fds[b->fd_count++] = fd;
	buf_add(&b->answer, &s, sizeof(s));
	return proto_put_bytes(&b->answer, target, len > 0 ? (size_t)len : 0);
}

static int answer_open(int root, int fd, struct proto_message *m)
{
	__attribute__((__cleanup__(batch_done))) struct batch b = { .answer = { .max = PROTO_MAX } };
	unsigned int count = 0;

	while (m->at < m->data.len) {
		char path[READER_PATH_MAX + 1];
		size_t len;
		const char *bytes = proto_take_bytes(m, &len);
		int err;

		if (!bytes || len > READER_PATH_MAX || ++count > READER_BATCH)
			return -EBADMSG;
		memcpy(path, bytes, len);
		path[len] = '\0';
		err = add_entry(root, path, &b);
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
	return tree_compare_tree(manifest, root, ".git",
				 strength == TREE_STRENGTH_FULL ? TREE_STRENGTH_FULL :
								  TREE_STRENGTH_STAT,
				 TREE_CHANGED_TYPE | TREE_CHANGED_MODE | TREE_CHANGED_CONTENT,
				 changes, e);
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
