/* SPDX-License-Identifier: MIT */
/* Networks and peers of a policy: what is read, what is refused, what it becomes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/cleanup.h"
#include "user/policy/compile.h"
#include "user/policy/reach.h"
#include "user/policy/warn.h"

#define HEAD \
	"apiVersion: weir/v1\n" \
	"kind: CapabilitySet\n" \
	"metadata: {name: t, owners: [a]}\n" /* what follows begins in line 4 */

#define V4_HOST 0x0000ffff00000000ull

static struct policy *load_ok(const char *text)
{
	struct weir_err e = { 0 };
	struct policy *p = NULL;

	if (policy_load("p.yaml", text, strlen(text), &p, &e) < 0)
		fail_msg("refused: %s", e.text);
	return p;
}

static void t_defaults(void **state)
{
	cleanup_policy struct policy *p = load_ok(HEAD);

	(void)state;
	assert_int_equal(p->egress.count + p->listen.count + p->unix_peers.count, 0);
	assert_false(p->loopback.value || p->raw.value || p->netlink.value);
	assert_false(p->sysv.value || p->posix.value || p->terminal.value);
	assert_int_equal(p->ignore.pos.line, 0);
}

static void t_all_keys(void **state)
{
	cleanup_policy struct policy *p =
		load_ok(HEAD "network:\n"
			     "  egress:\n"
			     "    - {cidr: 192.0.2.0/24, ports: [443, 8000-8100], protocol: tcp}\n"
			     "    - {cidr: \"2001:db8::/32\"}\n"
			     "  listen: [{cidr: 127.0.0.1, ports: [8080]}]\n"
			     "  loopback: true\n  raw: true\n  netlink: true\n"
			     "ipc:\n  unix: [/run/a.sock, \"@name\"]\n  sysv: true\n  posix: true\n"
			     "  terminal: true\n"
			     "ignore: [nscd, syslog]\n");

	(void)state;
	assert_int_equal(p->egress.count, 2);
	assert_string_equal(p->egress.items[0].cidr.text, "192.0.2.0/24");
	assert_int_equal(p->egress.items[0].pos.line, 6);
	assert_int_equal(p->egress.items[0].ports.count, 2);
	assert_int_equal(p->egress.items[0].ports.items[1].from, 8000);
	assert_int_equal(p->egress.items[0].ports.items[1].to, 8100);
	assert_int_equal(p->egress.items[0].protocol.value, WEIR_NET_TCP);
	assert_int_equal(p->egress.items[1].protocol.value, WEIR_NET_TCP | WEIR_NET_UDP);
	assert_int_equal(p->egress.items[1].ports.count, 0);
	assert_int_equal(p->listen.count, 1);
	assert_true(p->loopback.value && p->raw.value && p->netlink.value);
	assert_true(p->sysv.value && p->posix.value && p->terminal.value);
	assert_int_equal(p->unix_peers.count, 2);
	assert_int_equal(p->ignore.value, POLICY_IGNORE_NSCD | POLICY_IGNORE_SYSLOG);
}

#define EGRESS(net) HEAD "network: {egress: [{cidr: " net "}]}\n"

