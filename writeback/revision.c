/* SPDX-License-Identifier: MIT */
#include "writeback/revision.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/reason.h"

#define NAME_MAX_BYTES 1024u
#define PREFIX_MIN 4
#define SYMREF_MAX 5

/* Where git looks for a short name, without what comes of remotes. */
static const char *const places[] = { "", "refs/", "refs/tags/", "refs/heads/" };

struct search {
	const struct repo *repo;
	const char *name; /* as given, for messages */
	char base[NAME_MAX_BYTES + 1];
	const char *steps;
	unsigned int found;
	git_oid oid;			 /* of what was found first */
	char first[NAME_MAX_BYTES + 16]; /* what that was, for messages */
};

static int bad_name(struct weir_err *e, int err)
{
	if (e)
		e->exit_code = GATE_EXIT_USAGE;
	return err;
}

/* Steps that walk from commit to commit, nothing else. */
static bool are_steps(const char *at)
{
	while (*at) {
		if (strncmp(at, "^{}", 3) == 0)
			at += 3;
		else if (strncmp(at, "^{commit}", 9) == 0)
			at += 9;
		else if (*at == '~' || *at == '^')
			at += 1 + strspn(at + 1, "0123456789");
		else
			return false;
	}
	return true;
}

static int split(struct search *s, struct weir_err *e)
{
	size_t len = strcspn(s->name, "^~@:{} \t*?[\\");

	/* "@" alone is git's short name of HEAD */
	if (s->name[0] == '@' && s->name[1] != '{') {
		memcpy(s->base, "HEAD", sizeof("HEAD"));
		s->steps = s->name + 1;
	} else {
		if (len > NAME_MAX_BYTES)
			return bad_name(e, err_set(e, -EINVAL, "a name of more than %u bytes",
						   NAME_MAX_BYTES));
		memcpy(s->base, s->name, len);
		s->steps = s->name + len;
	}
	if (s->base[0] && s->base[0] != '-' && are_steps(s->steps))
		return 0;
	return bad_name(e, err_set(e, -EINVAL,
				   "'%.200s' names no commit: write HEAD, a branch, a tag or an "
				   "id, with ~N or ^N behind it",
				   s->name));
}

/* No part of a ref's path may be a symbolic link: it would lead out of the repository. */
static int check_beneath(const struct repo *r, const char *ref, struct weir_err *e)
{
	cleanup_close int fd = fsio_open_beneath(r->fd, ref, O_PATH, 0, false);
	struct stat st = { 0 };

	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	if (fd >= 0 && fstat(fd, &st) < 0)
		return err_errno(e, -errno, "%s/%s", r->path, ref);
	if (fd >= 0 && !S_ISLNK(st.st_mode))
		return 0;
	if (fd >= 0 || fd == -ELOOP || fd == -EXDEV)
		return refuse(e, REASON_REPOSITORY, "%s/%s is a symbolic link", r->path, ref);
	return err_errno(e, fd, "%s/%s", r->path, ref);
}

/* Returns: 1 with its id, 0 when there is no such ref, or a negative errno. */
static int read_ref(const struct repo *r, const char *name, git_oid *ret_oid, struct weir_err *e)
{
	cleanup_free char *at = strdup(name);

	for (unsigned int i = 0; at && i < SYMREF_MAX; i++) {
		git_reference *ref = NULL;
		char *next = NULL;
		int err = check_beneath(r, at, e);

		if (err < 0)
			return err;
		err = git_reference_lookup(&ref, r->git, at);
		if (err == GIT_ENOTFOUND || err == GIT_EINVALIDSPEC)
			return 0;
		if (err < 0)
			return repo_error(e, at);
		if (git_reference_type(ref) == GIT_REFERENCE_DIRECT)
			git_oid_cpy(ret_oid, git_reference_target(ref));
		else
			next = strdup(git_reference_symbolic_target(ref));
		err = git_reference_type(ref) == GIT_REFERENCE_DIRECT;
		git_reference_free(ref);
		if (err)
			return 1;
		free(at);
		at = next;
	}
	return at ? err_set(e, -ELOOP, "%s: too many symbolic refs", name)
		  : err_errno(e, -ENOMEM, "%s", name);
}

static void note(struct search *s, const char *what, const char *name, const git_oid *oid)
{
	if (s->found++ > 0)
		return;
	s->oid = *oid;
	snprintf(s->first, sizeof(s->first), "%s%s", what, name);
}

