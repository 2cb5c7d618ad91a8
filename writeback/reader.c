/* SPDX-License-Identifier: MIT */
/* The side that asks; the process itself is in readerproc.c. */
#include "writeback/reader.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"

int reader_ask(int fd, const struct reader_path *paths, size_t count, struct weir_err *e)
{
	cleanup_buf struct buf b = { .max = PROTO_MAX };
	int err = count > READER_BATCH ? -E2BIG : 0;

	for (size_t i = 0; err == 0 && i < count; i++) {
		err = buf_add(&b, &paths[i].mode, sizeof(paths[i].mode));
		if (err == 0)
			err = proto_put_bytes(&b, paths[i].path, strlen(paths[i].path));
	}
	if (err == 0)
		err = proto_send(fd, READER_OPEN, b.data, b.len, NULL, 0);
	return err < 0 ? err_errno(e, err, "asking the workspace reader") : 0;
}

void reader_files_done(struct reader_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (files[i].fd >= 0)
			close(files[i].fd);
		free(files[i].target);
		files[i] = (struct reader_file){ .fd = -1 };
	}
}

static int fetch_one(struct proto_message *m, struct reader_file *f)
{
	const void *head = proto_take(m, sizeof(f->stat));
	const char *target;
	size_t len = 0;

	if (!head)
		return -EBADMSG;
	memcpy(&f->stat, head, sizeof(f->stat));
	target = proto_take_bytes(m, &len);
	if (!target)
		return -EBADMSG;
	if (f->stat.err == 0 && S_ISREG(f->stat.mode)) {
		f->fd = proto_take_fd(m);
		return f->fd < 0 ? -EBADMSG : 0;
	}
	if (f->stat.err < 0 || !S_ISLNK(f->stat.mode))
		return 0;
	f->target = malloc(len + 1);
	if (!f->target)
		return -ENOMEM;
	memcpy(f->target, target, len);
	f->target[len] = '\0';
	f->target_len = len;
	return 0;
}

int reader_fetch(int fd, struct reader_file *ret_files, size_t count, struct weir_err *e)
{
	cleanup_proto struct proto_message m = { 0 };
	int err;

	for (size_t i = 0; i < count; i++)
		ret_files[i] = (struct reader_file){ .fd = -1 };
	err = proto_recv(fd, &m);
	if (err == 0 && m.type != READER_FILES)
		err = -EBADMSG;
	for (size_t i = 0; err == 0 && i < count; i++)
		err = fetch_one(&m, &ret_files[i]);
	if (err == 0 && (m.at != m.data.len || proto_take_fd(&m) >= 0))
		err = -EBADMSG;
	if (err == 0)
		return 0;
	reader_files_done(ret_files, count);
	return err_errno(e, err, "hearing the workspace reader");
}

static int take_diff(struct proto_message *m, reader_diff_fn *fn, void *arg, struct weir_err *e)
{
	cleanup_free char *path = NULL;
	const void *head = proto_take(m, 2 * sizeof(uint32_t));
	const char *bytes;
	uint32_t word[2];
	size_t len;

	if (!head)
		return err_errno(e, -EBADMSG, "hearing the workspace reader");
	memcpy(word, head, sizeof(word));
	bytes = proto_take_bytes(m, &len);
	path = bytes ? strndup(bytes, len) : NULL;
	if (!path)
		return err_errno(e, -EBADMSG, "hearing the workspace reader");
	return fn((enum tree_change_kind)word[0], word[1], path, arg, e);
}

int reader_compare(int fd, int manifest_fd, enum tree_strength strength, reader_diff_fn *fn,
		   void *arg, struct reader_done *ret_done, struct weir_err *e)
{
	uint32_t value = strength;
	int err = proto_send(fd, READER_COMPARE, &value, sizeof(value), &manifest_fd, 1);

	if (err < 0)
		return err_errno(e, err, "asking the workspace reader");
	for (;;) {
		cleanup_proto struct proto_message m = { 0 };
		const void *done;
		const char *text;
		size_t len;

		err = proto_recv(fd, &m);
		if (err < 0)
			return err_errno(e, err, "hearing the workspace reader");
		if (m.type == READER_DIFF) {
			err = take_diff(&m, fn, arg, e);
			if (err < 0)
				return err;
			continue;
		}
		done = m.type == READER_DONE ? proto_take(&m, sizeof(*ret_done)) : NULL;
		text = done ? proto_take_bytes(&m, &len) : NULL;
		if (!text)
			return err_errno(e, -EBADMSG, "hearing the workspace reader");
		memcpy(ret_done, done, sizeof(*ret_done));
		return ret_done->err < 0 ? err_set(e, ret_done->err, "%.*s", (int)len, text) : 0;
	}
}