static const struct {
	const char *text, *where, *what;
} bads[] = {
	{ HEAD "network: [a]\n", "4:10", "network: a list is not a map" },
	{ HEAD "network: {ports: [1]}\n", "4:11",
	  "unknown key 'ports' in network; there are egress, listen, loopback, raw, netlink" },
	{ HEAD "network: {egress: {cidr: a}}\n", "4:19", "egress: a map is not a list of rules" },
	{ HEAD "network: {egress: [a]}\n", "4:20", "a network rule: a single value is not a map" },
	{ HEAD "network: {egress: [{ports: [1]}]}\n", "4:20", "a network rule lacks 'cidr'" },
	{ HEAD "network: {loopback: yes}\n", "4:21", "'yes' is unknown; write true or false" },
	{ EGRESS("example.org"), "4:27",
	  "cidr: 'example.org' is no address of IPv4 or IPv6; names are not looked up" },
	{ EGRESS("1.2.3"), "4:27", "is no address" },
	{ EGRESS("1.2.3.4/33"), "4:27", "has no number of bits" },
	{ EGRESS("1.2.3.4/"), "4:27", "has no number of bits" },
	{ EGRESS("1.2.3.4/08"), "4:27", "has no number of bits" },
	{ EGRESS("1.2.3.4/-1"), "4:27", "has no number of bits" },
	{ EGRESS("1.2.3.4/24"), "4:27", "has bits set behind its prefix" },
	{ EGRESS("\"2001:db8::1/64\""), "4:27", "has bits set behind its prefix" },
	{ EGRESS("\"2001:db8::/129\""), "4:27", "has no number of bits" },
	{ EGRESS("\"::ffff:1.2.3.4/128\""), "4:27", "is an address of IPv4" },
	{ EGRESS("1"), "4:27", "is a number to YAML" },
	{ EGRESS("1.2.3.4, ports: 443"), "4:43", "ports: a single value is not a list" },
	{ EGRESS("1.2.3.4, ports: []"), "4:43", "ports: the list is empty; leave the key out" },
	{ EGRESS("1.2.3.4, ports: [0]"), "4:44", "ports: '0' is not a port from 1 to 65535" },
	{ EGRESS("1.2.3.4, ports: [65536]"), "4:44", "is not a port" },
	{ EGRESS("1.2.3.4, ports: [080]"), "4:44", "is not a port" },
	{ EGRESS("1.2.3.4, ports: [http]"), "4:44", "is not a port" },
	{ EGRESS("1.2.3.4, ports: [9-8]"), "4:44", "is not a port" },
	{ EGRESS("1.2.3.4, ports: [9-]"), "4:44", "is not a port" },
	{ EGRESS("1.2.3.4, ports: [1, 1]"), "4:47", "ports: 1 is in the list already" },
	{ EGRESS("1.2.3.4, ports: [1-9, 5]"), "4:49", "ports: 5 is in the list already" },
	{ EGRESS("1.2.3.4, protocol: sctp"), "4:46", "'sctp' is unknown; write tcp, udp or any" },
	{ HEAD "network:\n  egress:\n    - {cidr: 1.2.3.4}\n    - {cidr: 1.2.3.4/32}\n", "7:7",
	  "egress: the same rule stands in line 6 already; remove one" },
	{ HEAD "network:\n  listen:\n    - {cidr: 1.2.3.4}\n    - {cidr: 1.2.3.4}\n", "7:7",
	  "listen: the same rule stands in line 6" },
	{ HEAD "ipc: {unix: /a}\n", "4:13", "unix: a single value is not a list of sockets" },
	{ HEAD "ipc: {unix: [a]}\n", "4:14", "'a' is no absolute path" },
	{ HEAD "ipc: {unix: [\"@\"]}\n", "4:14", "'@' alone names nothing" },
	{ HEAD "ipc: {unix: [/a, /a]}\n", "4:18", "unix: '/a' stands in line 4 already" },
	{ HEAD "ipc: {dbus: true}\n", "4:7",
	  "unknown key 'dbus' in ipc; there are unix, sysv, posix, terminal, receive" },
	{ HEAD "ignore: [dbus]\n", "4:10",
	  "ignore: 'dbus' is unknown; write one of nscd, nss-systemd, resolved, syslog" },
	{ HEAD "ignore: nscd\n", "4:9", "ignore: a single value is not a list" },
};

static void t_bad_input(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bads); i++) {
		struct weir_err e = { 0 };
		struct policy *p = NULL;
		char start[64];
		int err = policy_load("p.yaml", bads[i].text, strlen(bads[i].text), &p, &e);

		policy_free(p);
		snprintf(start, sizeof(start), "p.yaml:%s: ", bads[i].where);
		if (err >= 0 || strncmp(e.text, start, strlen(start)) != 0 ||
		    !strstr(e.text, bads[i].what))
			fail_msg("\n%s\nwanted: %s... %s\ngot:    %d %s", bads[i].text, start,
				 bads[i].what, err, e.text);
		assert_int_equal(e.exit_code, 2);
	}
}

