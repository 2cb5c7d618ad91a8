/* SPDX-License-Identifier: MIT */
#include "writeback/gitdir.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/digest.h"
#include "user/base/fsio.h"

int gitdir_index_add(struct gitdir_index *index, const char *path, uint32_t git_mode,
		     const struct stat *st, const unsigned char id[GITDIR_ID])
{
	struct buf *b = &index->entries;
	size_t start = b->len, len = strlen(path);
	unsigned char flags[2];

	buf_add_u32be(b, (uint32_t)st->st_ctim.tv_sec);
	buf_add_u32be(b, (uint32_t)st->st_ctim.tv_nsec);
	buf_add_u32be(b, (uint32_t)st->st_mtim.tv_sec);
	buf_add_u32be(b, (uint32_t)st->st_mtim.tv_nsec);
	buf_add_u32be(b, (uint32_t)st->st_dev);
	buf_add_u32be(b, (uint32_t)st->st_ino);
	buf_add_u32be(b, git_mode);
	buf_add_u32be(b, st->st_uid);
	buf_add_u32be(b, st->st_gid);
	buf_add_u32be(b, (uint32_t)st->st_size);
	buf_add(b, id, GITDIR_ID);
	flags[0] = len < 0xfff ? (unsigned char)(len >> 8) : 0x0f;
	flags[1] = len < 0xfff ? (unsigned char)len : 0xff;
	buf_add(b, flags, sizeof(flags));
	buf_add(b, path, len);
	do {
		buf_add(b, "", 1);
	} while (!b->failed && (b->len - start) % 8 != 0);
	index->count++;
	return b->failed ? -ENOMEM : 0;
}

static int write_file(int root, const char *path, const void *data, size_t len, struct weir_err *e)
{
	cleanup_close int fd = openat(root, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int err = fd < 0 ? -errno : fsio_write_all(fd, data, len);

	return err < 0 ? err_errno(e, err, "%s", path) : 0;
}

static int write_text(int root, const char *path, const char *text, struct weir_err *e)
{
	return write_file(root, path, text, strlen(text), e);
}

static int copy_file(int root, const char *path, int from, struct weir_err *e)
{
	cleanup_close int fd = openat(root, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	off_t at = 0;
	struct stat st;

	if (fd < 0 || fstat(from, &st) < 0)
		return err_errno(e, -errno, "%s", path);
	while (at < st.st_size) {
		ssize_t n = sendfile(fd, from, &at, (size_t)(st.st_size - at));

		if (n <= 0)
			return err_errno(e, n < 0 ? -errno : -EIO, "%s", path);
	}
	return 0;
}

static int write_index(int root, const struct gitdir_index *index, struct weir_err *e)
{
	cleanup_buf struct buf b = { 0 };
	unsigned char sha1[GITDIR_ID];

	buf_add(&b, "DIRC", 4);
	buf_add_u32be(&b, 2);
	buf_add_u32be(&b, index->count);
	buf_add(&b, index->entries.data, index->entries.len);
	if (b.failed || EVP_Digest(b.data, b.len, sha1, NULL, EVP_sha1(), NULL) != 1 ||
	    buf_add(&b, sha1, sizeof(sha1)) < 0)
		return err_errno(e, -ENOMEM, ".git/index");
	return write_file(root, ".git/index", b.data, b.len, e);
}

/* .git/refs/heads/a/b: the branch with its directories. */
static int write_branch(int root, const struct gitdir *g, struct weir_err *e)
{
	cleanup_free char *path = NULL;
	cleanup_free char *text = NULL;

	if (asprintf(&path, ".git/%s", g->ref) < 0)
		path = NULL;
	if (asprintf(&text, "%s\n", g->commit) < 0)
		text = NULL;
	if (!path || !text)
		return err_errno(e, -ENOMEM, ".git");
	for (char *slash = strchr(path + 5, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdirat(root, path, 0755) < 0 && errno != EEXIST)
			return err_errno(e, -errno, "%s", path);
		*slash = '/';
	}
	return write_text(root, path, text, e);
}

static int write_pack(int root, const struct gitdir *g, struct weir_err *e)
{
	char hex[2 * GITDIR_ID + 1], path[128];
	int err;

	digest_hex(g->pack_name, GITDIR_ID, hex);
	snprintf(path, sizeof(path), ".git/objects/pack/pack-%s.pack", hex);
	err = copy_file(root, path, g->pack_fd, e);
	snprintf(path, sizeof(path), ".git/objects/pack/pack-%s.idx", hex);
	return err < 0 ? err : copy_file(root, path, g->idx_fd, e);
}

int gitdir_write(int root, const struct gitdir *g, const struct gitdir_index *index,
		 struct weir_err *e)
{
	static const char *const dirs[] = {
		".git",	     ".git/objects",	".git/objects/info", ".git/objects/pack",
		".git/refs", ".git/refs/heads", ".git/refs/tags",    ".git/info"
	};
	cleanup_free char *head = NULL;
	cleanup_free char *shallow = NULL;
	int err = 0;

	if (asprintf(&head, "ref: %s\n", g->ref) < 0)
		head = NULL;
	if (asprintf(&shallow, "%s\n", g->commit) < 0)
		shallow = NULL;
	if (!head || !shallow)
		return err_errno(e, -ENOMEM, ".git");
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (mkdirat(root, dirs[i], 0755) < 0)
			return err_errno(e, -errno, "%s", dirs[i]);
	err = write_pack(root, g, e);
	if (err == 0)
		err = write_branch(root, g, e);
	if (err == 0 && g->shallow)
		err = write_text(root, ".git/shallow", shallow, e);
	if (err == 0)
		err = write_index(root, index, e);
	if (err == 0)
		err = write_text(root, ".git/config",
				 "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n"
				 "\tbare = false\n\tlogallrefupdates = true\n",
				 e);
	return err < 0 ? err : write_text(root, ".git/HEAD", head, e);
}
