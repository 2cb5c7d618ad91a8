/* SPDX-License-Identifier: MIT */
#include "user/trace/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/buf.h"
#include "user/base/cleanup.h"

struct trace_reader {
	int fd;
	struct digest *digest;
	struct buf joined;	     /* a record that was split */
	struct trace_record pending; /* the same, while its end is missing */
	bool split;
	struct weir_err refusal;
	uint64_t number; /* of the next frame */
	uint64_t size;	 /* end of the frames that were checked */
	uint64_t torn;
	uint64_t frame_at; /* where the frame in memory starts */
	uint32_t used;	   /* bytes of its records */
	uint32_t at;	   /* next record in them */
	bool started, ended;
	unsigned char chain[DIGEST_SIZE];
	_Alignas(8) unsigned char frame[TRACE_FRAME_MAX];
};

static const char *const types[] = {
#define TRACE_X(id, number, name) [number] = name,
	TRACE_TYPES(TRACE_X)
#undef TRACE_X
};

const char *trace_type_name(unsigned int type)
{
	return type < ARRAY_SIZE(types) && types[type] ? types[type] : "unknown";
}

/* Refuses the trace for good. offset: in the file. */
static int refuse(struct trace_reader *r, struct weir_err *e, uint64_t offset, uint64_t frame,
		  const char *why)
{
	err_code(&r->refusal, -EBADMSG, "trace-corrupt", "trace: at byte %llu (frame %llu): %s",
		 (unsigned long long)offset, (unsigned long long)frame, why);
	if (e)
		*e = r->refusal;
	return -EBADMSG;
}

