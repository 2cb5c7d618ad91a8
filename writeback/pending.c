/* SPDX-License-Identifier: MIT */
#include "writeback/pending.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/approval.h"
#include "writeback/digest.h"
#include "writeback/message.h"
#include "writeback/promotion.h"
#include "writeback/reason.h"
#include "writeback/report.h"
#include "writeback/sshsig.h"

#define ROOT "weir/pending"
#define PART_MAX ((size_t)1 << 30)

/* The texts of a proposal, and the key of the promotion text that has their SHA-256. */
static const struct part {
	const char *name;
	size_t offset; /* in struct pending */
	const char *key;
} parts[] = {
	{ "promotion", offsetof(struct pending, promotion), NULL },
	{ "changes", offsetof(struct pending, changes), "changes" },
	{ "message", offsetof(struct pending, message), "message" },
	{ "author", offsetof(struct pending, author), NULL },
	{ "statement.json", offsetof(struct pending, statement), "statement" },
	{ "statement.sig", offsetof(struct pending, signature), NULL },
	{ "policy.yaml", offsetof(struct pending, policy), "policy" },
	{ "findings", offsetof(struct pending, findings), NULL },
	{ "left", offsetof(struct pending, left), NULL },
};

static struct buf *part_at(const struct pending *p, const struct part *part)
{
	return (struct buf *)((char *)(uintptr_t)p + part->offset);
}

void pending_done(struct pending *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		buf_done(part_at(p, &parts[i]));
	if (p->dir >= 0)
		close(p->dir);
	*p = (struct pending){ .dir = -1 };
}

static int hash_hex(const struct buf *text, char ret_hex[DIGEST_HEX])
{
	unsigned char hash[DIGEST_SIZE];
	int err = digest_bytes(text->len ? text->data : "", text->len, hash);

	if (err == 0)
		digest_hex(hash, sizeof(hash), ret_hex);
	return err;
}

static int make_dir(int at, const char *path, struct weir_err *e)
{
	if (mkdirat(at, path, 0700) < 0 && errno != EEXIST)
		return err_errno(e, -errno, "%s", path);
	return 0;
}

static int copy_texts(const struct promotion *p, struct pending *out, struct weir_err *e)
{
	int fd = p->files[RUN_POLICY], err = report_left(&p->left, &out->left);

	if (err == 0 && !kind_of(p->kind)->has_run)
		buf_add(&out->policy, p->policy_text.data, p->policy_text.len);
	else if (err == 0)
		err = lseek(fd, 0, SEEK_SET) < 0 ? -errno
						 : fsio_read_fd(fd, POLICY_TEXT_MAX, &out->policy);
	report_findings(&p->hazards, p->policy->strict.value != 0, &out->findings);
	buf_add(&out->promotion, p->digest_text.data, p->digest_text.len);
	buf_add(&out->changes, p->changes_text.data, p->changes_text.len);
	message_add(&out->message, p->message);
	if (p->author)
		buf_addf(&out->author, "%s", p->author);
	buf_add(&out->statement, p->statement_text.data, p->statement_text.len);
	buf_add(&out->signature, p->signature_text.data, p->signature_text.len);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (part_at(out, &parts[i])->failed)
			err = -ENOMEM;
	return err < 0 ? err_errno(e, err, "keeping the proposal") : 0;
}

static int write_parts(const struct promotion *p, int dir, const struct pending *texts,
		       struct weir_err *e)
{
	int err = make_dir(dir, "signed", e);

	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(parts); i++) {
		const struct buf *b = part_at(texts, &parts[i]);

		err = fsio_replace(dir, parts[i].name, b->len ? b->data : "", b->len, 0600, e);
	}
	if (err == 0 && (linkat(p->quarantine, "pack", dir, "q.pack", 0) < 0 ||
			 linkat(p->quarantine, "idx", dir, "q.idx", 0) < 0 || fsync(dir) < 0))
		err = err_errno(e, -errno, "keeping the proposal's pack");
	return err;
}

