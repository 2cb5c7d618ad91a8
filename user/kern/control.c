/* SPDX-License-Identifier: MIT */
#include "user/kern/control.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "bpf/abi/control.h"
#include "user/base/cleanup.h"

/* Bytes that the programs hash at a time: always all words of a chunk. */
#define CHUNK 16

uint64_t kern_name_hash(const char *name, uint64_t seed)
{
	size_t len = strlen(name);
	uint64_t hash = seed ^ len;

	for (size_t at = 0; at < len; at += CHUNK) {
		uint64_t words[CHUNK / 8] = { 0 };

		memcpy(words, name + at, len - at < CHUNK ? len - at : CHUNK);
		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			hash = weir_hash_secret(hash, words[i], seed);
	}
	return hash;
}

/* Of a control name. */
static uint64_t name_hash(const char *name)
{
	uint64_t words[WEIR_CTLNAME_MAX / 8] = { 0 }, hash = WEIR_FNV_BASIS;

	memcpy(words, name, strlen(name));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		hash = weir_hash_word(hash, weir_fold_word(words[i]));
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

static const char *const names[] = {
#define X(name) name,
	WEIR_CONTROL_NAMES(X)
#undef X
};

static const char *const nested[] = {
#define X(name) name,
	WEIR_GIT_NESTED(X)
#undef X
};

static const char *const places[][3] = {
#define X(a, b, c) { a, b, c },
	WEIR_GIT_CONTROL(X)
#undef X
};

static const char *const keeps[][3] = {
#define X(a, b, c) { a, b, c },
	WEIR_GIT_KEEPS(X)
#undef X
};

/* A place, and the directories on the way to it. Classes of places come after those. */
static int put_place(int fd, const char *const place[3], uint32_t class, bool above,
		     struct weir_err *e)
{
	uint64_t hash = WEIR_FNV_BASIS;
	int err = 0;

	for (int k = 0; err == 0 && k < 3 && place[k][0]; k++) {
		bool last = k == 2 || !place[k + 1][0];

		hash = chain(hash, place[k]);
		if (last != above)
			err = put(fd, hash, above ? WEIR_NAME_GITABOVE : class, e);
	}
	return err;
}

int kern_fill_control(int control_fd, struct weir_err *e)
{
	int err = put(control_fd, name_hash(".git"), WEIR_NAME_GIT, e);

	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(names); i++)
		err = put(control_fd, name_hash(names[i]), WEIR_NAME_CONTROL, e);
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(nested); i++)
		err = put(control_fd, name_hash(nested[i]), WEIR_NAME_GITNEST, e);
	for (int above = 1; above >= 0; above--) {
		for (size_t i = 0; err == 0 && i < ARRAY_SIZE(places); i++)
			err = put_place(control_fd, places[i], WEIR_NAME_GITSUB, above, e);
		for (size_t i = 0; err == 0 && i < ARRAY_SIZE(keeps); i++)
			err = put_place(control_fd, keeps[i], WEIR_NAME_GITKEEP, above, e);
	}
	return err;
}
