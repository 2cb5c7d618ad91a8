/* SPDX-License-Identifier: MIT */
/*
 * Step 4, quarantine: every changed file is opened once and read once, into a pack that no
 * ref reaches. No later step sees the workspace.
 *
 *   REPOSITORY/weir/quarantine/NONCE/pack and .../idx
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/intake.h"
#include "writeback/promotion.h"
#include "writeback/publish.h"
#include "writeback/quarantine.h"
#include "writeback/reason.h"
#include "writeback/treebuild.h"

#define LEVEL 1 /* zlib: as git's loose objects */

struct batch {
	size_t items[READER_BATCH]; /* numbers of changes */
	size_t count;
};

static int ask_batch(const struct promotion *p, size_t *at, struct batch *b, struct weir_err *e)
{
	struct reader_path paths[READER_BATCH];
	size_t bytes = 0;

	b->count = 0;
	while (*at < p->changes.count && b->count < READER_BATCH) {
		const struct change *c = &p->changes.items[*at];

		if (c->new_mode != 0) {
			bytes += c->len + 2 * sizeof(uint32_t);
			if (bytes > PROTO_MAX / 2)
				break;
			paths[b->count] = (struct reader_path){ c->path, c->st_mode };
			b->items[b->count++] = *at;
		}
		(*at)++;
	}
	return b->count > 0 ? reader_ask(p->reader, paths, b->count, e) : 0;
}

/* A file with more names than the workspace has for it can be written from elsewhere. */
static int check_links(struct promotion *p, const struct change *c, const struct reader_file *file)
{
	uint32_t names = 0;

	if (file->stat.nlink <= 1 || !S_ISREG(file->stat.mode))
		return 0;
	for (size_t i = 0; i < p->after->count; i++)
		names += p->after->rows[i].ino == file->stat.ino && S_ISREG(p->after->rows[i].mode);
	return names < file->stat.nlink ? hazards_add(&p->hazards, HAZARD_HARDLINK, c->path) : 0;
}

static int take_batch(struct promotion *p, struct intake *in, const struct batch *b,
		      struct weir_err *e)
{
	struct reader_file files[READER_BATCH];
	int err = reader_fetch(p->reader, files, b->count, e);

	if (err < 0)
		return err;
	for (size_t i = 0; err == 0 && i < b->count; i++) {
		struct change *c = &p->changes.items[b->items[i]];

		err = intake_file(in, c, &files[i], e);
		if (err == 0 && check_links(p, c, &files[i]) < 0)
			err = err_errno(e, -ENOMEM, "%s", c->path);
	}
	reader_files_done(files, b->count);
	return err;
}

/* While one batch is hashed the reader opens the next. */
static int take_all(struct promotion *p, struct intake *in, struct weir_err *e)
{
	struct batch batches[2];
	unsigned int turn = 0;
	size_t at = 0;
	int err = ask_batch(p, &at, &batches[0], e);

	while (err == 0 && batches[turn].count > 0) {
		err = ask_batch(p, &at, &batches[!turn], e);
		if (err == 0)
			err = take_batch(p, in, &batches[turn], e);
		turn = !turn;
	}
	return err;
}

static int create(int dir, const char *name, int flags, struct weir_err *e)
{
	int fd = openat(dir, name, flags | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444);

	return fd < 0 ? err_errno(e, -errno, "quarantine file %s", name) : fd;
}

static int write_index(const struct promotion *p, const struct buf *index, struct weir_err *e)
{
	cleanup_close int fd = create(p->quarantine, "idx", O_WRONLY, e);
	int err;

	if (fd < 0)
		return fd;
	err = fsio_write_all(fd, index->data, index->len);
	if (err == 0 && (fsync(fd) < 0 || fsync(p->quarantine) < 0))
		err = -errno;
	return err < 0 ? err_errno(e, err, "writing the pack's index") : 0;
}

static int finish(struct promotion *p, struct pack *pack, struct weir_err *e)
{
	cleanup_buf struct buf index = { 0 };
	int err = pack_finish(pack, &p->pack, &index);

	return err < 0 ? err_errno(e, err, "writing the pack") : write_index(p, &index, e);
}

int quarantine_empty(struct promotion *p, struct weir_err *e)
{
	cleanup_close int fd = create(p->quarantine, "pack", O_RDWR, e);
	cleanup_pack struct pack *pack = NULL;
	int err = fd < 0 ? fd : pack_new(fd, LEVEL, &pack);

	if (fd < 0)
		return fd;
	return err < 0 ? err_errno(e, err, "quarantine") : finish(p, pack, e);
}

static int fill(struct promotion *p, int fd, struct weir_err *e)
{
	__attribute__((__cleanup__(intake_done))) struct intake in = { .repo = &p->repo,
								       .hazards = &p->hazards };
	cleanup_pack struct pack *pack = NULL;
	bool is_dir = kind_of(p->kind)->is_dir;
	int err = pack_new(fd, LEVEL, &pack);

	in.pack = pack;
	in.root = is_dir ? strlen(p->dir.from) + 1 : 0;
	if (err == 0)
		err = intake_init(&in);
	if (err == 0)
		err = repo_known_load(&p->repo);
	if (err < 0)
		return err_errno(e, err, "quarantine");
	err = take_all(p, &in, e);
	hazards_drop(&p->hazards, p->expected);
	if (err == 0)
		err = except_accept_hazards(p, e);
	if (err == 0)
		err = hazards_judge(&p->hazards, p->policy->strict.value != 0, e);
	if (err == 0)
		err = treebuild_apply(&p->repo, is_dir ? NULL : &p->base_head.tree, &p->changes,
				      pack, &p->tree, e);
	if (err < 0)
		return err;
	return finish(p, pack, e);
}

/* There must be something new. */
static int check_new(const struct promotion *p, struct weir_err *e)
{
	struct repo_commit old;
	int err;

	if (!kind_of(p->kind)->is_dir)
		return git_oid_equal(&p->tree, &p->base_head.tree)
			       ? refuse(e, REASON_NOTHING, "the new tree is the base commit's")
			       : 0;
	if (git_oid_is_zero(&p->old_dir))
		return 0;
	err = repo_read_commit(&p->repo, &p->old_dir, &old, e);
	if (err == 0 && git_oid_equal(&p->tree, &old.tree))
		err = refuse(e, REASON_NOTHING, "%s has these very files", p->dir.path);
	return err;
}

int run_quarantine(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	cleanup_close int fd = -1;
	int err;

	(void)ret_answer;
	if (p->resumed)
		return pending_restore(p, e);
	err = publish_open_quarantine(&p->repo, p->nonce.id, &p->quarantine, e);
	if (err < 0)
		return err;
	fd = create(p->quarantine, "pack", O_RDWR, e);
	if (fd < 0)
		return fd;
	err = fill(p, fd, e);
	if (err < 0)
		return err;
	return check_new(p, e);
}
