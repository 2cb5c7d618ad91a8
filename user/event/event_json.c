/* SPDX-License-Identifier: MIT */
#include "user/event/event_json.h"

#include <string.h>
#include <sys/wait.h>

#include "user/base/buf.h"
#include "user/event/finding.h"

/* Sets all of a second object in the first. Owns: from. */
static int merge(json_t *o, json_t *from)
{
	int err = from ? json_object_update(o, from) : -1;

	json_decref(from);
	return err;
}

static json_t *op_json(const struct event *e, const struct mounts *mounts)
{
	struct finding_texts texts;
	struct finding x;
	json_t *o;

	if (finding_of_event(e, false, mounts, &texts, &x) < 0)
		return NULL;
	o = finding_json(&x);
	if (o && x.kind == WEIR_KIND_NONE) {
		json_object_set_new(o, "kind", json_null());
		json_object_set_new(o, "severity", json_null());
	}
	if (o && json_object_set_new(o, "hook", json_string(names_hook(e->op.hook))) == 0 &&
	    json_object_set_new(o, "finding", json_boolean(event_is_finding(e))) == 0 &&
	    json_object_del(o, "count") == 0)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *exec_json(const struct event *e, const struct mounts *mounts)
{
	char path[EVENT_PATH_SIZE], host[MOUNTS_PATH_SIZE] = "", dev[MOUNTS_DEV_SIZE];
	cleanup_buf struct buf text = { 0 };
	const struct weir_object *exe = &e->exec.exe;

	if (event_path_first(e, path, sizeof(path)) < 0 ||
	    mounts_resolve(mounts, exe->dev, path, host, sizeof(host)) < 0 ||
	    buf_add_escaped(&text, host, strlen(host)) < 0)
		return NULL;
	return json_pack("{s:{s:s, s:s, s:I}}", "object", "path", buf_str(&text), "dev",
			 mounts_dev_text(exe->dev, dev), "ino", (json_int_t)exe->ino);
}

static json_t *fork_json(const struct event *e)
{
	return json_pack("{s:{s:I, s:I, s:I}, s:I}", "child", "pid", (json_int_t)e->fork.child_tgid,
			 "thread", (json_int_t)e->fork.child_pid, "start_ns",
			 (json_int_t)e->fork.child_start_ns, "clone_flags",
			 (json_int_t)e->fork.clone_flags);
}

static json_t *exit_json(const struct event *e)
{
	int status = (int)e->exit.code;

	return WIFSIGNALED(status) ? json_pack("{s:{s:i}}", "status", "signal", WTERMSIG(status))
				   : json_pack("{s:{s:i}}", "status", "code", WEXITSTATUS(status));
}

static json_t *body_json(const struct event *e, const struct mounts *mounts)
{
	switch (e->head.type) {
	case WEIR_RECORD_OP:
		return op_json(e, mounts);
	case WEIR_RECORD_EXEC:
		return exec_json(e, mounts);
	case WEIR_RECORD_FORK:
		return fork_json(e);
	default:
		return exit_json(e);
	}
}

json_t *event_json(const struct event *e, const struct mounts *mounts, struct lineage *lineage,
		   struct lineage_proc *proc)
{
	struct lineage_actor *actor = proc ? lineage_hold(lineage, proc) : NULL;
	json_t *who = actor ? lineage_actor_json(actor) : NULL;
	json_t *o = json_pack("{s:s, s:s, s:I, s:I, s:I}", "schema", "weir.event/1", "record",
			      names_record(e->head.type), "seq", (json_int_t)e->head.seq, "time_ns",
			      (json_int_t)e->head.ts_ns, "thread", (json_int_t)e->head.pid);
	bool whole = o && merge(o, body_json(e, mounts)) == 0;

	/* without a process the numbers of a finding stay */
	if (whole && who)
		whole = json_object_set(o, "actor", who) == 0;
	json_decref(who);
	if (actor)
		lineage_drop(lineage, actor);
	if (whole)
		return o;
	json_decref(o);
	return NULL;
}
