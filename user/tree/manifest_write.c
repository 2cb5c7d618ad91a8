/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/tree/manifest.h"
#include "user/tree/rules.h"

#define FLUSH_BYTES 65536

struct manifest_writer {
	int fd; /* borrowed */
	struct buf out;
	struct digest *digest;
	struct manifest_place place;
	uint64_t bytes;
};

static int flush(struct manifest_writer *m, struct weir_err *e)
{
	int err = m->out.failed ? -ENOMEM : 0;

	if (err == 0)
		err = digest_add(m->digest, m->out.data, m->out.len);
	if (err == 0)
		err = fsio_write_all(m->fd, m->out.data, m->out.len);
	m->bytes += m->out.len;
	m->out.len = 0;
	return err < 0 ? err_errno(e, err, "writing the manifest") : 0;
}

int manifest_writer_new(int out_fd, int64_t taken_ns, int64_t tick_ns,
			struct manifest_writer **ret_writer, struct weir_err *e)
{
	struct manifest_writer *m = calloc(1, sizeof(*m));

	if (!m || !(m->digest = digest_new())) {
		free(m);
		return err_errno(e, -ENOMEM, "writing the manifest");
	}
	m->fd = out_fd;
	buf_addf(&m->out, "weir.manifest/1\ntaken %" PRId64 " %" PRId64 "\n", taken_ns, tick_ns);
	*ret_writer = m;
	return 0;
}

void manifest_writer_free(struct manifest_writer *m)
{
	if (!m)
		return;
	digest_free(m->digest);
	buf_done(&m->out);
	buf_done(&m->place.last);
	free(m);
}

int manifest_writer_add(struct manifest_writer *m, const struct tree_entry *entry,
			struct weir_err *e)
{
	const char *wrong = manifest_check_entry(&m->place, entry);
	char hash[DIGEST_HEX] = "-";

	if (wrong) {
		cleanup_buf struct buf path = { 0 };

		buf_add_escaped(&path, entry->path, entry->path_len < 256 ? entry->path_len : 256);
		return err_set(e, -EINVAL, "manifest entry '%s': %s", buf_str(&path), wrong);
	}
	if (entry->hashed)
		digest_hex(entry->sha256, DIGEST_SIZE, hash);
	buf_addf(&m->out, "%c %04o %" PRIu64 " %s %" PRIu64 " %" PRId64 " %" PRId64 " ",
		 manifest_type_letter(entry->mode), entry->mode & 07777, entry->size, hash,
		 entry->ino, entry->ctime_ns, entry->mtime_ns);
	if (entry->path_len)
		buf_add_escaped(&m->out, entry->path, entry->path_len);
	else
		buf_add(&m->out, ".", 1);
	buf_add(&m->out, "\n", 1);
	return m->out.len >= FLUSH_BYTES || m->out.failed ? flush(m, e) : 0;
}

int manifest_writer_end(struct manifest_writer *m, struct manifest_summary *ret_summary,
			struct weir_err *e)
{
	int err;

	if (m->place.entries == 0)
		return err_set(e, -EINVAL, "a manifest without its root");
	buf_addf(&m->out, "end %" PRIu64 "\n", m->place.entries);
	err = flush(m, e);
	if (err < 0)
		return err;
	ret_summary->entries = m->place.entries;
	ret_summary->bytes = m->bytes;
	if (digest_end(m->digest, ret_summary->sha256) < 0)
		return err_set(e, -EIO, "can't hash the manifest");
	return 0;
}

int manifest_write_tree(int root_fd, const char *skip, int out_fd,
			struct manifest_summary *ret_summary, struct weir_err *e)
{
	cleanup_manifest_writer struct manifest_writer *m = NULL;
	cleanup_tree_walk struct tree_walk *w = NULL;
	struct timespec now;
	int err;

	if (clock_gettime(CLOCK_REALTIME, &now) < 0)
		return err_errno(e, -errno, "reading the clock");
	err = manifest_writer_new(out_fd, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec,
				  MANIFEST_TICK_NS, &m, e);
	if (err == 0)
		err = tree_walk_new(root_fd, skip, &w, e);
	while (err == 0) {
		struct tree_entry entry;

		err = tree_walk_next(w, &entry, e);
		if (err == 0)
			return manifest_writer_end(m, ret_summary, e);
		if (err > 0)
			err = tree_walk_hash(w, &entry, e);
		if (err == 0)
			err = manifest_writer_add(m, &entry, e);
	}
	return err;
}

bool manifest_entry_is_racy(const struct tree_entry *entry, int64_t taken_ns, int64_t tick_ns)
{
	const int64_t second = 1000000000;
	int64_t tick = tick_ns, when = entry->ctime_ns;

	/* a whole second is what a coarse file system writes down */
	if (when % second == 0 && tick < MANIFEST_TICK_COARSE_NS)
		tick = MANIFEST_TICK_COARSE_NS;
	/* written without overflow, since both numbers may come from a file */
	return when >= 0 && taken_ns >= 0 ? when >= taken_ns - (taken_ns < tick ? taken_ns : tick)
					  : true;
}
