/* SPDX-License-Identifier: MIT */
#include "writeback/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "writeback/blob.h"
#include "writeback/content.h"
#include "writeback/names.h"
#include "writeback/reason.h"

int intake_init(struct intake *in)
{
	in->buffer = malloc(SCAN_OVERLAP + INTAKE_SMALL + 1);
	in->sha256 = digest_new();
	return in->buffer && in->sha256 ? scan_new(&in->scan) : -ENOMEM;
}

void intake_done(struct intake *in)
{
	free(in->buffer);
	digest_free(in->sha256);
	scan_free(in->scan);
	in->scan = NULL;
	in->buffer = NULL;
	in->sha256 = NULL;
}

static int changed(const struct change *c, const char *how, struct weir_err *e)
{
	return refuse(e, REASON_CHANGED_AFTER, "%s %s after the run ended", c->path, how);
}

/* Whether an object with this id exists; its content must then be ours.
 * Returns: 1, 0, or refused. */
static int find_equal(const struct intake *in, const struct change *c, struct weir_err *e)
{
	const unsigned char *packed = pack_find(in->pack, c->oid.id);
	unsigned char sha256[DIGEST_SIZE];
	bool same;
	int err;

	if (packed) {
		same = memcmp(packed, c->sha256, DIGEST_SIZE) == 0;
	} else {
		if (!repo_knows(in->repo, &c->oid))
			return 0;
		err = blob_sha256(in->repo, &c->oid, sha256, e);
		/* an object that is no blob can't have the id of one */
		if (err < 0 && err != -EBADMSG)
			return err;
		same = err == 0 && memcmp(sha256, c->sha256, DIGEST_SIZE) == 0;
	}
	return same ? 1 : refuse(e, REASON_OBJECT_COLLISION, "%s", c->path);
}

/* Findings about content count when the run made the content. */
static int end_scan(struct intake *in, const struct change *c, struct weir_err *e)
{
	if (c->old_mode != 0 && git_oid_equal(&c->oid, &c->old_oid))
		return 0;
	if (scan_end(in->scan, in->hazards, c->path, c->sha256) < 0)
		return err_errno(e, -ENOMEM, "%s", c->path);
	return 0;
}

static int inspect_whole(struct intake *in, const struct change *c, const void *data, size_t len,
			 struct weir_err *e)
{
	long left;

	if (content_matters(c->path) && content_inspect(in->hazards, c->path, data, len) < 0)
		return err_errno(e, -ENOMEM, "%s", c->path);
	scan_begin(in->scan);
	left = scan_feed(in->scan, data, len, true);
	return left < 0 ? err_errno(e, (int)left, "%s", c->path) : end_scan(in, c, e);
}

static int take_bytes(struct intake *in, struct change *c, const void *data, size_t len,
		      struct weir_err *e)
{
	unsigned char sha256[DIGEST_SIZE];
	int err = 0;

	if (digest_add(in->sha256, data, len) < 0 || digest_end(in->sha256, sha256) < 0)
		return err_errno(e, -EIO, "%s", c->path);
	if (memcmp(sha256, c->sha256, DIGEST_SIZE) != 0)
		return changed(c, "has another content", e);
	if (repo_hash(GIT_OBJECT_BLOB, data, len, &c->oid) < 0)
		return repo_error(e, c->path);
	if (S_ISREG(c->st_mode))
		err = inspect_whole(in, c, data, len, e);
	if (err == 0)
		err = find_equal(in, c, e);
	if (err != 0)
		return err < 0 ? err : 0;
	err = pack_add(in->pack, PACK_BLOB, data, len, c->oid.id, c->sha256);
	return err < 0 ? err_errno(e, err, "writing the pack") : 0;
}

