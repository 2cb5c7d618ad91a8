/* SPDX-License-Identifier: MIT */
#include "user/pipe/pipe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"

/* Distinct paths that the summary of an unjudged run remembers. */
#define WANTS_MAX 20000

int pipe_init(struct pipe *p, struct trace_writer *trace, struct mounts *mounts,
	      pipe_alert_fn *alert, void *arg)
{
	*p = (struct pipe){ .trace = trace, .mounts = mounts, .alert = alert, .alert_arg = arg };
	p->lineage = lineage_new(mounts);
	if (p->lineage)
		p->findings = findings_new(mounts, p->lineage);
	if (!p->findings) {
		pipe_done(p);
		return -ENOMEM;
	}
	return 0;
}

void pipe_done(struct pipe *p)
{
	pending_done(&p->pending);
	findings_free(p->findings);
	lineage_free(p->lineage);
	for (size_t i = 0; i < p->wants.count; i++)
		free((char *)p->wants.items[i].path);
	free(p->wants.items);
	p->findings = NULL;
	p->lineage = NULL;
	p->wants = (struct pipe_wants){ 0 };
}

static void write_trace(struct pipe *p, enum trace_type type, const void *bytes, size_t len)
{
	if (!p->trace || p->trace_err < 0)
		return;
	p->trace_err = trace_writer_add(p->trace, type, bytes, len, &p->trace_error);
}

static void tell(struct pipe *p, size_t before)
{
	for (size_t i = before; p->alert && i < findings_count(p->findings); i++)
		p->alert(findings_at(p->findings, i), p->alert_arg);
}

/* Remembers a path and the rights that a policy would have to give. */
static void want(struct pipe *p, uint32_t dev, const char *path, uint32_t rights)
{
	char host[MOUNTS_PATH_SIZE];
	struct pipe_wants *w = &p->wants;

	if (rights == 0 || mounts_resolve(p->mounts, dev, path, host, sizeof(host)) < 0)
		return;
	for (size_t i = w->count; i > 0 && i + 64 > w->count; i--) {
		if (strcmp(w->items[i - 1].path, host) == 0) {
			w->items[i - 1].rights |= rights;
			return;
		}
	}
	if (w->count == WANTS_MAX) {
		w->left_out++;
		return;
	}
	if (w->count == w->cap) {
		size_t cap = w->cap ? 2 * w->cap : 256;
		struct policy_want *items = realloc(w->items, cap * sizeof(*items));

		if (!items) {
			w->left_out++;
			return;
		}
		w->items = items;
		w->cap = cap;
	}
	w->items[w->count] = (struct policy_want){ .path = strdup(host), .rights = rights };
	if (w->items[w->count].path)
		w->count++;
}

static void want_of(struct pipe *p, const struct event *e)
{
	uint32_t missing = e->op.want & ~e->op.have;
	char path[EVENT_PATH_SIZE];

	if (!(e->op.flags & WEIR_EV_CANARY))
		p->wants.powers |= e->op.powers & WEIR_POWERS_ALL;
	/* what the kernel refuses, no policy gives */
	if (missing == 0 || e->op.outcome == WEIR_OUTCOME_REFUSED ||
	    (e->op.flags & (WEIR_EV_CANARY | WEIR_EV_OUTSIDER)))
		return;
	if ((e->op.flags & WEIR_EV_BAD_FIRST) && event_path_first(e, path, sizeof(path)) >= 0)
		want(p, e->op.first.dev, path, missing);
	if ((e->op.flags & WEIR_EV_BAD_SECOND) && event_path_second(e, path, sizeof(path)) >= 0)
		want(p, e->op.second.dev, path, missing);
}

/* What an operation means: a finding, or a wish of a run without policy. */
static void conclude(struct pipe *p, const struct event *e, struct lineage_proc *proc)
{
	size_t before = findings_count(p->findings);

	if (event_is_finding(e)) {
		if (findings_add_event(p->findings, e, proc) < 0)
			verdict_add_reason(&p->verdict, VERDICT_REASON_COLLECTOR,
					   "out of memory for findings");
		tell(p, before);
	} else if (p->verdict.mode == WEIR_MODE_TRACE) {
		want_of(p, e);
	}
}

/* Concludes a held creation that was one after all. */
static void release(struct pipe *p, const void *bytes, size_t len)
{
	struct lineage_proc *proc = NULL;
	struct event_why why = { 0 };
	struct event e;

	if (event_decode(bytes, len, &e, &why) == 0 && lineage_add(p->lineage, &e, &proc) == 0)
		conclude(p, &e, proc);
}

void pipe_settle(struct pipe *p)
{
	void *bytes;
	size_t len;

	while ((len = pending_take(&p->pending, 0, &bytes)) > 0) {
		release(p, bytes, len);
		free(bytes);
	}
}

/* The thread's next event decides about the creation that it has pending. */
static void decide_pending(struct pipe *p, const struct event *e)
{
	cleanup_free void *bytes = NULL;
	size_t len = pending_take(&p->pending, e->head.pid, &bytes);

	if (len > 0 && !(e->head.type == WEIR_RECORD_OP && (e->op.flags & WEIR_EV_EXISTED)))
		release(p, bytes, len);
}

void pipe_event(struct pipe *p, const void *bytes, size_t len)
{
	struct lineage_proc *proc = NULL;
	struct event_why why = { 0 };
	struct event e;

	write_trace(p, TRACE_EVENT, bytes, len);
	if (event_decode(bytes, len, &e, &why) < 0) {
		verdict_add_refused(&p->verdict, &why);
		return;
	}
	verdict_add_event(&p->verdict, &e);
	decide_pending(p, &e);
	if (lineage_add(p->lineage, &e, &proc) < 0)
		verdict_add_reason(&p->verdict, VERDICT_REASON_COLLECTOR,
				   "too many processes to remember who is whose child");
	if (p->watch)
		p->watch(&e, proc, p->watch_arg);
	if (e.head.type != WEIR_RECORD_OP)
		return;
	if (e.op.outcome == WEIR_OUTCOME_PASSED && !(e.op.flags & WEIR_EV_CANARY))
		p->mutations++;
	if (!pending_is_open(&e) || !pending_hold(&p->pending, e.head.pid, bytes, len))
		conclude(p, &e, proc);
}

int pipe_json(struct pipe *p, enum verdict_input type, json_t *json)
{
	cleanup_free char *text = json ? json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

	if (!text) {
		json_decref(json);
		return -ENOMEM;
	}
	verdict_add_json(&p->verdict, type, json);
	json_decref(json);
	write_trace(p, (enum trace_type)type, text, strlen(text));
	return 0;
}

int pipe_note(struct pipe *p, const struct note *note)
{
	size_t before = findings_count(p->findings);

	if (findings_add_note(p->findings, note) < 0)
		return -ENOMEM;
	tell(p, before);
	return pipe_json(p, VERDICT_NOTE, note_to_json(note));
}
