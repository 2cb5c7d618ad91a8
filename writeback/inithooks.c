/* SPDX-License-Identifier: MIT */
/* Hooks and git's settings of the repository, made by weir-gate init; contract in init.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/init.h"
#include "writeback/keeper.h"
#include "writeback/repo.h"

#define SEED_BYTES 32

static const struct {
	const char *name;
	const char *arguments;
} hooks[] = {
	{ "pre-receive", "pre-receive" },
	{ "reference-transaction", "reference-transaction \"$1\"" },
};

/* git-config(1). NULL: made here. Other hooks could stand in place of ours by core.hooksPath. */
static const struct {
	const char *key;
	const char *value;
} settings[] = {
	{ "core.hooksPath", NULL },
	{ "core.useReplaceRefs", "false" },
	{ "transfer.fsckObjects", "true" },
	{ "receive.fsckObjects", "true" },
	{ "receive.denyDeletes", "true" },
	{ "receive.denyNonFastForwards", "true" },
	{ "receive.shallowUpdate", "false" },
	{ "receive.advertisePushOptions", "true" },
	{ "gpg.ssh.allowedSignersFile", NULL },
	{ "receive.certNonceSeed", NULL },
};

static int find_program(struct buf *ret_path, struct weir_err *e)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path));

	if (len < 0 || len == sizeof(path))
		return err_errno(e, len < 0 ? -errno : -ENAMETOOLONG, "finding weir-gate");
	if (memchr(path, '\'', (size_t)len) || memchr(path, '\n', (size_t)len))
		return err_set(e, -EINVAL, "weir-gate has a path that no hook can name");
	return buf_add(ret_path, path, (size_t)len);
}

/* A hook that says the same already is as good. */
static int make_hook(const char *path, const struct buf *text, struct init_files *made,
		     struct weir_err *e)
{
	const struct init_file file = { path, 0755, 0, 0 };
	cleanup_buf struct buf there = { 0 };
	struct stat st;

	if (lstat(path, &st) < 0)
		return init_file(made, &file, text, e);
	if (S_ISREG(st.st_mode) && fsio_read_file(AT_FDCWD, path, 4096, &there, NULL) == 0 &&
	    strcmp(buf_str(&there), buf_str(text)) == 0)
		return chown(path, 0, 0) < 0 || chmod(path, 0755) < 0
			       ? err_errno(e, -errno, "%s", path)
			       : 0;
	return err_set(e, -EEXIST,
		       "%s exists; move it away, or keep it with --no-hooks and call `weir-gate "
		       "receive` in it",
		       path);
}

/* The gate's user runs git: it doesn't change what git runs. */
static int make_dir(const char *path, struct weir_err *e)
{
	cleanup_close int fd = -1;

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return err_errno(e, -errno, "%s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fchown(fd, 0, 0) < 0 || fchmod(fd, 0755) < 0)
		return err_errno(e, -errno, "%s", path);
	return 0;
}

static int make_hooks(const struct gate_config *c, struct init_files *made, struct weir_err *e)
{
	cleanup_buf struct buf program = { 0 };
	cleanup_free char *dir = NULL;
	int err = find_program(&program, e);

	if (err == 0 && asprintf(&dir, "%s/hooks", c->repository) < 0) {
		dir = NULL;
		err = err_errno(e, -ENOMEM, "hooks");
	}
	if (err == 0)
		err = make_dir(dir, e);
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(hooks); i++) {
		cleanup_buf struct buf text = { 0 };
		cleanup_free char *path = NULL;

		buf_addf(&text,
			 "#!/bin/sh\n# Made by weir-gate init: only what the gate promoted gets "
			 "in.\nexec '%s' receive %s\n",
			 buf_str(&program), hooks[i].arguments);
		if (text.failed || asprintf(&path, "%s/%s", dir, hooks[i].name) < 0) {
			path = NULL;
			return err_errno(e, -ENOMEM, "hooks");
		}
		err = make_hook(path, &text, made, e);
	}
	return err;
}

/* Those that no table can hold. Returns: 0 or -ENOMEM. Borrows: key. */
static int make_value(const struct gate_config *c, const char *key, struct buf *ret_value)
{
	unsigned char seed[SEED_BYTES];
	char hex[2 * SEED_BYTES + 1];

	if (strcmp(key, "core.hooksPath") == 0)
		return buf_addf(ret_value, "%s/hooks", c->repository);
	if (strcmp(key, "gpg.ssh.allowedSignersFile") == 0)
		return buf_addf(ret_value, "%s", c->signers);
	if (digest_random(seed, sizeof(seed)) < 0)
		return -EIO;
	digest_hex(seed, sizeof(seed), hex);
	return buf_addf(ret_value, "%s", hex);
}

/* As the gate's user, to whom the file belongs. */
static int make_settings(const struct gate_config *c, void *arg, struct weir_err *e)
{
	cleanup_free char *path = NULL;
	git_config *config = NULL;
	int err = 0;

	(void)arg;
	if (asprintf(&path, "%s/config", c->repository) < 0) {
		path = NULL;
		return err_errno(e, -ENOMEM, "settings of git");
	}
	if (git_config_open_ondisk(&config, path) < 0)
		err = repo_error(e, path);
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(settings); i++) {
		cleanup_buf struct buf made = { 0 };
		const char *value = settings[i].value;

		if (!value) {
			err = make_value(c, settings[i].key, &made);
			value = buf_str(&made);
		}
		if (err < 0)
			err_errno(e, err, "settings of git");
		else if (git_config_set_string(config, settings[i].key, value) < 0)
			err = repo_error(e, settings[i].key);
	}
	git_config_free(config);
	return err;
}

int init_hooks(const struct gate_config *c, struct init_files *made, struct weir_err *e)
{
	int err = make_hooks(c, made, e);

	if (err < 0)
		return err;
	if (keeper_run(c, make_settings, NULL, NULL, 0) != 0)
		return err_set(e, -EIO, "writing %s/config failed", c->repository);
	return 0;
}
