/* SPDX-License-Identifier: MIT */
/* User and repository made by weir-gate init; contract in init.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/init.h"
#include "writeback/keeper.h"
#include "writeback/priv.h"
#include "writeback/reason.h"
#include "writeback/repo.h"

static int find_user(struct gate_config *c)
{
	char buffer[4096];
	struct passwd pw, *found = NULL;

	if (getpwnam_r(c->user, &pw, buffer, sizeof(buffer), &found) != 0 || !found)
		return -ENOENT;
	c->uid = pw.pw_uid;
	c->gid = pw.pw_gid;
	return 0;
}

int init_user(struct gate_config *c, struct weir_err *e)
{
	const char *argv[] = { "useradd",    "--system",  "--user-group", "--no-create-home",
			       "--home-dir", GATE_STATE,  "--shell",	  "/usr/sbin/nologin",
			       "--comment",  "weir gate", "--",		  c->user,
			       NULL };
	extern char **environ;
	pid_t pid;
	int err;

	if (find_user(c) < 0) {
		err = posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)(uintptr_t)argv,
				   environ);
		if (err != 0)
			return err_errno(e, -err, "running useradd");
		err = priv_wait(pid, "useradd", e);
		if (err != 0 || find_user(c) < 0)
			return err_set(e, -EIO, "useradd could not make the user %s", c->user);
	}
	if (c->uid == 0)
		return err_set(e, -EINVAL, "the gate's user must not be root");
	return 0;
}

/* Runs as the gate's user in its new, empty directory. */
static int create(const struct gate_config *c, void *arg, struct weir_err *e)
{
	git_repository_init_options options = { .version = GIT_REPOSITORY_INIT_OPTIONS_VERSION };
	git_repository *git = NULL;

	(void)arg;
	options.flags = GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_NO_REINIT;
	options.initial_head = c->refs.items[0] + strlen("refs/heads/");
	if (git_repository_init_ext(&git, c->repository, &options) < 0)
		return repo_error(e, c->repository);
	git_repository_free(git);
	return 0;
}

/* Runs as the present owner: what root has not checked yet is parsed without root. */
static int check(const struct gate_config *c, void *arg, struct weir_err *e)
{
	cleanup_repo struct repo repo = { .fd = -1 };

	(void)arg;
	return repo_open(c->repository, false, &repo, e);
}

static int give_entry(int dir, const char *name, const struct stat *st, const struct gate_config *c,
		      struct weir_err *e)
{
	if (S_ISREG(st->st_mode) && st->st_nlink > 1)
		return refuse(
			e, REASON_REPOSITORY,
			"%s: %s has other hard links, through which it could be changed (clone "
			"with --no-hardlinks)",
			c->repository, name);
	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
		return refuse(e, REASON_REPOSITORY, "%s: %s is no file and no directory",
			      c->repository, name);
	if (fchownat(dir, name, c->uid, c->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return err_errno(e, -errno, "giving %s to %s", name, c->user);
	return fchmodat(dir, name, st->st_mode & 07755, 0) < 0
		       ? err_errno(e, -errno, "changing the mode of %s", name)
		       : 0;
}

/* One pass to check, one to change: nothing is half given away. */
static int walk(int fd, const struct gate_config *c, bool change, struct weir_err *e)
{
	cleanup_closedir DIR *dir = fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		close(fd);
		return err_errno(e, -errno, "%s", c->repository);
	}
	while ((entry = readdir(dir))) {
		struct stat st;
		int err = 0;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return err_errno(e, -errno, "%s", entry->d_name);
		if (S_ISDIR(st.st_mode)) {
			int sub = fsio_open_beneath(dirfd(dir), entry->d_name,
						    O_RDONLY | O_DIRECTORY, 0, true);

			err = sub < 0 ? err_errno(e, sub, "%s", entry->d_name)
				      : walk(sub, c, change, e);
		}
		if (err == 0 && (change || !S_ISDIR(st.st_mode)))
			err = change ? give_entry(dirfd(dir), entry->d_name, &st, c, e)
			      : st.st_nlink > 1 || !S_ISREG(st.st_mode)
				      ? give_entry(dirfd(dir), entry->d_name, &st, c, e)
				      : 0;
		if (err < 0)
			return err;
	}
	return 0;
}

static int take_existing(const struct gate_config *c, int fd, const struct stat *st,
			 struct weir_err *e)
{
	struct gate_config as_owner = *c;
	int again;

	as_owner.uid = st->st_uid;
	as_owner.gid = st->st_gid;
	if (keeper_run(&as_owner, check, NULL, NULL, 0) != 0)
		return err_code(e, -EINVAL, "", "%s", ""); /* said by the child */
	for (int change = 0; change <= 1; change++) {
		int err;

		again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (again < 0)
			return err_errno(e, -errno, "%s", c->repository);
		err = walk(again, c, change, e);
		if (err < 0)
			return err;
	}
	if (fchown(fd, c->uid, c->gid) < 0 || fchmod(fd, st->st_mode & 0755) < 0)
		return err_errno(e, -errno, "giving %s to %s", c->repository, c->user);
	return 0;
}

/* libgit2 runs no hooks: whoever relies on them must know. */
static void warn_hooks(int fd)
{
	static const char *const hooks[] = { "pre-receive", "update", "post-receive",
					     "reference-transaction" };

	for (size_t i = 0; i < ARRAY_SIZE(hooks); i++) {
		char path[64];
		struct stat st;

		snprintf(path, sizeof(path), "hooks/%s", hooks[i]);
		if (fstatat(fd, path, &st, 0) == 0 && (st.st_mode & 0111))
			fprintf(stderr, "weir-gate: warning: promotions do not run the hook %s\n",
				hooks[i]);
	}
}

int init_repository(const struct gate_config *c, struct weir_err *e)
{
	cleanup_close int fd = -1;
	bool made = mkdir(c->repository, 0755) == 0;
	struct stat st;
	int err;

	if (!made && errno != EEXIST)
		return err_errno(e, -errno, "repository %s", c->repository);
	fd = open(c->repository, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, -errno, "repository %s", c->repository);
	if (!made) {
		warn_hooks(fd);
		return take_existing(c, fd, &st, e);
	}
	if (fchown(fd, c->uid, c->gid) < 0)
		return err_errno(e, -errno, "repository %s", c->repository);
	if (keeper_run(c, create, NULL, NULL, 0) == 0)
		return 0;
	err = fsio_remove_tree(AT_FDCWD, c->repository, NULL);
	return err_set(e, -EIO, "making the repository %s failed%s", c->repository,
		       err < 0 ? "; something is left there" : "");
}
