/* SPDX-License-Identifier: MIT */
/* The keeper's side of a checkout; contract in checkout.h. */
#include "writeback/checkout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/baseline.h"
#include "writeback/blob.h"
#include "writeback/names.h"
#include "writeback/pack.h"
#include "writeback/proto.h"
#include "writeback/reason.h"

#define LEVEL 1

struct send {
	const struct repo *repo;
	int fd;
	struct pack *pack;
	struct baseline baseline;
	struct weir_err *e;
	int err;
};

static int pack_object(struct send *s, enum pack_type type, const git_oid *oid, const void *data,
		       size_t len)
{
	static const unsigned char none[DIGEST_SIZE];
	int err = pack_add(s->pack, type, data, len, oid->id, none);

	return err < 0 ? err_errno(s->e, err, "packing objects for the workspace") : 0;
}

static int pack_from_odb(struct send *s, enum pack_type type, git_object_t git_type,
			 const git_oid *oid)
{
	cleanup_buf struct buf data = { 0 };
	int err = repo_read_object(s->repo, oid, git_type, SIZE_MAX, &data, s->e);

	return err < 0 ? err : pack_object(s, type, oid, buf_str(&data), data.len);
}

static int tell(struct send *s, uint32_t type, const struct buf *b)
{
	int err = b->failed ? -ENOMEM : proto_send(s->fd, type, b->data, b->len, NULL, 0);

	return err < 0 ? err_errno(s->e, err, "filling the workspace") : 0;
}

static int send_head(struct send *s, uint32_t mode, const git_oid *oid, const char *path,
		     uint64_t size)
{
	cleanup_buf struct buf head = { 0 };

	buf_add(&head, &mode, sizeof(mode));
	buf_add(&head, &size, sizeof(size));
	buf_add(&head, oid->id, GIT_OID_RAWSZ);
	proto_put_bytes(&head, path, strlen(path));
	return tell(s, CHECKOUT_FILE, &head);
}

static int send_data(struct send *s, const char *data, size_t size)
{
	int err = 0;

	for (size_t at = 0; err == 0 && at < size; at += CHECKOUT_PIECE) {
		size_t piece = size - at < CHECKOUT_PIECE ? size - at : CHECKOUT_PIECE;

		err = proto_send(s->fd, CHECKOUT_DATA, data + at, piece, NULL, 0);
	}
	return err;
}

static int send_file(struct send *s, uint32_t mode, const git_oid *oid, const char *path,
		     const char *data, size_t size)
{
	int err = send_head(s, mode, oid, path, size);

	if (err < 0)
		return err;
	err = send_data(s, data, size);
	return err < 0 ? err_errno(s->e, err, "filling the workspace") : 0;
}

static int note(struct send *s, uint32_t mode, const char *path, size_t size,
		const unsigned char sha256[DIGEST_SIZE])
{
	int err = baseline_add(&s->baseline, mode, size, sha256, path, strlen(path));

	return err < 0 ? err_errno(s->e, err, "filling the workspace") : 0;
}

struct large {
	struct send *send;
	struct digest *sha256;
	bool packed; /* under another path already */
	char *piece; /* CHECKOUT_PIECE bytes: every piece but the last is whole */
	size_t used;
};

static int take_large(const void *data, size_t len, void *arg)
{
	struct large *l = arg;
	const char *at = data;
	int err = digest_add(l->sha256, data, len);

	if (err == 0 && !l->packed)
		err = pack_write(l->send->pack, data, len);
	while (err == 0 && len > 0) {
		size_t room = CHECKOUT_PIECE - l->used, n = len < room ? len : room;

		memcpy(l->piece + l->used, at, n);
		l->used += n;
		at += n;
		len -= n;
		if (l->used == CHECKOUT_PIECE) {
			err = send_data(l->send, l->piece, l->used);
			l->used = 0;
		}
	}
	return err;
}

