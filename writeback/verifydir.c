/* SPDX-License-Identifier: MIT */
#include "writeback/verifydir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "writeback/dirsdisk.h"
#include "writeback/reason.h"

bool verifydir_is_path(const char *arg)
{
	size_t len = strlen(arg);

	return arg[0] == '/' || arg[0] == '.' || (len > 0 && arg[len - 1] == '/');
}

static int fail(struct weir_err *e, const char *why)
{
	return refuse(e, REASON_VERIFY, VERIFYDIR_LINK ": %s", why);
}

/* NAME of the one NAME.intoto.jsonl. Returns: 1 with it, 0 when there is none or there are two,
 * or a negative errno. */
static int find_name(int fd, char **ret_name)
{
	const size_t tail = strlen(DIRS_BUNDLE);
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_closedir DIR *dir = again < 0 ? NULL : fdopendir(again);
	const struct dirent *entry;
	int count = 0;

	if (!dir) {
		count = -errno;
		if (again >= 0)
			close(again);
		return count;
	}
	while ((entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);

		if (len <= tail || strcmp(entry->d_name + len - tail, DIRS_BUNDLE) != 0)
			continue;
		free(*ret_name);
		*ret_name = strndup(entry->d_name, len - tail);
		if (!*ret_name)
			return -ENOMEM;
		count++;
	}
	return count == 1;
}

int verifydir_find(const struct repo *r, int dir, const char *want, git_oid *ret_commit,
		   struct weir_err *e)
{
	cleanup_free char *name = NULL;
	cleanup_gate_dir struct gate_dir d = { 0 };
	cleanup_buf struct buf entry = { 0 };
	struct weir_err cause = { 0 };
	int err = find_name(dir, &name);

	if (err < 0)
		return err_errno(e, err, "reading the directory");
	/* the name as gate.yaml could have it; it makes a ref */
	buf_addf(&entry, "%s - /-", err == 1 ? name : "");
	if (err == 0 || dirs_parse(buf_str(&entry), &d) < 0)
		return fail(e, "it has no NAME" DIRS_BUNDLE " of the gate, or more than one");
	if (name && want && strcmp(want, name) != 0)
		return refuse(e, REASON_VERIFY, VERIFYDIR_LINK ": it is dir:%s, not dir:%s", name,
			      want);
	err = repo_read_ref(r, d.ref, ret_commit, &cause);
	return err < 0 ? fail(e, cause.text) : 0;
}

int verifydir_name(const struct verify *v, struct buf *ret_name)
{
	return digest_find(buf_str(&v->record.promotion), "directory", ret_name);
}

int verifydir_files(const struct verify *v, int dir, struct weir_err *e)
{
	const char *text = buf_str(&v->record.promotion);
	cleanup_buf struct buf from = { 0 };
	cleanup_buf struct buf name = { 0 };
	cleanup_buf struct buf bundle = { 0 };
	struct dirs_want want = { .changes = buf_str(&v->record.changes), .envelopes = &bundle };
	struct weir_err cause = { 0 };

	if (!kind_of(v->kind)->is_dir || digest_find(text, "from", &from) < 0 ||
	    verifydir_name(v, &name) < 0 || escape_undo(from.data) < 0)
		return fail(e, "its promotion is of no directory");
	buf_addf(&name, "%s", DIRS_BUNDLE);
	if (dirs_bundle(&v->attestations, &bundle) < 0 || name.failed)
		return err_errno(e, -ENOMEM, "verify");
	want.from = buf_str(&from);
	want.bundle = buf_str(&name);
	return dirsdisk_check(dir, &want, &cause) < 0 ? fail(e, cause.text) : 0;
}