static void t_cidr(void **state)
{
	struct weir_netrule r = { 0 };

	(void)state;
	assert_null(policy_parse_cidr("192.0.2.0/24", &r));
	assert_int_equal(r.address[0], 0);
	assert_int_equal(r.address[1], V4_HOST | 0xc0000200);
	assert_int_equal(r.mask[0], UINT64_MAX);
	assert_int_equal(r.mask[1], 0xffffffffffffff00ull);
	assert_int_equal(r.use, WEIR_NET_V4);
	assert_null(policy_parse_cidr("0.0.0.0/0", &r));
	assert_int_equal(r.address[1], V4_HOST);
	assert_int_equal(r.mask[1], 0xffffffff00000000ull);
	assert_null(policy_parse_cidr("2001:db8::1", &r));
	assert_int_equal(r.address[0], 0x20010db800000000ull);
	assert_int_equal(r.address[1], 1);
	assert_int_equal(r.mask[1], UINT64_MAX);
	assert_int_equal(r.use, 0);
	assert_null(policy_parse_cidr("::/0", &r));
	assert_int_equal(r.mask[0] | r.mask[1] | r.use, 0);
	assert_null(policy_parse_cidr("fe80::/10", &r));
	assert_int_equal(r.mask[0], 0xffc0000000000000ull);
}

