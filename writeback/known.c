/* SPDX-License-Identifier: MIT */
/*
 * Which objects a repository has, for many look-ups; contract in repo.h. libgit2 asks the
 * file system for each loose object: 20,000 new files would cost 20,000 failed look-ups.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <git2/odb_backend.h>
#include <git2/sys/odb_backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "writeback/packindex.h"
#include "writeback/repo.h"

struct repo_known {
	git_odb *packs;
	struct pack_table loose; /* only its ids are used */
};

void repo_known_free(struct repo_known *k)
{
	if (!k)
		return;
	git_odb_free(k->packs);
	pack_table_done(&k->loose);
	free(k);
}

static int note_dir(struct repo_known *k, const struct repo *r, unsigned int first)
{
	char path[32], hex[OID_HEX + 1];
	cleanup_closedir DIR *dir = NULL;
	struct dirent *entry;
	int fd;

	snprintf(path, sizeof(path), "objects/%02x", first);
	fd = openat(r->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while ((entry = readdir(dir))) {
		struct pack_entry object = { 0 };
		git_oid oid;
		int err;

		if (strlen(entry->d_name) != OID_HEX - 3)
			continue;
		snprintf(hex, sizeof(hex), "%02x%.38s", first, entry->d_name);
		if (git_oid_fromstr(&oid, hex) < 0)
			continue;
		memcpy(object.id, oid.id, sizeof(object.id));
		err = pack_table_add(&k->loose, &object);
		if (err < 0)
			return err;
	}
	return 0;
}

static int load_packs(struct repo_known *k, const struct repo *r)
{
	cleanup_free char *path = NULL;
	git_odb_backend *backend = NULL;

	if (asprintf(&path, "%s/objects", r->path) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (git_odb_new(&k->packs) < 0 || git_odb_backend_pack(&backend, path) < 0)
		return -EIO;
	return git_odb_add_backend(k->packs, backend, 1) < 0 ? -EIO : 0;
}

int repo_known_load(struct repo *r)
{
	struct repo_known *k = calloc(1, sizeof(*k));
	int err = k ? load_packs(k, r) : -ENOMEM;

	for (unsigned int first = 0; err == 0 && first < 256; first++)
		err = note_dir(k, r, first);
	if (err < 0) {
		repo_known_free(k);
		return err;
	}
	r->known = k;
	return 0;
}

bool repo_knows(const struct repo *r, const git_oid *oid)
{
	return pack_table_find(&r->known->loose, oid->id) ||
	       git_odb_exists_ext(r->known->packs, oid, GIT_ODB_LOOKUP_NO_REFRESH) == 1;
}
