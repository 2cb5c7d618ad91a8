/* SPDX-License-Identifier: MIT */
#include "writeback/nonce.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/config.h"
#include "writeback/json.h"
#include "writeback/reason.h"

#define FILE_MAX ((size_t)64 << 10)

void nonce_done(struct nonce *n)
{
	free(n->repository);
	free(n->ref);
	free(n->workspace);
	free(n->run);
	*n = (struct nonce){ 0 };
}

static int open_dir(const char *name, struct weir_err *e)
{
	cleanup_free char *path = NULL;
	int fd;

	if (asprintf(&path, "%s/%s", GATE_STATE, name) < 0) {
		path = NULL;
		return err_errno(e, -ENOMEM, "nonces");
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? err_errno(e, -errno, "%s (see weir-gate init)", path) : fd;
}

int nonce_format(const struct nonce *n, struct buf *ret_text)
{
	cleanup_json json_t *root = json_pack(
		"{s:s, s:s, s:o, s:s, s:s, s:s, s:{s:o, s:o, s:I}, s:I}", "schema", NONCE_SCHEMA,
		"nonce", n->id, "repository", json_escaped(n->repository), "id", n->repo_id, "ref",
		n->ref, "commit", n->commit, "workspace", "path", json_escaped(n->workspace), "dev",
		json_dev(n->dev), "ino", (json_int_t)n->ino, "issued", (json_int_t)n->issued);

	if (!root ||
	    (n->checkout[0] && json_object_set_new(root, "checkout", json_string(n->checkout)) < 0))
		return -ENOMEM;
	if (n->used && (json_object_set_new(root, "run", json_escaped(n->run)) < 0 ||
			json_object_set_new(root, "statement", json_string(n->statement)) < 0 ||
			json_object_set_new(root, "promoted", json_string(n->promoted)) < 0))
		return -ENOMEM;
	return json_canonical(root, ret_text);
}

static int store(const struct nonce *n, const char *dir_name, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	cleanup_close int dir = open_dir(dir_name, e);

	if (dir < 0)
		return dir;
	if (nonce_format(n, &text) < 0)
		return err_errno(e, -ENOMEM, "nonces");
	return fsio_replace(dir, n->id, text.data, text.len, 0600, e);
}

int nonce_issue(struct nonce *n, struct weir_err *e)
{
	unsigned char bytes[NONCE_BYTES];
	int err = digest_random(bytes, sizeof(bytes));

	if (err < 0)
		return err_errno(e, err, "making a nonce");
	digest_hex(bytes, sizeof(bytes), n->id);
	n->issued = time(NULL);
	n->used = false;
	return store(n, "nonces", e);
}

int nonce_fill(const struct nonce *n, struct weir_err *e)
{
	return store(n, "nonces", e);
}

static int parse(const char *id, const struct buf *text, bool used, struct nonce *n,
		 struct weir_err *e)
{
	cleanup_json json_t *root = json_read(text->data, text->len, "nonce", e);
	const json_t *workspace = json_object_get(root, "workspace");

	if (!root)
		return -EBADMSG;
	n->used = used;
	n->repository = json_take_escaped(root, "repository");
	n->ref = json_take_escaped(root, "ref");
	n->workspace = json_take_escaped(workspace, "path");
	n->run = used ? json_take_escaped(root, "run") : NULL;
	n->ino = (uint64_t)json_integer_value(json_object_get(workspace, "ino"));
	n->issued = json_integer_value(json_object_get(root, "issued"));
	if (!json_text_is(root, "schema", NONCE_SCHEMA) || !json_text_is(root, "nonce", id) ||
	    !n->repository || !n->ref || !n->workspace ||
	    json_take_fixed(root, "id", n->repo_id, sizeof(n->repo_id)) < 0 ||
	    json_take_fixed(root, "commit", n->commit, sizeof(n->commit)) < 0 ||
	    json_take_dev(workspace, "dev", &n->dev) < 0 ||
	    (json_object_get(root, "checkout") &&
	     json_take_fixed(root, "checkout", n->checkout, sizeof(n->checkout)) < 0) ||
	    (used && (!n->run ||
		      json_take_fixed(root, "statement", n->statement, sizeof(n->statement)) < 0 ||
		      json_take_fixed(root, "promoted", n->promoted, sizeof(n->promoted)) < 0)))
		return err_set(e, -EBADMSG, "nonce %s: damaged file", id);
	snprintf(n->id, sizeof(n->id), "%s", id);
	return 0;
}

static int load_from(const char *dir_name, const char *id, bool used, struct nonce *n,
		     struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	cleanup_close int dir = open_dir(dir_name, e);
	struct weir_err cause = { 0 };
	int err;

	if (dir < 0)
		return dir;
	err = fsio_read_file(dir, id, FILE_MAX, &text, &cause);
	if (err == -ENOENT)
		return -ENOENT;
	if (err < 0)
		return err_set(e, err, "%s", cause.text);
	return parse(id, &text, used, n, e);
}

int nonce_load(const char *id, struct nonce *ret_nonce, struct weir_err *e)
{
	unsigned char bytes[NONCE_BYTES];
	int err;

	*ret_nonce = (struct nonce){ 0 };
	if (digest_unhex(id, bytes, sizeof(bytes)) < 0)
		return refuse(e, REASON_NONCE_UNKNOWN, "a nonce has 32 lower-case hex digits");
	err = load_from("used", id, true, ret_nonce, e);
	if (err == -ENOENT)
		err = load_from("nonces", id, false, ret_nonce, e);
	if (err == -ENOENT)
		err = refuse(e, REASON_NONCE_UNKNOWN, "this gate did not issue nonce %s", id);
	if (err < 0)
		nonce_done(ret_nonce);
	return err;
}

int nonce_use(const struct nonce *n, struct weir_err *e)
{
	struct nonce used = *n;
	cleanup_close int dir = -1;
	int err;

	used.used = true;
	err = store(&used, "used", e);
	if (err < 0)
		return err;
	dir = open_dir("nonces", e);
	if (dir < 0)
		return dir;
	if (unlinkat(dir, n->id, 0) < 0 && errno != ENOENT)
		return err_errno(e, -errno, "nonce %s", n->id);
	return 0;
}
