/* SPDX-License-Identifier: MIT */
#include "writeback/blob.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "user/base/cleanup.h"

static int read_whole(const struct repo *r, const git_oid *oid, packread_fn *fn, void *arg,
		      struct weir_err *e)
{
	git_odb_object *object = NULL;
	char hex[OID_HEX];
	size_t len;
	int err = 0;

	git_oid_tostr(hex, sizeof(hex), oid);
	if (git_odb_read(&object, r->odb, oid) < 0)
		return repo_error(e, hex);
	len = git_odb_object_size(object);
	if (git_odb_object_type(object) != GIT_OBJECT_BLOB)
		err = -EBADMSG;
	else if (len > 0)
		err = fn(git_odb_object_data(object), len, arg);
	git_odb_object_free(object);
	return err < 0 ? err_errno(e, err, "blob %s", hex) : 0;
}

/* The object in one pack, if it is there. Returns: as packread_stream; -ENOENT. */
static int read_from(int dir, const char *idx_name, const git_oid *oid, uint64_t size,
		     packread_fn *fn, void *arg)
{
	cleanup_close int idx = openat(dir, idx_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	cleanup_close int pack = -1;
	char name[NAME_MAX + 1];
	uint64_t offset;
	int err;

	if (idx < 0)
		return errno == ENOENT ? -ENOENT : -errno;
	err = packread_find(idx, oid->id, &offset);
	if (err < 0)
		return err;
	snprintf(name, sizeof(name), "%.*s.pack", (int)strlen(idx_name) - 4, idx_name);
	pack = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return pack < 0 ? -errno : packread_stream(pack, offset, size, fn, arg);
}

/* Returns: as read_from. */
static int read_packed(const struct repo *r, const git_oid *oid, uint64_t size, packread_fn *fn,
		       void *arg)
{
	cleanup_free char *path = NULL;
	cleanup_closedir DIR *dir = NULL;
	const struct dirent *entry;
	int err = -ENOENT;

	if (asprintf(&path, "%sobjects/pack", git_repository_commondir(r->git)) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ENOENT : -errno;
	while (err == -ENOENT && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);

		if (len > 4 && strcmp(entry->d_name + len - 4, ".idx") == 0)
			err = read_from(dirfd(dir), entry->d_name, oid, size, fn, arg);
	}
	return err;
}

int blob_read(const struct repo *r, const git_oid *oid, packread_fn *fn, void *arg,
	      struct weir_err *e)
{
	char hex[OID_HEX];
	git_object_t type;
	size_t size;
	int err;

	git_oid_tostr(hex, sizeof(hex), oid);
	if (git_odb_read_header(&size, &type, r->odb, oid) < 0)
		return repo_error(e, hex);
	if (type != GIT_OBJECT_BLOB)
		return err_set(e, -EBADMSG, "object %s is no blob", hex);
	if (size <= BLOB_WHOLE)
		return read_whole(r, oid, fn, arg, e);
	err = read_packed(r, oid, size, fn, arg);
	if (err == -ENOENT || err == -EMEDIUMTYPE)
		return read_whole(r, oid, fn, arg, e);
	return err < 0 ? err_errno(e, err, "blob %s", hex) : 0;
}

static int add_to_digest(const void *data, size_t len, void *arg)
{
	return digest_add(arg, data, len);
}

int blob_sha256(const struct repo *r, const git_oid *oid, unsigned char ret_sha256[DIGEST_SIZE],
		struct weir_err *e)
{
	cleanup_digest struct digest *d = digest_new();
	int err;

	if (!d)
		return err_errno(e, -ENOMEM, "reading a blob");
	err = blob_read(r, oid, add_to_digest, d, e);
	if (err == 0 && digest_end(d, ret_sha256) < 0)
		err = err_errno(e, -EIO, "reading a blob");
	return err;
}
