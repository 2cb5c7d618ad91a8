/* SPDX-License-Identifier: MIT */
#include "writeback/exceptstore.h"

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
#include "writeback/reason.h"
#include "writeback/runfindings.h"
#include "writeback/sshpub.h"
#include "writeback/sshsig.h"

#define ROOT "weir/exceptions"

void held_list_done(struct held_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		struct held *h = l->items[i];

		exception_done(&h->x);
		buf_done(&h->text);
		for (size_t k = 0; k < h->armor_count; k++)
			buf_done(&h->armors[k]);
		free(h);
	}
	free(l->items);
	*l = (struct held_list){ 0 };
}

static int hash_hex(const void *data, size_t len, char ret_hex[DIGEST_HEX])
{
	unsigned char hash[DIGEST_SIZE];
	int err = digest_bytes(data, len, hash);

	if (err == 0)
		digest_hex(hash, sizeof(hash), ret_hex);
	return err;
}

static bool is_name(const char *name)
{
	unsigned char hash[DIGEST_SIZE];

	return digest_unhex(name, hash, sizeof(hash)) == 0;
}

/* Names of a directory that pass, sorted. Takes fd. */
static int list_dir(int fd, bool (*pass)(const char *name), struct gate_texts *ret_names)
{
	cleanup_closedir DIR *dir = fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while ((entry = readdir(dir)))
		if (pass(entry->d_name) && gate_texts_add(ret_names, entry->d_name) < 0)
			return -ENOMEM;
	gate_texts_sort(ret_names);
	return 0;
}

static bool is_signature(const char *name)
{
	char hex[DIGEST_HEX];

	snprintf(hex, sizeof(hex), "%.64s", name);
	return strlen(name) == DIGEST_HEX - 1 + 4 && strcmp(name + DIGEST_HEX - 1, ".sig") == 0 &&
	       is_name(hex);
}

static int read_armors(int dir, struct held *h)
{
	struct gate_texts names = { 0 };
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = fd < 0 ? -errno : list_dir(fd, is_signature, &names);

	for (size_t i = 0; err == 0 && i < names.count && i < EXCEPT_SIGNED_MAX; i++)
		err = fsio_read_file(dir, names.items[i], SSHSIG_MAX, &h->armors[h->armor_count++],
				     NULL);
	gate_texts_done(&names);
	return err;
}

/* Returns: 1 when it was read, 0 for a damaged one, or a negative errno. */
static int read_one(int root, const char *name, struct held *h)
{
	cleanup_close int dir = openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	char hex[DIGEST_HEX];
	int err = dir < 0 ? -errno : fsio_read_file(dir, "text", EXCEPTION_MAX, &h->text, NULL);

	if (err == -ENOENT || err == -EFBIG)
		return 0;
	if (err == 0)
		err = hash_hex(buf_str(&h->text), h->text.len, hex);
	if (err < 0)
		return err;
	if (strcmp(hex, name) != 0)
		return 0;
	err = exception_parse(buf_str(&h->text), h->text.len, &h->x);
	if (err < 0)
		return err == -ENOMEM ? err : 0;
	memcpy(h->name, name, DIGEST_HEX);
	err = read_armors(dir, h);
	return err < 0 ? err : 1;
}

static int add_one(int root, const char *name, struct held_list *l)
{
	struct held **items = reallocarray(l->items, l->count + 1, sizeof(struct held *));
	struct held *h = items ? calloc(1, sizeof(*h)) : NULL;
	int got;

	if (items)
		l->items = items;
	if (!h)
		return -ENOMEM;
	items[l->count++] = h;
	got = read_one(root, name, h);
	if (got == 0) {
		buf_done(&h->text);
		free(h);
		l->count--;
	}
	return got < 0 ? got : 0;
}