static ssize_t read_some(int fd, void *data, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = read(fd, (char *)data + done, len - done);

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

static int take_small(struct intake *in, struct change *c, int fd, struct weir_err *e)
{
	ssize_t n = read_some(fd, in->buffer, (size_t)c->size + 1);

	if (n < 0)
		return err_errno(e, (int)n, "%s", c->path);
	if ((uint64_t)n != c->size)
		return changed(c, "has another size", e);
	return take_bytes(in, c, in->buffer, (size_t)n, e);
}

/* Returns: bytes to keep in front of the next piece, or a negative errno with e. */
static long take_piece(struct intake *in, const struct change *c, size_t kept, size_t n, bool last,
		       struct repo_stream *id, struct weir_err *e)
{
	const unsigned char *data = in->buffer + kept;
	long keep = digest_add(in->sha256, data, n);

	if (keep == 0)
		keep = repo_stream_add(id, data, n);
	if (keep == 0)
		keep = pack_write(in->pack, data, n);
	if (keep == 0)
		keep = scan_feed(in->scan, in->buffer, kept + n, last);
	if (keep < 0)
		return err_errno(e, (int)keep, "%s", c->path);
	memmove(in->buffer, in->buffer + kept + n - (size_t)keep, (size_t)keep);
	return keep;
}

static int stream(struct intake *in, struct change *c, int fd, struct repo_stream *id,
		  struct weir_err *e)
{
	uint64_t left = c->size;
	size_t kept = 0;

	scan_begin(in->scan);
	for (;;) {
		ssize_t n = read_some(fd, in->buffer + kept, INTAKE_SMALL);
		long keep;

		if (n < 0)
			return err_errno(e, (int)n, "%s", c->path);
		if ((uint64_t)n > left || (n == 0 && left > 0) ||
		    (n < (ssize_t)INTAKE_SMALL && (uint64_t)n != left))
			return changed(c, "has another size", e);
		if (n == 0)
			return 0;
		left -= (uint64_t)n;
		keep = take_piece(in, c, kept, (size_t)n, left == 0, id, e);
		if (keep < 0)
			return (int)keep;
		kept = (size_t)keep;
	}
}

static int take_large(struct intake *in, struct change *c, int fd, struct weir_err *e)
{
	cleanup_repo_stream struct repo_stream *id = NULL;
	unsigned char sha256[DIGEST_SIZE];
	int err = repo_stream_new(GIT_OBJECT_BLOB, c->size, &id);

	if (err == 0)
		err = pack_begin(in->pack, PACK_BLOB, c->size);
	if (err < 0)
		return err_errno(e, err, "%s", c->path);
	err = stream(in, c, fd, id, e);
	if (err < 0)
		return err;
	if (repo_stream_end(id, &c->oid) < 0)
		return repo_error(e, c->path);
	if (digest_end(in->sha256, sha256) < 0)
		return err_errno(e, -EIO, "%s", c->path);
	if (memcmp(sha256, c->sha256, DIGEST_SIZE) != 0)
		return changed(c, "has another content", e);
	if (content_matters(c->path) && hazards_add(in->hazards, HAZARD_METASIZE, c->path) < 0)
		return err_errno(e, -ENOMEM, "%s", c->path);
	err = end_scan(in, c, e);
	if (err == 0)
		err = find_equal(in, c, e);
	if (err < 0)
		return err;
	err = err == 1 ? pack_abandon(in->pack) : pack_end(in->pack, c->oid.id, c->sha256);
	return err < 0 ? err_errno(e, err, "writing the pack") : 0;
}

int intake_file(struct intake *in, struct change *c, const struct reader_file *file,
		struct weir_err *e)
{
	int err;

	if (file->stat.err == -ENOENT || file->stat.err == -ENOTDIR || file->stat.err == -ELOOP ||
	    file->stat.err == -EXDEV)
		return changed(c, "vanished or was replaced", e);
	if (file->stat.err < 0)
		return err_errno(e, file->stat.err, "%s", c->path);
	if (file->stat.mode != c->st_mode)
		return changed(c, "has another type or mode", e);
	if (S_ISLNK(c->st_mode)) {
		err = take_bytes(in, c, file->target, file->target_len, e);
		if (err == 0 &&
		    names_inspect_link(in->hazards, c->path, in->root, file->target) < 0)
			err = err_errno(e, -ENOMEM, "%s", c->path);
		return err;
	}
	if (file->stat.size != c->size)
		return changed(c, "has another size", e);
	return c->size <= INTAKE_SMALL ? take_small(in, c, file->fd, e)
				       : take_large(in, c, file->fd, e);
}

int intake_blob(struct intake *in, const struct change *c, struct weir_err *e)
{
	cleanup_buf struct buf data = { 0 };
	int err;

	if (c->size > INTAKE_BLOB)
		return refuse(e, REASON_LIMIT, "%s has %llu bytes, too many to be inspected",
			      c->path, (unsigned long long)c->size);
	err = repo_read_object(in->repo, &c->oid, GIT_OBJECT_BLOB, INTAKE_BLOB, &data, e);
	if (err < 0)
		return err;
	if (S_ISLNK(c->new_mode))
		return names_inspect_link(in->hazards, c->path, in->root, buf_str(&data)) < 0
			       ? err_errno(e, -ENOMEM, "%s", c->path)
			       : 0;
	return inspect_whole(in, c, buf_str(&data), data.len, e);
}