static int listen_at(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static int compile(const char *text, const char *dir, struct policy_image **ret_im,
		   struct weir_err *e)
{
	const struct policy_env env = { .workspace = dir, .home = dir, .tmpdir = dir };
	cleanup_policy struct policy *p = load_ok(text);

	return policy_compile(p, &env, ret_im, e);
}

static size_t count_granted(const struct policy_image *im)
{
	size_t count = 0;

	for (size_t i = 0; i < im->peer_count; i++)
		count += !im->peers[i].ignored;
	return count;
}

static void t_image(void **state)
{
	cleanup_policy_image struct policy_image *im = NULL;
	char dir[] = "/tmp/t_reach.XXXXXX";
	cleanup_free char *path = NULL;
	cleanup_close int fd = -1;
	struct weir_err e = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_true(asprintf(&path, "%s/s", dir) > 0);
	fd = listen_at(path);
	if (compile(HEAD "credentials: [~/x]\n"
			 "network:\n"
			 "  egress: [{cidr: 192.0.2.0/24, ports: [1, 3-4]}, {cidr: 192.0.3.1}]\n"
			 "  listen: [{cidr: 127.0.0.0/8, protocol: udp}]\n"
			 "ipc: {unix: [~/s, \"@n\", ~/absent]}\n",
		    dir, &im, &e) < 0)
		fail_msg("%s", e.text);
	unlink(path);
	rmdir(dir);
	assert_int_equal(im->net_count, 4);
	assert_int_equal(im->nets[1].from, 3);
	assert_int_equal(im->nets[1].to, 4);
	assert_int_equal(im->nets[1].id, 2);
	assert_int_equal(im->nets[1].use, WEIR_NET_EGRESS | WEIR_NET_V4);
	assert_int_equal(im->nets[2].from, 0);
	assert_int_equal(im->nets[2].to, 65535);
	assert_int_equal(im->nets[3].use, WEIR_NET_LISTEN | WEIR_NET_V4);
	assert_int_equal(im->nets[3].protocols, WEIR_NET_UDP);
	assert_int_equal(im->nets[3].id, 4);
	assert_int_equal(count_granted(im), 2);
	assert_int_equal(im->peers[0].id, 5);
	assert_non_null(strstr(im->peers[0].path, "/t_reach."));
	assert_string_equal(im->peers[1].abstract, "n");
	assert_int_equal(im->note_count, 1);
	assert_int_equal(im->source_count, 7);
	assert_string_equal(im->sources[1].written, "egress 192.0.2.0/24");
}

static void t_image_refusals(void **state)
{
	struct weir_err e = { 0 };
	struct policy_image *im = NULL;
	cleanup_buf struct buf b = { 0 };

	(void)state;
	assert_int_equal(compile(HEAD "ipc: {unix: [/usr]}\n", "/tmp", &im, &e), -EINVAL);
	assert_non_null(strstr(e.text, "p.yaml:4:14: '/usr' is no socket"));
	buf_addf(&b, HEAD "network:\n  egress:\n");
	for (int i = 0; i < WEIR_NETS_MAX; i++)
		buf_addf(&b, "    - {cidr: 10.0.0.%d}\n", i);
	assert_int_equal(compile(buf_str(&b), "/tmp", &im, &e), 0);
	policy_image_free(im);
	buf_addf(&b, "    - {cidr: 10.0.1.0/24}\n");
	assert_int_equal(compile(buf_str(&b), "/tmp", &im, &e), -EINVAL);
	assert_non_null(strstr(e.text, "p.yaml:134:7: more than 128 ranges"));
}

/* One rule; its path is at 5:12. */
#define FILES(path, rest) "files:\n  - {path: \"" path "\", " rest "}\n"

/* All that is warned of, each at its place; NULL: nothing is. */
static const struct {
	const char *text, *warning;
} warnings[] = {
	{ "network: {egress: [{cidr: 0.0.0.0/0}]}\n", "4:27: '0.0.0.0/0' is every address" },
	{ "network: {egress: [{cidr: \"::/0\", ports: [1]}]}\n", NULL },
	{ "network: {listen: [{cidr: \"::/0\"}]}\n",
	  "4:27: '::/0' lets members wait at every port" },
	{ "network: {netlink: true}\n", "4:20: 'netlink' lets members" },
	{ "ipc: {unix: [/run/docker.sock]}\n", "4:14: '/run/docker.sock' gives away the host" },
	{ "ipc: {unix: [/run/dbus/system_bus_socket]}\n",
	  "system_bus_socket' gives away what is on" },
	{ "ipc: {unix: [/run/user/1000/bus]}\n", "/bus' gives away what is on the bus" },
	{ "ipc: {unix: [/run/x]}\n", NULL },
	{ FILES("/var/run/docker.sock", "allow: [write]"),
	  "5:12: '/var/run/docker.sock' names a socket" },
	{ FILES("/etc", "allow: [write], broad: true"), "5:12: '/etc' may be changed as a whole" },
	{ FILES("/etc", "allow: [exec], broad: true"), "5:12: '/etc' lets members run what" },
	{ FILES("/", "allow: [exec]"), "5:12: '/' lets members run what others have put there" },
	{ FILES("~/", "allow: [exec]"), "5:12: '~/' lets members run" },
	{ FILES("${HOME}/**", "allow: [exec]"), "5:12: '${HOME}/**' lets members run" },
	{ FILES("/tmp", "allow: [exec]"), "5:12: '/tmp' lets members run" },
	{ FILES("/usr", "allow: [exec]"), NULL },
	{ FILES("~/.ssh/config", "allow: [read]") "credentials: [\"${HOME}/.ssh\"]\n",
	  "5:12: '~/.ssh/config' may be read, by every member, from the credential store of line "
	  "6" },
	{ FILES("~/.sshx", "allow: [read]") "credentials: [\"${HOME}/.ssh\"]\n", NULL },
	{ "environment: {pass: [LANG, LD_PRELOAD]}\n", "4:28: 'LD_PRELOAD' makes programs run" },
	{ "environment: {set: {LD_PRELOAD: /usr/lib/x.so}}\n", NULL },
	{ "kernel: [module]\n", "4:9: 'module' gives away the kernel" },
	{ "kernel: [hostname]\n", NULL },
	{ "memory: [outsiders]\n", "4:9: 'outsiders' gives away what other processes hold" },
	{ "memory: [members]\n", NULL },
	{ "privileges: {capabilities: [CAP_CHOWN, CAP_SYS_ADMIN]}\n",
	  "4:28: 'CAP_SYS_ADMIN' gives" },
	{ "writeback: {paths: [\"**\"], approvals: 0}\n", "4:21: '**' and no approvals" },
	{ "writeback: {paths: [\"**\"], approvals: 1}\n", NULL },
	{ "writeback: {paths: [\"src/**\"], approvals: 0}\n", NULL },
};

static void t_warnings(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(warnings); i++) {
		cleanup_free char *text = NULL;
		cleanup_policy struct policy *p = NULL;
		cleanup_buf struct buf b = { 0 };
		const char *all;

		assert_true(asprintf(&text, HEAD "%s", warnings[i].text) > 0);
		p = load_ok(text);
		assert_int_equal(policy_add_warnings(&b, p), 0);
		all = buf_str(&b);
		if (!warnings[i].warning && !*all)
			continue;
		if (!warnings[i].warning || strncmp(all, "warning: p.yaml:", 16) != 0 ||
		    !strstr(all, warnings[i].warning) || strchr(all, '\n') != all + strlen(all) - 1)
			fail_msg("%s gives: %s", warnings[i].text, all);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_defaults),  cmocka_unit_test(t_all_keys),
		cmocka_unit_test(t_bad_input), cmocka_unit_test(t_cidr),
		cmocka_unit_test(t_image),     cmocka_unit_test(t_image_refusals),
		cmocka_unit_test(t_warnings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
