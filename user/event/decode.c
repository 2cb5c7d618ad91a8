/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "bpf/abi/policy.h"
#include "user/base/cleanup.h"
#include "user/event/event.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "records are little endian");

#define ALL_FLAGS ((WEIR_EV_EXISTED << 1) - 1)
#define RIGHTS_BIT(id, bit, name) | WEIR_RIGHT_##id
#define ALL_RIGHTS (0u WEIR_RIGHTS(RIGHTS_BIT))
#define ALL_POWERS (WEIR_POWERS_ALL | WEIR_POWER_NEVER)

static const struct {
	const char *name;
	const char *text;
} refusals[] = {
#define EVENT_X(id, name, text) [EVENT_REFUSE_##id] = { name, text },
	EVENT_REFUSALS(EVENT_X)
#undef EVENT_X
};

const char *event_refusal_name(enum event_refusal reason)
{
	return (size_t)reason < ARRAY_SIZE(refusals) ? refusals[reason].name : "unknown";
}

const char *event_refusal_text(enum event_refusal reason)
{
	return (size_t)reason < ARRAY_SIZE(refusals) ? refusals[reason].text : "is bad";
}

static int refuse(struct event_why *why, enum event_refusal reason, size_t offset)
{
	if (why)
		*why = (struct event_why){ .reason = reason, .offset = offset };
	return -EBADMSG;
}

/* Returns: SIZE_MAX when all components are plain, else the offset of the first that is not. */
static size_t find_bad_component(const char *path, size_t len)
{
	for (size_t at = 0; at < len;) {
		const char *name = path + at;
		const char *end = memchr(name, '\0', len - at);
		size_t n = end ? (size_t)(end - name) : 0;

		if (n == 0 || n >= WEIR_NAME_MAX || memchr(name, '/', n))
			return at;
		if (name[0] == '.' && (n == 1 || (n == 2 && name[1] == '.')))
			return at;
		at += n + 1;
	}
	return SIZE_MAX;
}

static int check_path(const char *path, size_t len, uint32_t flags, size_t offset,
		      struct event_why *why)
{
	size_t bad = SIZE_MAX;

	if (len == 0)
		return 0;
	if (path[len - 1] != '\0')
		return refuse(why, EVENT_REFUSE_PATH, offset + len - 1);
	if (!(flags & WEIR_EV_UNRESOLVED))
		bad = find_bad_component(path, len);
	return bad == SIZE_MAX ? 0 : refuse(why, EVENT_REFUSE_PATH, offset + bad);
}

/* Data of `used` bytes behind the fixed part must fill the record but for zero padding. */
static int check_tail(const char *bytes, size_t fixed, size_t used, size_t len,
		      struct event_why *why)
{
	size_t end = fixed + used;

	if (len != ((end + 7) & ~(size_t)7))
		return refuse(why, EVENT_REFUSE_SIZE, offsetof(struct weir_head, size));
	for (; end < len; end++)
		if (bytes[end] != '\0')
			return refuse(why, EVENT_REFUSE_PADDING, end);
	return 0;
}

static int check_ranges(const struct weir_opev *op, struct event_why *why)
{
	if (op->op >= WEIR_OP_COUNT)
		return refuse(why, EVENT_REFUSE_OP, offsetof(struct weir_opev, op));
	if (op->hook >= WEIR_HOOK_COUNT)
		return refuse(why, EVENT_REFUSE_HOOK, offsetof(struct weir_opev, hook));
	if (op->kind >= WEIR_KIND_COUNT ||
	    (op->kind == WEIR_KIND_NONE && (op->flags & WEIR_EV_FINDING)))
		return refuse(why, EVENT_REFUSE_KIND, offsetof(struct weir_opev, kind));
	if (op->outcome >= WEIR_OUTCOME_COUNT)
		return refuse(why, EVENT_REFUSE_OUTCOME, offsetof(struct weir_opev, outcome));
	if (op->flags & ~ALL_FLAGS)
		return refuse(why, EVENT_REFUSE_FLAGS, offsetof(struct weir_opev, flags));
	if (op->want & ~ALL_RIGHTS)
		return refuse(why, EVENT_REFUSE_RIGHTS, offsetof(struct weir_opev, want));
	if (op->have & ~ALL_RIGHTS)
		return refuse(why, EVENT_REFUSE_RIGHTS, offsetof(struct weir_opev, have));
	if (op->first.pad)
		return refuse(why, EVENT_REFUSE_PADDING, offsetof(struct weir_opev, first.pad));
	if (op->second.pad)
		return refuse(why, EVENT_REFUSE_PADDING, offsetof(struct weir_opev, second.pad));
	if (op->first_len > WEIR_PATH_MAX)
		return refuse(why, EVENT_REFUSE_LENGTH, offsetof(struct weir_opev, first_len));
	if (op->second_len > WEIR_PATH_MAX)
		return refuse(why, EVENT_REFUSE_LENGTH, offsetof(struct weir_opev, second_len));
	if (op->powers & ~ALL_POWERS)
		return refuse(why, EVENT_REFUSE_RIGHTS, offsetof(struct weir_opev, powers));
	if (op->name_len > WEIR_LABEL_MAX)
		return refuse(why, EVENT_REFUSE_LENGTH, offsetof(struct weir_opev, name_len));
	if (op->pad)
		return refuse(why, EVENT_REFUSE_PADDING, offsetof(struct weir_opev, pad));
	return 0;
}

