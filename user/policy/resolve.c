/* SPDX-License-Identifier: MIT */
#include "user/policy/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi/limits.h"
#include "user/base/buf.h"
#include "user/base/cleanup.h"
#include "user/policy/policy.h"
#include "user/policy/text.h"

#define LINKS_MAX 40 /* as the kernel's own limit */

struct resolver {
	struct policy_resolved *r;
	struct buf real; /* "" stands for "/" */
	struct buf rest; /* what is still to be walked */
	size_t at;	 /* in rest */
	struct weir_err *e;
};

void policy_resolved_done(struct policy_resolved *r)
{
	free(r->real);
	free(r->absent);
	for (size_t i = 0; i < r->link_count; i++) {
		free(r->links[i].dir);
		free(r->links[i].name);
	}
	free(r->links);
	*r = (struct policy_resolved){ 0 };
}

static const char *real_path(struct resolver *w)
{
	return w->real.len ? buf_str(&w->real) : "/";
}

static int look_failed(struct resolver *w, int err, const char *name)
{
	return err_errno(w->e, err, "can't look at '%s%s%s'",
			 policy_quote(w->real.len ? buf_str(&w->real) : "").text, name ? "/" : "",
			 name ? policy_quote(name).text : "");
}

static void go_up(struct buf *real)
{
	while (real->len > 0 && real->data[real->len - 1] != '/')
		real->len--;
	if (real->len > 0)
		real->len--;
	if (real->data)
		real->data[real->len] = '\0';
}

/* Puts a link's target in front of what is left. */
static int follow(struct resolver *w, const char *path, const char *name)
{
	cleanup_buf struct buf rest = { .max = POLICY_TEXT_MAX };
	struct policy_link *link;
	char target[POLICY_PATH_MAX + 1];
	ssize_t len = readlink(path, target, sizeof(target));

	if (len < 0)
		return look_failed(w, -errno, name);
	if (len == 0 || (size_t)len >= sizeof(target))
		return look_failed(w, -ENAMETOOLONG, name);
	if (w->r->link_count >= LINKS_MAX)
		return look_failed(w, -ELOOP, name);
	link = policy_grow(&w->r->links, &w->r->link_count, sizeof(*link));
	if (!link || !(link->dir = strdup(real_path(w))) || !(link->name = strdup(name)))
		return look_failed(w, -ENOMEM, name);
	if (target[0] == '/')
		w->real.len = 0;
	buf_add(&rest, target, (size_t)len);
	buf_add(&rest, "/", 1);
	buf_add(&rest, w->rest.data + w->at, w->rest.len - w->at);
	if (rest.failed)
		return look_failed(w, -ENAMETOOLONG, name);
	buf_done(&w->rest);
	w->rest = rest;
	rest = (struct buf){ 0 };
	w->at = 0;
	return 0;
}

/* One component. Returns 1 to go on, 0 when it does not exist, or an error. */
static int step(struct resolver *w, const char *name)
{
	cleanup_buf struct buf path = { .max = POLICY_TEXT_MAX };
	struct stat st;
	int err;

	if (strcmp(name, "..") == 0) {
		go_up(&w->real);
		return lstat(real_path(w), &w->r->st) == 0 ? 1 : look_failed(w, -errno, NULL);
	}
	if (!S_ISDIR(w->r->st.st_mode))
		return err_set(w->e, -ENOTDIR, "'%s' is no directory, so nothing lies below it",
			       policy_quote(real_path(w)).text);
	if (buf_addf(&path, "%.*s/%s", (int)w->real.len, buf_str(&w->real), name) < 0)
		return look_failed(w, -ENOMEM, name);
	if (lstat(buf_str(&path), &st) < 0)
		return errno == ENOENT ? 0 : look_failed(w, -errno, name);
	if (S_ISLNK(st.st_mode)) {
		err = follow(w, buf_str(&path), name);
		if (err == 0 && w->real.len == 0 && lstat("/", &w->r->st) < 0)
			err = look_failed(w, -errno, NULL);
		return err < 0 ? err : 1;
	}
	buf_done(&w->real);
	w->real = path;
	path = (struct buf){ 0 };
	w->r->st = st;
	return 1;
}

static int walk(struct resolver *w)
{
	char name[WEIR_NAME_MAX];
	int more = 1;

	while (more == 1 && w->at < w->rest.len) {
		const char *at = w->rest.data + w->at;
		size_t len = strcspn(at, "/");

		w->at += len + (at[len] == '/');
		if (len == 0 || (len == 1 && at[0] == '.'))
			continue;
		if (len >= sizeof(name))
			return look_failed(w, -ENAMETOOLONG, NULL);
		memcpy(name, at, len);
		name[len] = '\0';
		more = step(w, name);
	}
	if (more < 0)
		return more;
	w->r->real = strdup(real_path(w));
	w->r->absent = more == 0 ? strdup(name) : NULL;
	return w->r->real && (more || w->r->absent) ? 0 : look_failed(w, -ENOMEM, NULL);
}

int policy_resolve(const char *path, struct policy_resolved *ret_resolved, struct weir_err *e)
{
	cleanup_policy_resolved struct policy_resolved r = { 0 };
	struct resolver w = { .r = &r, .e = e };
	int err;

	if (path[0] != '/')
		return err_set(e, -EINVAL, "'%s' is no absolute path", policy_quote(path).text);
	if (lstat("/", &r.st) < 0)
		return look_failed(&w, -errno, NULL);
	err = buf_add(&w.rest, path, strlen(path));
	err = err < 0 ? look_failed(&w, -ENOMEM, NULL) : walk(&w);
	buf_done(&w.real);
	buf_done(&w.rest);
	if (err < 0)
		return err;
	*ret_resolved = r;
	r = (struct policy_resolved){ 0 };
	return 0;
}
