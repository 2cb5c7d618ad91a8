/* SPDX-License-Identifier: MIT */
/* One change, byte for byte: its diff, or what stands for it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/reason.h"
#include "writeback/review.h"

#define CONTEXT 3 /* unchanged lines around a change */

void review_content_done(struct review_content *c)
{
	buf_done(&c->old_target);
	buf_done(&c->new_target);
	buf_done(&c->diff);
}

static int read_blob(const struct repo *r, const char *id, struct buf *ret_data, struct weir_err *e)
{
	git_oid oid;

	if (strcmp(id, "-") == 0)
		return 0;
	if (git_oid_fromstr(&oid, id) < 0)
		return refuse(e, REASON_VOID, "the proposal's list of changes is damaged");
	return repo_read_object(r, &oid, GIT_OBJECT_BLOB, SIZE_MAX / 2, ret_data, e);
}

static int check_hash(const struct review_change *c, const struct buf *data, struct weir_err *e)
{
	unsigned char hash[DIGEST_SIZE];
	char hex[DIGEST_HEX];

	if (c->new_mode == 0)
		return 0;
	if (digest_bytes(data->len ? data->data : "", data->len, hash) < 0)
		return err_errno(e, -EIO, "hashing");
	digest_hex(hash, sizeof(hash), hex);
	return strcmp(hex, c->sha256) == 0
		       ? 0
		       : refuse(e, REASON_QUARANTINE, "a quarantined object has another SHA-256");
}

/* A tab is what it is; all else that could move a cursor or hide is escaped. */
static void add_line(struct buf *b, char origin, const char *text, size_t len)
{
	buf_add(b, &origin, 1);
	while (len > 0) {
		const char *tab = memchr(text, '\t', len);
		size_t part = tab ? (size_t)(tab - text) : len;

		buf_add_escaped(b, text, part);
		if (tab)
			buf_add(b, "\t", 1);
		part += tab != NULL;
		text += part;
		len -= part;
	}
	buf_add(b, "\n", 1);
}

static int add_hunk(git_patch *patch, size_t number, struct buf *b)
{
	const git_diff_hunk *hunk;
	size_t lines;

	if (git_patch_get_hunk(&hunk, &lines, patch, number) < 0)
		return -EIO;
	buf_addf(b, "@@ -%d,%d +%d,%d @@\n", hunk->old_start, hunk->old_lines, hunk->new_start,
		 hunk->new_lines);
	for (size_t i = 0; i < lines; i++) {
		const git_diff_line *line;
		size_t len;

		if (git_patch_get_line_in_hunk(&line, patch, number, i) < 0)
			return -EIO;
		len = line->content_len;
		if (!strchr(" +-", line->origin)) {
			buf_addf(b, "\\ no newline at the end of the file\n");
			continue;
		}
		if (len > 0 && line->content[len - 1] == '\n')
			len--;
		add_line(b, line->origin, line->content, len);
	}
	return b->failed ? -ENOMEM : 0;
}

static int diff(const struct buf *old, const struct buf *new, struct buf *ret_diff)
{
	git_diff_options options;
	git_patch *patch = NULL;
	int err = 0;

	if (git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION) < 0)
		return -EIO;
	options.context_lines = CONTEXT;
	options.flags = GIT_DIFF_FORCE_TEXT;
	options.max_size = -1;
	if (git_patch_from_buffers(&patch, old->data, old->len, "a", new->data, new->len, "b",
				   &options) < 0)
		return -EIO;
	for (size_t i = 0; err == 0 && i < git_patch_num_hunks(patch); i++)
		err = add_hunk(patch, i, ret_diff);
	git_patch_free(patch);
	return err;
}

static bool is_binary(const struct buf *b)
{
	return b->len > REVIEW_DIFF_MAX || (b->len > 0 && memchr(b->data, '\0', b->len));
}

static int show_links(const struct review_change *c, const struct buf *old, const struct buf *new,
		      struct review_content *out)
{
	if (c->old_mode == GIT_MODE_LINK)
		buf_add_escaped(&out->old_target, buf_str(old), old->len);
	if (c->new_mode == GIT_MODE_LINK)
		buf_add_escaped(&out->new_target, buf_str(new), new->len);
	return out->old_target.failed || out->new_target.failed ? -ENOMEM : 0;
}

int review_content(const struct review *r, const struct review_change *c,
		   struct review_content *ret_content, struct weir_err *e)
{
	static const struct buf nothing = { 0 };
	struct review_content *out = ret_content;
	cleanup_buf struct buf old = { 0 };
	cleanup_buf struct buf new = { 0 };
	bool submodule = c->old_mode == GIT_MODE_COMMIT || c->new_mode == GIT_MODE_COMMIT;
	bool old_link = c->old_mode == GIT_MODE_LINK, new_link = c->new_mode == GIT_MODE_LINK;
	int err = 0;

	if (c->old_mode != GIT_MODE_COMMIT)
		err = read_blob(r->repo, c->old_id, &old, e);
	if (err == 0 && c->new_mode != GIT_MODE_COMMIT)
		err = read_blob(r->repo, c->new_id, &new, e);
	if (err == 0)
		err = check_hash(c, &new, e);
	if (err < 0)
		return err;
	out->old_size = old.len;
	err = show_links(c, &old, &new, out);
	out->kind = submodule ? REVIEW_SUBMODULE
		    : (old_link || c->old_mode == 0) && (new_link || c->new_mode == 0) ? REVIEW_LINK
		    : is_binary(&old) || is_binary(&new) ? REVIEW_BINARY
							 : REVIEW_TEXT;
	/* a link that becomes a file, or the other way round: the file is all new or all gone */
	if (err == 0 && out->kind == REVIEW_TEXT)
		err = diff(old_link ? &nothing : &old, new_link ? &nothing : &new, &out->diff);
	return err < 0 ? err_errno(e, err, "comparing") : 0;
}
