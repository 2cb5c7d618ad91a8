/* SPDX-License-Identifier: MIT */
/* roles.yaml; contract and format in roles.h. */
#include "writeback/roles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/yamltext.h"

static const struct {
	const char *name;
	const char *name_space;
} roles[] = {
#define WEIR_X(id, name) { name, name "@weir.v1" },
	ROLES(WEIR_X)
#undef WEIR_X
};

const char *role_name(enum role role)
{
	return (unsigned int)role < ROLE_COUNT ? roles[role].name : "none";
}

const char *role_namespace(enum role role)
{
	return (unsigned int)role < ROLE_COUNT ? roles[role].name_space : "none";
}

enum role role_find(const char *name)
{
	unsigned int i = 0;

	while (i < ROLE_COUNT && strcmp(roles[i].name, name) != 0)
		i++;
	return (enum role)i;
}

void roles_done(struct roles *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free(r->people[i].name);
		gate_texts_done(&r->people[i].principals);
		gate_texts_done(&r->people[i].logins);
	}
	free(r->people);
	*r = (struct roles){ 0 };
}

struct parse {
	const char *name;
	yaml_document_t *doc;
	struct roles *roles;
	struct weir_err *e;
};

static int fail(const struct parse *p, const yaml_node_t *node, const char *what)
{
	return yamltext_fail(p->name, node, what, p->e);
}

/* Returns: the text of a scalar, NULL for anything else, empty, or with what could hide. */
static const char *scalar(const yaml_node_t *node)
{
	const char *text = yamltext_scalar(node);

	for (const char *c = text; c && *c; c++)
		if (*c == ' ' || (unsigned char)*c >= 0x7f)
			return NULL;
	return text;
}

/* Calls fn for each text of a list. */
static int each_text(const struct parse *p, const yaml_node_t *list, struct person *person,
		     int (*fn)(const struct parse *p, const yaml_node_t *at, const char *text,
			       struct person *person))
{
	if (list->type != YAML_SEQUENCE_NODE ||
	    list->data.sequence.items.start == list->data.sequence.items.top)
		return fail(p, list, "a list is needed here: [a, b]");
	for (yaml_node_item_t *item = list->data.sequence.items.start;
	     item < list->data.sequence.items.top; item++) {
		const yaml_node_t *at = yaml_document_get_node(p->doc, *item);
		const char *text = scalar(at);
		int err;

		if (!text)
			return fail(p, at ? at : list,
				    "a text of printable ASCII without blanks is needed here");
		err = fn(p, at, text, person);
		if (err < 0)
			return err;
	}
	return 0;
}

static int add_role(const struct parse *p, const yaml_node_t *at, const char *text,
		    struct person *person)
{
	enum role role = role_find(text);

	if (role == ROLE_COUNT)
		return fail(p, at,
			    "unknown role; there are producer, approver, security, policy-owner, "
			    "platform-owner");
	person->roles |= 1u << role;
	return 0;
}

static int add_principal(const struct parse *p, const yaml_node_t *at, const char *text,
			 struct person *person)
{
	if (strpbrk(text, "*?!,"))
		return fail(p, at, "a principal is one name, no pattern");
	if (roles_by_principal(p->roles, text))
		return fail(p, at, "this principal stands here twice");
	return gate_texts_add(&person->principals, text) < 0
		       ? err_errno(p->e, -ENOMEM, "%s", p->name)
		       : 0;
}

static bool has_login(const struct roles *r, const char *login)
{
	for (size_t i = 0; i < r->count; i++)
		if (gate_texts_have(&r->people[i].logins, login))
			return true;
	return false;
}

static int add_login(const struct parse *p, const yaml_node_t *at, const char *text,
		     struct person *person)
{
	if (has_login(p->roles, text))
		return fail(p, at, "this login stands here twice");
	return gate_texts_add(&person->logins, text) < 0 ? err_errno(p->e, -ENOMEM, "%s", p->name)
							 : 0;
}

static int set_name(const struct parse *p, const yaml_node_t *value, struct person *person)
{
	const char *text = scalar(value);

	if (!text)
		return fail(p, value, "a name of printable ASCII without blanks is needed here");
	for (size_t i = 0; i < p->roles->count; i++)
		if (p->roles->people[i].name && strcmp(p->roles->people[i].name, text) == 0)
			return fail(p, value, "this name stands here twice");
	person->name = strdup(text);
	return person->name ? 0 : err_errno(p->e, -ENOMEM, "%s", p->name);
}

