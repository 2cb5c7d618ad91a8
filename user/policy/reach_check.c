/* SPDX-License-Identifier: MIT */
/* What can be wrong with, and what is dangerous about, networks and peers in a policy. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
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

#define ENGINE "gives away the host: a container engine starts what it is told to, as root"
#define BUS "gives away what is on the bus: it starts services, and services act for the run"
#define MANAGER "gives away the host: a service manager starts what it is told to"
#define AGENT "gives away the keys that the agent holds: it signs for whoever reaches it"
#define DISPLAY "gives away the desktop: whoever reaches it sees and sends keystrokes"

/* By the end of the path or name. */
static const struct {
	const char *end, *text;
} dangers[] = {
	{ "docker.sock", ENGINE },	{ "containerd.sock", ENGINE },
	{ "podman.sock", ENGINE },	{ "crio.sock", ENGINE },
	{ "buildkitd.sock", ENGINE },	{ "lxd/unix.socket", ENGINE },
	{ "libvirt-sock", ENGINE },	{ "snapd.socket", ENGINE },
	{ "system_bus_socket", BUS },	{ "/bus", BUS },
	{ "systemd/private", MANAGER }, { "systemd/io.system.ManagedOOM", MANAGER },
	{ "S.gpg-agent", AGENT },	{ "S.gpg-agent.ssh", AGENT },
	{ "ssh-agent.socket", AGENT },	{ "agent.sock", AGENT },
	{ "keyring/ssh", AGENT },	{ "X11-unix/X0", DISPLAY },
	{ "wayland-0", DISPLAY },
};

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len >= n && strcmp(text + len - n, end) == 0;
}

static void add_warning(struct buf *b, const struct policy *p, struct policy_pos pos,
			const char *what, const char *text)
{
	struct weir_err line = { 0 };

	policy_error(p->file, pos, &line, "'%s' %s", policy_quote(what).text, text);
	buf_addf(b, "warning: %s\n", line.text);
}

static void add_net_warnings(struct buf *b, const struct policy *p, const struct policy_nets *nets,
			     const char *text)
{
	for (size_t i = 0; i < nets->count; i++) {
		const struct policy_net *net = &nets->items[i];
		struct weir_netrule rule = { 0 };
		bool known = policy_parse_cidr(net->cidr.text, &rule) == 0;
		bool all6 = known && !rule.mask[0];
		bool all4 = rule.use && rule.mask[1] == 0xffffffff00000000ull;

		if ((all6 || all4) && net->ports.count == 0)
			add_warning(b, p, net->cidr.pos, net->cidr.text, text);
	}
}

int policy_add_warnings(struct buf *b, const struct policy *p)
{
	add_net_warnings(b, p, &p->egress,
			 "is every address and every port; name those that are needed");
	add_net_warnings(b, p, &p->listen,
			 "lets members wait at every port; name those that are needed");
	for (size_t i = 0; i < p->unix_peers.count; i++) {
		const struct policy_text *t = &p->unix_peers.items[i];

		for (size_t k = 0; k < ARRAY_SIZE(dangers); k++)
			if (ends_with(t->text, dangers[k].end)) {
				add_warning(b, p, t->pos, t->text, dangers[k].text);
				break;
			}
	}
	if (p->netlink.value)
		add_warning(b, p, p->netlink.pos, "netlink",
			    "lets members with CAP_NET_ADMIN change addresses, routes and filters");
	return b->failed ? -ENOMEM : 0;
}
