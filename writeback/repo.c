/* SPDX-License-Identifier: MIT */
#include "writeback/repo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/reason.h"

#define WALK_MAX 10000

int repo_error(struct weir_err *e, const char *what)
{
	const git_error *last = git_error_last();

	return err_set(e, -EIO, "%s: %s", what, last ? last->message : "libgit2 gives no reason");
}

int repo_start(struct weir_err *e)
{
	static const int levels[] = { GIT_CONFIG_LEVEL_PROGRAMDATA, GIT_CONFIG_LEVEL_SYSTEM,
				      GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_GLOBAL };

	if (git_libgit2_init() < 0)
		return repo_error(e, "starting libgit2");
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "") < 0)
			return repo_error(e, "emptying libgit2's search path");
	if (git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 1) < 0 ||
	    git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 1) < 0 ||
	    git_libgit2_opts(GIT_OPT_ENABLE_STRICT_OBJECT_CREATION, 1) < 0 ||
	    git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1) < 0)
		return repo_error(e, "setting libgit2 up");
	return 0;
}

/* What lends objects or history, relative to the repository. */
static const struct {
	const char *path;
	const char *what;
} loans[] = {
	{ "objects/info/alternates", "borrows objects by alternates" },
	{ "objects/info/http-alternates", "borrows objects by alternates" },
	{ "info/grafts", "has grafts" },
	{ "shallow", "is shallow" },
	{ "commondir", "is a linked worktree" },
	{ "reftable", "keeps its refs in reftables" },
};

