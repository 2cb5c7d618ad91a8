/* SPDX-License-Identifier: MIT */
#include "writeback/pack.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#ifdef WEIR_LIBDEFLATE
#include <libdeflate.h>
#endif

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/packindex.h"

#define BUFFER ((size_t)1 << 20)
#define HEAD 12

struct pack {
	int fd;
	int err;	 /* sticky */
	uint64_t offset; /* of the next byte, flushed or not */
	unsigned char *buffer;
	size_t used;
	z_stream z;
	bool z_ready;
#ifdef WEIR_LIBDEFLATE
	struct libdeflate_compressor *whole; /* for content that is held whole */
	unsigned char *room;
	size_t room_size;
#endif
	struct pack_table table;
	/* the object that is being written */
	bool open;
	uint64_t start;
	uint64_t left;
	uint32_t crc;
};

static int flush(struct pack *p)
{
	int err = fsio_write_all(p->fd, p->buffer, p->used);

	if (err < 0)
		p->err = err;
	p->used = 0;
	return err;
}

static int put(struct pack *p, const void *data, size_t len)
{
	if (p->used + len > BUFFER && flush(p) < 0)
		return p->err;
	memcpy(p->buffer + p->used, data, len);
	p->used += len;
	p->offset += len;
	return 0;
}

int pack_new(int fd, int level, struct pack **ret_pack)
{
	static const unsigned char head[HEAD] = { 'P', 'A', 'C', 'K', 0, 0, 0, 2, 0, 0, 0, 0 };
	struct pack *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->fd = fd;
	p->buffer = malloc(BUFFER);
	if (!p->buffer || deflateInit(&p->z, level) != Z_OK) {
		pack_free(p);
		return -ENOMEM;
	}
	p->z_ready = true;
#ifdef WEIR_LIBDEFLATE
	p->whole = libdeflate_alloc_compressor(level);
	if (!p->whole) {
		pack_free(p);
		return -ENOMEM;
	}
#endif
	put(p, head, sizeof(head));
	*ret_pack = p;
	return 0;
}

void pack_free(struct pack *p)
{
	if (!p)
		return;
	if (p->z_ready)
		deflateEnd(&p->z);
#ifdef WEIR_LIBDEFLATE
	libdeflate_free_compressor(p->whole);
	free(p->room);
#endif
	pack_table_done(&p->table);
	free(p->buffer);
	free(p);
}

const unsigned char *pack_find(const struct pack *p, const unsigned char id[PACK_ID])
{
	return pack_table_find(&p->table, id);
}

uint32_t pack_count(const struct pack *p)
{
	return p->table.count;
}

int pack_begin(struct pack *p, enum pack_type type, uint64_t size)
{
	unsigned char head[16];
	size_t len = 0;
	uint64_t rest = size >> 4;
	unsigned char byte = (unsigned char)((unsigned int)type << 4 | (size & 15));

	if (p->err < 0 || p->open)
		return p->err < 0 ? p->err : -EINVAL;
	while (rest > 0) {
		head[len++] = byte | 0x80;
		byte = rest & 0x7f;
		rest >>= 7;
	}
	head[len++] = byte;
	if (deflateReset(&p->z) != Z_OK)
		return p->err = -EIO;
	p->open = true;
	p->start = p->offset;
	p->left = size;
	p->crc = (uint32_t)crc32(0, head, (uInt)len);
	return put(p, head, len);
}

static int deflate_all(struct pack *p, const void *data, size_t len, int mode)
{
	int status;

	p->z.next_in = (unsigned char *)(uintptr_t)data;
	p->z.avail_in = (uInt)len;
	do {
		size_t room = BUFFER - p->used, made;

		if (room < 64) {
			if (flush(p) < 0)
				return p->err;
			room = BUFFER;
		}
		p->z.next_out = p->buffer + p->used;
		p->z.avail_out = (uInt)room;
		status = deflate(&p->z, mode);
		if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
			return p->err = -EIO;
		made = room - p->z.avail_out;
		p->crc = (uint32_t)crc32(p->crc, p->buffer + p->used, (uInt)made);
		p->used += made;
		p->offset += made;
	} while (mode == Z_FINISH ? status != Z_STREAM_END : p->z.avail_in > 0);
	return 0;
}

int pack_write(struct pack *p, const void *data, size_t len)
{
	const unsigned char *at = data;

	if (p->err < 0 || !p->open)
		return p->err < 0 ? p->err : -EINVAL;
	if (len > p->left)
		return -EMSGSIZE;
	while (len > 0) {
		size_t piece = len > BUFFER ? BUFFER : len;
		int err = deflate_all(p, at, piece, Z_NO_FLUSH);

		if (err < 0)
			return err;
		at += piece;
		len -= piece;
		p->left -= piece;
	}
	return 0;
}

/* Notes the object whose content was written. */
static int close_object(struct pack *p, const unsigned char id[PACK_ID],
			const unsigned char sha256[DIGEST_SIZE])
{
	struct pack_entry entry = { .offset = p->start };
	int err;

	p->open = false;
	entry.crc = p->crc;
	memcpy(entry.id, id, PACK_ID);
	memcpy(entry.sha256, sha256, DIGEST_SIZE);
	err = pack_table_add(&p->table, &entry);
	return err < 0 ? (p->err = err) : 0;
}

