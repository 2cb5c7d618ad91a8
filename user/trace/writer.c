/* SPDX-License-Identifier: MIT */
#include "user/trace/writer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"

struct trace_writer {
	int fd;
	int failed; /* the error that ended the trace */
	struct digest *digest;
	uint64_t number; /* of the frame that is being gathered */
	uint64_t size;	 /* of the file: whole frames */
	uint32_t used;	 /* bytes of records gathered */
	bool started, ended;
	unsigned char chain[DIGEST_SIZE];
	unsigned char frame[TRACE_FRAME_MAX]; /* head, records, chain */
};

/* Ends the trace: what was written of the last frame is cut off, as far as that works. */
static int fail(struct trace_writer *w, int err, struct weir_err *e)
{
	if (w->failed == 0) {
		w->failed = err;
		if (ftruncate(w->fd, (off_t)w->size) < 0)
			return err_errno(e, err,
					 "trace: writing at byte %llu (cutting the file "
					 "back failed too)",
					 (unsigned long long)w->size);
	}
	return err_errno(e, w->failed, "trace: writing at byte %llu", (unsigned long long)w->size);
}

static int check_file(int fd, struct weir_err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(e, -errno, "trace");
	if (!S_ISREG(st.st_mode))
		return err_set(e, -EINVAL, "trace: not a regular file");
	if (st.st_size != 0 || lseek(fd, 0, SEEK_CUR) != 0)
		return err_set(e, -EEXIST, "trace: the file is not empty");
	return 0;
}

int trace_writer_new(int fd, struct trace_writer **ret_writer, struct weir_err *e)
{
	cleanup_trace_writer struct trace_writer *w = calloc(1, sizeof(*w));
	int err = check_file(fd, e);

	if (err < 0)
		return err;
	if (!w)
		return err_errno(e, -ENOMEM, "trace");
	w->fd = fd;
	w->digest = digest_new();
	if (!w->digest || digest_bytes(TRACE_MAGIC, TRACE_MAGIC_SIZE, w->chain) < 0)
		return err_errno(e, -ENOMEM, "trace");
	err = fsio_write_all(fd, TRACE_MAGIC, TRACE_MAGIC_SIZE);
	if (err < 0)
		return fail(w, err, e);
	w->size = TRACE_MAGIC_SIZE;
	*ret_writer = TAKE_PTR(w);
	return 0;
}

void trace_writer_free(struct trace_writer *w)
{
	if (!w)
		return;
	digest_free(w->digest);
	free(w);
}

int trace_writer_flush(struct trace_writer *w, struct weir_err *e)
{
	struct trace_frame_head head = {
		.magic = TRACE_FRAME_MAGIC,
		.length = w->used,
		.number = w->number,
	};
	unsigned char chain[DIGEST_SIZE];
	size_t len = TRACE_FRAME_HEAD + w->used;
	int err;

	if (w->failed)
		return fail(w, w->failed, e);
	if (w->used == 0)
		return 0;
	memcpy(w->frame, &head, sizeof(head));
	err = digest_add(w->digest, w->chain, DIGEST_SIZE);
	if (err == 0)
		err = digest_add(w->digest, w->frame, len);
	if (err == 0)
		err = digest_end(w->digest, chain);
	if (err < 0)
		return fail(w, err, e);
	memcpy(w->frame + len, chain, DIGEST_SIZE);
	err = fsio_write_all(w->fd, w->frame, len + DIGEST_SIZE);
	if (err < 0)
		return fail(w, err, e);
	memcpy(w->chain, chain, DIGEST_SIZE);
	w->size += len + DIGEST_SIZE;
	w->number++;
	w->used = 0;
	return 0;
}

int trace_writer_sync(struct trace_writer *w, struct weir_err *e)
{
	int err = trace_writer_flush(w, e);

	if (err == 0 && fdatasync(w->fd) < 0)
		return fail(w, -errno, e);
	return err;
}

/* Puts one piece, which must fit, into the frame. */
static void put(struct trace_writer *w, enum trace_type type, const void *bytes, size_t len,
		bool more)
{
	struct trace_record_head head = {
		.type = (uint16_t)type,
		.flags = more ? TRACE_MORE : 0,
		.length = (uint32_t)len,
	};
	unsigned char *at = w->frame + TRACE_FRAME_HEAD + w->used;
	size_t padded = (len + 7) & ~(size_t)7;

	memcpy(at, &head, sizeof(head));
	if (len > 0)
		memcpy(at + sizeof(head), bytes, len);
	memset(at + sizeof(head) + len, 0, padded - len);
	w->used += (uint32_t)(sizeof(head) + padded);
}

/* Puts a record, closing frames where it does not fit; only long ones are split. */
static int put_record(struct trace_writer *w, enum trace_type type, const char *bytes, size_t len,
		      struct weir_err *e)
{
	const size_t piece_max = TRACE_FRAME_DATA - TRACE_RECORD_HEAD;
	int err;

	do {
		size_t n = len < piece_max ? len : piece_max;

		if (TRACE_RECORD_HEAD + ((n + 7) & ~(size_t)7) > TRACE_FRAME_DATA - w->used) {
			err = trace_writer_flush(w, e);
			if (err < 0)
				return err;
		}
		put(w, type, bytes, n, n < len);
		bytes += n;
		len -= n;
	} while (len > 0);
	return 0;
}

static int check_record(const struct trace_writer *w, enum trace_type type, size_t len,
			struct weir_err *e)
{
	if (type < TRACE_START || type > TRACE_END)
		return err_set(e, -EINVAL, "trace: record of unknown type %d (TR-6)", (int)type);
	if ((type == TRACE_START) == w->started)
		return err_set(e, -EINVAL, "trace: START comes first, once (TR-7)");
	if (w->ended)
		return err_set(e, -EINVAL, "trace: nothing follows END (TR-8)");
	if (len > TRACE_RECORD_MAX ||
	    (type == TRACE_EVENT && len > TRACE_FRAME_DATA - TRACE_RECORD_HEAD))
		return err_set(e, -EFBIG, "trace: record of %zu bytes is too long (TR-6)", len);
	return 0;
}

int trace_writer_add(struct trace_writer *w, enum trace_type type, const void *bytes, size_t len,
		     struct weir_err *e)
{
	int err;

	if (w->failed)
		return fail(w, w->failed, e);
	err = check_record(w, type, len, e);
	if (err < 0)
		return err;
	err = put_record(w, type, bytes, len, e);
	if (err < 0)
		return err;
	w->started = true;
	w->ended = type == TRACE_END;
	return type == TRACE_START || type == TRACE_END ? trace_writer_sync(w, e) : 0;
}

void trace_writer_root(const struct trace_writer *w, unsigned char ret_root[DIGEST_SIZE])
{
	memcpy(ret_root, w->chain, DIGEST_SIZE);
}

uint64_t trace_writer_size(const struct trace_writer *w)
{
	return w->size;
}
