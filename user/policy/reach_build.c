/* SPDX-License-Identifier: MIT */
/* Networks and peers of a policy, as this host has them. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/policy/build.h"
#include "user/policy/reach.h"
#include "user/policy/text.h"

/* Where the services of POLICY_IGNORES wait. "/" at the end: all sockets in the directory. */
static const struct {
	unsigned int bit;
	const char *path;
} services[] = {
	{ POLICY_IGNORE_NSCD, "/run/nscd/socket" },
	{ POLICY_IGNORE_NSCD, "/var/run/nscd/socket" },
	{ POLICY_IGNORE_NSS, "/run/systemd/userdb/" },
	{ POLICY_IGNORE_RESOLVED, "/run/systemd/resolve/io.systemd.Resolve" },
	{ POLICY_IGNORE_SYSLOG, "/dev/log" },
	{ POLICY_IGNORE_SYSLOG, "/run/systemd/journal/" },
};

static int add_reach_source(struct policy_build *b, const char *key, const struct policy_text *t,
			    struct policy_pos pos, uint32_t *ret_id)
{
	struct policy_source *s = policy_grow(&b->im->sources, &b->im->source_count, sizeof(*s));

	if (!s || asprintf(&s->written, "%s %s", key, t->text) < 0)
		return policy_build_oom(b);
	s->pos = pos;
	*ret_id = (uint32_t)b->im->source_count;
	return 0;
}

static int add_net(struct policy_build *b, const struct policy_net *net,
		   const struct weir_netrule *rule)
{
	struct policy_image *im = b->im;
	struct weir_netrule *copy;

	if (im->net_count >= WEIR_NETS_MAX)
		return policy_error(b->p->file, net->pos, b->e,
				    "more than %d ranges of ports in network rules; join some",
				    WEIR_NETS_MAX);
	copy = policy_grow(&im->nets, &im->net_count, sizeof(*copy));
	if (!copy)
		return policy_build_oom(b);
	*copy = *rule;
	return 0;
}

static int add_nets(struct policy_build *b, const struct policy_nets *nets, const char *key,
		    uint16_t use)
{
	for (size_t i = 0; i < nets->count; i++) {
		const struct policy_net *net = &nets->items[i];
		struct weir_netrule rule = { 0 };
		int err = 0;

		if (policy_parse_cidr(net->cidr.text, &rule))
			return -EINVAL; /* policy_check has seen it */
		rule.use |= use;
		rule.protocols = (uint16_t)net->protocol.value;
		rule.to = UINT16_MAX;
		err = add_reach_source(b, key, &net->cidr, net->pos, &rule.id);
		if (err == 0 && net->ports.count == 0)
			err = add_net(b, net, &rule);
		for (size_t k = 0; err == 0 && k < net->ports.count; k++) {
			rule.from = net->ports.items[k].from;
			rule.to = net->ports.items[k].to;
			err = add_net(b, net, &rule);
		}
		if (err < 0)
			return err;
	}
	return 0;
}

static bool has_socket(const struct policy_image *im, const struct stat *st)
{
	for (size_t i = 0; i < im->peer_count; i++)
		if (im->peers[i].path && im->peers[i].dev == st->st_dev &&
		    im->peers[i].ino == st->st_ino)
			return true;
	return false;
}

/* Takes path. */
static int add_socket(struct policy_build *b, char *path, const struct stat *st, uint32_t id,
		      bool ignored)
{
	struct policy_peer *peer;

	if (has_socket(b->im, st)) {
		free(path);
		return 0;
	}
	peer = policy_grow(&b->im->peers, &b->im->peer_count, sizeof(*peer));
	if (!peer) {
		free(path);
		return policy_build_oom(b);
	}
	*peer = (struct policy_peer){
		.path = path, .dev = st->st_dev, .ino = st->st_ino, .id = id, .ignored = ignored
	};
	return 0;
}

static int add_abstract(struct policy_build *b, const struct policy_text *t, uint32_t id)
{
	struct policy_peer *peer = policy_grow(&b->im->peers, &b->im->peer_count, sizeof(*peer));

	if (!peer || !(peer->abstract = strdup(t->text + 1)))
		return policy_build_oom(b);
	peer->id = id;
	return 0;
}

/* A socket that the policy names. */
static int add_path(struct policy_build *b, const struct policy_text *t, uint32_t id)
{
	const struct policy_entry entry = { .id = id, .pos = t->pos };
	cleanup_policy_resolved struct policy_resolved at = { 0 };
	struct policy_path path = { 0 };
	struct weir_err why = { 0 };
	cleanup_free char *text = NULL;
	int err = policy_expand_path(b->p, t, b->env, &path, b->e);

	if (err < 0)
		return err;
	text = path.path;
	err = policy_resolve(text, &at, &why);
	if (err == -ENOMEM)
		return policy_build_oom(b);
	if (err < 0)
		return policy_error(b->p->file, t->pos, b->e, "'%s': %s; mend the path",
				    policy_quote(text).text, why.text);
	if (at.absent)
		return policy_add_note(b, POLICY_NOTE_SKIPPED, &entry,
				       "'%s' does not exist; nothing is granted in this run",
				       policy_quote(text).text);
	if (!S_ISSOCK(at.st.st_mode))
		return policy_error(b->p->file, t->pos, b->e,
				    "'%s' is no socket; files are granted by a files rule",
				    policy_quote(text).text);
	return add_socket(b, TAKE_PTR(at.real), &at.st, id, false);
}

/* A service that need not be there. */
static int ignore_path(struct policy_build *b, const char *path)
{
	cleanup_policy_resolved struct policy_resolved at = { 0 };
	struct weir_err why = { 0 };
	int err = policy_resolve(path, &at, &why);

	if (err == -ENOMEM)
		return policy_build_oom(b);
	if (err < 0 || at.absent || !S_ISSOCK(at.st.st_mode))
		return 0;
	return add_socket(b, TAKE_PTR(at.real), &at.st, 0, true);
}

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static int ignore_all_in(struct policy_build *b, const char *path)
{
	DIR *dir __attribute__((cleanup(close_dir))) = opendir(path);
	struct dirent *entry;
	int err = 0;

	while (dir && err == 0 && (entry = readdir(dir))) {
		cleanup_free char *name = NULL;

		if (asprintf(&name, "%s%s", path, entry->d_name) < 0)
			return policy_build_oom(b);
		err = ignore_path(b, name);
	}
	return err;
}

int policy_build_reach(struct policy_build *b)
{
	const struct policy *p = b->p;
	uint64_t ignore = p->ignore.pos.line ? p->ignore.value : UINT64_MAX;
	int err = add_nets(b, &p->egress, "egress", WEIR_NET_EGRESS);

	if (err == 0)
		err = add_nets(b, &p->listen, "listen", WEIR_NET_LISTEN);
	for (size_t i = 0; err == 0 && i < p->unix_peers.count; i++) {
		const struct policy_text *t = &p->unix_peers.items[i];
		uint32_t id = 0;

		err = add_reach_source(b, "unix", t, t->pos, &id);
		if (err == 0)
			err = t->text[0] == '@' ? add_abstract(b, t, id) : add_path(b, t, id);
	}
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(services); i++) {
		const char *path = services[i].path;

		if (!(ignore & services[i].bit))
			continue;
		err = path[strlen(path) - 1] == '/' ? ignore_all_in(b, path) : ignore_path(b, path);
	}
	return err;
}