/* A blob that is not held whole. */
static int send_large(struct send *s, uint32_t mode, const git_oid *oid, const char *path,
		      size_t size)
{
	static const unsigned char none[DIGEST_SIZE];
	cleanup_free char *piece = malloc(CHECKOUT_PIECE);
	cleanup_digest struct digest *sha256 = digest_new();
	struct large l = { s, sha256, pack_find(s->pack, oid->id) != NULL, piece, 0 };
	unsigned char hash[DIGEST_SIZE];
	int err = piece && sha256 ? send_head(s, mode, oid, path, size)
				  : err_errno(s->e, -ENOMEM, "filling the workspace");

	if (err < 0)
		return err;
	if (!l.packed)
		err = pack_begin(s->pack, PACK_BLOB, size);
	if (err == 0)
		err = blob_read(s->repo, oid, take_large, &l, s->e);
	if (err == 0)
		err = send_data(s, piece, l.used);
	if (err == 0 && !l.packed)
		err = pack_end(s->pack, oid->id, none);
	if (err == 0)
		err = digest_end(sha256, hash);
	if (err == 0)
		err = note(s, mode & 0100 ? GIT_MODE_EXEC : GIT_MODE_FILE, path, size, hash);
	return err < 0 && !s->e->text[0] ? err_errno(s->e, err, "filling the workspace") : err;
}

static int send_link(struct send *s, const git_oid *oid, const char *path, const char *target,
		     size_t len)
{
	cleanup_buf struct buf b = { 0 };

	buf_add(&b, oid->id, GIT_OID_RAWSZ);
	proto_put_bytes(&b, path, strlen(path));
	proto_put_bytes(&b, target, len);
	return tell(s, CHECKOUT_LINK, &b);
}

static int send_blob(struct send *s, uint32_t mode, const git_oid *oid, const char *path)
{
	git_odb_object *object = NULL;
	unsigned char hash[DIGEST_SIZE];
	git_object_t type;
	const char *data;
	size_t size;
	int err;

	if (git_odb_read_header(&size, &type, s->repo->odb, oid) < 0)
		return repo_error(s->e, path);
	if (size > BLOB_WHOLE && mode != GIT_MODE_LINK && type == GIT_OBJECT_BLOB)
		return send_large(s, mode & 0100 ? 0755 : 0644, oid, path, size);
	if (git_odb_read(&object, s->repo->odb, oid) < 0)
		return repo_error(s->e, path);
	data = git_odb_object_data(object);
	size = git_odb_object_size(object);
	if (git_odb_object_type(object) != GIT_OBJECT_BLOB)
		err = err_set(s->e, -EBADMSG, "%s is no blob in the base commit", path);
	else
		err = pack_object(s, PACK_BLOB, oid, data, size);
	if (err == 0 && mode == GIT_MODE_LINK)
		err = send_link(s, oid, path, data, size);
	else if (err == 0)
		err = send_file(s, mode & 0100 ? 0755 : 0644, oid, path, data, size);
	if (err == 0 && digest_bytes(data, size, hash) < 0)
		err = err_errno(s->e, -EIO, "filling the workspace");
	if (err == 0)
		err = note(s,
			   mode == GIT_MODE_LINK ? mode
			   : mode & 0100	 ? GIT_MODE_EXEC
						 : GIT_MODE_FILE,
			   path, size, hash);
	git_odb_object_free(object);
	return err;
}

static int visit(const char *root, const git_tree_entry *entry, void *arg)
{
	struct send *s = arg;
	const char *name = git_tree_entry_name(entry);
	const git_oid *oid = git_tree_entry_id(entry);
	uint32_t mode = (uint32_t)git_tree_entry_filemode_raw(entry);
	cleanup_buf struct buf b = { 0 };
	cleanup_free char *path = NULL;

	if (asprintf(&path, "%s%s", root, name) < 0) {
		path = NULL;
		return s->err = err_errno(s->e, -ENOMEM, "filling the workspace");
	}
	if (name_is_dotgit(name, strlen(name)) || strcmp(name, "..") == 0 || strcmp(name, ".") == 0)
		return s->err = refuse(s->e, REASON_TREE_UNSAFE, "the base commit has %s", path);
	switch (git_tree_entry_type(entry)) {
	case GIT_OBJECT_TREE:
		s->err = pack_from_odb(s, PACK_TREE, GIT_OBJECT_TREE, oid);
		proto_put_bytes(&b, path, strlen(path));
		if (s->err == 0)
			s->err = tell(s, CHECKOUT_DIR, &b);
		break;
	case GIT_OBJECT_COMMIT:
		buf_add(&b, oid->id, GIT_OID_RAWSZ);
		proto_put_bytes(&b, path, strlen(path));
		s->err = tell(s, CHECKOUT_MODULE, &b);
		break;
	default:
		s->err = send_blob(s, mode, oid, path);
		break;
	}
	return s->err;
}

