/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/policy/check.h"
#include "user/policy/events.h"
#include "user/policy/reach.h"
#include "user/policy/text.h"

static int read_text(struct policy_loader *l, const struct policy_field *f, struct policy_text *t)
{
	const char *want = f->want ? f->want : "a text", *type;
	struct policy_scalar s = { 0 };
	int err = policy_loader_scalar(l, f->key, want, &s);

	if (err < 0)
		return err;
	type = policy_scalar_type(&s);
	if (type)
		return policy_error(l->file, s.pos, l->e,
				    "%s: '%s' is %s to YAML; if the text is meant, put it into "
				    "double quotes",
				    f->key, policy_quote(s.text).text, type);
	if (s.len == 0)
		return policy_error(l->file, s.pos, l->e, "%s: empty; write %s", f->key, want);
	if (f->check && !f->check(s.text))
		return policy_error(l->file, s.pos, l->e, "%s: '%s' is not %s", f->key,
				    policy_quote(s.text).text, want);
	t->pos = s.pos;
	t->text = strdup(s.text);
	return t->text ? 0 : policy_loader_oom(l);
}

static int read_texts(struct policy_loader *l, const struct policy_field *f,
		      struct policy_texts *list)
{
	struct policy_field item = *f;
	int err;

	if (l->event.type != YAML_SEQUENCE_START_EVENT)
		return policy_loader_wrong_type(l, f->key, f->want ? f->want : "a list");
	list->pos = policy_loader_pos(l);
	item.want = f->check ? f->want : "a text";
	for (;;) {
		struct policy_text *t;

		err = policy_loader_next(l);
		if (err < 0 || l->event.type == YAML_SEQUENCE_END_EVENT)
			return err;
		t = policy_grow(&list->items, &list->count, sizeof(*t));
		if (!t)
			return policy_loader_oom(l);
		err = read_text(l, &item, t);
		if (err < 0)
			return err;
	}
}

static int unknown_name(struct policy_loader *l, const struct policy_field *f,
			const struct policy_scalar *s)
{
	cleanup_buf struct buf known = { 0 };
	const char *want = f->want;

	if (!want || f->choices == policy_right_names()) {
		for (const struct policy_choice *c = f->choices; c->name; c++)
			buf_addf(&known, "%s%s", c == f->choices ? "one of " : ", ", c->name);
		want = buf_str(&known);
	}
	return policy_error(l->file, s->pos, l->e, "%s: '%s' is unknown; write %s", f->key,
			    policy_quote(s->text).text, want);
}

static int read_scalar_value(struct policy_loader *l, const struct policy_field *f,
			     uint64_t *ret_value, struct policy_pos *ret_pos)
{
	const char *want = f->want ? f->want : "a single word";
	struct policy_scalar s = { 0 };
	int err = policy_loader_scalar(l, f->key, want, &s);

	if (err < 0)
		return err;
	*ret_pos = s.pos;
	if (!f->choices) {
		if (f->parse(&s, ret_value))
			return 0;
		return policy_error(l->file, s.pos, l->e, "%s: '%s' is not %s", f->key,
				    policy_quote(s.text).text, want);
	}
	for (const struct policy_choice *c = f->choices; c->name; c++) {
		bool word = policy_scalar_type(&(struct policy_scalar){ .text = c->name,
									.plain = true }) == NULL;

		if (strcmp(c->name, s.text) != 0 || (!word && !s.plain))
			continue;
		*ret_value = c->value;
		return 0;
	}
	return unknown_name(l, f, &s);
}

static int read_set(struct policy_loader *l, const struct policy_field *f, struct policy_value *v)
{
	if (l->event.type != YAML_SEQUENCE_START_EVENT)
		return policy_loader_wrong_type(l, f->key, "a list; write it in [ ]");
	v->pos = policy_loader_pos(l);
	for (;;) {
		struct policy_pos pos = { 0 };
		uint64_t bits = 0;
		int err = policy_loader_next(l);

		if (err < 0 || l->event.type == YAML_SEQUENCE_END_EVENT)
			return err;
		err = read_scalar_value(l, f, &bits, &pos);
		if (err < 0)
			return err;
		if ((v->value & bits) == bits)
			return policy_error(l->file, pos, l->e,
					    "%s: '%s' is in the list already; remove it", f->key,
					    policy_quote((char *)l->event.data.scalar.value).text);
		v->value |= bits;
	}
}

static int read_map(struct policy_loader *l, const char *name, const struct policy_field *fields,
		    void *base);

/* A list of maps. rows points to the items' pointer; each item holds its place at `place`. */
static int read_rows(struct policy_loader *l, const struct policy_field *f, const char *name,
		     void *rows, size_t *count, size_t size, size_t place)
{
	if (l->event.type != YAML_SEQUENCE_START_EVENT)
		return policy_loader_wrong_type(l, f->key, f->want);
	for (;;) {
		struct policy_pos pos;
		char *row;
		int err = policy_loader_next(l);

		if (err < 0 || l->event.type == YAML_SEQUENCE_END_EVENT)
			return err;
		row = policy_grow(rows, count, size);
		if (!row)
			return policy_loader_oom(l);
		pos = policy_loader_pos(l);
		memcpy(row + place, &pos, sizeof(pos));
		policy_schema_init(f->sub, row);
		err = read_map(l, name, f->sub, row);
		if (err < 0)
			return err;
	}
}

