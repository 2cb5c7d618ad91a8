/* SPDX-License-Identifier: MIT */
#include "user/policy/reach.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/policy/path.h"
#include "user/policy/text.h"

#define AT(member) offsetof(struct policy, member)
#define NET(member) offsetof(struct policy_net, member)
#define WANT_PORT "a port from 1 to 65535 or a range of them, such as 443 or 8000-8100"

static const struct policy_choice truths[] = { { "true", 1 }, { "false", 0 }, { 0 } };
static const struct policy_choice sysvs[] = {
	{ "true", WEIR_POWER(SYSV) },
	{ "any", WEIR_POWER(SYSV) | WEIR_POWER(SYSV_OUTSIDERS) },
	{ "false", 0 },
	{ 0 },
};
static const struct policy_choice protocols[] = { { "tcp", WEIR_NET_TCP },
						  { "udp", WEIR_NET_UDP },
						  { "any", WEIR_NET_TCP | WEIR_NET_UDP },
						  { 0 } };

const struct policy_choice policy_ignores[] = {
#define WEIR_X(id, bit, name) { name, POLICY_IGNORE_##id },
	POLICY_IGNORES(WEIR_X)
#undef WEIR_X
		{ 0 },
};

#define TRUTH(name, where) \
	{ \
		.key = name, .kind = POLICY_KIND_VALUE, .offset = where, .choices = truths, \
		.want = "true or false, without quotes" \
	}
#define NETS(name, where) \
	{ \
		.key = name, .kind = POLICY_KIND_NETS, .offset = where, .sub = net_fields, \
		.want = "a list of rules, each with cidr" \
	}

static const struct policy_field net_fields[] = {
	{ .key = "cidr",
	  .kind = POLICY_KIND_TEXT,
	  .offset = NET(cidr),
	  .required = true,
	  .want = "a network, such as 192.0.2.0/24 or \"2001:db8::/32\"" },
	{ .key = "ports", .kind = POLICY_KIND_PORTS, .offset = NET(ports), .want = WANT_PORT },
	{ .key = "protocol",
	  .kind = POLICY_KIND_VALUE,
	  .offset = NET(protocol),
	  .choices = protocols,
	  .want = "tcp, udp or any",
	  .initial = WEIR_NET_TCP | WEIR_NET_UDP },
	{ 0 },
};

const struct policy_field policy_network_fields[] = {
	NETS("egress", AT(egress)), NETS("listen", AT(listen)),	   TRUTH("loopback", AT(loopback)),
	TRUTH("raw", AT(raw)),	    TRUTH("netlink", AT(netlink)), { 0 },
};

const struct policy_field policy_ipc_fields[] = {
	{ .key = "unix",
	  .kind = POLICY_KIND_TEXTS,
	  .offset = AT(unix_peers),
	  .want = "a list of sockets, such as [/run/x.sock, \"@name\"]" },
	{ .key = "sysv",
	  .kind = POLICY_KIND_VALUE,
	  .offset = AT(sysv),
	  .choices = sysvs,
	  .want = "true, false, or any for those of others as well" },
	TRUTH("posix", AT(posix)),
	TRUTH("terminal", AT(terminal)),
	TRUTH("receive", AT(receive)),
	{ 0 },
};

/* A number from 1 to 65535 at *at, with an end for strchr in ends. */
static bool take_port(const char **at, uint16_t *ret_port)
{
	size_t digits = strspn(*at, "0123456789");
	unsigned long value = strtoul(*at, NULL, 10);

	if (digits == 0 || digits > 5 || **at == '0' || value > UINT16_MAX)
		return false;
	*at += digits;
	*ret_port = (uint16_t)value;
	return true;
}

static bool parse_ports(const char *text, struct policy_port *ret_port)
{
	if (!take_port(&text, &ret_port->from))
		return false;
	ret_port->to = ret_port->from;
	if (*text == '-') {
		text++;
		if (!take_port(&text, &ret_port->to) || ret_port->to < ret_port->from)
			return false;
	}
	return *text == '\0';
}

int policy_read_ports(struct policy_loader *l, const struct policy_field *f,
		      struct policy_ports *ports)
{
	if (l->event.type != YAML_SEQUENCE_START_EVENT)
		return policy_loader_wrong_type(l, f->key, "a list, such as [443, 8000-8100]");
	ports->pos = policy_loader_pos(l);
	for (;;) {
		struct policy_scalar s = { 0 };
		struct policy_port *port;
		int err = policy_loader_next(l);

		if (err < 0)
			return err;
		if (l->event.type == YAML_SEQUENCE_END_EVENT)
			break;
		err = policy_loader_scalar(l, f->key, f->want, &s);
		if (err < 0)
			return err;
		port = policy_grow(&ports->items, &ports->count, sizeof(*port));
		if (!port)
			return policy_loader_oom(l);
		port->pos = s.pos;
		if (!parse_ports(s.text, port))
			return policy_error(l->file, s.pos, l->e, "%s: '%s' is not %s", f->key,
					    policy_quote(s.text).text, f->want);
	}
	if (ports->count == 0)
		return policy_error(
			l->file, ports->pos, l->e,
			"%s: the list is empty; leave the key out if all ports are meant", f->key);
	return 0;
}

