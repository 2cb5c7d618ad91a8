/* SPDX-License-Identifier: MIT */
/* What an operation was aimed at besides paths, in words. */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/event/event.h"
#include "user/event/names.h"

struct line {
	char *out;
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *l, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(l->out + l->used, EVENT_TARGET_SIZE - l->used, fmt, args);
	va_end(args);
	if (len > 0 && l->used + (size_t)len < EVENT_TARGET_SIZE)
		l->used += (size_t)len;
}

static void add_powers(struct line *l, uint64_t powers)
{
	const char *before = NULL;

	for (unsigned int bit = 0; bit < 64; bit++) {
		const char *key = names_power_key(bit), *word = names_power_word(bit);

		if (!(powers >> bit & 1) || !key || !word)
			continue;
		if (before && strcmp(before, key) == 0)
			add(l, ", %s", word);
		else
			add(l, "%s%s: %s", l->used ? "; " : "", key, word);
		before = key;
	}
}

static void add_socket(struct line *l, const struct weir_peer *peer)
{
	char address[INET6_ADDRSTRLEN] = "";

	if (!peer->family || peer->family == AF_UNIX)
		return;
	add(l, "%sfamily %u type %u protocol %u", l->used ? "; " : "", peer->family, peer->type,
	    peer->protocol);
	if (peer->family == AF_INET || peer->family == AF_INET6)
		inet_ntop(peer->family, peer->address, address, sizeof(address));
	if (address[0])
		add(l, peer->family == AF_INET6 ? " [%s]:%u" : " %s:%u", address, peer->port);
}

const char *event_target(const struct event *e, char *out)
{
	char name[4 * WEIR_LABEL_MAX + 1], place[EVENT_PLACE_SIZE];
	struct line l = { .out = out };

	out[0] = '\0';
	if (e->head.type != WEIR_RECORD_OP)
		return out;
	add_powers(&l, e->op.powers);
	/* where there is no path, the name of the end is the path of a finding */
	if (!event_object_present(&e->op.first) && event_place(e, place, sizeof(place)) > 0)
		return out;
	add_socket(&l, &e->op.peer);
	if (e->name_len > 0) {
		escape_bytes(e->name, e->name_len, name, sizeof(name));
		add(&l, "%s%s\"%s\"", l.used ? "; " : "",
		    e->op.peer.family == AF_UNIX ? "served by " : "", name);
	}
	return out;
}
