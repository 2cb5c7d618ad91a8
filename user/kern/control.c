/* SPDX-License-Identifier: MIT */
#include "user/kern/control.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "bpf/abi/control.h"
#include "user/base/cleanup.h"

static uint64_t name_hash(const char *name)
{
	uint64_t hash = WEIR_FNV_BASIS;

	for (; *name; name++)
		hash = weir_fold_step(hash, (unsigned char)*name);
	return hash;
}

static uint64_t chain(uint64_t hash, const char *name)
{
	uint64_t next = strcmp(name, "*") == 0 ? WEIR_NAME_ANY : name_hash(name);

	return (hash ^ next) * WEIR_FNV_PRIME;
}

static int put(int fd, uint64_t hash, uint32_t class, struct weir_err *e)
{
	if (bpf_map_update_elem(fd, &hash, &class, BPF_ANY) < 0)
		return err_errno(e, -errno, "filling the table of control names");
	return 0;
}

int kern_fill_control(int control_fd, struct weir_err *e)
{
	static const char *const names[] = {
#define X(name) name,
		WEIR_CONTROL_NAMES(X)
#undef X
	};
	static const char *const places[][3] = {
#define X(a, b, c) { a, b, c },
		WEIR_GIT_CONTROL(X)
#undef X
	};
	int err = put(control_fd, name_hash(".git"), WEIR_NAME_GIT, e);

	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(names); i++)
		err = put(control_fd, name_hash(names[i]), WEIR_NAME_CONTROL, e);
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(places); i++) {
		uint64_t hash = WEIR_FNV_BASIS;

		for (int k = 0; k < 3 && places[i][k][0]; k++)
			hash = chain(hash, places[i][k]);
		err = put(control_fd, hash, WEIR_NAME_GITSUB, e);
	}
	return err;
}