/* Number of bits after the slash; max if there is none; -1 if it is no number up to max. */
static int prefix_of(const char *slash, int max)
{
	size_t digits;
	long value;

	if (!slash)
		return max;
	digits = strspn(slash + 1, "0123456789");
	value = strtol(slash + 1, NULL, 10);
	if (digits == 0 || digits > 3 || slash[1 + digits] || (slash[1] == '0' && digits > 1))
		return -1;
	return value > max ? -1 : (int)value;
}

static uint64_t word_of(const unsigned char *bytes)
{
	uint64_t word = 0;

	for (int i = 0; i < 8; i++)
		word = word << 8 | bytes[i];
	return word;
}

static uint64_t mask_of(int bits)
{
	return bits <= 0 ? 0 : bits >= 64 ? UINT64_MAX : ~(UINT64_MAX >> bits);
}

const char *policy_parse_cidr(const char *text, struct weir_netrule *ret_rule)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	const char *slash = strchr(text, '/');
	struct weir_netrule r = { 0 };
	unsigned char bytes[16];
	char address[64];
	int prefix;

	if (strlen(text) >= sizeof(address))
		return "is no address";
	memcpy(address, text, strlen(text) + 1);
	address[strcspn(address, "/")] = '\0';
	memcpy(bytes, mapped, sizeof(mapped));
	if (inet_pton(AF_INET, address, bytes + 12) == 1) {
		prefix = prefix_of(slash, 32);
		prefix = prefix < 0 ? prefix : prefix + 96;
		r.use = WEIR_NET_V4;
	} else if (inet_pton(AF_INET6, address, bytes) == 1) {
		prefix = prefix_of(slash, 128);
		if (memcmp(bytes, mapped, sizeof(mapped)) == 0)
			return "is an address of IPv4; write it as 192.0.2.0/24";
	} else {
		return "is no address of IPv4 or IPv6; names are not looked up";
	}
	if (prefix < 0)
		return "has no number of bits after the '/' that fits its address";
	for (int i = 0; i < 2; i++) {
		r.address[i] = word_of(bytes + 8 * i);
		r.mask[i] = mask_of(prefix - 64 * i);
		if (r.address[i] & ~r.mask[i])
			return "has bits set behind its prefix; clear them, or name one host with "
			       "/32 "
			       "or /128";
	}
	*ret_rule = r;
	return NULL;
}

/* Keys that grant a power by themselves. */
static const struct {
	const char *map, *key;
	size_t offset;
	uint64_t power;
} granted[] = {
	{ "network", "loopback", AT(loopback), WEIR_POWER(LOOPBACK) },
	{ "network", "raw", AT(raw), WEIR_POWER(RAW) },
	{ "network", "netlink", AT(netlink), WEIR_POWER(NETLINK) },
	{ "ipc", "posix", AT(posix), WEIR_POWER(POSIX) },
	{ "ipc", "terminal", AT(terminal), WEIR_POWER(TERMINAL) },
	{ "ipc", "receive", AT(receive), WEIR_POWER(RECEIVE) },
	{ "ipc", "sysv", AT(sysv), WEIR_POWER(SYSV) },
};

uint64_t policy_reach_powers(const struct policy *p)
{
	uint64_t powers = p->sysv.value;

	for (size_t i = 0; i < ARRAY_SIZE(granted); i++) {
		const struct policy_value *v = (const void *)((const char *)p + granted[i].offset);

		if (v->value)
			powers |= granted[i].power;
	}
	return powers;
}

int policy_add_reach_powers(struct buf *b, uint64_t powers)
{
	const char *map = "";

	for (size_t i = 0; i < ARRAY_SIZE(granted); i++) {
		if (!(powers & granted[i].power))
			continue;
		if (strcmp(map, granted[i].map) != 0)
			buf_addf(b, "%s%s: {", *map ? "}\n" : "", granted[i].map);
		else
			buf_addf(b, ", ");
		map = granted[i].map;
		buf_addf(b, "%s: %s", granted[i].key,
			 powers & WEIR_POWER(SYSV_OUTSIDERS) && granted[i].power == WEIR_POWER(SYSV)
				 ? "any"
				 : "true");
	}
	if (*map)
		buf_addf(b, "}\n");
	return b->failed ? -ENOMEM : 0;
}
