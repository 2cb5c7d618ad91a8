/* SPDX-License-Identifier: MIT */
/* What a run may reach beyond files, put into the kernel. */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/kern/control.h"
#include "user/kern/kern.h"

int kern_set_nets(struct kern_slot *s, const struct weir_netrule *rules, size_t count,
		  struct weir_err *e)
{
	struct weir_nets nets = { .count = (uint32_t)count };

	if (count > WEIR_NETS_MAX)
		return err_set(e, -E2BIG, "more than %d network rules", WEIR_NETS_MAX);
	if (count == 0)
		return 0;
	memcpy(nets.rules, rules, count * sizeof(rules[0]));
	if (bpf_map_update_elem(s->kern->nets_fd, &s->slot, &nets, BPF_ANY) < 0)
		return err_errno(e, -errno, "setting network rules");
	return 0;
}

static int bind_peer(struct kern_slot *s, const struct weir_objkey *key,
		     const struct weir_rule *rule, struct weir_err *e)
{
	if (bpf_map_update_elem(s->kern->peers_fd, key, rule, BPF_ANY) == 0)
		return 0;
	return errno == E2BIG ? err_set(e, -E2BIG,
					"more than %d unix sockets in policies of "
					"this host's runs",
					WEIR_PEERS_MAX)
			      : err_errno(e, -errno, "binding a rule to a socket");
}

int kern_bind_socket(struct kern_slot *s, const char *path, uint64_t dev, uint64_t ino,
		     const struct weir_rule *rule, struct weir_err *e)
{
	cleanup_close int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct weir_bind bind = { 0 };
	struct stat st;
	int err;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, -errno, "%s", path);
	if (st.st_dev != dev || st.st_ino != ino)
		return err_set(e, -ESTALE, "%s: replaced while the policy was read; try again",
			       path);
	err = kern_look(s->kern, fd, &bind);
	if (err < 0)
		return err_errno(e, err, "%s", path);
	if (kern_slot_hold(s, TAKE_FD(fd)) < 0)
		return err_errno(e, -ENOMEM, "%s", path);
	bind.ret_key.slot = s->slot;
	return bind_peer(s, &bind.ret_key, rule, e);
}

int kern_bind_abstract(struct kern_slot *s, const char *name, const struct weir_rule *rule,
		       struct weir_err *e)
{
	const struct weir_objkey key = {
		.ino = kern_name_hash(name, s->kern->state->host.seed),
		.slot = s->slot,
	};

	return bind_peer(s, &key, rule, e);
}