static int send_tree(struct send *s, const git_oid *tree_id)
{
	git_tree *tree = NULL;
	int err;

	if (git_tree_lookup(&tree, s->repo->git, tree_id) < 0)
		return repo_error(s->e, "reading the base tree");
	err = git_tree_walk(tree, GIT_TREEWALK_PRE, visit, s);
	git_tree_free(tree);
	if (s->err < 0)
		return s->err;
	return err < 0 ? repo_error(s->e, "reading the base tree") : 0;
}

static int memory_file(const char *name, const struct buf *content, struct weir_err *e)
{
	cleanup_close int fd = memfd_create(name, MFD_CLOEXEC);
	int err;

	if (fd < 0)
		return err_errno(e, -errno, "%s", name);
	err = content ? fsio_write_all(fd, content->data, content->len) : 0;
	return err < 0 ? err_errno(e, err, "%s", name) : TAKE_FD(fd);
}

static int send_git(struct send *s, const struct nonce *n, bool shallow, int pack_fd)
{
	struct pack_result result = { 0 };
	cleanup_buf struct buf index = { 0 };
	cleanup_buf struct buf b = { 0 };
	cleanup_close int index_fd = -1;
	uint32_t flag = shallow;
	int fds[2], err = pack_finish(s->pack, &result, &index);

	if (err < 0)
		return err_errno(s->e, err, "packing objects for the workspace");
	index_fd = memory_file("idx", &index, s->e);
	if (index_fd < 0)
		return index_fd;
	buf_add(&b, &flag, sizeof(flag));
	proto_put_bytes(&b, n->ref, strlen(n->ref));
	proto_put_bytes(&b, n->commit, strlen(n->commit));
	proto_put_bytes(&b, result.name, PACK_ID);
	fds[0] = pack_fd;
	fds[1] = index_fd;
	err = b.failed ? -ENOMEM : proto_send(s->fd, CHECKOUT_GIT, b.data, b.len, fds, 2);
	return err < 0 ? err_errno(s->e, err, "filling the workspace") : 0;
}

static int hear(struct send *s)
{
	cleanup_proto struct proto_message m = { 0 };
	int err = proto_recv(s->fd, &m);
	const char *text;
	size_t len;

	if (err < 0)
		return err_errno(s->e, err, "filling the workspace");
	if (m.type == CHECKOUT_DONE)
		return 0;
	text = proto_take_bytes(&m, &len);
	return err_set(s->e, -EIO, "filling the workspace: %.*s", text ? (int)len : 1,
		       text ? text : "?");
}

static void send_done(struct send *s)
{
	baseline_done(&s->baseline);
}

int checkout_send(const struct repo *r, const struct nonce *n, int fd, char ret_hash[DIGEST_HEX],
		  struct weir_err *e)
{
	__attribute__((__cleanup__(send_done))) struct send s = { .repo = r, .fd = fd, .e = e };
	cleanup_pack struct pack *pack = NULL;
	cleanup_close int pack_fd = memory_file("pack", NULL, e);
	struct weir_err heard = { 0 };
	struct repo_commit head;
	git_oid commit;
	int err;

	if (pack_fd < 0)
		return pack_fd;
	if (git_oid_fromstr(&commit, n->commit) < 0 || pack_new(pack_fd, LEVEL, &pack) < 0)
		return err_errno(e, -ENOMEM, "filling the workspace");
	s.pack = pack;
	err = repo_read_commit(r, &commit, &head, e);
	if (err == 0)
		err = pack_from_odb(&s, PACK_COMMIT, GIT_OBJECT_COMMIT, &commit);
	if (err == 0)
		err = pack_from_odb(&s, PACK_TREE, GIT_OBJECT_TREE, &head.tree);
	if (err == 0)
		err = send_tree(&s, &head.tree);
	if (err == 0)
		err = send_git(&s, n, head.parents > 0, pack_fd);
	if (err == 0)
		err = baseline_end(&s.baseline, ret_hash);
	if (err == 0)
		return hear(&s);
	if (err == -EPIPE) { /* the writer gave up: its reason is the better one */
		s.e = &heard;
		hear(&s);
		if (heard.text[0])
			*e = heard;
	}
	return err;
}