static int read_key(const struct parse *p, const yaml_node_t *key, const yaml_node_t *value,
		    struct person *person)
{
	const char *name = scalar(key);

	if (!name)
		return fail(p, key, "a key is needed here");
	if (strcmp(name, "name") == 0 && !person->name)
		return set_name(p, value, person);
	if (strcmp(name, "principals") == 0 && person->principals.count == 0)
		return each_text(p, value, person, add_principal);
	if (strcmp(name, "roles") == 0 && person->roles == 0)
		return each_text(p, value, person, add_role);
	if (strcmp(name, "logins") == 0 && person->logins.count == 0)
		return each_text(p, value, person, add_login);
	return fail(p, key, "unknown key, or twice; there are name, principals, roles, logins");
}

static int read_person(const struct parse *p, const yaml_node_t *node)
{
	struct roles *r = p->roles;
	struct person *people, *person;

	if (node->type != YAML_MAPPING_NODE || r->count == ROLES_PEOPLE_MAX)
		return fail(p, node, "a person is needed here: name, principals, roles, logins");
	people = reallocarray(r->people, r->count + 1, sizeof(*people));
	if (!people)
		return err_errno(p->e, -ENOMEM, "%s", p->name);
	r->people = people;
	person = &people[r->count++];
	*person = (struct person){ 0 };
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top; pair++) {
		int err = read_key(p, yaml_document_get_node(p->doc, pair->key),
				   yaml_document_get_node(p->doc, pair->value), person);

		if (err < 0)
			return err;
	}
	if (!person->name || person->roles == 0 ||
	    (person->principals.count == 0 && person->logins.count == 0))
		return fail(p, node, "a person has a name, roles, and principals or logins");
	return 0;
}

static int read_people(const struct parse *p, const yaml_node_t *list)
{
	if (list->type != YAML_SEQUENCE_NODE)
		return fail(p, list, "a list of persons is needed here");
	for (yaml_node_item_t *item = list->data.sequence.items.start;
	     item < list->data.sequence.items.top; item++) {
		const yaml_node_t *node = yaml_document_get_node(p->doc, *item);
		int err = node ? read_person(p, node) : fail(p, list, "a person is needed here");

		if (err < 0)
			return err;
	}
	return 0;
}

static int read_document(const struct parse *p)
{
	const yaml_node_t *root = yaml_document_get_root_node(p->doc);
	bool schema = false, people = false;

	if (!root || root->type != YAML_MAPPING_NODE)
		return err_set(p->e, -EINVAL, "%s:1:1: a map with schema and people is needed",
			       p->name);
	for (yaml_node_pair_t *pair = root->data.mapping.pairs.start;
	     pair < root->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = yaml_document_get_node(p->doc, pair->key);
		const yaml_node_t *value = yaml_document_get_node(p->doc, pair->value);
		const char *name = scalar(key);
		int err = 0;

		if (name && strcmp(name, "schema") == 0 && !schema) {
			schema = scalar(value) && strcmp(scalar(value), ROLES_SCHEMA) == 0;
			if (!schema)
				return fail(p, value, "schema is not " ROLES_SCHEMA);
		} else if (name && strcmp(name, "people") == 0 && !people) {
			people = true;
			err = read_people(p, value);
		} else {
			err = fail(p, key, "unknown key, or twice; there are schema and people");
		}
		if (err < 0)
			return err;
	}
	return schema && people ? 0 : fail(p, root, "schema and people are needed here");
}

int roles_parse(const char *name, const char *text, size_t len, struct roles *ret_roles,
		struct weir_err *e)
{
	struct parse p = { .name = name, .roles = ret_roles, .e = e };
	yaml_document_t doc;
	int err;

	*ret_roles = (struct roles){ 0 };
	err = yamltext_load(name, text, len, YAML_UTF8_ENCODING, &doc, e);
	if (err < 0)
		return err;
	p.doc = &doc;
	err = read_document(&p);
	yaml_document_delete(&doc);
	if (err < 0)
		roles_done(ret_roles);
	return err;
}

const struct person *roles_by_principal(const struct roles *r, const char *principal)
{
	for (size_t i = 0; i < r->count; i++)
		if (gate_texts_have(&r->people[i].principals, principal))
			return &r->people[i];
	return NULL;
}

const struct person *roles_by_login(const struct roles *r, uid_t uid, const char *login)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", uid);
	for (size_t i = 0; i < r->count; i++)
		if (gate_texts_have(&r->people[i].logins, number) ||
		    (login && gate_texts_have(&r->people[i].logins, login)))
			return &r->people[i];
	return NULL;
}