/* Of the record's version. */
static size_t fixed_size(const struct weir_head *head, size_t size)
{
	return head->type == WEIR_RECORD_OP && head->version == 1 ? WEIR_OPEV_SIZE_1 : size;
}

static int decode_op(const char *bytes, size_t len, struct event *ev, struct event_why *why)
{
	struct weir_opev *op = &ev->op;
	size_t fixed;
	int err;

	memset(op, 0, sizeof(*op));
	memcpy(&op->head, bytes, sizeof(op->head));
	fixed = fixed_size(&op->head, sizeof(*op));
	memcpy(op, bytes, fixed);
	err = check_ranges(op, why);
	if (err < 0)
		return err;
	err = check_tail(bytes, fixed, (size_t)op->first_len + op->second_len + op->name_len, len,
			 why);
	if (err < 0)
		return err;
	ev->first = bytes + fixed;
	ev->first_len = op->first_len;
	ev->second = ev->first + op->first_len;
	ev->second_len = op->second_len;
	ev->name = ev->second + op->second_len;
	ev->name_len = op->name_len;
	err = check_path(ev->first, ev->first_len, op->flags, fixed, why);
	if (err < 0)
		return err;
	return check_path(ev->second, ev->second_len, op->flags, fixed + op->first_len, why);
}

static int decode_exec(const char *bytes, size_t len, struct event *ev, struct event_why *why)
{
	struct weir_execev *exec = &ev->exec;
	size_t fixed = sizeof(*exec);
	int err;

	memcpy(exec, bytes, fixed);
	if (exec->flags & ~ALL_FLAGS)
		return refuse(why, EVENT_REFUSE_FLAGS, offsetof(struct weir_execev, flags));
	if (exec->exe.pad)
		return refuse(why, EVENT_REFUSE_PADDING, offsetof(struct weir_execev, exe.pad));
	if (exec->path_len > WEIR_PATH_MAX)
		return refuse(why, EVENT_REFUSE_LENGTH, offsetof(struct weir_execev, path_len));
	if (exec->args_len > WEIR_ARGS_MAX)
		return refuse(why, EVENT_REFUSE_LENGTH, offsetof(struct weir_execev, args_len));
	if (exec->args_total < exec->args_len)
		return refuse(why, EVENT_REFUSE_LENGTH, offsetof(struct weir_execev, args_total));
	err = check_tail(bytes, fixed, (size_t)exec->path_len + exec->args_len, len, why);
	if (err < 0)
		return err;
	ev->first = bytes + fixed;
	ev->first_len = exec->path_len;
	ev->args = ev->first + exec->path_len;
	ev->args_len = exec->args_len;
	return check_path(ev->first, ev->first_len, exec->flags, fixed, why);
}

static int decode_fork(const char *bytes, size_t len, struct event *ev, struct event_why *why)
{
	memcpy(&ev->fork, bytes, sizeof(ev->fork));
	if (ev->fork.child_tgid == 0)
		return refuse(why, EVENT_REFUSE_TASK, offsetof(struct weir_forkev, child_tgid));
	if (ev->fork.child_pid == 0)
		return refuse(why, EVENT_REFUSE_TASK, offsetof(struct weir_forkev, child_pid));
	return check_tail(bytes, sizeof(ev->fork), 0, len, why);
}

