/* SPDX-License-Identifier: MIT */
/* weir doctor: what this host can do, by doing it. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/base/usage.h"
#include "user/cli/cmd.h"
#include "user/cli/coverage.h"
#include "user/cli/gatecall.h"
#include "user/cli/say.h"
#include "user/event/names.h"
#include "user/kern/canary.h"
#include "user/tree/rundir.h"

#define RING_BYTES 65536u
#define CANARY_MS 20000u

/* Exit status of a host that can't enforce. */
enum {
	DOCTOR_NO = 1
};

struct diagnosis {
	struct kern_probe probe;
	struct kern *kern;   /* NULL: could not be loaded */
	bool enforce;	     /* proven */
	bool observe;	     /* proven as well */
	struct weir_err why; /* what failed first */
};

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "Print JSON (schema weir.doctor/1)", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	bool *json = state->input;

	(void)arg;
	switch (key) {
	case 'j':
		*json = true;
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state, "takes no arguments");
	}
	return ARGP_ERR_UNKNOWN;
}

/* Where runs have theirs, if there have been any. */
static char *make_place(struct weir_err *e)
{
	cleanup_free char *state = NULL, *place = NULL;

	if (rundir_state(&state, e) < 0)
		return NULL;
	if (asprintf(&place, "%s/doctor-XXXXXX", access(state, W_OK) == 0 ? state : "/tmp") < 0) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	if (!mkdtemp(place)) {
		err_errno(e, -errno, "%s", place);
		return NULL;
	}
	return TAKE_PTR(place);
}

/* A run without a command: a slot, and a canary in it that is refused and allowed. */
static int prove(struct kern *k, struct weir_err *e)
{
	struct kern_slot slot = { .ring_fd = -1 };
	cleanup_free char *place = make_place(e);
	int err;

	if (!place)
		return e->err;
	err = kern_slot_take(k, RING_BYTES, &slot, e);
	if (err == 0)
		err = kern_know_mounts(&slot, e);
	if (err == 0)
		err = kern_canary_prepare(&slot, place, e);
	if (err == 0)
		err = kern_adopt(&slot, 0, WEIR_ROLE_COLLECTOR, e);
	if (err == 0) {
		bool after = k->source == KERN_SOURCE_SYSCALL;

		kern_slot_start(&slot, after ? WEIR_MODE_OBSERVE : WEIR_MODE_ENFORCE,
				after ? WEIR_RUN_AFTER : 0, WEIR_RIGHT_READ, 0, 0);
		err = kern_canary_fly(&slot, place, CANARY_MS, e);
	}
	kern_slot_release(&slot);
	fsio_remove_tree(AT_FDCWD, place, NULL);
	return err;
}

/* Opens and tries a source. Returns: whether all of it holds; else d->why says what does not. */
static bool try_source(struct diagnosis *d, enum kern_source source)
{
	kern_close(d->kern);
	d->kern = NULL;
	if (kern_open(source, NULL, &d->kern, &d->why) < 0) {
		d->kern = NULL;
		return false;
	}
	return prove(d->kern, &d->why) == 0;
}

/* The best source that holds. Why a better one does not is kept. */
static void diagnose(struct diagnosis *d)
{
	struct weir_err better;

	kern_probe(&d->probe);
	if (!d->probe.enforce)
		err_set(&d->why, -ENOSYS, "%s", d->probe.missing);
	else
		d->enforce = d->observe = try_source(d, KERN_SOURCE_LSM);
	if (d->enforce || !d->probe.observe)
		return;
	better = d->why;
	if (d->probe.source == KERN_SOURCE_FMOD_RET) {
		d->observe = try_source(d, KERN_SOURCE_FMOD_RET);
		d->enforce = d->observe && !d->probe.preemptible;
		if (d->observe) {
			d->why = better;
			return;
		}
		better = d->why;
	}
	d->observe = try_source(d, KERN_SOURCE_SYSCALL);
	if (d->observe)
		d->why = better;
}

static json_t *advice_json(const struct diagnosis *d)
{
	json_t *list = json_array();

	if (d->why.err)
		json_array_append_new(list, json_string(d->why.text));
	if (!gate_is_configured())
		json_array_append_new(list, json_string("no gate yet, so nothing can be promoted: "
							"weir-gate init --repo DIR"));
	return list;
}

/* Names of families that are watched, or that are not. */
static json_t *family_names(const json_t *families, bool watched)
{
	json_t *list = json_array(), *family;
	const char *name;

	json_object_foreach ((json_t *)families, name, family)
		if (json_is_true(json_object_get(family, "watched")) == watched)
			json_array_append_new(list, json_string(name));
	return list;
}

