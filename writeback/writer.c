/* SPDX-License-Identifier: MIT */
/* The writer's side of a checkout; contract in checkout.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/checkout.h"
#include "writeback/gitdir.h"
#include "writeback/priv.h"
#include "writeback/proto.h"

struct writer {
	int root;
	int socket;
	struct gitdir_index index;
	char path[4096]; /* of the message at hand */
	bool complete;
};

static int take_path(struct writer *w, struct proto_message *m)
{
	size_t len;
	const char *bytes = proto_take_bytes(m, &len);

	if (!bytes)
		return -EBADMSG;
	if (len == 0 || len >= sizeof(w->path) || memchr(bytes, '\0', len))
		return -ENAMETOOLONG;
	memcpy(w->path, bytes, len);
	w->path[len] = '\0';
	return 0;
}

/* The directory of w->path, opened without following links. Gives: the last component. */
static int open_parent(const struct writer *w, const char **ret_name)
{
	cleanup_free char *dir = NULL;
	const char *slash = strrchr(w->path, '/');
	int fd;

	*ret_name = slash ? slash + 1 : w->path;
	if (!slash) {
		fd = fcntl(w->root, F_DUPFD_CLOEXEC, 3);
		return fd < 0 ? -errno : fd;
	}
	dir = strndup(w->path, (size_t)(slash - w->path));
	if (!dir)
		return -ENOMEM;
	return fsio_open_beneath(w->root, dir, O_PATH | O_DIRECTORY, 0, true);
}

static int make_dir(struct writer *w, struct proto_message *m)
{
	const char *name;
	int err = take_path(w, m);
	cleanup_close int dir = err < 0 ? err : open_parent(w, &name);

	if (dir < 0)
		return dir;
	return mkdirat(dir, name, 0755) < 0 ? -errno : 0;
}

