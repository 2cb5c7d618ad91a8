/* SPDX-License-Identifier: MIT */
#include "writeback/config.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/tree/compare.h"
#include "writeback/approval.h"
#include "writeback/dirs.h"
#include "writeback/reason.h"
#include "writeback/yamltext.h"

enum shape {
	SHAPE_TEXT,
	SHAPE_LIST,
	SHAPE_HEX, /* list of SHA-256 or keys in hex */
};

static const struct member {
	const char *key;
	enum shape shape;
	bool required;
	size_t offset;
} members[] = {
	{ "schema", SHAPE_TEXT, true, offsetof(struct gate_config, schema) },
	{ "id", SHAPE_TEXT, true, offsetof(struct gate_config, id) },
	{ "repository", SHAPE_TEXT, true, offsetof(struct gate_config, repository) },
	{ "refs", SHAPE_LIST, true, offsetof(struct gate_config, refs) },
	{ "tags", SHAPE_LIST, false, offsetof(struct gate_config, tags) },
	{ "dirs", SHAPE_LIST, false, offsetof(struct gate_config, dirs) },
	{ "user", SHAPE_TEXT, true, offsetof(struct gate_config, user) },
	{ "key", SHAPE_TEXT, true, offsetof(struct gate_config, key) },
	{ "agent", SHAPE_TEXT, false, offsetof(struct gate_config, agent) },
	{ "signers", SHAPE_TEXT, true, offsetof(struct gate_config, signers) },
	{ "name", SHAPE_TEXT, true, offsetof(struct gate_config, name) },
	{ "email", SHAPE_TEXT, true, offsetof(struct gate_config, email) },
	{ "hosts", SHAPE_HEX, true, offsetof(struct gate_config, hosts) },
	{ "policies", SHAPE_HEX, false, offsetof(struct gate_config, policies) },
	{ "crosscheck", SHAPE_TEXT, false, offsetof(struct gate_config, crosscheck) },
	{ "signer_root", SHAPE_TEXT, false, offsetof(struct gate_config, signer_root) },
	{ "revoked", SHAPE_TEXT, false, offsetof(struct gate_config, revoked) },
	{ "relay", SHAPE_TEXT, false, offsetof(struct gate_config, relay) },
	{ "expire", SHAPE_TEXT, false, offsetof(struct gate_config, expire) },
	{ "ledger", SHAPE_TEXT, true, offsetof(struct gate_config, ledger) },
	{ "ledger_key", SHAPE_TEXT, true, offsetof(struct gate_config, ledger_key) },
	{ "break_glass", SHAPE_TEXT, false, offsetof(struct gate_config, break_glass) },
	{ "mode", SHAPE_TEXT, false, offsetof(struct gate_config, mode) },
	{ "remote", SHAPE_TEXT, false, offsetof(struct gate_config, remote) },
	{ "remote_key", SHAPE_TEXT, false, offsetof(struct gate_config, remote_key) },
	{ "remote_hosts", SHAPE_TEXT, false, offsetof(struct gate_config, remote_hosts) },
	{ "ledgers", SHAPE_LIST, false, offsetof(struct gate_config, ledgers) },
};

static char **text_at(const struct gate_config *c, const struct member *m)
{
	return (char **)((char *)(uintptr_t)c + m->offset);
}

static struct gate_texts *list_at(const struct gate_config *c, const struct member *m)
{
	return (struct gate_texts *)((char *)(uintptr_t)c + m->offset);
}

void config_done(struct gate_config *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		if (members[i].shape == SHAPE_TEXT)
			free(*text_at(c, &members[i]));
		else
			gate_texts_done(list_at(c, &members[i]));
	}
	*c = (struct gate_config){ 0 };
}

void gate_texts_done(struct gate_texts *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct gate_texts){ 0 };
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void gate_texts_sort(struct gate_texts *list)
{
	if (list->count > 1)
		qsort(list->items, list->count, sizeof(list->items[0]), by_text);
}

bool gate_texts_have(const struct gate_texts *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i], text) == 0)
			return true;
	return false;
}