static int check_loans(int fd, const char *path, struct weir_err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(loans); i++) {
		struct stat st;

		if (fstatat(fd, loans[i].path, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return refuse(e, REASON_REPOSITORY, "%s %s (%s)", path, loans[i].what,
				      loans[i].path);
		if (errno != ENOENT && errno != ENOTDIR)
			return err_errno(e, -errno, "%s/%s", path, loans[i].path);
	}
	return 0;
}

static int check_owner(int fd, const char *path, struct weir_err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(e, -errno, "%s", path);
	if (st.st_uid != geteuid())
		return refuse(e, REASON_REPOSITORY,
			      "%s belongs to uid %u, not to the gate's user (uid %u)", path,
			      st.st_uid, geteuid());
	if (st.st_mode & 022)
		return refuse(e, REASON_REPOSITORY, "%s can be written by others (mode %04o)", path,
			      st.st_mode & 07777);
	return 0;
}

/* SHA-256 is told from the text of the configuration: libgit2 can't open such one. */
static int check_format(int fd, const char *path, struct weir_err *e)
{
	cleanup_buf struct buf config = { 0 };
	int err = fsio_read_file(fd, "config", 1 << 20, &config, NULL);

	if (err == -ENOENT)
		return refuse(e, REASON_REPOSITORY, "%s is no bare git repository (no config)",
			      path);
	if (err < 0)
		return err_errno(e, err, "%s/config", path);
	if (strcasestr(buf_str(&config), "objectformat"))
		return refuse(e, REASON_REPOSITORY,
			      "%s names an object format of its own (SHA-256 is not supported)",
			      path);
	return 0;
}

static int check_replace(git_repository *git, const char *path, struct weir_err *e)
{
	git_reference_iterator *it = NULL;
	const char *name;
	int err = git_reference_iterator_glob_new(&it, git, "refs/replace/*");

	if (err < 0)
		return repo_error(e, path);
	err = git_reference_next_name(&name, it);
	if (err == 0)
		err = refuse(e, REASON_REPOSITORY, "%s has replace refs (%s)", path, name);
	else
		err = err == GIT_ITEROVER ? 0 : repo_error(e, path);
	git_reference_iterator_free(it);
	return err;
}

/* OPEN_BARE makes libgit2 believe it; a worktree's .git says otherwise itself. */
static int check_bare(git_repository *git, const char *path, struct weir_err *e)
{
	const char *name = strrchr(path, '/');
	git_config *config = NULL;
	int bare = 1, err;

	if (git_repository_config(&config, git) < 0)
		return repo_error(e, path);
	err = git_config_get_bool(&bare, config, "core.bare");
	git_config_free(config);
	if (err < 0 && err != GIT_ENOTFOUND)
		return repo_error(e, path);
	if (!bare || !git_repository_is_bare(git) || (name && strcmp(name, "/.git") == 0))
		return refuse(e, REASON_REPOSITORY, "%s is not bare", path);
	return 0;
}

int repo_open(const char *path, bool owner_check, struct repo *ret_repo, struct weir_err *e)
{
	struct repo *r = ret_repo;
	int err;

	*r = (struct repo){ .fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
	if (r->fd < 0)
		return err_errno(e, -errno, "repository %s", path);
	err = owner_check ? check_owner(r->fd, path, e) : 0;
	if (err == 0)
		err = check_loans(r->fd, path, e);
	if (err == 0)
		err = check_format(r->fd, path, e);
	if (err < 0)
		goto rollback;
	r->path = strdup(path);
	if (!r->path) {
		err = err_errno(e, -ENOMEM, "repository %s", path);
		goto rollback;
	}
	if (git_repository_open_ext(&r->git, path,
				    GIT_REPOSITORY_OPEN_BARE | GIT_REPOSITORY_OPEN_NO_SEARCH |
					    GIT_REPOSITORY_OPEN_NO_DOTGIT,
				    NULL) < 0) {
		const git_error *last = git_error_last();

		err = refuse(e, REASON_REPOSITORY, "%s: %s", path, last ? last->message : "?");
		goto rollback;
	}
	err = check_bare(r->git, path, e);
	if (err == 0 && git_repository_odb(&r->odb, r->git) < 0)
		err = repo_error(e, path);
	if (err == 0)
		err = check_replace(r->git, path, e);
	if (err == 0)
		return 0;
rollback:
	repo_close(r);
	return err;
}

void repo_close(struct repo *r)
{
	repo_known_free(r->known);
	git_odb_free(r->odb);
	git_repository_free(r->git);
	free(r->path);
	if (r->fd >= 0)
		close(r->fd);
	*r = (struct repo){ .fd = -1 };
}

int repo_read_ref(const struct repo *r, const char *name, git_oid *ret_oid, struct weir_err *e)
{
	git_reference *ref = NULL;
	int err = git_reference_lookup(&ref, r->git, name);

	if (err == GIT_ENOTFOUND)
		return err_set(e, -ENOENT, "%s has no ref %s", r->path, name);
	if (err < 0)
		return repo_error(e, name);
	if (git_reference_type(ref) != GIT_REFERENCE_DIRECT) {
		git_reference_free(ref);
		return refuse(e, REASON_REF, "%s is a symbolic ref", name);
	}
	git_oid_cpy(ret_oid, git_reference_target(ref));
	git_reference_free(ref);
	return 0;
}

int repo_read_object(const struct repo *r, const git_oid *oid, git_object_t type, size_t max,
		     struct buf *ret_data, struct weir_err *e)
{
	char hex[OID_HEX];
	git_odb_object *object = NULL;
	int err = git_odb_read(&object, r->odb, oid);

	git_oid_tostr(hex, sizeof(hex), oid);
	if (err == GIT_ENOTFOUND)
		return err_set(e, -ENOENT, "%s has no object %s", r->path, hex);
	if (err < 0)
		return repo_error(e, hex);
	if (git_odb_object_type(object) != type)
		err = err_set(e, -EBADMSG, "object %s is a %s, not a %s", hex,
			      git_object_type2string(git_odb_object_type(object)),
			      git_object_type2string(type));
	else if (git_odb_object_size(object) > max)
		err = err_set(e, -EFBIG, "object %s is larger than %zu bytes", hex, max);
	else if (buf_add(ret_data, git_odb_object_data(object), git_odb_object_size(object)) < 0)
		err = err_errno(e, -ENOMEM, "object %s", hex);
	git_odb_object_free(object);
	return err;
}

int repo_read_commit(const struct repo *r, const git_oid *oid, struct repo_commit *ret_commit,
		     struct weir_err *e)
{
	git_commit *commit = NULL;
	char hex[OID_HEX];

	git_oid_tostr(hex, sizeof(hex), oid);
	if (git_commit_lookup(&commit, r->git, oid) < 0)
		return repo_error(e, hex);
	*ret_commit = (struct repo_commit){ .parents = git_commit_parentcount(commit) };
	git_oid_cpy(&ret_commit->tree, git_commit_tree_id(commit));
	if (ret_commit->parents > 0)
		git_oid_cpy(&ret_commit->parent, git_commit_parent_id(commit, 0));
	git_commit_free(commit);
	return 0;
}

int repo_find(const struct repo *r, const git_oid *tree_id, const char *path, git_oid *ret_oid,
	      uint32_t *ret_mode, struct weir_err *e)
{
	git_tree *tree = NULL;
	git_tree_entry *entry = NULL;
	int err;

	if (git_tree_lookup(&tree, r->git, tree_id) < 0)
		return repo_error(e, path);
	err = git_tree_entry_bypath(&entry, tree, path);
	git_tree_free(tree);
	if (err == GIT_ENOTFOUND)
		return err_set(e, -ENOENT, "the commit has no %s", path);
	if (err < 0)
		return repo_error(e, path);
	git_oid_cpy(ret_oid, git_tree_entry_id(entry));
	*ret_mode = (uint32_t)git_tree_entry_filemode(entry);
	git_tree_entry_free(entry);
	return 0;
}

bool repo_has(const struct repo *r, const git_oid *oid)
{
	return git_odb_exists(r->odb, oid) == 1;
}

int repo_reaches(const struct repo *r, const git_oid *tip, const git_oid *old, struct weir_err *e)
{
	cleanup_free git_oid *queue = calloc(WALK_MAX, sizeof(*queue));
	size_t head = 0, tail = 0;

	if (!queue)
		return err_errno(e, -ENOMEM, "walking the history");
	queue[tail++] = *tip;
	while (head < tail) {
		git_oid at = queue[head++];
		git_commit *commit = NULL;

		if (git_oid_equal(&at, old))
			return 1;
		if (git_commit_lookup(&commit, r->git, &at) < 0)
			return repo_error(e, "walking the history");
		for (unsigned int i = 0; i < git_commit_parentcount(commit) && tail < WALK_MAX; i++)
			queue[tail++] = *git_commit_parent_id(commit, i);
		git_commit_free(commit);
	}
	return 0;
}
