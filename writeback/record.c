/* SPDX-License-Identifier: MIT */
#include "writeback/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "user/base/cleanup.h"

#define FILE_MAX ((size_t)1 << 30)

static const struct {
	const char *name;
	size_t offset; /* in struct record */
} files[] = {
	{ "changes", offsetof(struct record, changes) },
	{ "promotion", offsetof(struct record, promotion) },
	{ "statement.json", offsetof(struct record, statement) },
	{ "statement.sig", offsetof(struct record, signature) },
};

void record_done(struct record *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		buf_done((struct buf *)((char *)r + files[i].offset));
}

/* A tree like `old` (NULL: empty) with one entry set. */
static int with_entry(const struct repo *r, const git_tree *old, const char *name,
		      const git_oid *id, git_filemode_t mode, git_oid *ret_oid)
{
	git_treebuilder *builder = NULL;
	int err = git_treebuilder_new(&builder, r->git, old);

	if (err == 0)
		err = git_treebuilder_insert(NULL, builder, name, id, mode);
	if (err == 0)
		err = git_treebuilder_write(ret_oid, builder);
	git_treebuilder_free(builder);
	return err;
}

static int write_leaf(const struct promotion *p, git_oid *ret_oid, struct weir_err *e)
{
	const struct buf *data[] = { &p->changes_text, &p->digest_text, &p->statement_text,
				     &p->signature_text };
	git_treebuilder *builder = NULL;
	int err = git_treebuilder_new(&builder, p->repo.git, NULL) < 0
			  ? repo_error(e, "writing the record")
			  : 0;

	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(files); i++) {
		git_oid blob;

		err = repo_write(&p->repo, GIT_OBJECT_BLOB, data[i]->data, data[i]->len, &blob, e);
		if (err == 0 && git_treebuilder_insert(NULL, builder, files[i].name, &blob,
						       GIT_FILEMODE_BLOB) < 0)
			err = repo_error(e, "writing the record");
	}
	if (err == 0 && git_treebuilder_write(ret_oid, builder) < 0)
		err = repo_error(e, "writing the record");
	git_treebuilder_free(builder);
	return err;
}

static int write_trees(const struct promotion *p, const git_tree *old_root, git_oid *ret_root,
		       struct weir_err *e)
{
	char hex[OID_HEX], first[3];
	git_tree *old_mid = NULL;
	git_oid leaf, mid;
	int err = write_leaf(p, &leaf, e);

	if (err < 0)
		return err;
	git_oid_tostr(hex, sizeof(hex), &p->commit);
	snprintf(first, sizeof(first), "%.2s", hex);
	if (old_root && git_tree_entry_byname(old_root, first) &&
	    git_tree_lookup(&old_mid, p->repo.git,
			    git_tree_entry_id(git_tree_entry_byname(old_root, first))) < 0)
		return repo_error(e, "reading the records");
	err = with_entry(&p->repo, old_mid, hex, &leaf, GIT_FILEMODE_TREE, &mid);
	git_tree_free(old_mid);
	if (err == 0)
		err = with_entry(&p->repo, old_root, first, &mid, GIT_FILEMODE_TREE, ret_root);
	return err < 0 ? repo_error(e, "writing the record") : 0;
}

int record_write(const struct promotion *p, const git_oid *tip, git_oid *ret_tip,
		 struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	char root_hex[OID_HEX], commit_hex[OID_HEX], tip_hex[OID_HEX];
	const struct gate_config *c = p->config;
	struct repo_commit head;
	git_tree *old_root = NULL;
	long long now = time(NULL);
	git_oid root;
	int err = 0;

	if (!git_oid_is_zero(tip)) {
		err = repo_read_commit(&p->repo, tip, &head, e);
		if (err == 0 && git_tree_lookup(&old_root, p->repo.git, &head.tree) < 0)
			err = repo_error(e, "reading the records");
	}
	if (err == 0)
		err = write_trees(p, old_root, &root, e);
	git_tree_free(old_root);
	if (err < 0)
		return err;
	git_oid_tostr(root_hex, sizeof(root_hex), &root);
	git_oid_tostr(commit_hex, sizeof(commit_hex), &p->commit);
	git_oid_tostr(tip_hex, sizeof(tip_hex), tip);
	buf_addf(&text, "tree %s\n", root_hex);
	if (!git_oid_is_zero(tip))
		buf_addf(&text, "parent %s\n", tip_hex);
	buf_addf(&text,
		 "author %s <%s> %lld +0000\ncommitter %s <%s> %lld +0000\n\nPromotion of %s\n",
		 c->name, c->email, now, c->name, c->email, now, commit_hex);
	if (text.failed)
		return err_errno(e, -ENOMEM, "writing the record");
	return repo_write(&p->repo, GIT_OBJECT_COMMIT, text.data, text.len, ret_tip, e);
}

int record_read(const struct repo *r, const git_oid *commit, struct record *ret_record,
		struct weir_err *e)
{
	char hex[OID_HEX], path[128];
	struct repo_commit head;
	git_oid tip, blob;
	uint32_t mode;
	int err = repo_read_ref(r, RECORD_REF, &tip, e);

	if (err == 0)
		err = repo_read_commit(r, &tip, &head, e);
	git_oid_tostr(hex, sizeof(hex), commit);
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(files); i++) {
		struct buf *b = (struct buf *)((char *)ret_record + files[i].offset);

		snprintf(path, sizeof(path), "%.2s/%s/%s", hex, hex, files[i].name);
		err = repo_find(r, &head.tree, path, &blob, &mode, e);
		if (err == 0)
			err = repo_read_object(r, &blob, GIT_OBJECT_BLOB, FILE_MAX, b, e);
	}
	return err;
}
