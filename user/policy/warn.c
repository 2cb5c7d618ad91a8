/* SPDX-License-Identifier: MIT */
#include "user/policy/warn.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/policy/path.h"
#include "user/policy/reach.h"

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

static const char *find_danger(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(dangers); i++)
		if (ends_with(text, dangers[i].end))
			return dangers[i].text;
	return NULL;
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

static void add_peer_warnings(struct buf *b, const struct policy *p)
{
	for (size_t i = 0; i < p->unix_peers.count; i++) {
		const struct policy_text *t = &p->unix_peers.items[i];
		const char *danger = find_danger(t->text);

		if (danger)
			add_warning(b, p, t->pos, t->text, danger);
	}
}

/* Where programs come from other people, or from earlier runs. */
static bool is_anywhere(const char *path)
{
	static const char *const places[] = { "",	  "~",	  "${HOME}",  "/home",
					      "/root",	  "/tmp", "/var/tmp", "/dev/shm",
					      "/var",	  "/etc", "/run",     "/dev",
					      "/var/lib", "/mnt", "/media",   "/srv" };
	size_t len = strlen(path);

	if (len >= 3 && strcmp(path + len - 3, "/**") == 0)
		len -= 3;
	while (len > 0 && path[len - 1] == '/')
		len--;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (strlen(places[i]) == len && strncmp(path, places[i], len) == 0)
			return true;
	return false;
}

/* What follows "~" or "${HOME}", so that lines with either compare; else path. */
static const char *below_home(const char *path, bool *ret_home)
{
	static const char home[] = "${HOME}";

	*ret_home = path[0] == '~' || strncmp(path, home, sizeof(home) - 1) == 0;
	if (!*ret_home)
		return path;
	return path + (path[0] == '~' ? 1 : sizeof(home) - 1);
}

static bool is_in_store(const char *path, const char *store)
{
	bool path_home, store_home;
	const char *x = below_home(path, &path_home), *y = below_home(store, &store_home);

	return path_home == store_home && policy_path_is_below(x, y);
}

static void add_store_warning(struct buf *b, const struct policy *p, const struct policy_rule *r)
{
	char text[128];

	for (size_t i = 0; i < p->credentials.count; i++) {
		const struct policy_text *store = &p->credentials.items[i];

		if (!is_in_store(r->path.text, store->text))
			continue;
		snprintf(text, sizeof(text),
			 "may be read, by every member, from the credential store of line %u",
			 store->pos.line);
		add_warning(b, p, r->path.pos, r->path.text, text);
	}
}

static void add_rule_warnings(struct buf *b, const struct policy *p)
{
	for (size_t i = 0; i < p->files.count; i++) {
		const struct policy_rule *r = &p->files.items[i];
		uint64_t rights = r->allow.value & ~r->deny.value;

		if (r->broad.value && (rights & WEIR_RIGHTS_MUTATE))
			add_warning(b, p, r->path.pos, r->path.text,
				    "may be changed as a whole; name what is needed below it");
		if ((rights & WEIR_RIGHT_EXEC) && is_anywhere(r->path.text))
			add_warning(b, p, r->path.pos, r->path.text,
				    "lets members run what others have put there; name the "
				    "directories with programs");
		if (rights & WEIR_RIGHT_READ)
			add_store_warning(b, p, r);
		if (rights && find_danger(r->path.text))
			add_warning(b, p, r->path.pos, r->path.text,
				    "names a socket: a files rule lets nobody talk to it; drop it");
	}
}

static void add_environment_warnings(struct buf *b, const struct policy *p)
{
	static const char *const hooks[] = { "LD_PRELOAD", "LD_AUDIT",	 "LD_LIBRARY_PATH",
					     "BASH_ENV",   "ENV",	 "NODE_OPTIONS",
					     "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP",
					     "PERL5OPT",   "PERL5LIB",	 "RUBYOPT",
					     "GIT_SSH",	   "GIT_EDITOR", "GIT_EXTERNAL_DIFF",
					     "MAKEFLAGS" };

	for (size_t i = 0; i < p->env_pass.count; i++)
		for (size_t k = 0; k < ARRAY_SIZE(hooks); k++)
			if (strcmp(p->env_pass.items[i].text, hooks[k]) == 0)
				add_warning(b, p, p->env_pass.items[i].pos, hooks[k],
					    "makes programs run what the caller's environment "
					    "says; set it to a value instead");
}

#define KERNEL "gives away the kernel, and with it whatever weir says"
#define OTHERS "gives away what other processes hold, keys as well"

static void add_power_warnings(struct buf *b, const struct policy *p)
{
	const struct {
		const struct policy_value *list;
		uint64_t power;
		const char *what, *text;
	} powers[] = {
		{ &p->powers.kernel, WEIR_POWER(MODULE), "module", KERNEL },
		{ &p->powers.kernel, WEIR_POWER(KEXEC), "kexec", KERNEL },
		{ &p->powers.kernel, WEIR_POWER(RAWIO), "rawio", KERNEL },
		{ &p->powers.memory, WEIR_POWER(MEMORY_OUTSIDERS), "outsiders", OTHERS },
		{ &p->powers.namespaces, WEIR_POWER(NS_JOIN), "join",
		  "lets members go where other paths and other rules hold" },
		{ &p->capabilities, 1ull << CAP_SYS_ADMIN, "CAP_SYS_ADMIN", KERNEL },
		{ &p->capabilities, 1ull << CAP_SYS_MODULE, "CAP_SYS_MODULE", KERNEL },
		{ &p->capabilities, 1ull << CAP_SYS_RAWIO, "CAP_SYS_RAWIO", KERNEL },
		{ &p->capabilities, 1ull << CAP_SYS_PTRACE, "CAP_SYS_PTRACE", OTHERS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(powers); i++)
		if (powers[i].list->value & powers[i].power)
			add_warning(b, p, powers[i].list->pos, powers[i].what, powers[i].text);
}

static void add_writeback_warning(struct buf *b, const struct policy *p)
{
	if (!p->approvals.pos.line || p->approvals.value || p->tiers.count)
		return;
	for (size_t i = 0; i < p->writeback_paths.count; i++)
		if (strcmp(p->writeback_paths.items[i].text, "**") == 0)
			add_warning(b, p, p->writeback_paths.items[i].pos, "**",
				    "and no approvals: whatever a clean run produces is promoted "
				    "unseen; name the paths, or ask for an approval");
}

int policy_add_warnings(struct buf *b, const struct policy *p)
{
	add_rule_warnings(b, p);
	add_net_warnings(b, p, &p->egress,
			 "is every address and every port; name those that are needed");
	add_net_warnings(b, p, &p->listen,
			 "lets members wait at every port; name those that are needed");
	add_peer_warnings(b, p);
	if (p->netlink.value)
		add_warning(b, p, p->netlink.pos, "netlink",
			    "lets members with CAP_NET_ADMIN change addresses, routes and filters");
	add_environment_warnings(b, p);
	add_power_warnings(b, p);
	add_writeback_warning(b, p);
	return b->failed ? -ENOMEM : 0;
}