int pack_end(struct pack *p, const unsigned char id[PACK_ID],
	     const unsigned char sha256[DIGEST_SIZE])
{
	int err;

	if (p->err < 0 || !p->open)
		return p->err < 0 ? p->err : -EINVAL;
	if (p->left != 0)
		return -EMSGSIZE;
	err = deflate_all(p, NULL, 0, Z_FINISH);
	return err < 0 ? err : close_object(p, id, sha256);
}

int pack_abandon(struct pack *p)
{
	if (p->err < 0 || !p->open)
		return p->err < 0 ? p->err : -EINVAL;
	if (flush(p) < 0)
		return p->err;
	if (ftruncate(p->fd, (off_t)p->start) < 0 || lseek(p->fd, (off_t)p->start, SEEK_SET) < 0)
		return p->err = -errno;
	p->offset = p->start;
	p->open = false;
	return 0;
}

#ifdef WEIR_LIBDEFLATE
/* Content that fits the buffer is compressed at once: half the time of a stream. */
static int write_whole(struct pack *p, const void *data, size_t len)
{
	size_t bound = libdeflate_zlib_compress_bound(p->whole, len), made;

	if (bound > p->room_size) {
		free(p->room);
		p->room = malloc(bound);
		p->room_size = p->room ? bound : 0;
		if (!p->room)
			return p->err = -ENOMEM;
	}
	made = libdeflate_zlib_compress(p->whole, data, len, p->room, p->room_size);
	if (made == 0 || made > BUFFER)
		return p->err = -EIO;
	p->crc = libdeflate_crc32(p->crc, p->room, made);
	p->left = 0;
	return put(p, p->room, made);
}
#endif

int pack_add(struct pack *p, enum pack_type type, const void *data, size_t len,
	     const unsigned char id[PACK_ID], const unsigned char sha256[DIGEST_SIZE])
{
	int err;

	if (p->err < 0)
		return p->err;
	if (pack_find(p, id))
		return 0;
	err = pack_begin(p, type, len);
#ifdef WEIR_LIBDEFLATE
	if (err == 0 && len <= BUFFER / 2) {
		err = write_whole(p, data, len);
		return err < 0 ? err : close_object(p, id, sha256);
	}
#endif
	if (err == 0)
		err = pack_write(p, data, len);
	if (err == 0)
		err = pack_end(p, id, sha256);
	return err;
}

/* SHA-1 and SHA-256 of a file in one pass; either may be left out by NULL. */
static int hash_file(int fd, unsigned char *ret_sha1, unsigned char *ret_sha256)
{
	cleanup_digest struct digest *sha256 = digest_new();
	cleanup_free unsigned char *chunk = malloc(BUFFER);
	EVP_MD_CTX *sha1 = EVP_MD_CTX_new();
	off_t at = 0;
	int err = sha256 && chunk && sha1 && EVP_DigestInit_ex(sha1, EVP_sha1(), NULL) == 1
			  ? 0
			  : -ENOMEM;

	while (err == 0) {
		ssize_t n = pread(fd, chunk, BUFFER, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err = -errno;
		if (n <= 0)
			break;
		if (ret_sha1 && EVP_DigestUpdate(sha1, chunk, (size_t)n) != 1)
			err = -EIO;
		if (ret_sha256 && digest_add(sha256, chunk, (size_t)n) < 0)
			err = -EIO;
		at += n;
	}
	if (err == 0 && ret_sha1 && EVP_DigestFinal_ex(sha1, ret_sha1, NULL) != 1)
		err = -EIO;
	if (err == 0 && ret_sha256)
		err = digest_end(sha256, ret_sha256);
	EVP_MD_CTX_free(sha1);
	return err;
}

int pack_hash_file(int fd, unsigned char ret_sha256[DIGEST_SIZE])
{
	return hash_file(fd, NULL, ret_sha256);
}

int pack_finish(struct pack *p, struct pack_result *ret_result, struct buf *ret_index)
{
	unsigned char count[4] = { (unsigned char)(p->table.count >> 24),
				   (unsigned char)(p->table.count >> 16),
				   (unsigned char)(p->table.count >> 8),
				   (unsigned char)p->table.count };
	int err;

	if (p->err < 0 || p->open)
		return p->err < 0 ? p->err : -EINVAL;
	if (flush(p) < 0)
		return p->err;
	if (pwrite(p->fd, count, sizeof(count), 8) != (ssize_t)sizeof(count))
		return p->err = -EIO;
	err = hash_file(p->fd, ret_result->name, NULL);
	if (err == 0)
		err = fsio_write_all(p->fd, ret_result->name, PACK_ID);
	if (err == 0)
		err = hash_file(p->fd, NULL, ret_result->sha256);
	if (err == 0 && fsync(p->fd) < 0)
		err = -errno;
	if (err == 0)
		err = pack_table_index(&p->table, ret_result->name, ret_index);
	ret_result->bytes = p->offset + PACK_ID;
	ret_result->objects = p->table.count;
	return err < 0 ? (p->err = err) : 0;
}