int gate_texts_add(struct gate_texts *list, const char *text)
{
	char **items = reallocarray(list->items, list->count + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	list->items = items;
	items[list->count] = strdup(text);
	if (!items[list->count])
		return -ENOMEM;
	list->count++;
	return 0;
}

struct parse {
	const char *file;
	yaml_document_t *doc;
	struct gate_config *config;
	struct weir_err *e;
};

static int fail(const struct parse *p, const yaml_node_t *node, const char *what)
{
	return yamltext_fail(p->file, node, what, p->e);
}

static int read_list(const struct parse *p, const struct member *m, const yaml_node_t *node)
{
	unsigned char hash[DIGEST_SIZE];

	if (node->type != YAML_SEQUENCE_NODE)
		return fail(p, node, "a list is needed here: [a, b]");
	for (yaml_node_item_t *item = node->data.sequence.items.start;
	     item < node->data.sequence.items.top; item++) {
		const yaml_node_t *entry = yaml_document_get_node(p->doc, *item);
		const char *text = yamltext_scalar(entry);

		if (!text)
			return fail(p, entry ? entry : node, "a plain text is needed here");
		if (m->shape == SHAPE_HEX && digest_unhex(text, hash, sizeof(hash)) < 0)
			return fail(p, entry, "64 lower-case hex digits are needed here");
		if (gate_texts_add(list_at(p->config, m), text) < 0)
			return err_errno(p->e, -ENOMEM, "%s", p->file);
	}
	return 0;
}

static int read_member(const struct parse *p, const yaml_node_t *key, const yaml_node_t *value)
{
	const char *name = yamltext_scalar(key);
	const struct member *m = NULL;
	char **text;

	for (size_t i = 0; name && i < ARRAY_SIZE(members); i++)
		if (strcmp(members[i].key, name) == 0)
			m = &members[i];
	if (!m)
		return fail(p, key, "unknown key; see the head of writeback/config.h");
	if (m->shape != SHAPE_TEXT) {
		if (list_at(p->config, m)->count > 0)
			return fail(p, key, "this key stands here twice");
		return read_list(p, m, value);
	}
	text = text_at(p->config, m);
	if (*text)
		return fail(p, key, "this key stands here twice");
	if (!yamltext_scalar(value))
		return fail(p, value, "a plain text is needed here");
	*text = strdup(yamltext_scalar(value));
	return *text ? 0 : err_errno(p->e, -ENOMEM, "%s", p->file);
}

/* Says what to do about a gate.yaml of a build that had no ledger. */
static int missing(const struct parse *p, const char *key)
{
	if (!p->config->ledger && !p->config->ledger_key)
		return err_set(p->e, -EINVAL,
			       "%s:1:1: key `ledger` is missing: it was written before there was a "
			       "ledger; run `weir-gate init --add-ledger`",
			       p->file);
	return err_set(p->e, -EINVAL, "%s:1:1: key `%s` is missing", p->file, key);
}

/* git gets the remote as an argument, and a shell the two paths. */
static int check_remote(const struct parse *p, const yaml_node_t *root)
{
	const struct gate_config *c = p->config;
	bool push = c->mode && strcmp(c->mode, "push") == 0;

	if (c->mode && !push && strcmp(c->mode, "direct") != 0)
		return fail(p, root, "mode is direct or push");
	if (push != (c->remote != NULL))
		return fail(p, root, "mode push and remote go together");
	if (c->remote && c->remote[0] != '/' && strncmp(c->remote, "ssh://", 6) != 0)
		return fail(p, root, "remote is an absolute path or ssh://USER@HOST/PATH");
	if ((c->remote_key && strchr(c->remote_key, '\'')) ||
	    (c->remote_hosts && strchr(c->remote_hosts, '\'')))
		return fail(p, root, "remote_key and remote_hosts can't have quotes");
	return 0;
}

/* Each can be read, and no two have one name or one path. */
static int check_dirs(const struct parse *p, const yaml_node_t *root)
{
	const struct gate_texts *dirs = &p->config->dirs;

	if (dirs->count > 0 && p->config->mode && strcmp(p->config->mode, "push") == 0)
		return fail(p, root, "dirs need mode direct");
	for (size_t i = 0; i < dirs->count; i++) {
		cleanup_gate_dir struct gate_dir dir = { 0 };

		if (dirs_parse(dirs->items[i], &dir) < 0)
			return fail(p, root,
				    "dirs: each is \"NAME FROM PATH\": letters, digits and ._+-; a "
				    "path below the workspace; an absolute path");
		for (size_t k = 0; k < i; k++) {
			cleanup_gate_dir struct gate_dir other = { 0 };

			if (dirs_parse(dirs->items[k], &other) < 0 ||
			    strcmp(dir.name, other.name) == 0 || strcmp(dir.path, other.path) == 0)
				return fail(p, root, "dirs: two have one name or one path");
		}
	}
	return 0;
}

static int check_values(const struct parse *p, const yaml_node_t *root)
{
	const struct gate_config *c = p->config;
	const char *const paths[] = { c->repository,  c->key,	     c->agent,	     c->signers,
				      c->signer_root, c->revoked,    c->ledger,	     c->ledger_key,
				      c->break_glass, c->remote_key, c->remote_hosts };
	unsigned char id[16];

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const struct member *m = &members[i];
		bool there =
			m->shape == SHAPE_TEXT ? *text_at(c, m) != NULL : list_at(c, m)->count > 0;

		if (m->required && !there)
			return strncmp(m->key, "ledger", 6) == 0
				       ? missing(p, m->key)
				       : err_set(p->e, -EINVAL, "%s:1:1: key `%s` is missing",
						 p->file, m->key);
	}
	if (strcmp(c->schema, GATE_SCHEMA) != 0)
		return fail(p, root, "schema is not " GATE_SCHEMA);
	if (digest_unhex(c->id, id, sizeof(id)) < 0)
		return fail(p, root, "id is not 32 lower-case hex digits");
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (paths[i] && paths[i][0] != '/')
			return fail(
				p, root,
				"repository, key, agent, signers, signer_root, revoked, ledger, "
				"ledger_key and break_glass are absolute paths");
	if (strcmp(c->ledger_key, c->key) == 0)
		return fail(p, root, "ledger_key must be another key than key");
	for (size_t i = 0; i < c->refs.count; i++)
		if (strncmp(c->refs.items[i], "refs/heads/", 11) != 0)
			return fail(p, root,
				    "refs: only branches (refs/heads/...) can be promoted");
	if (strpbrk(c->name, "<>") || strpbrk(c->email, "<> "))
		return fail(p, root, "name and email can't have < or >");
	if (c->crosscheck && tree_strength_find(c->crosscheck) == TREE_STRENGTH_COUNT)
		return fail(p, root, "crosscheck is full, stat or trace");
	if (c->expire && signed_span_parse(c->expire) <= 0)
		return fail(p, root, "expire is a span such as 12h or 30d");
	if (check_dirs(p, root) < 0)
		return p->e->err;
	return check_remote(p, root);
}

