/* SPDX-License-Identifier: MIT */
/*
 * Directories of artefacts: what a run made is published as a directory of the host.
 *
 * An entry of `dirs` in gate.yaml: NAME FROM PATH, one blank between.
 *
 *   NAME  what people call it: `weir commit RUN --to dir:NAME`; letters, digits and ._+-
 *   FROM  the directory below the workspace whose files it takes, all of them, ignored by git
 *         or not
 *   PATH  the directory on this host; the one above it belongs to root or the gate's user, who
 *         alone may write there, and is where the gate prepares the next one
 *
 * The promoted object is a commit whose tree is those files under FROM, and whose parent is the
 * commit that the run was made from; refs/weir/dirs/NAME holds the one that PATH shows. So files
 * come from the quarantine, and old and new are kept apart by compare-and-swap as on a branch.
 *
 * PATH holds the files of FROM (0644 or 0755, links as links), and two of the gate's own:
 *
 *   SHA256SUMS          of all regular files, as sha256sum(1) writes and checks it, in the order
 *                       of the changes text; a name with a backslash or newline as there
 *   NAME.intoto.jsonl   the bundle of attestations (writeback/attest.h). Subjects: the commit,
 *                       SHA256SUMS, and each regular file where there are not more than
 *                       DIRS_SUBJECTS_MAX
 */
#ifndef WEIR_WRITEBACK_DIRS_H
#define WEIR_WRITEBACK_DIRS_H

#include <jansson.h>
#include <stdbool.h>

#include "user/base/buf.h"
#include "writeback/attest.h"
#include "writeback/config.h"

#define DIRS_REF "refs/weir/dirs/"
#define DIRS_SUMS "SHA256SUMS"
#define DIRS_BUNDLE ".intoto.jsonl"
#define DIRS_SUBJECTS_MAX 1000

struct gate_dir {
	char *name;
	char *from;
	char *path;
	char *ref;    /* DIRS_REF NAME */
	char *bundle; /* NAME.intoto.jsonl */
};

void dirs_done(struct gate_dir *d);
#define cleanup_gate_dir __attribute__((__cleanup__(dirs_done)))

/* Reads an entry. Returns: 0, -EINVAL, -ENOMEM. Borrows: text. Gives: ret_dir. */
int dirs_parse(const char *text, struct gate_dir *ret_dir);

/* Finds the entry of a name. Returns: 0, -ENOENT, -ENOMEM. Borrows: c, name. Gives: ret_dir. */
int dirs_find(const struct gate_config *c, const char *name, struct gate_dir *ret_dir);

/* What a path below the workspace is called in a directory that takes its files from here.
 * Returns: its end, or NULL when it is none of them. Borrows: from, path. */
const char *dirs_inside(const char *from, const char *path);

/* Appends the text of SHA256SUMS. Returns: 0, -EBADMSG, -ENOMEM with e. Borrows: changes (the
 * changes text of writeback/digest.h), from. */
int dirs_sums(const char *changes, const char *from, struct buf *ret_text, struct weir_err *e);

/* Makes the subjects beside the commit's. Returns: a new JSON array, or NULL with e. Borrows: as
 * above. */
json_t *dirs_subjects(const char *changes, const char *from, struct weir_err *e);

/* Appends the bundle. Returns: 0 or -ENOMEM. Borrows: a. */
int dirs_bundle(const struct attestations *a, struct buf *ret_text);

#endif
