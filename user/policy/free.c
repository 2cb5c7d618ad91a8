/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "user/policy/policy.h"

static void free_texts(struct policy_texts *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].text);
	free(list->items);
}

static void free_nets(struct policy_nets *nets)
{
	for (size_t i = 0; i < nets->count; i++) {
		free(nets->items[i].cidr.text);
		free(nets->items[i].ports.items);
	}
	free(nets->items);
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
	free_texts(&p->unix_peers);
	free_nets(&p->egress);
	free_nets(&p->listen);
	free(p->name.text);
	free(p->file);
	free(p);
}
