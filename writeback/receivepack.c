/* SPDX-License-Identifier: MIT */
/* Receiving objects: none but those that the new tips reach; contract in receive.h. */
#include <errno.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/reason.h"
#include "writeback/receive.h"

/* Objects that arrived and were not there: 0 in `ids` while nothing reached them. */
struct arrivals {
	struct receive *receive;
	struct oidset *ids; /* to numbers in `reached` */
	bool *reached;
	git_oid *list;
	size_t count;
	size_t room;
	struct weir_err *e;
};

static int note_one(const git_oid *id, void *arg)
{
	struct arrivals *a = arg;
	size_t number;

	/* a pack is completed with objects that were there before; no id twice */
	if (git_odb_exists(a->receive->kept, id) || oidset_get(a->ids, id, &number))
		return 0;
	if (a->count == a->room) {
		size_t room = a->room ? 2 * a->room : 1024;
		git_oid *list = reallocarray(a->list, room, sizeof(*list));

		if (!list)
			return -ENOMEM;
		a->list = list;
		a->room = room;
	}
	if (oidset_put(a->ids, id, a->count) < 0)
		return -ENOMEM;
	a->list[a->count++] = *id;
	return 0;
}

/* Marks an object. Returns: whether it is new, and marked for the first time. */
static bool mark(struct arrivals *a, const git_oid *id)
{
	size_t number;

	if (!oidset_get(a->ids, id, &number) || a->reached[number])
		return false;
	a->reached[number] = true;
	return true;
}

/* Below a new tree only: what an old one has was there before. */
static int mark_tree(struct arrivals *a, const git_oid *id, unsigned int depth)
{
	git_tree *tree = NULL;
	int err = 0;

	if (!mark(a, id))
		return 0;
	if (depth > 1000)
		return refuse(a->e, REASON_LIMIT, "trees in trees, a thousand deep");
	if (git_tree_lookup(&tree, a->receive->repo.git, id) < 0)
		return repo_error(a->e, "looking at what arrived");
	for (size_t i = 0; err == 0 && i < git_tree_entrycount(tree); i++) {
		const git_tree_entry *entry = git_tree_entry_byindex(tree, i);

		if (git_tree_entry_type(entry) == GIT_OBJECT_TREE)
			err = mark_tree(a, git_tree_entry_id(entry), depth + 1);
		else
			mark(a, git_tree_entry_id(entry));
	}
	git_tree_free(tree);
	return err;
}

/* New commits of one tip; their number is bounded by that of the objects. */
static int mark_commits(struct arrivals *a, const git_oid *tip)
{
	size_t depth = 0;
	git_oid *stack = calloc(a->count + 1, sizeof(*stack));
	int err = stack ? 0 : err_errno(a->e, -ENOMEM, "looking at what arrived");

	if (stack && mark(a, tip))
		stack[depth++] = *tip;
	while (err == 0 && depth > 0) {
		git_oid id = stack[--depth];
		git_commit *commit = NULL;

		if (git_commit_lookup(&commit, a->receive->repo.git, &id) < 0) {
			err = repo_error(a->e, "looking at what arrived");
			break;
		}
		err = mark_tree(a, git_commit_tree_id(commit), 0);
		for (unsigned int i = 0; i < git_commit_parentcount(commit); i++)
			if (mark(a, git_commit_parent_id(commit, i)))
				stack[depth++] = *git_commit_parent_id(commit, i);
		git_commit_free(commit);
	}
	free(stack);
	return err;
}

static int check(struct arrivals *a)
{
	const struct receive *r = a->receive;
	size_t lost = 0, last = 0;
	char hex[OID_HEX];
	int err = 0;

	a->reached = calloc(a->count + 1, sizeof(*a->reached));
	if (!a->reached)
		return err_errno(a->e, -ENOMEM, "looking at what arrived");
	for (size_t i = 0; err == 0 && i < r->count; i++)
		err = mark_commits(a, &r->updates[i].new_id);
	for (size_t i = 0; err == 0 && i < a->count; i++)
		if (!a->reached[i]) {
			lost++;
			last = i;
		}
	if (err < 0 || lost == 0)
		return err;
	git_oid_tostr(hex, sizeof(hex), &a->list[last]);
	return refuse(a->e, REASON_UNREACHABLE, "%zu objects came that no ref reaches, as %s", lost,
		      hex);
}

int receive_objects(struct receive *r, struct weir_err *e)
{
	struct arrivals a = { .receive = r, .e = e };
	int err = 0;

	if (!r->arrived)
		return 0;
	a.ids = oidset_new();
	if (!a.ids)
		err = err_errno(e, -ENOMEM, "looking at what arrived");
	if (err == 0 && git_odb_foreach(r->arrived, note_one, &a) < 0)
		err = repo_error(e, "looking at what arrived");
	if (err == 0)
		err = check(&a);
	oidset_free(a.ids);
	free(a.list);
	free(a.reached);
	return err;
}
