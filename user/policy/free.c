/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "user/policy/policy.h"

static void free_texts(struct policy_texts *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].text);
	free(list->items);
}

void policy_free(struct policy *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->files.count; i++)
		free(p->files.items[i].path.text);
	for (size_t i = 0; i < p->env_set.count; i++) {
		free(p->env_set.items[i].name.text);
		free(p->env_set.items[i].value.text);
	}
	for (size_t i = 0; i < p->tiers.count; i++)
		free_texts(&p->tiers.items[i].paths);
	free(p->tiers.items);
	free(p->files.items);
	free(p->env_set.items);
	free_texts(&p->owners);
	free_texts(&p->env_pass);
	free_texts(&p->credentials);
	free_texts(&p->writeback_paths);
	free(p->name.text);
	free(p->file);
	free(p);
}
