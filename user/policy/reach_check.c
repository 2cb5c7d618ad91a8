/* SPDX-License-Identifier: MIT */
/* What can be wrong with networks and peers in a policy. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/policy/path.h"
#include "user/policy/reach.h"

/* Bytes of an abstract name, without its first NUL. Source: unix(7), sun_path. */
#define ABSTRACT_MAX 107

static bool same_ports(const struct policy_ports *a, const struct policy_ports *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->items[i].from != b->items[i].from || a->items[i].to != b->items[i].to)
			return false;
	return true;
}

/* The same port twice in one rule. */
static int check_ports(const struct policy *p, const struct policy_ports *ports, struct weir_err *e)
{
	for (size_t i = 1; i < ports->count; i++)
		for (size_t k = 0; k < i; k++)
			if (ports->items[i].from <= ports->items[k].to &&
			    ports->items[k].from <= ports->items[i].to)
				return policy_error(p->file, ports->items[i].pos, e,
						    "ports: %u is in the list already; remove it",
						    ports->items[i].from);
	return 0;
}

static int check_nets(const struct policy *p, const struct policy_nets *nets, const char *key,
		      struct weir_err *e)
{
	cleanup_free struct weir_netrule *rules = calloc(nets->count + 1, sizeof(*rules));

	if (!rules)
		return err_errno(e, -ENOMEM, "%s", p->file);
	for (size_t i = 0; i < nets->count; i++) {
		const struct policy_net *net = &nets->items[i];
		const char *wrong = policy_parse_cidr(net->cidr.text, &rules[i]);
		int err;

		if (wrong)
			return policy_error(p->file, net->cidr.pos, e, "cidr: '%s' %s",
					    policy_quote(net->cidr.text).text, wrong);
		err = check_ports(p, &net->ports, e);
		if (err < 0)
			return err;
		for (size_t k = 0; k < i; k++)
			if (memcmp(&rules[i], &rules[k], sizeof(rules[i])) == 0 &&
			    net->protocol.value == nets->items[k].protocol.value &&
			    same_ports(&net->ports, &nets->items[k].ports))
				return policy_error(p->file, net->pos, e,
						    "%s: the same rule stands in line %u already; "
						    "remove one of "
						    "them",
						    key, nets->items[k].pos.line);
	}
	return 0;
}

static int check_peer(const struct policy *p, const struct policy_text *t, struct weir_err *e)
{
	if (t->text[0] != '@')
		return policy_check_variables(p, t, true, e);
	if (t->text[1] == '\0')
		return policy_error(
			p->file, t->pos, e,
			"unix: '@' alone names nothing; write \"@\" and the socket's name");
	if (strlen(t->text + 1) > ABSTRACT_MAX)
		return policy_error(p->file, t->pos, e,
				    "unix: '%s' is longer than %d bytes, which no socket's name is",
				    policy_quote(t->text).text, ABSTRACT_MAX);
	return 0;
}

int policy_check_reach(const struct policy *p, struct weir_err *e)
{
	int err = check_nets(p, &p->egress, "egress", e);

	if (err == 0)
		err = check_nets(p, &p->listen, "listen", e);
	for (size_t i = 0; err == 0 && i < p->unix_peers.count; i++) {
		const struct policy_text *t = &p->unix_peers.items[i];

		err = check_peer(p, t, e);
		for (size_t k = 0; err == 0 && k < i; k++)
			if (strcmp(p->unix_peers.items[k].text, t->text) == 0)
				err = policy_error(
					p->file, t->pos, e,
					"unix: '%s' stands in line %u already; remove one of them",
					policy_quote(t->text).text,
					p->unix_peers.items[k].pos.line);
	}
	return err;
}