static int read_rules(struct policy_loader *l, const struct policy_field *f,
		      struct policy_rules *rules)
{
	rules->pos = policy_loader_pos(l);
	return read_rows(l, f, "a rule", &rules->items, &rules->count, sizeof(rules->items[0]),
			 offsetof(struct policy_rule, pos));
}

static int read_nets(struct policy_loader *l, const struct policy_field *f,
		     struct policy_nets *nets)
{
	nets->pos = policy_loader_pos(l);
	return read_rows(l, f, "a network rule", &nets->items, &nets->count, sizeof(nets->items[0]),
			 offsetof(struct policy_net, pos));
}

static int read_tiers(struct policy_loader *l, const struct policy_field *f, struct policy_value *v,
		      struct policy_tiers *tiers)
{
	if (l->event.type != YAML_SEQUENCE_START_EVENT)
		return read_scalar_value(l, f, &v->value, &v->pos);
	v->pos = policy_loader_pos(l);
	for (;;) {
		struct policy_tier *tier;
		int err = policy_loader_next(l);

		if (err < 0)
			return err;
		if (l->event.type == YAML_SEQUENCE_END_EVENT && tiers->count == 0)
			return policy_error(
				l->file, v->pos, l->e,
				"%s: the list is empty; if nobody has to agree, write 0", f->key);
		if (l->event.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		tier = policy_grow(&tiers->items, &tiers->count, sizeof(*tier));
		if (!tier)
			return policy_loader_oom(l);
		tier->pos = policy_loader_pos(l);
		policy_schema_init(f->sub, tier);
		err = read_map(l, "an approval", f->sub, tier);
		if (err < 0)
			return err;
	}
}

static int read_pairs(struct policy_loader *l, const struct policy_field *f,
		      struct policy_pairs *pairs)
{
	struct policy_field value = { .key = f->key, .want = "a text" };

