/* SPDX-License-Identifier: MIT */
#include "writeback/packread.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "user/base/cleanup.h"

#define IDX_HEAD 8
#define IDX_FANOUT 1024
#define IDX_TRAILER (2 * PACK_ID)
#define PACK_HEAD 12
#define PIECE ((size_t)64 << 10)

static int read_at(int fd, void *data, size_t len, uint64_t at)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (char *)data + done, len - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		done += (size_t)n;
	}
	return 0;
}

static uint32_t u32be(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int file_size(int fd, uint64_t *ret_size)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

/* Head and fanout. Gives: numbers of the first and one past the last id with this first byte, and of
 * all. */
static int read_fanout(int fd, unsigned char first, uint32_t *ret_low, uint32_t *ret_high,
		       uint32_t *ret_count)
{
	static const unsigned char head[IDX_HEAD] = { 0xff, 't', 'O', 'c', 0, 0, 0, 2 };
	unsigned char data[IDX_HEAD + IDX_FANOUT];
	uint64_t size = 0;
	int err = file_size(fd, &size);

	if (err == 0)
		err = read_at(fd, data, sizeof(data), 0);
	if (err != 0)
		return err;
	*ret_low = first ? u32be(data + IDX_HEAD + 4 * (first - 1)) : 0;
	*ret_high = u32be(data + IDX_HEAD + 4 * first);
	*ret_count = u32be(data + IDX_HEAD + 4 * 255);
	if (memcmp(data, head, sizeof(head)) != 0 || *ret_low > *ret_high ||
	    *ret_high > *ret_count ||
	    size < sizeof(data) + (uint64_t)*ret_count * (PACK_ID + 8) + IDX_TRAILER)
		return -EBADMSG;
	return 0;
}

int packread_find(int idx_fd, const unsigned char id[PACK_ID], uint64_t *ret_offset)
{
	unsigned char data[PACK_ID];
	uint64_t ids = IDX_HEAD + IDX_FANOUT, offsets;
	uint32_t low, high, count, middle = 0;
	int err = read_fanout(idx_fd, id[0], &low, &high, &count), order = 1;

	if (err != 0)
		return err;
	while (err == 0 && low < high && order != 0) {
		middle = low + (high - low) / 2;
		err = read_at(idx_fd, data, PACK_ID, ids + (uint64_t)middle * PACK_ID);
		order = err == 0 ? memcmp(data, id, PACK_ID) : 1;
		if (order < 0)
			low = middle + 1;
		else if (order > 0)
			high = middle;
	}
	if (err == 0 && order != 0)
		err = -ENOENT;
	offsets = ids + (uint64_t)count * (PACK_ID + 4);
	if (err == 0)
		err = read_at(idx_fd, data, 4, offsets + (uint64_t)middle * 4);
	if (err < 0)
		return err;
	*ret_offset = u32be(data);
	if (!(*ret_offset & 0x80000000u))
		return 0;
	err = read_at(idx_fd, data, 8,
		      offsets + (uint64_t)count * 4 + (*ret_offset & 0x7fffffffu) * 8);
	if (err == 0)
		*ret_offset = (uint64_t)u32be(data) << 32 | u32be(data + 4);
	return err;
}

/* Type and size: 3 + 4 bits, then 7 and 7, low first. Returns: bytes of it, or a negative
 * errno. */
static int read_head(int fd, uint64_t offset, uint64_t file, unsigned int *ret_type,
		     uint64_t *ret_size)
{
	unsigned char head[16] = { 0 };
	size_t len = sizeof(head), i = 0;
	unsigned int shift = 4;
	int err;

	if (offset < PACK_HEAD || offset >= file)
		return -EBADMSG;
	if (file - offset < len)
		len = (size_t)(file - offset);
	err = read_at(fd, head, len, offset);
	if (err < 0)
		return err;
	*ret_type = head[0] >> 4 & 7;
	*ret_size = head[0] & 15;
	while (head[i] & 0x80) {
		if (++i == len || shift > 57)
			return -EBADMSG;
		*ret_size |= (uint64_t)(head[i] & 0x7f) << shift;
		shift += 7;
	}
	return (int)i + 1;
}

struct inflation {
	z_stream z;
	unsigned char in[PIECE];
	unsigned char out[PIECE];
};

/* Inflates what was read. Returns: 1 at the end of the stream, 0, or a negative errno. */
static int inflate_piece(struct inflation *f, uint64_t *left, packread_fn *fn, void *arg)
{
	do {
		size_t made;
		int status, err;

		f->z.next_out = f->out;
		f->z.avail_out = PIECE;
		status = inflate(&f->z, Z_NO_FLUSH);
		made = PIECE - f->z.avail_out;
		if ((status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) ||
		    made > *left)
			return -EBADMSG;
		*left -= made;
		err = made > 0 ? fn(f->out, made, arg) : 0;
		if (err < 0)
			return err;
		if (status == Z_STREAM_END)
			return 1;
		if (made == 0)
			break;
	} while (f->z.avail_in > 0 || f->z.avail_out == 0);
	return 0;
}

static int inflate_all(int fd, uint64_t at, uint64_t file, struct inflation *f, uint64_t left,
		       packread_fn *fn, void *arg)
{
	int status = 0;

	while (status == 0) {
		size_t n = file - at < PIECE ? (size_t)(file - at) : PIECE;

		if (n == 0)
			return -EBADMSG;
		status = read_at(fd, f->in, n, at);
		if (status < 0)
			return status;
		at += n;
		f->z.next_in = f->in;
		f->z.avail_in = (uInt)n;
		status = inflate_piece(f, &left, fn, arg);
	}
	if (status < 0)
		return status;
	return left == 0 ? 0 : -EBADMSG;
}

int packread_stream(int pack_fd, uint64_t offset, uint64_t size, packread_fn *fn, void *arg)
{
	cleanup_free struct inflation *f = NULL;
	uint64_t file = 0, said;
	unsigned int type;
	int err = file_size(pack_fd, &file), head;

	if (err < 0)
		return err;
	head = read_head(pack_fd, offset, file, &type, &said);
	if (head < 0)
		return head;
	if (type == 6 || type == 7)
		return -EMEDIUMTYPE;
	if (type != PACK_BLOB || said != size)
		return -EBADMSG;
	f = calloc(1, sizeof(*f));
	if (!f || inflateInit(&f->z) != Z_OK)
		return -ENOMEM;
	err = inflate_all(pack_fd, offset + (uint64_t)head, file, f, size, fn, arg);
	inflateEnd(&f->z);
	return err;
}