int held_load(const struct repo *r, struct held_list *ret_list, struct weir_err *e)
{
	cleanup_close int root =
		openat(r->fd, ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct gate_texts names = { 0 };
	int copy, err = 0;

	*ret_list = (struct held_list){ 0 };
	if (root < 0)
		return errno == ENOENT ? 0 : err_errno(e, -errno, "%s/" ROOT, r->path);
	copy = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = copy < 0 ? -errno : list_dir(copy, is_name, &names);
	for (size_t i = 0; err == 0 && i < names.count; i++)
		err = add_one(root, names.items[i], ret_list);
	gate_texts_done(&names);
	if (err < 0)
		held_list_done(ret_list);
	return err < 0 ? err_errno(e, err, "reading exceptions") : 0;
}

static int make_dir(int at, const char *name)
{
	return mkdirat(at, name, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int held_add(const struct repo *r, const char *name, const struct buf *text,
	     const struct buf *armor, struct weir_err *e)
{
	cleanup_close int root = -1, dir = -1;
	cleanup_held struct held_list all = { 0 };
	char hex[DIGEST_HEX], file[DIGEST_HEX + 4];
	int err = held_load(r, &all, e);

	if (err < 0)
		return err;
	if (all.count >= EXCEPT_MAX)
		return refuse(e, REASON_LIMIT, "%zu exceptions", all.count);
	err = make_dir(r->fd, ROOT);
	root = openat(r->fd, ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (err == 0)
		err = root < 0 ? -errno : make_dir(root, name);
	dir = openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (err == 0)
		err = dir < 0 ? -errno : hash_hex(armor->data, armor->len, hex);
	if (err < 0)
		return err_errno(e, err, "keeping the exception");
	snprintf(file, sizeof(file), "%.64s.sig", hex);
	err = fsio_replace(dir, "text", text->data, text->len, 0600, e);
	if (err == 0)
		err = fsio_replace(dir, file, armor->data, armor->len, 0600, e);
	if (err == 0 && fsync(root) < 0)
		err = err_errno(e, -errno, "keeping the exception");
	return err;
}

/* Who this signature is of. Returns: 0, refused in ret_why, or a negative errno. */
static int find_signer(const struct held *h, const struct buf *armor, const struct held_context *c,
		       const struct person **ret_person, struct weir_err *ret_why)
{
	cleanup_buf struct buf blob = { 0 };
	cleanup_buf struct buf principal = { 0 };
	struct weir_err cause = { 0 };
	struct sshwire w;
	int err = sshsig_verify(armor->data, armor->len, role_namespace(h->x.role), h->text.data,
				h->text.len, &blob, &cause);

	if (err < 0)
		return refuse(ret_why, REASON_SIGNED_SIGNATURE, "namespace %s: %s",
			      role_namespace(h->x.role), cause.text);
	w = sshwire_of(&blob);
	err = people_find(c->people, &w, h->x.role, (time_t)c->now, ret_person, &principal,
			  ret_why);
	if (err == 0 && !h->x.revoke && c->producers &&
	    gate_texts_have(c->producers, (*ret_person)->name))
		err = refuse(ret_why, REASON_PRODUCER, "%s made this change or could have",
			     (*ret_person)->name);
	return err;
}

int held_signers(const struct held *h, const struct held_context *c,
		 const struct person *ret_people[EXCEPT_SIGNED_MAX], struct weir_err *ret_why)
{
	int count = 0;

	for (size_t i = 0; i < h->armor_count; i++) {
		const struct person *person = NULL;
		struct weir_err why = { 0 };
		int err = find_signer(h, &h->armors[i], c, &person, &why), k = 0;

		if (err == -EPERM)
			*ret_why = why;
		else if (err < 0)
			return err;
		if (err < 0)
			continue;
		while (k < count && ret_people[k] != person)
			k++;
		if (k == count)
			ret_people[count++] = person;
	}
	return count;
}

/* Whether a valid revocation names it: by one person of the same role. */
static int is_revoked(const struct held_list *l, const struct held *h, const struct held_context *c)
{
	const struct person *people[EXCEPT_SIGNED_MAX];

	for (size_t i = 0; i < l->count; i++) {
		const struct held *other = l->items[i];
		struct weir_err why = { 0 };
		int count;

		if (!other->x.revoke || strcmp(other->x.revokes, h->name) != 0 ||
		    strcmp(other->x.repository, c->repository) != 0 || other->x.role != h->x.role)
			continue;
		count = held_signers(other, c, people, &why);
		if (count != 0)
			return count < 0 ? count : 1;
	}
	return 0;
}

static int check_terms(const struct held *h, const struct held_context *c, struct weir_err *e)
{
	const struct exception *x = &h->x;

	for (size_t i = 0; i < x->findings.count; i++)
		if (finding_role(x->findings.items[i]) != (int)x->role)
			return refuse(e, REASON_EXCEPTION_ROLE, "%s is not for %s to accept",
				      x->findings.items[i], role_name(x->role));
	if (x->expires - x->created > c->span_s)
		return refuse(
			e, REASON_EXCEPTION_SPAN, "it is for %lld days; the policy allows %lld",
			(long long)(x->expires - x->created) / 86400, (long long)c->span_s / 86400);
	if (x->created > c->now + APPROVAL_SKEW_S)
		return refuse(e, REASON_EXCEPTION_SPAN, "it was created in the future");
	if (x->expires < c->now)
		return refuse(e, REASON_EXCEPTION_EXPIRED, "exception %.16s... has expired",
			      h->name);
	return 0;
}

int held_judge(const struct held_list *l, struct held *h, const struct held_context *c,
	       struct weir_err *e)
{
	const struct person *people[EXCEPT_SIGNED_MAX];
	struct weir_err why = { 0 };
	int need = exception_is_wide(&h->x) ? 2 : 1, count, revoked;

	if (h->judged)
		return 0;
	h->judged = true;
	if (check_terms(h, c, &h->why) < 0)
		return 0;
	revoked = is_revoked(l, h, c);
	count = revoked < 0 ? revoked : held_signers(h, c, people, &why);
	if (count < 0)
		return err_errno(e, count, "judging exception %.16s", h->name);
	if (revoked)
		refuse(&h->why, REASON_EXCEPTION_REVOKED, "exception %.16s... is revoked", h->name);
	else if (count == 0 && why.code[0])
		h->why = why;
	else if (count < need)
		refuse(&h->why, REASON_EXCEPTION_PERSONS,
		       "exception %.16s... is signed by %d of %d persons", h->name, count, need);
	return 0;
}
