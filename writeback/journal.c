/* SPDX-License-Identifier: MIT */
#include "writeback/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/json.h"

#define JOURNAL_FILE "weir/journal"
#define JOURNAL_SCHEMA "weir.journal/2"
#define JOURNAL_MAX ((size_t)64 << 10)

void journal_done(struct journal *j)
{
	for (unsigned int i = 0; i < JOURNAL_REFS; i++)
		reflock_done(&j->refs[i]);
	nonce_done(&j->nonce);
	free(j->dir);
	j->dir = NULL;
}

static json_t *ref_json(const struct reflock *l)
{
	char old[OID_HEX], new_id[OID_HEX];

	git_oid_tostr(old, sizeof(old), &l->old);
	git_oid_tostr(new_id, sizeof(new_id), &l->new_id);
	return json_pack("{s:s, s:s, s:s, s:I}", "ref", l->ref, "old", old, "new", new_id, "ino",
			 (json_int_t)l->ino);
}

/* NULL where there is none: such a member is left out. */
static json_t *dir_json(const struct journal *j)
{
	return j->dir ? json_pack("{s:s, s:I, s:I}", "name", j->dir, "new",
				  (json_int_t)j->swap.new_ino, "old", (json_int_t)j->swap.old_ino)
		      : NULL;
}

int journal_write(const struct repo *r, const struct journal *j, struct weir_err *e)
{
	cleanup_json json_t *root =
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:[o, o], s:o*}", "schema",
			  JOURNAL_SCHEMA, "phase", j->ready ? "ready" : "lock", "nonce",
			  j->nonce.id, "run", j->nonce.run, "statement", j->nonce.statement,
			  "commit", j->nonce.promoted, "intent", (json_int_t)j->intent, "refs",
			  ref_json(&j->refs[0]), ref_json(&j->refs[1]), "dir", dir_json(j));
	cleanup_buf struct buf text = { 0 };

	if (!root || json_canonical(root, &text) < 0)
		return err_errno(e, -ENOMEM, "writing the journal");
	return fsio_replace(r->fd, JOURNAL_FILE, text.data, text.len, 0600, e);
}

static int parse_ref(const json_t *json, struct reflock *l, unsigned int number)
{
	char old[OID_HEX], new_id[OID_HEX];

	l->ref = json_take_escaped(json, "ref");
	l->ino = (uint64_t)json_integer_value(json_object_get(json, "ino"));
	if (!l->ref || asprintf(&l->file, "weir/lock-%u", number) < 0)
		return -EBADMSG;
	if (strncmp(l->ref, "refs/", 5) != 0 || strstr(l->ref, "..") ||
	    json_take_fixed(json, "old", old, sizeof(old)) < 0 ||
	    json_take_fixed(json, "new", new_id, sizeof(new_id)) < 0 ||
	    git_oid_fromstr(&l->old, old) < 0 || git_oid_fromstr(&l->new_id, new_id) < 0)
		return -EBADMSG;
	return 0;
}

static int parse_dir(const json_t *json, struct journal *j)
{
	const json_t *new_ino = json_object_get(json, "new"), *old = json_object_get(json, "old");

	if (!json)
		return 0;
	j->dir = json_take_escaped(json, "name");
	j->swap.new_ino = (uint64_t)json_integer_value(new_ino);
	j->swap.old_ino = (uint64_t)json_integer_value(old);
	return j->dir && json_is_integer(new_ino) && json_is_integer(old) ? 0 : -EBADMSG;
}

static int parse(const json_t *root, struct journal *j)
{
	const json_t *refs = json_object_get(root, "refs");
	struct nonce *n = &j->nonce;

	j->ready = json_text_is(root, "phase", "ready");
	j->intent = (uint64_t)json_integer_value(json_object_get(root, "intent"));
	n->run = json_take_escaped(root, "run");
	if (!json_text_is(root, "schema", JOURNAL_SCHEMA) || !n->run ||
	    json_array_size(refs) != JOURNAL_REFS ||
	    !json_is_integer(json_object_get(root, "intent")) || j->intent > INT64_MAX ||
	    json_take_fixed(root, "nonce", n->id, sizeof(n->id)) < 0 ||
	    json_take_fixed(root, "statement", n->statement, sizeof(n->statement)) < 0 ||
	    json_take_fixed(root, "commit", n->promoted, sizeof(n->promoted)) < 0)
		return -EBADMSG;
	if (parse_dir(json_object_get(root, "dir"), j) < 0)
		return -EBADMSG;
	for (unsigned int i = 0; i < JOURNAL_REFS; i++)
		if (parse_ref(json_array_get(refs, i), &j->refs[i], i) < 0)
			return -EBADMSG;
	return 0;
}

int journal_read(const struct repo *r, struct journal *ret_journal, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	cleanup_json json_t *root = NULL;
	struct weir_err cause = { 0 };
	int err;

	*ret_journal = (struct journal){ 0 };
	err = fsio_read_file(r->fd, JOURNAL_FILE, JOURNAL_MAX, &text, &cause);
	if (err == -ENOENT)
		return err;
	if (err < 0)
		return err_set(e, err, "%s/%s", r->path, cause.text);
	root = json_read(text.data, text.len, JOURNAL_FILE, e);
	if (!root)
		return -EBADMSG;
	if (parse(root, ret_journal) == 0)
		return 0;
	journal_done(ret_journal);
	return err_set(e, -EBADMSG, "%s/%s is damaged; look at it, then remove it", r->path,
		       JOURNAL_FILE);
}

int journal_remove(const struct repo *r, struct weir_err *e)
{
	cleanup_close int dir = -1;

	if (unlinkat(r->fd, JOURNAL_FILE, 0) < 0 && errno != ENOENT)
		return err_errno(e, -errno, "%s/%s", r->path, JOURNAL_FILE);
	dir = openat(r->fd, "weir", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || fsync(dir) < 0)
		return err_errno(e, -errno, "%s/weir", r->path);
	return 0;
}
