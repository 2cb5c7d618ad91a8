/* SPDX-License-Identifier: MIT */
#include "user/event/lineage.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/event/lineage_proc.h"

#define BUCKETS 16384u
/* Dead processes that are still looked up, for records that the kernel writes after EXIT. */
#define LINGER 64u

struct lineage {
	const struct mounts *mounts;
	struct lineage_proc *buckets[BUCKETS];
	struct lineage_proc *linger[LINGER];
	struct lineage_proc *spare; /* by hash_next */
	unsigned int linger_at;
	size_t count;
};

static struct lineage_proc **bucket_of(struct lineage *l, uint32_t tgid)
{
	return &l->buckets[(tgid * 0x9e3779b1u) >> 18];
}

struct lineage *lineage_new(const struct mounts *mounts)
{
	struct lineage *l = calloc(1, sizeof(*l));

	if (l)
		l->mounts = mounts;
	return l;
}

static void free_list(struct lineage_proc *proc)
{
	while (proc) {
		struct lineage_proc *next = proc->hash_next;

		lineage_image_put(proc->image);
		lineage_image_put(proc->birth);
		free(proc);
		proc = next;
	}
}

void lineage_free(struct lineage *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		free_list(l->buckets[i]);
	free_list(l->spare);
	free(l);
}

size_t lineage_count(const struct lineage *l)
{
	return l->count;
}

static struct lineage_proc *find(struct lineage *l, uint32_t tgid, uint64_t start_ns)
{
	struct lineage_proc *proc = *bucket_of(l, tgid);

	while (proc && (proc->tgid != tgid || proc->start_ns != start_ns))
		proc = proc->hash_next;
	return proc;
}

/* The living process that had this pid when the other one started. */
static struct lineage_proc *find_parent(struct lineage *l, uint32_t tgid, uint64_t before_ns)
{
	struct lineage_proc *best = NULL;

	for (struct lineage_proc *p = *bucket_of(l, tgid); p; p = p->hash_next)
		if (p->tgid == tgid && !p->dead && p->start_ns <= before_ns &&
		    (!best || p->start_ns > best->start_ns))
			best = p;
	return best;
}

static void link_child(struct lineage_proc *parent, struct lineage_proc *child)
{
	child->parent = parent;
	child->prev = NULL;
	child->next = parent ? parent->child : NULL;
	if (child->next)
		child->next->prev = child;
	if (parent)
		parent->child = child;
}

static void unlink_child(struct lineage_proc *child)
{
	if (child->prev)
		child->prev->next = child->next;
	else if (child->parent)
		child->parent->child = child->next;
	if (child->next)
		child->next->prev = child->prev;
	child->parent = child->next = child->prev = NULL;
}

static void forget(struct lineage *l, struct lineage_proc *proc)
{
	struct lineage_proc **at = bucket_of(l, proc->tgid);

	while (*at != proc)
		at = &(*at)->hash_next;
	*at = proc->hash_next;
	unlink_child(proc);
	lineage_image_put(proc->image);
	lineage_image_put(proc->birth);
	*proc = (struct lineage_proc){ .hash_next = l->spare };
	l->spare = proc;
	l->count--;
}

/* Takes a dead process out of its chain: its children become children of its parent. */
static void splice(struct lineage *l, struct lineage_proc *proc)
{
	struct lineage_proc *parent = proc->parent;

	while (proc->child) {
		struct lineage_proc *child = proc->child;

		unlink_child(child);
		link_child(parent, child);
		child->elided += 1 + proc->elided;
		lineage_image_put(child->birth);
		child->birth = lineage_image_get(proc->birth);
	}
	forget(l, proc);
}

/* Drops what nobody needs any more, upwards from proc. */
static void release(struct lineage *l, struct lineage_proc *proc)
{
	while (proc && proc->dead && !proc->queued && proc->holds == 0) {
		struct lineage_proc *parent = proc->parent;

		if (!proc->child)
			forget(l, proc);
		else if (parent && (proc->depth >= LINEAGE_DEPTH || l->count > LINEAGE_MAX / 2))
			splice(l, proc);
		else
			break;
		proc = parent;
	}
}

static int create(struct lineage *l, uint32_t tgid, uint64_t start_ns, struct lineage_proc *parent,
		  struct lineage_proc **ret_proc)
{
	struct lineage_proc **bucket = bucket_of(l, tgid);
	struct lineage_proc *proc = l->spare;