static json_t *doctor_json(const struct diagnosis *d)
{
	const struct kern_probe *p = &d->probe;
	json_t *coverage = coverage_json(d->kern);
	json_t *families = json_object_get(coverage, "families");
	json_t *o;

	if (!coverage)
		return NULL;
	o = json_pack("{s:s, s:s, s:b, s:b, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:b, s:b, s:b}",
		      "schema", "weir.doctor/1", "kernel", p->release, "enforce", d->enforce,
		      "observe", d->observe, "source",
		      kern_source_name(d->kern ? d->kern->source : KERN_SOURCE_MISSING), "preempt",
		      *p->preempt ? p->preempt : "unknown", "lsm", p->lsm_list, "lsm_bpf",
		      p->lsm_bpf, "root", p->root, "btf", p->btf, "bpffs", p->bpffs, "cgroup2",
		      p->cgroup2, "lockdown", p->lockdown, "ftrace_enabled", p->ftrace_enabled);
	json_object_set(o, "hooks", json_object_get(coverage, "hooks"));
	json_object_set(o, "families", families);
	json_object_set_new(o, "watched", family_names(families, true));
	json_object_set_new(o, "not_watched", family_names(families, false));
	json_object_set(o, "filesystems", json_object_get(coverage, "filesystems"));
	json_object_set(o, "blind_spots", json_object_get(coverage, "blind_spots"));
	json_object_set_new(o, "missing", json_string(d->why.text));
	json_object_set_new(o, "advice", advice_json(d));
	json_decref(coverage);
	return o;
}

static void add_names(struct buf *b, const char *title, const json_t *names)
{
	const json_t *name;
	size_t i;

	buf_addf(b, "  %-13s", title);
	json_array_foreach (names, i, name)
		buf_addf(b, "%s%s", i ? ", " : "", json_string_value(name));
	buf_addf(b, "%s\n", json_array_size(names) ? "" : "nothing");
}

/* How many hooks there are by source, and which are not as they should be. */
static void add_hooks(struct buf *b, const struct kern *k)
{
	unsigned int attached = 0, proven = 0;

	for (unsigned int i = 0; k && i < WEIR_HOOK_COUNT; i++) {
		attached += k->hooks[i].source > KERN_SOURCE_ABSENT;
		proven += k->hooks[i].proven && k->hooks[i].source > KERN_SOURCE_ABSENT;
	}
	buf_addf(b, "  %-13s%u attached, %u proven by a canary\n", "hooks", attached, proven);
	for (unsigned int i = 0; k && i < WEIR_HOOK_COUNT; i++) {
		if (k->hooks[i].source == KERN_SOURCE_UNSEEN)
			buf_addf(b, "  %-13s%s: out of this source's sight\n", "", names_hook(i));
		else if (k->hooks[i].source == KERN_SOURCE_ABSENT)
			buf_addf(b,
				 "  %-13s%s: this kernel has no such hook, another sees the same\n",
				 "", names_hook(i));
		else if (k->hooks[i].source == KERN_SOURCE_MISSING)
			buf_addf(b, "  %-13s%s: not attached\n", "", names_hook(i));
		else if (!k->hooks[i].proven)
			buf_addf(b, "  %-13s%s: attached, no harmless proof\n", "", names_hook(i));
	}
}

static const char *what_source(const struct diagnosis *d)
{
	if (!d->kern)
		return "none";
	if (d->kern->source == KERN_SOURCE_LSM)
		return "lsm: before each operation, by BPF LSM programs";
	if (d->kern->source == KERN_SOURCE_FMOD_RET)
		return d->enforce ? "fmod_ret: before each operation, as bpf is not in lsm="
				  : "fmod_ret: before each operation, but this kernel is "
				    "preemptible: nothing is sure to be stopped";
	return "syscall: system calls are looked at when they have ended; nothing is refused";
}

static void add_text(struct buf *b, const struct diagnosis *d, const json_t *o)
{
	const json_t *line;
	size_t i;

	buf_addf(b, "weir: this host %s\n",
		 d->enforce   ? "can watch, judge and deny: all of it was tried"
		 : d->observe ? "can't enforce, but watch and judge (weir run --observe)"
			      : "can't enforce");
	buf_addf(b, "  %-13s%s, preemption %s\n", "kernel", d->probe.release,
		 json_string_value(json_object_get(o, "preempt")));
	buf_addf(b, "  %-13s%s\n", "source", what_source(d));
	buf_addf(b, "  %-13s%s\n", "LSMs", *d->probe.lsm_list ? d->probe.lsm_list : "unknown");
	add_hooks(b, d->kern);
	add_names(b, "watched", json_object_get(o, "watched"));
	add_names(b, "not watched", json_object_get(o, "not_watched"));
	json_array_foreach (json_object_get(o, "advice"), i, line)
		buf_addf(b, "  %-13s%s\n", i ? "" : "to do", json_string_value(line));
}

int cmd_doctor(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse_option,
		NULL,
		"Tells what this host can do, by trying it, and what to change. Exit status 0 when "
		"weir can enforce here, 1 when not.",
		NULL,
		NULL,
		NULL
	};
	cleanup_buf struct buf text = { 0 };
	struct diagnosis d = { 0 };
	bool as_json = false;
	json_t *o;
	int status;

	usage_parse(&argp, argc, argv, 0, &as_json);
	diagnose(&d);
	o = doctor_json(&d);
	if (!as_json && o)
		add_text(&text, &d, o);
	status = as_json || !o ? say_json(o) : say_text(&text);
	json_decref(o);
	kern_close(d.kern);
	if (status != CLI_OK)
		return status;
	return d.enforce ? CLI_OK : DOCTOR_NO;
}