	if (l->event.type != YAML_MAPPING_START_EVENT)
		return policy_loader_wrong_type(l, f->key, "a map, such as {CI: \"1\"}");
	pairs->pos = policy_loader_pos(l);
	for (;;) {
		struct policy_pair *pair;
		struct policy_scalar s = { 0 };
		int err = policy_loader_next(l);

		if (err < 0 || l->event.type == YAML_MAPPING_END_EVENT)
			return err;
		pair = policy_grow(&pairs->items, &pairs->count, sizeof(*pair));
		if (!pair)
			return policy_loader_oom(l);
		err = read_text(l, f, &pair->name);
		if (err == 0)
			err = policy_loader_next(l);
		if (err == 0)
			err = policy_loader_scalar(l, f->key, "a text", &s);
		if (err < 0)
			return err;
		if (s.len == 0 && !s.plain) { /* "": set, and empty */
			pair->value = (struct policy_text){ strdup(""), s.pos };
			if (!pair->value.text)
				return policy_loader_oom(l);
			continue;
		}
		err = read_text(l, &value, &pair->value);
		if (err < 0)
			return err;
	}
}

static int read_field(struct policy_loader *l, const struct policy_field *f, void *base)
{
	void *at = (char *)base + f->offset;
	struct policy_value *v = at;

	switch (f->kind) {
	case POLICY_KIND_MAP:
		return read_map(l, f->key, f->sub, base);
	case POLICY_KIND_TEXT:
		return read_text(l, f, at);
	case POLICY_KIND_TEXTS:
		return read_texts(l, f, at);
	case POLICY_KIND_VALUE:
		return read_scalar_value(l, f, &v->value, &v->pos);
	case POLICY_KIND_SET:
		return read_set(l, f, v);
	case POLICY_KIND_RULES:
		return read_rules(l, f, at);
	case POLICY_KIND_PAIRS:
		return read_pairs(l, f, at);
	case POLICY_KIND_TIERS:
		return read_tiers(l, f, v, &l->p->tiers);
	case POLICY_KIND_NETS:
		return read_nets(l, f, at);
	case POLICY_KIND_PORTS:
		return policy_read_ports(l, f, at);
	}
	return -EINVAL;
}

/* The field that the current event names. */
static int find_field(struct policy_loader *l, const char *name, const struct policy_field *fields,
		      size_t *ret_index)
{
	cleanup_buf struct buf known = { 0 };
	struct policy_scalar s = { 0 };
	int err = policy_loader_scalar(l, name, "a key; write `key: value`", &s);

	if (err < 0)
		return err;
	for (size_t i = 0; fields[i].key; i++) {
		if (strcmp(fields[i].key, s.text) == 0) {
			*ret_index = i;
			return 0;
		}
		buf_addf(&known, "%s%s", i ? ", " : "", fields[i].key);
	}
	return policy_error(l->file, s.pos, l->e, "unknown key '%s' in %s; there are %s",
			    policy_quote(s.text).text, name, buf_str(&known));
}

static int read_map(struct policy_loader *l, const char *name, const struct policy_field *fields,
		    void *base)
{
	struct policy_pos start = policy_loader_pos(l), seen[POLICY_FIELDS_MAX] = { 0 };
	int err;

	if (l->event.type != YAML_MAPPING_START_EVENT)
		return policy_loader_wrong_type(l, name, "a map; write `key: value` lines");
	for (;;) {
		size_t i = 0;

		err = policy_loader_next(l);
		if (err < 0)
			return err;
		if (l->event.type == YAML_MAPPING_END_EVENT)
			break;
		err = find_field(l, name, fields, &i);
		if (err < 0)
			return err;
		if (seen[i].line)
			return policy_error(
				l->file, policy_loader_pos(l), l->e,
				"key '%s' stands in line %u already; remove one of them",
				fields[i].key, seen[i].line);
		seen[i] = policy_loader_pos(l);
		err = policy_loader_next(l);
		if (err == 0)
			err = read_field(l, &fields[i], base);
		if (err < 0)
			return err;
	}
	for (size_t i = 0; fields[i].key; i++)
		if (fields[i].required && !seen[i].line)
			return policy_error(l->file, start, l->e, "%s lacks '%s'; add it", name,
					    fields[i].key);
	return 0;
}

static int read_document(struct policy_loader *l)
{
	static const char empty[] = "the policy is empty; it needs apiVersion, kind and metadata";
	int err = policy_loader_next(l); /* start of the stream */

	if (err == 0)
		err = policy_loader_next(l);
	if (err < 0)
		return err;
	if (l->event.type == YAML_STREAM_END_EVENT)
		return policy_error(l->file, (struct policy_pos){ 1, 1 }, l->e, "%s", empty);
	err = policy_loader_next(l);
	if (err < 0)
		return err;
	if (l->event.type == YAML_SCALAR_EVENT && l->event.data.scalar.length == 0)
		return policy_error(l->file, policy_loader_pos(l), l->e, "%s", empty);
	err = read_map(l, "the policy", policy_schema(), l->p);
	if (err == 0)
		err = policy_loader_next(l);
	if (err == 0)
		err = policy_loader_next(l);
	if (err == 0 && l->event.type != YAML_STREAM_END_EVENT)
		return policy_error(l->file, policy_loader_pos(l), l->e,
				    "a second document begins; keep one policy in a file");
	return err;
}

int policy_load(const char *file, const void *bytes, size_t len, struct policy **ret_policy,
		struct weir_err *e)
{
	struct policy_loader l = { .file = file, .bytes = bytes ? bytes : "", .len = len, .e = e };
	cleanup_policy struct policy *p = calloc(1, sizeof(*p));
	int err;

	if (!p || !(p->file = strdup(file)) || !yaml_parser_initialize(&l.parser))
		return err_errno(e, -ENOMEM, "%s", file);
	l.p = p;
	policy_schema_init(policy_schema(), p);
	err = policy_check_text(file, l.bytes, len, e);
	if (err == 0) {
		yaml_parser_set_encoding(&l.parser, YAML_UTF8_ENCODING);
		yaml_parser_set_input_string(&l.parser, (const unsigned char *)l.bytes, len);
		err = read_document(&l);
	}
	yaml_event_delete(&l.event);
	yaml_parser_delete(&l.parser);
	if (err == 0)
		err = policy_check(p, e);
	if (err == 0 && digest_bytes(l.bytes, len, p->sha256) < 0)
		err = err_set(e, -EIO, "%s: can't compute its SHA-256", file);
	if (err < 0)
		return err;
	*ret_policy = TAKE_PTR(p);
	return 0;
}

static int read_file(const char *path, struct buf *b, struct weir_err *e)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	int err;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, -errno, "policy %s", policy_quote(path).text);
	if (!S_ISREG(st.st_mode))
		return err_set(e, -EINVAL, "policy %s: not a regular file",
			       policy_quote(path).text);
	err = fsio_read_fd(fd, POLICY_TEXT_MAX, b);
	if (err == -EFBIG)
		return policy_too_large(path, e);
	return err < 0 ? err_errno(e, err, "policy %s", policy_quote(path).text) : 0;
}

int policy_load_file(const char *path, struct policy **ret_policy, struct buf *ret_bytes,
		     struct weir_err *e)
{
	cleanup_buf struct buf own = { 0 };
	struct buf *b = ret_bytes ? ret_bytes : &own;
	size_t start = b->len;
	int err = read_file(path, b, e);

	if (err < 0) {
		if (e)
			e->exit_code = 2;
		return err;
	}
	return policy_load(path, buf_str(b) + start, b->len - start, ret_policy, e);
}