static int count_pending(const struct repo *r, const char *nonce, struct weir_err *e)
{
	struct gate_texts all = { 0 };
	int err = pending_list(r, &all, e);

	if (err == 0 && all.count >= PENDING_MAX && !gate_texts_have(&all, nonce))
		err = refuse(e, REASON_LIMIT, "%zu proposals wait already", all.count);
	gate_texts_done(&all);
	return err;
}

int pending_keep(const struct promotion *p, struct weir_err *e)
{
	cleanup_pending struct pending texts = { .dir = -1 };
	cleanup_close int root = -1, dir = -1;
	int err = make_dir(p->repo.fd, ROOT, e);

	if (err == 0)
		err = count_pending(&p->repo, p->nonce.id, e);
	if (err == 0)
		err = copy_texts(p, &texts, e);
	if (err < 0)
		return err;
	root = openat(p->repo.fd, ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (root < 0)
		return err_errno(e, -errno, "%s/" ROOT, p->repo.path);
	err = fsio_remove_tree(root, ".new", e);
	if (err == 0)
		err = make_dir(root, ".new", e);
	if (err < 0)
		return err;
	dir = openat(root, ".new", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0)
		return err_errno(e, -errno, "%s/" ROOT, p->repo.path);
	err = write_parts(p, dir, &texts, e);
	if (err == 0)
		err = fsio_remove_tree(root, p->nonce.id, e);
	if (err == 0 && (renameat(root, ".new", root, p->nonce.id) < 0 || fsync(root) < 0))
		err = err_errno(e, -errno, "keeping the proposal");
	return err;
}

void pending_drop(const struct repo *r, const char *nonce)
{
	char path[sizeof(ROOT) + NONCE_HEX + 1];

	snprintf(path, sizeof(path), ROOT "/%s", nonce);
	fsio_remove_tree(r->fd, path, NULL);
}

int pending_list(const struct repo *r, struct gate_texts *ret_nonces, struct weir_err *e)
{
	int fd = openat(r->fd, ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	cleanup_closedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct gate_texts all = { 0 };
	struct dirent *entry;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_errno(e, -errno, "%s/" ROOT, r->path);
	if (!dir) {
		close(fd);
		return err_errno(e, -ENOMEM, "%s/" ROOT, r->path);
	}
	while ((entry = readdir(dir))) {
		unsigned char id[NONCE_BYTES];

		if (digest_unhex(entry->d_name, id, sizeof(id)) == 0 &&
		    gate_texts_add(&all, entry->d_name) < 0) {
			gate_texts_done(&all);
			return err_errno(e, -ENOMEM, "%s/" ROOT, r->path);
		}
	}
	gate_texts_sort(&all);
	*ret_nonces = all;
	return 0;
}

/* Every text is the one that the promotion text names. */
static int check_parts(struct pending *p, struct weir_err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		cleanup_buf struct buf want = { 0 };
		char hex[DIGEST_HEX];

		if (!parts[i].key)
			continue;
		if (hash_hex(part_at(p, &parts[i]), hex) < 0)
			return err_errno(e, -EIO, "hashing the proposal");
		if (digest_find(buf_str(&p->promotion), parts[i].key, &want) < 0 ||
		    strcmp(buf_str(&want), hex) != 0)
			return refuse(e, REASON_VOID, "%s of the proposal is another one",
				      parts[i].name);
	}
	return hash_hex(&p->promotion, p->digest) < 0 ? err_errno(e, -EIO, "hashing the proposal")
						      : 0;
}

int pending_open(const struct repo *r, const char *nonce, struct pending *ret_pending,
		 struct weir_err *e)
{
	char path[sizeof(ROOT) + NONCE_HEX + 1];
	unsigned char id[NONCE_BYTES];
	struct pending *p = ret_pending;
	struct stat st;
	int err = 0;

	*p = (struct pending){ .dir = -1 };
	if (digest_unhex(nonce, id, sizeof(id)) < 0)
		return refuse(e, REASON_PENDING, "a nonce has 32 lower-case hex digits");
	snprintf(path, sizeof(path), ROOT "/%s", nonce);
	memcpy(p->nonce, nonce, NONCE_HEX);
	p->dir = openat(r->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (p->dir < 0)
		return errno == ENOENT ? -ENOENT : err_errno(e, -errno, "%s/%s", r->path, path);
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(parts); i++)
		err = fsio_read_file(p->dir, parts[i].name, PART_MAX, part_at(p, &parts[i]), e);
	if (err == 0 && fstatat(p->dir, "promotion", &st, AT_SYMLINK_NOFOLLOW) < 0)
		err = err_errno(e, -errno, "%s/%s", r->path, path);
	if (err == 0) {
		p->proposed = st.st_mtim.tv_sec;
		err = check_parts(p, e);
	} else if (err == -ENOENT) {
		err = refuse(e, REASON_VOID, "%s of the proposal is missing", path);
	}
	if (err < 0)
		pending_done(p);
	return err;
}

static int signed_dir(const struct pending *p, struct weir_err *e)
{
	int fd = openat(p->dir, "signed", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? err_errno(e, -errno, "signed statements") : fd;
}

static int list_signed(const struct pending *p, struct gate_texts *ret_ids, struct weir_err *e)
{
	int fd = signed_dir(p, e);
	cleanup_closedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (fd < 0)
		return fd;
	if (!dir) {
		close(fd);
		return err_errno(e, -ENOMEM, "signed statements");
	}
	while ((entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);

		/* the signature is written last */
		if (len != DIGEST_HEX - 1 + 4 ||
		    strcmp(entry->d_name + DIGEST_HEX - 1, ".sig") != 0)
			continue;
		entry->d_name[DIGEST_HEX - 1] = '\0';
		if (gate_texts_add(ret_ids, entry->d_name) < 0)
			return err_errno(e, -ENOMEM, "signed statements");
	}
	gate_texts_sort(ret_ids);
	return 0;
}

int pending_add_signed(const struct pending *p, const struct buf *text, const struct buf *armor,
		       struct weir_err *e)
{
	cleanup_buf struct buf both = { 0 };
	cleanup_close int dir = signed_dir(p, e);
	struct gate_texts ids = { 0 };
	char hex[DIGEST_HEX], name[DIGEST_HEX + 8];
	int err = dir < 0 ? dir : list_signed(p, &ids, e);

	if (err == 0 && ids.count >= PENDING_SIGNED_MAX)
		err = refuse(e, REASON_LIMIT, "%zu signed statements", ids.count);
	gate_texts_done(&ids);
	if (err < 0)
		return err;
	buf_add(&both, text->data, text->len);
	buf_add(&both, armor->data, armor->len);
	if (both.failed || hash_hex(&both, hex) < 0)
		return err_errno(e, -ENOMEM, "keeping the statement");
	snprintf(name, sizeof(name), "%s.text", hex);
	err = fsio_replace(dir, name, text->data, text->len, 0600, e);
	if (err < 0)
		return err;
	snprintf(name, sizeof(name), "%s.sig", hex);
	return fsio_replace(dir, name, armor->data, armor->len, 0600, e);
}

int pending_each_signed(const struct pending *p,
			int (*fn)(const struct buf *text, const struct buf *armor, void *arg,
				  struct weir_err *e),
			void *arg, struct weir_err *e)
{
	cleanup_close int dir = signed_dir(p, e);
	struct gate_texts ids = { 0 };
	int err = dir < 0 ? dir : list_signed(p, &ids, e);

	for (size_t i = 0; err == 0 && i < ids.count; i++) {
		cleanup_buf struct buf text = { 0 };
		cleanup_buf struct buf armor = { 0 };
		char name[DIGEST_HEX + 8];

		snprintf(name, sizeof(name), "%s.text", ids.items[i]);
		err = fsio_read_file(dir, name, APPROVAL_MAX, &text, e);
		snprintf(name, sizeof(name), "%s.sig", ids.items[i]);
		if (err == 0)
			err = fsio_read_file(dir, name, SSHSIG_MAX, &armor, e);
		if (err == 0)
			err = fn(&text, &armor, arg, e);
	}
	gate_texts_done(&ids);
	return err;
}