static int read_document(const struct parse *p)
{
	const yaml_node_t *root = yaml_document_get_root_node(p->doc);
	int err = 0;

	if (!root)
		return err_set(p->e, -EINVAL, "%s:1:1: the file is empty; run weir-gate init",
			       p->file);
	if (root->type != YAML_MAPPING_NODE)
		return fail(p, root, "a map of keys is needed here");
	for (yaml_node_pair_t *pair = root->data.mapping.pairs.start;
	     err == 0 && pair < root->data.mapping.pairs.top; pair++)
		err = read_member(p, yaml_document_get_node(p->doc, pair->key),
				  yaml_document_get_node(p->doc, pair->value));
	return err < 0 ? err : check_values(p, root);
}

int config_parse(const char *file, const char *text, size_t len, struct gate_config *ret_config,
		 struct weir_err *e)
{
	struct parse p = { .file = file, .config = ret_config, .e = e };
	yaml_document_t doc;
	int err;

	*ret_config = (struct gate_config){ 0 };
	err = yamltext_load(file, text, len, YAML_ANY_ENCODING, &doc, e);
	if (err < 0)
		return err;
	p.doc = &doc;
	err = read_document(&p);
	yaml_document_delete(&doc);
	if (err < 0)
		config_done(ret_config);
	return err;
}

static int find_user(const char *path, struct gate_config *c, struct weir_err *e)
{
	char buffer[4096];
	struct passwd pw, *found = NULL;

	if (getpwnam_r(c->user, &pw, buffer, sizeof(buffer), &found) != 0 || !found)
		return err_set(e, -ENOENT, "%s: there is no user %s; run weir-gate init", path,
			       c->user);
	if (pw.pw_uid == 0)
		return err_set(e, -EINVAL, "%s: user must not be root", path);
	c->uid = pw.pw_uid;
	c->gid = pw.pw_gid;
	return 0;
}

int config_load_file(const char *path, struct gate_config *ret_config, struct weir_err *e)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	cleanup_buf struct buf text = { 0 };
	struct stat st;
	int err;

	if (fd < 0 && errno == ENOENT)
		return err_set(e, -ENOENT, "there is no %s; run weir-gate init first", path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, -errno, "%s", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & 022))
		return err_set(
			e, -EPERM,
			"%s must be a file of root that nobody else can write (now mode %04o, "
			"uid %u)",
			path, st.st_mode & 07777, st.st_uid);
	err = fsio_read_fd(fd, GATE_CONFIG_MAX, &text);
	if (err < 0)
		return err_errno(e, err, "%s", path);
	err = config_parse(path, buf_str(&text), text.len, ret_config, e);
	if (err == 0)
		err = find_user(path, ret_config, e);
	if (err < 0)
		config_done(ret_config);
	return err;
}

int config_load(struct gate_config *ret_config, struct weir_err *e)
{
	return config_load_file(GATE_CONFIG, ret_config, e);
}

/* Double-quoted YAML; only printable text gets here. */
static int add_quoted(struct buf *b, const char *text)
{
	buf_add(b, "\"", 1);
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return -EINVAL;
		if (*text == '"' || *text == '\\')
			buf_add(b, "\\", 1);
		buf_add(b, text, 1);
	}
	buf_add(b, "\"", 1);
	return 0;
}

int config_format(const struct gate_config *c, struct buf *ret_text)
{
	buf_addf(ret_text,
		 "# What weir-gate trusts. Made by weir-gate init; only root may write it.\n");
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const struct member *m = &members[i];
		const struct gate_texts *list = m->shape == SHAPE_TEXT ? NULL : list_at(c, m);
		int err = 0;

		if (!list && !*text_at(c, m))
			continue;
		buf_addf(ret_text, "%s:", m->key);
		if (!list) {
			buf_add(ret_text, " ", 1);
			err = add_quoted(ret_text, *text_at(c, m));
		} else if (list->count == 0) {
			buf_addf(ret_text, " []");
		}
		for (size_t k = 0; list && err == 0 && k < list->count; k++) {
			buf_addf(ret_text, "\n  - ");
			err = add_quoted(ret_text, list->items[k]);
		}
		buf_add(ret_text, "\n", 1);
		if (err < 0)
			return err;
	}
	return ret_text->failed ? -ENOMEM : 0;
}
