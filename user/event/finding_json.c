/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "user/base/buf.h"
#include "user/base/cleanup.h"
#include "user/event/finding.h"

/* Base64 with padding. Source: RFC 4648, section 4. */
static json_t *base64(const char *text, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *in = (const unsigned char *)text;
	cleanup_buf struct buf b = { 0 };

	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		uint32_t v = (uint32_t)in[i] << 16 | (n > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
			     (n > 2 ? in[i + 2] : 0);
		char out[4] = { digits[v >> 18], digits[v >> 12 & 63],
				n > 1 ? digits[v >> 6 & 63] : '=', n > 2 ? digits[v & 63] : '=' };

		if (buf_add(&b, out, sizeof(out)) < 0)
			return NULL;
	}
	return json_string(buf_str(&b));
}

/* Sets name to the escaped text, and bytes_name (if not NULL) to its bytes where that
 * changed it. */
static int set_escaped(json_t *o, const char *name, const char *bytes_name, const char *text,
		       size_t len)
{
	cleanup_buf struct buf b = { 0 };

	if (buf_add_escaped(&b, text, len) < 0 ||
	    json_object_set_new(o, name, json_string(buf_str(&b))) < 0)
		return -ENOMEM;
	if (!bytes_name || (b.len == len && memcmp(buf_str(&b), text, len) == 0))
		return 0;
	return json_object_set_new(o, bytes_name, base64(text, len));
}

static json_t *type_json(uint32_t mode)
{
	static const struct {
		uint32_t type;
		const char *name;
	} types[] = {
		{ S_IFREG, "file" },	    { S_IFDIR, "directory" },	 { S_IFLNK, "symlink" },
		{ S_IFCHR, "char-device" }, { S_IFBLK, "block-device" }, { S_IFIFO, "fifo" },
		{ S_IFSOCK, "socket" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if ((mode & S_IFMT) == types[i].type)
			return json_string(types[i].name);
	return json_null();
}

static json_t *object_json(const struct finding *f)
{
	char dev[MOUNTS_DEV_SIZE];
	json_t *o = json_pack("{s:s, s:I, s:o, s:I}", "dev", mounts_dev_text(f->object.dev, dev),
			      "ino", (json_int_t)f->object.ino, "type", type_json(f->object.mode),
			      "size", (json_int_t)f->object.size);

	if (o && set_escaped(o, "path", "path_bytes", f->path, f->path_len) == 0)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *flags_json(uint32_t flags)
{
	json_t *list = json_array();

	for (unsigned int bit = 0; list && bit < 32; bit++) {
		const char *name = flags & 1u << bit ? names_flag(bit) : NULL;

		if (name && json_array_append_new(list, json_string(name)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* An outsider, or a process that could not be kept: its numbers are all there is. */
static json_t *actor_json(const struct finding *f)
{
	json_t *o;

	if (f->note || f->overflow)
		return json_null();
	o = lineage_actor_json(f->actor);
	if (!o || f->actor)
		return o;
	if (json_object_set_new(o, "pid", json_integer(f->pid)) == 0 &&
	    json_object_set_new(o, "ns_pid", json_integer(f->ns_pid)) == 0 &&
	    json_object_set_new(o, "uid", json_integer(f->uid)) == 0)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *powers_json(uint64_t powers)
{
	json_t *list = json_array();

	for (unsigned int bit = 0; list && bit < 64; bit++) {
		const char *key = names_power_key(bit);

		if (!(powers >> bit & 1) || !key)
			continue;
		if (json_array_append_new(list,
					  json_sprintf("%s: %s", key, names_power_word(bit))) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *peer_json(const struct weir_peer *peer)
{
	char address[INET6_ADDRSTRLEN] = "";
	json_t *o = json_object();

	if (peer->tgid)
		json_object_update_new(o,
				       json_pack("{s:I, s:I, s:I}", "pid", (json_int_t)peer->tgid,
						 "uid", (json_int_t)peer->uid, "start_ns",
						 (json_int_t)peer->start_ns));
	if (peer->family == AF_INET || peer->family == AF_INET6)
		inet_ntop(peer->family, peer->address, address, sizeof(address));
	if (peer->family)
		json_object_update_new(o, json_pack("{s:i, s:i, s:i, s:i, s:s}", "family",
						    peer->family, "type", peer->type, "protocol",
						    peer->protocol, "port", peer->port, "address",
						    address));
	if (peer->number)
		json_object_set_new(o, "number", json_integer((json_int_t)peer->number));
	return o;
}

static int set_aim(json_t *o, const struct finding *f)
{
	static const struct weir_peer nobody;

	if (f->powers && json_object_set_new(o, "powers", powers_json(f->powers)) < 0)
		return -ENOMEM;
	if (*f->target && json_object_set_new(o, "target", json_string(f->target)) < 0)
		return -ENOMEM;
	if (memcmp(&f->peer, &nobody, sizeof(nobody)) == 0)
		return 0;
	return json_object_set_new(o, "peer", peer_json(&f->peer));
}

/* The kernel's own refusals. */
static const char *errno_name(uint32_t error)
{
	return error == EACCES ? "EACCES" : error == EPERM ? "EPERM" : "unknown";
}

static int set_extras(json_t *o, const struct finding *f)
{
	if (*f->other && set_escaped(o, "other", NULL, f->other, strlen(f->other)) < 0)
		return -ENOMEM;
	if (*f->text && json_object_set_new(o, "text", json_string(f->text)) < 0)
		return -ENOMEM;
	if (set_aim(o, f) < 0)
		return -ENOMEM;
	if (f->outcome == WEIR_OUTCOME_REFUSED && f->error &&
	    json_object_set_new(o, "errno", json_string(errno_name(f->error))) < 0)
		return -ENOMEM;
	return f->overflow ? json_object_set_new(o, "overflow", json_true()) : 0;
}

json_t *finding_json(const struct finding *f)
{
	char want[NAMES_RIGHTS_SIZE], have[NAMES_RIGHTS_SIZE];
	json_t *rule = f->rule ? json_integer(f->rule) : json_null();
	json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:s, s:s, s:I}",
			      "class", f->family, "kind", names_kind(f->kind), "severity",
			      names_severity(f->severity), "op", names_op(f->op), "outcome",
			      names_outcome(f->outcome), "count", (json_int_t)f->count, "rule",
			      rule, "object", object_json(f), "actor", actor_json(f), "flags",
			      flags_json(f->flags), "want",
			      names_rights(f->want, want, sizeof(want)), "have",
			      names_rights(f->have, have, sizeof(have)), "aux", (json_int_t)f->aux);

	if (o && set_extras(o, f) == 0)
		return o;
	json_decref(o);
	return NULL;
}

json_t *findings_json(const struct findings *f)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < findings_count(f); i++) {
		if (json_array_append_new(list, finding_json(findings_at(f, i))) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}