static int decode_exit(const char *bytes, size_t len, struct event *ev, struct event_why *why)
{
	memcpy(&ev->exit, bytes, sizeof(ev->exit));
	if (ev->exit.pad)
		return refuse(why, EVENT_REFUSE_PADDING, offsetof(struct weir_exitev, pad));
	return check_tail(bytes, sizeof(ev->exit), 0, len, why);
}

static const struct {
	size_t fixed;
	int (*decode)(const char *bytes, size_t len, struct event *ev, struct event_why *why);
} decoders[] = {
	[WEIR_RECORD_OP] = { sizeof(struct weir_opev), decode_op },
	[WEIR_RECORD_FORK] = { sizeof(struct weir_forkev), decode_fork },
	[WEIR_RECORD_EXEC] = { sizeof(struct weir_execev), decode_exec },
	[WEIR_RECORD_EXIT] = { sizeof(struct weir_exitev), decode_exit },
};

int event_decode(const void *bytes, size_t len, struct event *ret_event, struct event_why *ret_why)
{
	struct weir_head head;

	if (len < sizeof(head))
		return refuse(ret_why, EVENT_REFUSE_SHORT, len);
	memcpy(&head, bytes, sizeof(head));
	if (head.version == 0 || head.version > WEIR_ABI_VERSION)
		return refuse(ret_why, EVENT_REFUSE_VERSION, offsetof(struct weir_head, version));
	if (head.type >= ARRAY_SIZE(decoders) || !decoders[head.type].decode)
		return refuse(ret_why, EVENT_REFUSE_TYPE, offsetof(struct weir_head, type));
	if (head.size != len || len > WEIR_RECORD_MAX)
		return refuse(ret_why, EVENT_REFUSE_SIZE, offsetof(struct weir_head, size));
	if (len < fixed_size(&head, decoders[head.type].fixed))
		return refuse(ret_why, EVENT_REFUSE_SHORT, len);
	if (head.seq == 0)
		return refuse(ret_why, EVENT_REFUSE_SEQ, offsetof(struct weir_head, seq));
	if (head.tgid == 0 && head.type != WEIR_RECORD_OP)
		return refuse(ret_why, EVENT_REFUSE_TASK, offsetof(struct weir_head, tgid));
	ret_event->first = ret_event->second = ret_event->args = ret_event->name = NULL;
	ret_event->first_len = ret_event->second_len = ret_event->args_len = 0;
	ret_event->name_len = 0;
	return decoders[head.type].decode(bytes, len, ret_event, ret_why);
}

int event_path(const char *path, size_t len, uint32_t flags, char *out, size_t size)
{
	const char *lead = flags & WEIR_EV_UNRESOLVED  ? ""
			   : flags & WEIR_EV_TRUNCATED ? ".../"
						       : "/";
	size_t used = strlen(lead), end = len;

	/* each component's NUL becomes the '/' in front of the next, or the end */
	if (used + len + 1 > size)
		return -ENAMETOOLONG;
	memcpy(out, lead, used);
	while (end > 0) {
		size_t start = end - 1;

		while (start > 0 && path[start - 1] != '\0')
			start--;
		memcpy(out + used, path + start, end - 1 - start);
		used += end - 1 - start;
		if (start > 0)
			out[used++] = '/';
		end = start;
	}
	out[used] = '\0';
	return (int)used;
}

int event_path_first(const struct event *e, char *out, size_t size)
{
	const struct weir_object *object = NULL;
	uint32_t flags = 0;

	if (e->head.type == WEIR_RECORD_OP) {
		object = &e->op.first;
		flags = e->op.flags;
	} else if (e->head.type == WEIR_RECORD_EXEC) {
		object = &e->exec.exe;
		flags = e->exec.flags;
	}
	if (!object || (!event_object_present(object) && e->first_len == 0))
		return event_path(NULL, 0, WEIR_EV_UNRESOLVED, out, size);
	return event_path(e->first, e->first_len, flags, out, size);
}

int event_path_second(const struct event *e, char *out, size_t size)
{
	if (e->head.type != WEIR_RECORD_OP ||
	    (!event_object_present(&e->op.second) && e->second_len == 0))
		return event_path(NULL, 0, WEIR_EV_UNRESOLVED, out, size);
	return event_path(e->second, e->second_len, e->op.flags, out, size);
}

bool event_is_finding(const struct event *e)
{
	return e->head.type == WEIR_RECORD_OP && (e->op.flags & WEIR_EV_FINDING) &&
	       !(e->op.flags & WEIR_EV_CANARY);
}
