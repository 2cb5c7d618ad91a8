/* SPDX-License-Identifier: MIT */
#include <pwd.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "user/base/cleanup.h"
#include "user/report/explain.h"
#include "user/report/report.h"

/* A text that may hold any bytes; null for none. */
static json_t *escaped(const char *text)
{
	cleanup_buf struct buf b = { 0 };

	if (!text)
		return json_null();
	return buf_add_escaped(&b, text, strlen(text)) < 0 ? NULL : json_string(buf_str(&b));
}

static json_t *command_json(char *const *argv)
{
	json_t *list = json_array();

	for (size_t i = 0; list && argv && argv[i]; i++) {
		if (json_array_append_new(list, escaped(argv[i])) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* {"code": 0}, {"signal": 9}, null if the command never ran. */
static json_t *status_json(int status)
{
	if (status == -1)
		return json_null();
	return WIFSIGNALED(status) ? json_pack("{s:i}", "signal", WTERMSIG(status))
				   : json_pack("{s:i}", "code", WEXITSTATUS(status));
}

/* Source: RFC 3339, section 5.6. */
static json_t *time_json(int64_t seconds)
{
	time_t t = (time_t)seconds;
	char text[40];
	struct tm tm;

	if (!gmtime_r(&t, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return json_null();
	return json_string(text);
}

static json_t *base_json(const struct report *r)
{
	if (!r->repository)
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "repository", escaped(r->repository), "ref",
			 escaped(r->ref), "commit", escaped(r->commit));
}

static json_t *counts_json(const struct report *r)
{
	uint64_t operations = 0, denied = 0;

	for (size_t i = 0; i < findings_count(r->findings); i++) {
		const struct finding *f = findings_at(r->findings, i);

		operations += f->count;
		if (f->outcome == WEIR_OUTCOME_DENIED)
			denied += f->count;
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "members", (json_int_t)r->members,
			 "mutations", (json_int_t)r->mutations, "changed_files",
			 (json_int_t)r->changed_files, "findings",
			 (json_int_t)findings_count(r->findings), "bad_operations",
			 (json_int_t)operations, "denied", (json_int_t)denied);
}

/* Many findings have one actor: it is kept in memory once. */
static void share_actor(json_t *finding, json_t **last)
{
	json_t *actor = json_object_get(finding, "actor");

	if (*last && json_equal(actor, *last))
		json_object_set(finding, "actor", *last);
	else
		*last = actor;
}

static json_t *findings_with_reasons(const struct report *r, const struct explainer *x)
{
	json_t *list = json_array(), *actor = NULL;

	for (size_t i = 0; list && i < findings_count(r->findings); i++) {
		const struct finding *f = findings_at(r->findings, i);
		json_t *finding = finding_json(f);

		if (finding)
			share_actor(finding, &actor);
		if (!finding || json_array_append_new(list, finding) < 0 ||
		    (x->image &&
		     json_object_set_new(finding, "explain", explain_finding(x, f)) < 0)) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* Sets all of a second object in the first. Owns: from. */
static int merge(json_t *o, json_t *from)
{
	int err = from ? json_object_update(o, from) : -1;

	json_decref(from);
	return err;
}

static json_t *borrowed(const json_t *o)
{
	return o ? json_incref((json_t *)o) : json_null();
}

static json_t *head_json(const struct report *r)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o}", "schema",
			 "weir.run/1", "id", r->id, "exit",
			 r->exit_status < 0 ? json_null() : json_integer(r->exit_status), "command",
			 command_json(r->argv), "status", status_json(r->wait_status), "user",
			 escaped(r->user), "workspace", escaped(r->workspace), "mode", r->mode,
			 "policy", escaped(r->policy_file), "base", base_json(r));
}

static json_t *body_json(const struct report *r, const struct explainer *x)
{
	return json_pack("{s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "started",
			 time_json(r->started), "ended", time_json(r->ended), "duration_ms",
			 (json_int_t)r->duration_ms, "counts", counts_json(r), "findings",
			 findings_with_reasons(r, x), "would_need",
			 x->image ? explain_all(x, r->findings) : json_null(), "counters",
			 borrowed(r->counters), "coverage", borrowed(r->coverage), "suggestion",
			 r->suggestion ? json_string(r->suggestion) : json_null(), "next",
			 escaped(r->next));
}

json_t *report_json(const struct report *r)
{
	/* what the suggestions call ${HOME}, and never grant as a whole */
	const struct passwd *user = r->user ? getpwnam(r->user) : NULL;
	const struct explainer x = {
		.image = r->image,
		.env = { .workspace = r->workspace, .home = user ? user->pw_dir : NULL },
	};
	json_t *o = head_json(r);

	if (o && merge(o, verdict_json(r->verdict)) == 0 && merge(o, body_json(r, &x)) == 0)
		return o;
	json_decref(o);
	return NULL;
}