static int add_to_index(struct writer *w, const unsigned char *id, uint32_t mode)
{
	struct stat st;

	if (fstatat(w->root, w->path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return gitdir_index_add(&w->index, w->path, mode, &st, id);
}

static int copy_content(const struct writer *w, int fd, uint64_t size)
{
	while (size > 0) {
		cleanup_proto struct proto_message m = { 0 };
		int err = proto_recv(w->socket, &m);

		if (err == 0 && (m.type != CHECKOUT_DATA || m.data.len == 0 || m.data.len > size))
			err = -EBADMSG;
		if (err == 0)
			err = fsio_write_all(fd, m.data.data, m.data.len);
		if (err < 0)
			return err;
		size -= m.data.len;
	}
	return 0;
}

static int make_file(struct writer *w, struct proto_message *m)
{
	const unsigned char *head = proto_take(m, 4 + 8 + GITDIR_ID);
	cleanup_close int fd = -1;
	uint32_t mode;
	uint64_t size;
	int err = head ? take_path(w, m) : -EBADMSG;

	if (err < 0)
		return err;
	memcpy(&mode, head, sizeof(mode));
	memcpy(&size, head + 4, sizeof(size));
	fd = fsio_open_beneath(w->root, w->path, O_WRONLY | O_CREAT | O_EXCL, mode & 0755, true);
	if (fd < 0)
		return fd;
	err = copy_content(w, fd, size);
	if (err == 0 && fchmod(fd, mode & 0755) < 0)
		err = -errno;
	return err < 0 ? err : add_to_index(w, head + 12, mode & 0100 ? 0100755 : 0100644);
}

static int make_link(struct writer *w, struct proto_message *m)
{
	const unsigned char *id = proto_take(m, GITDIR_ID);
	cleanup_free char *target = NULL;
	cleanup_close int dir = -1;
	const char *bytes, *name;
	size_t len;
	int err = id ? take_path(w, m) : -EBADMSG;

	if (err < 0)
		return err;
	bytes = proto_take_bytes(m, &len);
	target = bytes ? strndup(bytes, len) : NULL;
	if (!target || strlen(target) != len)
		return -EBADMSG;
	dir = open_parent(w, &name);
	if (dir < 0)
		return dir;
	if (symlinkat(target, dir, name) < 0)
		return -errno;
	return add_to_index(w, id, 0120000);
}

static int make_module(struct writer *w, struct proto_message *m)
{
	const unsigned char *id = proto_take(m, GITDIR_ID);
	int err = id ? make_dir(w, m) : -EBADMSG;

	return err < 0 ? err : add_to_index(w, id, 0160000);
}

static int make_git(struct writer *w, struct proto_message *m, struct weir_err *e)
{
	const uint32_t *shallow = proto_take(m, sizeof(*shallow));
	cleanup_close int pack_fd = proto_take_fd(m);
	cleanup_close int idx_fd = proto_take_fd(m);
	cleanup_free char *ref = NULL;
	cleanup_free char *commit = NULL;
	struct gitdir g = { .pack_fd = pack_fd, .idx_fd = idx_fd };
	const char *bytes[3];
	size_t len[3];

	for (int i = 0; i < 3; i++) {
		bytes[i] = proto_take_bytes(m, &len[i]);
		if (!bytes[i])
			return -EBADMSG;
	}
	if (!shallow || idx_fd < 0 || len[2] != GITDIR_ID)
		return -EBADMSG;
	ref = strndup(bytes[0], len[0]);
	commit = strndup(bytes[1], len[1]);
	if (!ref || !commit)
		return -ENOMEM;
	g.ref = ref;
	g.commit = commit;
	g.pack_name = (const unsigned char *)bytes[2];
	g.shallow = *shallow != 0;
	w->complete = true;
	return gitdir_write(w->root, &g, &w->index, e);
}

static int step(struct writer *w, struct weir_err *e)
{
	cleanup_proto struct proto_message m = { 0 };
	int err = proto_recv(w->socket, &m);

	if (err < 0)
		return err;
	w->path[0] = '\0';
	switch (m.type) {
	case CHECKOUT_DIR:
		err = make_dir(w, &m);
		break;
	case CHECKOUT_FILE:
		err = make_file(w, &m);
		break;
	case CHECKOUT_LINK:
		err = make_link(w, &m);
		break;
	case CHECKOUT_MODULE:
		err = make_module(w, &m);
		break;
	case CHECKOUT_GIT:
		err = make_git(w, &m, e);
		break;
	default:
		err = -EBADMSG;
		break;
	}
	if (err < 0 && !e->text[0])
		err_errno(e, err, "%s", w->path);
	return err;
}

static int writer_main(int dir_fd, int socket_fd, uid_t uid, gid_t gid)
{
	int keep[] = { dir_fd, socket_fd };
	struct writer w = { .root = dir_fd, .socket = socket_fd };
	cleanup_buf struct buf text = { 0 };
	struct weir_err e = { 0 };
	int err = priv_close_others(keep, ARRAY_SIZE(keep));

	if (err == 0)
		err = priv_become(uid, gid, &e);
	umask(022);
	while (err == 0 && !w.complete)
		err = step(&w, &e);
	buf_done(&w.index.entries);
	if (err == 0)
		return proto_send(socket_fd, CHECKOUT_DONE, NULL, 0, NULL, 0) < 0;
	proto_put_bytes(&text, e.text, strlen(e.text));
	proto_send(socket_fd, CHECKOUT_FAILED, text.data, text.len, NULL, 0);
	return 1;
}

int checkout_start_writer(int dir_fd, uid_t uid, gid_t gid, int *ret_fd, pid_t *ret_pid,
			  struct weir_err *e)
{
	int pair[2];
	int err = proto_pair(pair);
	pid_t pid;

	if (err < 0)
		return err_errno(e, err, "starting the writer");
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(writer_main(dir_fd, pair[1], uid, gid));
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return err_errno(e, -errno, "starting the writer");
	}
	*ret_fd = pair[0];
	*ret_pid = pid;
	return 0;
}