/* Reads len bytes, less at the end of the file. Returns: bytes or a negative errno. */
static ssize_t read_at(int fd, void *ret_bytes, size_t len, uint64_t offset)
{
	char *at = ret_bytes;
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, at + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int trace_reader_new(int fd, struct trace_reader **ret_reader, struct weir_err *e)
{
	cleanup_trace_reader struct trace_reader *r = NULL;
	char magic[TRACE_MAGIC_SIZE];
	ssize_t n = read_at(fd, magic, sizeof(magic), 0);

	if (n < 0)
		return err_errno(e, (int)n, "trace: reading");
	if (n < TRACE_MAGIC_SIZE)
		return err_code(e, -EBADMSG, "trace-corrupt",
				"trace: at byte %zd: the file ends inside its first bytes (TR-9)",
				n);
	if (memcmp(magic, TRACE_MAGIC, TRACE_MAGIC_SIZE) != 0)
		return err_code(e, -EBADMSG, "trace-corrupt",
				"trace: at byte 0: not a weir trace of version 1 (TR-1)");
	r = calloc(1, sizeof(*r));
	if (!r)
		return err_errno(e, -ENOMEM, "trace");
	r->fd = fd;
	r->size = TRACE_MAGIC_SIZE;
	r->joined.max = TRACE_RECORD_MAX;
	r->digest = digest_new();
	if (!r->digest || digest_bytes(magic, sizeof(magic), r->chain) < 0)
		return err_errno(e, -ENOMEM, "trace");
	*ret_reader = TAKE_PTR(r);
	return 0;
}

void trace_reader_free(struct trace_reader *r)
{
	if (!r)
		return;
	digest_free(r->digest);
	buf_done(&r->joined);
	free(r);
}

static int check_head(struct trace_reader *r, const struct trace_frame_head *head,
		      struct weir_err *e)
{
	if (head->magic != TRACE_FRAME_MAGIC)
		return refuse(r, e, r->size, r->number, "no frame starts here (TR-2)");
	if (head->length == 0 || head->length > TRACE_FRAME_DATA || head->length % 8 != 0)
		return refuse(r, e, r->size + offsetof(struct trace_frame_head, length), r->number,
			      "the frame's length is out of range (TR-2)");
	if (head->number != r->number)
		return refuse(r, e, r->size + offsetof(struct trace_frame_head, number), r->number,
			      "a frame is missing, repeated or out of order (TR-3)");
	return 0;
}

static int check_chain(struct trace_reader *r, size_t len, struct weir_err *e)
{
	unsigned char chain[DIGEST_SIZE];
	int err = digest_add(r->digest, r->chain, DIGEST_SIZE);

	if (err == 0)
		err = digest_add(r->digest, r->frame, len);
	if (err == 0)
		err = digest_end(r->digest, chain);
	if (err < 0)
		return err_errno(e, err, "trace: hashing");
	if (memcmp(chain, r->frame + len, DIGEST_SIZE) != 0)
		return refuse(r, e, r->size, r->number,
			      "the frame's bytes do not match its chain (TR-4)");
	memcpy(r->chain, chain, DIGEST_SIZE);
	return 0;
}

/* Loads the next frame. Returns: 1; 0 when there is no whole one; or a refusal. */
static int load_frame(struct trace_reader *r, struct weir_err *e)
{
	struct trace_frame_head head;
	ssize_t got = read_at(r->fd, r->frame, TRACE_FRAME_HEAD, r->size);
	size_t len, rest;
	int err;

	if (got < 0)
		return err_errno(e, (int)got, "trace: reading");
	r->torn = (uint64_t)got;
	if (got > 0 && r->ended)
		return refuse(r, e, r->size, r->number, "bytes follow END (TR-8)");
	if (got < (ssize_t)TRACE_FRAME_HEAD)
		return 0;
	memcpy(&head, r->frame, sizeof(head));
	err = check_head(r, &head, e);
	if (err < 0)
		return err;
	len = TRACE_FRAME_HEAD + head.length;
	rest = head.length + DIGEST_SIZE;
	got = read_at(r->fd, r->frame + TRACE_FRAME_HEAD, rest, r->size + TRACE_FRAME_HEAD);
	if (got < 0)
		return err_errno(e, (int)got, "trace: reading");
	r->torn = TRACE_FRAME_HEAD + (uint64_t)got;
	if ((size_t)got < rest)
		return 0;
	err = check_chain(r, len, e);
	if (err < 0)
		return err;
	r->torn = 0;
	r->frame_at = r->size;
	r->size += len + DIGEST_SIZE;
	r->number++;
	r->used = head.length;
	r->at = 0;
	return 1;
}

static int refuse_here(struct trace_reader *r, struct weir_err *e, uint64_t more, const char *why)
{
	return refuse(r, e, r->frame_at + TRACE_FRAME_HEAD + r->at + more, r->number - 1, why);
}

/* Takes the next piece of a record out of the frame, which has one. */
static int take_piece(struct trace_reader *r, struct trace_record_head *ret_head,
		      const unsigned char **ret_bytes, struct weir_err *e)
{
	const unsigned char *at = r->frame + TRACE_FRAME_HEAD + r->at;
	struct trace_record_head head;
	uint32_t left = r->used - r->at - TRACE_RECORD_HEAD, padded;

	memcpy(&head, at, sizeof(head));
	if (head.type < TRACE_START || head.type > TRACE_END)
		return refuse_here(r, e, 0, "record of unknown type (TR-6)");
	if (head.flags & ~TRACE_MORE || (head.type == TRACE_EVENT && head.flags))
		return refuse_here(r, e, 2, "record with undefined flags (TR-6)");
	if (head.length > left)
		return refuse_here(r, e, 4, "record is longer than its frame (TR-5)");
	padded = (head.length + 7) & ~7u;
	for (uint32_t i = head.length; i < padded; i++)
		if (at[TRACE_RECORD_HEAD + i] != 0)
			return refuse_here(r, e, TRACE_RECORD_HEAD + i,
					   "padding of a record is not zero (TR-5)");
	if ((head.type == TRACE_START) == r->started)
		return refuse_here(r, e, 0, "START is missing or comes again (TR-7)");
	r->at += TRACE_RECORD_HEAD + padded;
	if (head.type == TRACE_END && !(head.flags & TRACE_MORE) && r->at < r->used)
		return refuse_here(r, e, 0, "a record follows END (TR-8)");
	*ret_head = head;
	*ret_bytes = at + TRACE_RECORD_HEAD;
	return 0;
}

/* Adds a piece to the record that is being joined. offset: of the piece in the file. */
static int join(struct trace_reader *r, const struct trace_record_head *head,
		const unsigned char *bytes, uint64_t offset, struct weir_err *e)
{
	if (head->type != r->pending.type)
		return refuse(r, e, offset, r->number - 1,
			      "a split record is not continued (TR-6)");
	if (r->joined.len + head->length > TRACE_RECORD_MAX)
		return refuse(r, e, offset, r->number - 1, "a record is too long in all (TR-6)");
	if (buf_add(&r->joined, bytes, head->length) < 0)
		return err_errno(e, -ENOMEM, "trace");
	r->pending.bytes = r->joined.data;
	r->pending.len = r->joined.len;
	return 0;
}

/* Takes one piece. Returns: 1 when a record is complete, 2 when there is more of it, 0 at
 * the end of the file, or an error. */
static int next_piece(struct trace_reader *r, struct weir_err *e)
{
	struct trace_record_head head;
	const unsigned char *bytes;
	uint64_t offset;
	bool more;
	int err;

	if (r->at == r->used) {
		err = load_frame(r, e);
		if (err <= 0)
			return err;
	}
	offset = r->frame_at + TRACE_FRAME_HEAD + r->at;
	err = take_piece(r, &head, &bytes, e);
	if (err < 0)
		return err;
	more = head.flags & TRACE_MORE;
	if (!r->split) {
		buf_done(&r->joined);
		r->pending = (struct trace_record){
			.type = head.type,
			.bytes = bytes,
			.len = head.length,
			.frame = r->number - 1,
			.offset = offset,
		};
	}
	if (r->split || more) {
		err = join(r, &head, bytes, offset, e);
		if (err < 0)
			return err;
	}
	r->split = more;
	return more ? 2 : 1;
}

int trace_reader_next(struct trace_reader *r, struct trace_record *ret_record, struct weir_err *e)
{
	int ret;

	if (r->refusal.err) {
		if (e)
			*e = r->refusal;
		return -EBADMSG;
	}
	do
		ret = next_piece(r, e);
	while (ret == 2);
	if (ret != 1)
		return ret;
	r->started = true;
	r->ended = r->pending.type == TRACE_END;
	*ret_record = r->pending;
	return 1;
}

bool trace_reader_ended(const struct trace_reader *r)
{
	return r->ended;
}

uint64_t trace_reader_torn(const struct trace_reader *r)
{
	return r->torn;
}

void trace_reader_root(const struct trace_reader *r, unsigned char ret_root[DIGEST_SIZE])
{
	memcpy(ret_root, r->chain, DIGEST_SIZE);
}

uint64_t trace_reader_size(const struct trace_reader *r)
{
	return r->size;
}
