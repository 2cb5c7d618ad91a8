/* SPDX-License-Identifier: MIT */
#include "writeback/oidset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct slot {
	git_oid id;
	size_t number; /* plus one; 0: empty */
};

struct oidset {
	struct slot *slots;
	size_t room; /* a power of two */
	size_t count;
};

struct oidset *oidset_new(void)
{
	struct oidset *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->room = 1024;
	s->slots = calloc(s->room, sizeof(*s->slots));
	if (s->slots)
		return s;
	free(s);
	return NULL;
}

void oidset_free(struct oidset *s)
{
	if (!s)
		return;
	free(s->slots);
	free(s);
}

/* Ids are hashes: their bytes are as good as any. */
static struct slot *find(const struct oidset *s, const git_oid *id)
{
	size_t at;

	memcpy(&at, id->id, sizeof(at));
	for (at &= s->room - 1; s->slots[at].number != 0; at = (at + 1) & (s->room - 1))
		if (git_oid_equal(&s->slots[at].id, id))
			break;
	return &s->slots[at];
}

static int grow(struct oidset *s)
{
	struct oidset bigger = { .room = 2 * s->room };

	bigger.slots = calloc(bigger.room, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < s->room; i++)
		if (s->slots[i].number != 0)
			*find(&bigger, &s->slots[i].id) = s->slots[i];
	free(s->slots);
	s->slots = bigger.slots;
	s->room = bigger.room;
	return 0;
}

int oidset_put(struct oidset *s, const git_oid *id, size_t number)
{
	if (2 * (s->count + 1) > s->room && grow(s) < 0)
		return -ENOMEM;
	*find(s, id) = (struct slot){ *id, number + 1 };
	s->count++;
	return 0;
}

bool oidset_get(const struct oidset *s, const git_oid *id, size_t *ret_number)
{
	const struct slot *slot = find(s, id);

	if (slot->number == 0)
		return false;
	*ret_number = slot->number - 1;
	return true;
}
