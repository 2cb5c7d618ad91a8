/* SPDX-License-Identifier: MIT */
/* A proposal goes on: what the workspace gave comes from its texts and its pack. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "writeback/digest.h"
#include "writeback/pending.h"
#include "writeback/promotion.h"
#include "writeback/publish.h"
#include "writeback/reason.h"

#define PACK_HEAD 12

/* The pack keeps its name in the proposal until the promotion is done: after a crash between
 * two renames everything is still there. */
static int link_pack(struct promotion *p, struct weir_err *e)
{
	int err = publish_open_quarantine(&p->repo, p->nonce.id, &p->quarantine, e);

	if (err == 0 && (linkat(p->pending.dir, "q.pack", p->quarantine, "pack", 0) < 0 ||
			 linkat(p->pending.dir, "q.idx", p->quarantine, "idx", 0) < 0))
		return refuse(e, REASON_QUARANTINE, "the proposal's pack: %s", strerror(errno));
	return err;
}

static int read_pack(struct promotion *p, struct weir_err *e)
{
	cleanup_close int fd = openat(p->quarantine, "pack", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	unsigned char head[PACK_HEAD];
	char hex[DIGEST_HEX];
	cleanup_buf struct buf want = { 0 };
	struct stat st;
	int err;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < PACK_HEAD + PACK_ID ||
	    pread(fd, head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    pread(fd, p->pack.name, PACK_ID, st.st_size - PACK_ID) != PACK_ID)
		return refuse(e, REASON_QUARANTINE, "the proposal's pack can't be read");
	err = pack_hash_file(fd, p->pack.sha256);
	if (err < 0)
		return err_errno(e, err, "hashing the proposal's pack");
	digest_hex(p->pack.sha256, DIGEST_SIZE, hex);
	if (digest_find(buf_str(&p->pending.promotion), "pack", &want) < 0 ||
	    strcmp(buf_str(&want), hex) != 0)
		return refuse(e, REASON_QUARANTINE, "the proposal's pack has other bytes");
	p->pack.bytes = (uint64_t)st.st_size;
	p->pack.objects = (uint32_t)head[8] << 24 | (uint32_t)head[9] << 16 |
			  (uint32_t)head[10] << 8 | head[11];
	return 0;
}

/* Object ids from the changes text, path by path; the digest compares all else. */
static int take_ids(struct promotion *p, struct weir_err *e)
{
	const char *at = strchr(buf_str(&p->pending.changes), '\n');

	for (size_t i = 0; i < p->changes.count; i++) {
		struct change *c = &p->changes.items[i];
		cleanup_buf struct buf path = { 0 };
		char id[OID_HEX] = "";
		int used = 0;

		at = at && at[1] ? at + 1 : NULL;
		buf_add_escaped(&path, c->path, c->len);
		if (!at ||
		    sscanf(at, "%*c %*o %*o %*u %*64[0-9a-f-] %*40[0-9a-f-] %40[0-9a-f-] %n", id,
			   &used) != 1 ||
		    used == 0 || strncmp(at + used, buf_str(&path), path.len) != 0 ||
		    at[(size_t)used + path.len] != '\n' ||
		    (c->new_mode != 0 && git_oid_fromstr(&c->oid, id) < 0))
			return refuse(e, REASON_VOID,
				      "the changes are no longer those of the "
				      "proposal (%s)",
				      c->path);
		at = strchr(at, '\n');
	}
	return 0;
}

static int find_kind(const char *id, enum hazard_kind *ret_kind)
{
	const char *dash = strrchr(id, '-');

	for (unsigned int i = 0; dash && i < HAZARD_COUNT; i++) {
		const char *name = hazard_name((enum hazard_kind)i);

		if (strlen(name) == (size_t)(dash - id) && strncmp(name, id, strlen(name)) == 0) {
			*ret_kind = (enum hazard_kind)i;
			return 0;
		}
	}
	return -EBADMSG;
}

/* "ID SEVERITY PLACE TIMES PATH" of a finding line; PLACE may be "byte N". */
static int take_finding(struct hazards *h, char *line)
{
	char *fields[4];
	struct hazard_note note = { 0 };
	enum hazard_kind kind;
	char *at = line;

	for (unsigned int i = 0; i < ARRAY_SIZE(fields); i++) {
		fields[i] = at;
		if (i == 2 && strncmp(at, "byte ", 5) == 0)
			at += 5;
		at = strchr(at, ' ');
		if (!at)
			return -EBADMSG;
		*at++ = '\0';
	}
	if (find_kind(fields[0], &kind) < 0 || strlen(fields[0]) >= HAZARD_ID_MAX ||
	    escape_undo(at) <= 0)
		return -EBADMSG;
	note.place = strcmp(fields[2], "-") == 0 ? "" : fields[2];
	note.times = strtoull(fields[3], NULL, 10);
	if (hazards_note(h, kind, at, &note) < 0)
		return -ENOMEM;
	/* what was found is not here to hash, the id is */
	snprintf(h->items[h->count - 1].id, HAZARD_ID_MAX, "%s", fields[0]);
	return 0;
}

/* Contents are not judged again: their bytes are the same. What is found again by names must be
 * among the proposal's findings. */
static int take_findings(struct promotion *p, struct weir_err *e)
{
	static const char key[] = "finding ";
	cleanup_free char *copy = strdup(buf_str(&p->pending.promotion));
	struct hazards all = { 0 };
	char *at = NULL;
	int err = copy ? 0 : -ENOMEM;

	for (char *line = copy ? strtok_r(copy, "\n", &at) : NULL; err == 0 && line;
	     line = strtok_r(NULL, "\n", &at))
		if (strncmp(line, key, sizeof(key) - 1) == 0)
			err = take_finding(&all, line + sizeof(key) - 1);
	if (err < 0)
		err_errno(e, err, "reading the proposal's findings");
	for (size_t i = 0; err == 0 && i < p->hazards.count; i++)
		if (!hazards_find(&all, p->hazards.items[i].id))
			err = refuse(e, REASON_VOID, "there is a new finding, %s",
				     p->hazards.items[i].id);
	if (err < 0) {
		hazards_done(&all);
		return err;
	}
	hazards_done(&p->hazards);
	p->hazards = all;
	return 0;
}

int pending_restore(struct promotion *p, struct weir_err *e)
{
	const char *text = buf_str(&p->pending.promotion);
	cleanup_buf struct buf tree = { 0 };
	cleanup_buf struct buf hashed = { 0 };
	cleanup_buf struct buf skipped = { 0 };
	int err;

	if (digest_find(text, "tree", &tree) < 0 || digest_find(text, "hashed", &hashed) < 0 ||
	    git_oid_fromstr(&p->tree, buf_str(&tree)) < 0)
		return refuse(e, REASON_VOID, "the proposal names no tree");
	p->hashed_files = strtoull(buf_str(&hashed), NULL, 10);
	if (digest_find(text, "skipped", &skipped) == 0)
		p->skipped = strtoull(buf_str(&skipped), NULL, 10);
	err = link_pack(p, e);
	if (err == 0)
		err = read_pack(p, e);
	if (err == 0)
		err = take_ids(p, e);
	if (err == 0)
		err = take_findings(p, e);
	if (err == 0)
		err = except_accept_hazards(p, e);
	return err < 0 ? err : hazards_judge(&p->hazards, p->policy->strict.value != 0, e);
}
