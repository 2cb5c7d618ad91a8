/* SPDX-License-Identifier: MIT */
#include "user/pipe/pending.h"

#include <stdlib.h>
#include <string.h>

bool pending_is_open(const struct event *e)
{
	return e->head.type == WEIR_RECORD_OP && (e->op.flags & WEIR_EV_SPECULATIVE) &&
	       (e->op.flags & WEIR_EV_BAD_FIRST);
}

bool pending_hold(struct pending *p, uint32_t pid, const void *bytes, size_t len)
{
	for (size_t i = 0; i < PENDING_MAX; i++) {
		struct pending_slot *slot = &p->slots[i];

		if (slot->bytes)
			continue;
		slot->bytes = malloc(len);
		if (!slot->bytes)
			return false;
		memcpy(slot->bytes, bytes, len);
		slot->len = (uint32_t)len;
		slot->pid = pid;
		p->used++;
		return true;
	}
	return false;
}

size_t pending_take(struct pending *p, uint32_t pid, void **ret_bytes)
{
	*ret_bytes = NULL;
	if (p->used == 0)
		return 0;
	for (size_t i = 0; i < PENDING_MAX; i++) {
		struct pending_slot *slot = &p->slots[i];

		if (!slot->bytes || (pid && slot->pid != pid))
			continue;
		*ret_bytes = slot->bytes;
		slot->bytes = NULL;
		p->used--;
		return slot->len;
	}
	return 0;
}

void pending_done(struct pending *p)
{
	for (size_t i = 0; i < PENDING_MAX; i++)
		free(p->slots[i].bytes);
	memset(p, 0, sizeof(*p));
}