	if (l->count >= LINEAGE_MAX)
		return -E2BIG;
	if (proc)
		l->spare = proc->hash_next;
	else
		proc = malloc(sizeof(*proc));
	if (!proc)
		return -ENOMEM;
	*proc = (struct lineage_proc){
		.tgid = tgid,
		.start_ns = start_ns,
		.hash_next = *bucket,
		.image = lineage_image_get(parent ? parent->image : NULL),
		.birth = lineage_image_get(parent ? parent->image : NULL),
		.depth = parent ? parent->depth + 1 : 0,
	};
	*bucket = proc;
	link_child(parent, proc);
	l->count++;
	*ret_proc = proc;
	return 0;
}

/* The process that wrote a record; made if it is not known yet (the run's first one is
 * known by no FORK). */
static int get_actor(struct lineage *l, const struct weir_head *head,
		     struct lineage_proc **ret_proc)
{
	struct lineage_proc *proc = find(l, head->tgid, head->start_ns);
	int err;

	if (!proc) {
		err = create(l, head->tgid, head->start_ns,
			     find_parent(l, head->ppid, head->start_ns), &proc);
		if (err < 0)
			return err;
	}
	proc->ns_pid = head->ns_tgid;
	proc->uid = head->uid;
	*ret_proc = proc;
	return 0;
}

static bool is_ancestor(const struct lineage_proc *proc, const struct lineage_proc *of)
{
	while (of && of != proc)
		of = of->parent;
	return of != NULL;
}

static int add_fork(struct lineage *l, const struct event *e, struct lineage_proc *parent)
{
	struct lineage_proc *child = find(l, e->fork.child_tgid, e->fork.child_start_ns);
	int err;

	if (child == parent)
		return 0; /* a thread */
	if (child) {
		/* its own record came first; a forged trace may make it its own ancestor */
		if (!child->parent && !is_ancestor(child, parent))
			link_child(parent, child);
		return 0;
	}
	err = create(l, e->fork.child_tgid, e->fork.child_start_ns, parent, &child);
	if (err == 0)
		child->uid = parent->uid;
	return err;
}

static int add_exec(struct lineage *l, const struct event *e, struct lineage_proc *proc)
{
	char path[EVENT_PATH_SIZE], host[MOUNTS_PATH_SIZE];
	struct lineage_image *image;
	int len;

	if (event_path_first(e, path, sizeof(path)) < 0)
		return -ENOMEM;
	len = mounts_resolve(l->mounts, e->exec.exe.dev, path, host, sizeof(host));
	if (len < 0)
		return -ENOMEM;
	image = lineage_image_new(host, (size_t)len, e->args, e->args_len, e->exec.args_total);
	if (!image)
		return -ENOMEM;
	lineage_image_put(proc->image);
	proc->image = image;
	return 0;
}

static void add_exit(struct lineage *l, struct lineage_proc *proc)
{
	struct lineage_proc *oldest = l->linger[l->linger_at];

	if (!proc || proc->dead)
		return;
	proc->dead = proc->queued = true;
	l->linger[l->linger_at] = proc;
	l->linger_at = (l->linger_at + 1) % LINGER;
	if (oldest) {
		oldest->queued = false;
		release(l, oldest);
	}
}

int lineage_add(struct lineage *l, const struct event *e, struct lineage_proc **ret_proc)
{
	struct lineage_proc *proc = NULL;
	int err = 0;

	if (ret_proc)
		*ret_proc = NULL;
	if (e->head.type == WEIR_RECORD_EXIT ||
	    (e->head.type == WEIR_RECORD_OP && (e->op.flags & WEIR_EV_OUTSIDER)))
		proc = find(l, e->head.tgid, e->head.start_ns);
	else
		err = get_actor(l, &e->head, &proc);
	if (err < 0)
		return err;
	if (e->head.type == WEIR_RECORD_FORK)
		err = add_fork(l, e, proc);
	else if (e->head.type == WEIR_RECORD_EXEC)
		err = add_exec(l, e, proc);
	else if (e->head.type == WEIR_RECORD_EXIT)
		add_exit(l, proc);
	if (ret_proc)
		*ret_proc = proc;
	return err;
}

struct lineage_actor *lineage_hold(struct lineage *l, struct lineage_proc *proc)
{
	struct lineage_actor *actor = malloc(sizeof(*actor));

	(void)l;
	if (!actor)
		return NULL;
	proc->holds++;
	*actor = (struct lineage_actor){ .proc = proc, .image = lineage_image_get(proc->image) };
	return actor;
}

void lineage_drop(struct lineage *l, struct lineage_actor *actor)
{
	if (!actor)
		return;
	lineage_image_put(actor->image);
	actor->proc->holds--;
	release(l, actor->proc);
	free(actor);
}