static int look_in_refs(struct search *s, struct weir_err *e)
{
	bool whole = strncmp(s->base, "refs/", 5) == 0 || strcmp(s->base, "HEAD") == 0;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char ref[NAME_MAX_BYTES + 16];
		git_oid oid;
		int err;

		/* files of the repository itself (config, FETCH_HEAD) are no names */
		if (i == 0 && !whole)
			continue;
		if (i > 0 && whole && strcmp(s->base, "HEAD") != 0)
			continue;
		snprintf(ref, sizeof(ref), "%s%s", places[i], s->base);
		err = read_ref(s->repo, ref, &oid, e);
		if (err < 0)
			return err;
		if (err > 0)
			note(s, "", ref, &oid);
	}
	return 0;
}

static int look_in_objects(struct search *s, struct weir_err *e)
{
	size_t len = strlen(s->base);
	git_oid oid, whole;
	int err;

	if (len < PREFIX_MIN || len > OID_HEX - 1 ||
	    s->base[strspn(s->base, "0123456789abcdef")] != '\0')
		return 0;
	if (git_oid_fromstrn(&oid, s->base, len) < 0)
		return repo_error(e, s->base);
	err = git_odb_exists_prefix(&whole, s->repo->odb, &oid, len);
	if (err == GIT_ENOTFOUND)
		return 0;
	if (err == GIT_EAMBIGUOUS)
		return bad_name(e, err_set(e, -EEXIST,
					   "'%s' is the beginning of several ids; write more of it",
					   s->base));
	if (err < 0)
		return repo_error(e, s->base);
	note(s, "the object ", git_oid_tostr_s(&whole), &whole);
	return 0;
}

/* A commit as it was named, or one that can't be read: let verify look at it. */
static bool is_plain(const struct search *s)
{
	git_object_t type = GIT_OBJECT_INVALID;
	size_t size;

	return s->steps[0] == '\0' &&
	       (git_odb_read_header(&size, &type, s->repo->odb, &s->oid) < 0 ||
		type == GIT_OBJECT_COMMIT);
}

/* From the object that was found, by the steps, to a commit. */
static int walk(const struct search *s, git_oid *ret_oid, struct weir_err *e)
{
	cleanup_free char *spec = NULL;
	char hex[OID_HEX];
	git_object *at = NULL, *commit = NULL;
	int err;

	if (is_plain(s)) {
		git_oid_cpy(ret_oid, &s->oid);
		return 0;
	}
	git_oid_tostr(hex, sizeof(hex), &s->oid);
	if (asprintf(&spec, "%s%s", hex, s->steps) < 0) {
		spec = NULL;
		return err_errno(e, -ENOMEM, "%s", s->name);
	}
	err = git_revparse_single(&at, s->repo->git, spec);
	if (err == 0)
		err = git_object_peel(&commit, at, GIT_OBJECT_COMMIT);
	if (err == 0)
		git_oid_cpy(ret_oid, git_object_id(commit));
	git_object_free(at);
	git_object_free(commit);
	if (err == GIT_ENOTFOUND)
		return bad_name(e, err_set(e, -ENOENT, "'%.200s' leads to no commit", s->name));
	if (err == GIT_EPEEL || err == GIT_EINVALIDSPEC || err == GIT_EAMBIGUOUS)
		return bad_name(e, err_set(e, -EINVAL, "'%.200s' is no commit", s->name));
	return err < 0 ? repo_error(e, s->name) : 0;
}

static int look_up(struct search *s, struct weir_err *e)
{
	int err = split(s, e);

	/* a whole id means the object, as in git, whatever refs are called */
	if (err == 0 && strlen(s->base) == OID_HEX - 1 && git_oid_fromstr(&s->oid, s->base) == 0) {
		s->found = 1;
	} else if (err == 0) {
		err = look_in_refs(s, e);
		if (err == 0)
			err = look_in_objects(s, e);
	}
	if (err < 0)
		return err;
	if (s->found == 0)
		return bad_name(e, err_set(e, -ENOENT, "%s has no branch, tag or object '%.200s'",
					   s->repo->path, s->base));
	if (s->found > 1)
		return bad_name(e, err_set(e, -EEXIST,
					   "'%.200s' is ambiguous: it means %s, and %u more; write "
					   "the whole name",
					   s->base, s->first, s->found - 1));
	return 0;
}

int revision_find(const struct repo *r, const char *name, git_oid *ret_oid, struct weir_err *e)
{
	struct search s = { .repo = r, .name = name };
	int err = look_up(&s, e);

	return err < 0 ? err : walk(&s, ret_oid, e);
}

int revision_find_tag(const struct repo *r, const char *name, git_oid *ret_oid, struct weir_err *e)
{
	struct search s = { .repo = r, .name = name };
	git_object_t type = GIT_OBJECT_INVALID;
	size_t size;
	int err = look_up(&s, e);

	if (err < 0)
		return err;
	if (s.steps[0] != '\0' || git_odb_read_header(&size, &type, r->odb, &s.oid) < 0 ||
	    type != GIT_OBJECT_TAG)
		return 0;
	git_oid_cpy(ret_oid, &s.oid);
	return 1;
}
