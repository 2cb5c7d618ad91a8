/* SPDX-License-Identifier: MIT */
/* Step 1, open: the trace says what happened, the base commit says what was allowed. */
#include <errno.h>
#include <jansson.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/event/mounts.h"
#include "user/trace/reader.h"
#include "writeback/approval.h"
#include "writeback/baseline.h"
#include "writeback/json.h"
#include "writeback/promotion.h"
#include "writeback/reason.h"

#define NS_PER_S 1000000000

#define COVERAGE_MAX ((size_t)4 << 20)
#define POLICY_PATH ".weir/policy.yaml"

/* START must tell the same story as the statement; it also says where the workspace lies
 * inside its file system, which the paths of events are relative to. */
static int read_start(struct promotion *p, const struct trace_record *record, struct weir_err *e)
{
	const struct statement *s = &p->statement;
	cleanup_json json_t *root =
		json_loadb(record->bytes, record->len, JSON_REJECT_DUPLICATES, NULL);
	bool same_policy = s->policy[0] ? json_text_is(root, "policy", s->policy)
					: json_is_null(json_object_get(root, "policy"));
	cleanup_mounts struct mounts *mounts = NULL;
	char inside[MOUNTS_PATH_SIZE];
	uint32_t dev;

	if (!same_policy || !json_text_is(root, "run", s->run) ||
	    !json_text_is(root, "nonce", s->nonce) || !json_text_is(root, "mode", s->mode))
		return refuse(e, REASON_TRACE,
			      "the trace's START is of another run, nonce, policy or mode");
	if (mounts_from_json(json_object_get(root, "mounts"), &mounts, NULL) < 0 ||
	    mounts_locate(mounts, s->workspace, &dev, inside, sizeof(inside)) < 0)
		return refuse(e, REASON_TRACE,
			      "the trace does not say where the workspace %s is mounted",
			      s->workspace);
	p->mutations = mutations_new(dev, inside);
	return p->mutations && reads_start(&p->reads, dev, inside) == 0
		       ? 0
		       : err_errno(e, -ENOMEM, "reading the trace");
}

static void note_uid(struct promotion *p, uid_t uid)
{
	struct uids *u = &p->uids;

	/* the one of the last event first: most events have it */
	for (unsigned int i = u->count; i > 0; i--)
		if (u->items[i - 1] == uid)
			return;
	if (u->count == UIDS_MAX)
		u->overflow = true;
	else
		u->items[u->count++] = uid;
}

static int feed_event(struct promotion *p, const struct trace_record *record, struct weir_err *e)
{
	struct event_why why;
	struct event event;

	if (event_decode(record->bytes, record->len, &event, &why) < 0) {
		verdict_add_refused(&p->verdict, &why);
		return 0;
	}
	verdict_add_event(&p->verdict, &event);
	if (event.head.type != WEIR_RECORD_OP ||
	    !(event.op.flags & (WEIR_EV_OUTSIDER | WEIR_EV_CANARY)))
		note_uid(p, event.head.uid);
	if (!p->mutations)
		return refuse(e, REASON_TRACE, "an event stands before START");
	/* an overflow is seen, and refused, by the cross-check */
	mutations_add(p->mutations, &event);
	reads_add(&p->reads, &event);
	return 0;
}

static int read_trace(struct promotion *p, struct weir_err *e)
{
	cleanup_trace_reader struct trace_reader *reader = NULL;
	unsigned char root[DIGEST_SIZE];
	struct weir_err cause = { 0 };
	struct trace_record record;
	char hex[DIGEST_HEX];
	int err;

	if (p->files[RUN_TRACE] < 0)
		return refuse(e, REASON_TRACE, "the run has no trace");
	err = trace_reader_new(p->files[RUN_TRACE], &reader, &cause);
	if (err < 0)
		return refuse(e, REASON_TRACE, "trace: %s", cause.text);
	while ((err = trace_reader_next(reader, &record, &cause)) == 1) {
		if (record.type == TRACE_START)
			err = read_start(p, &record, e);
		else
			err = 0;
		if (err == 0 && record.type == TRACE_EVENT)
			err = feed_event(p, &record, e);
		else if (err == 0)
			verdict_add(&p->verdict, record.type, record.bytes, record.len);
		if (err < 0)
			return err;
	}
	if (err < 0)
		return refuse(e, REASON_TRACE, "trace: %s", cause.text);
	if (trace_reader_torn(reader) > 0)
		return refuse(e, REASON_TRACE, "the trace ends inside a frame");
	trace_reader_root(reader, root);
	digest_hex(root, sizeof(root), hex);
	if (strcmp(hex, p->statement.trace_root) != 0 ||
	    trace_reader_size(reader) != p->statement.trace_bytes)
		return refuse(e, REASON_TRACE, "the trace is not the one that the host signed");
	return 0;
}

static void name_kinds(const struct verdict *v, struct buf *b)
{
	for (unsigned int kind = 0; kind < WEIR_KIND_COUNT; kind++) {
		static const char *const names[] = {
#define WEIR_X(id, name, severity) name,
			WEIR_KINDS(WEIR_X)
#undef WEIR_X
		};
		uint64_t count = verdict_kind_count(v, kind);

		if (count > 0)
			buf_addf(b, "%s%s (%llu)", b->len ? ", " : "", names[kind],
				 (unsigned long long)count);
	}
}

static int refuse_violated(const struct promotion *p, struct weir_err *e)
{
	cleanup_buf struct buf kinds = { 0 };

	name_kinds(&p->verdict, &kinds);
	return refuse(e, REASON_VIOLATED, "the run broke its policy: %s", buf_str(&kinds));
}

static int check_verdict(struct promotion *p, struct weir_err *e)
{
	enum verdict_value value = verdict_finish(&p->verdict);

	switch (value) {
	case VERDICT_CLEAN:
		break;
	case VERDICT_VIOLATED:
		/* exceptions may cover it, once policy and people are known */
		if (p->verdict.text_count > 0 || strcmp(p->statement.mode, "trace") == 0)
			return refuse_violated(p, e);
		break;
	case VERDICT_INDETERMINATE:
		return refuse(e, REASON_INDETERMINATE, "the run's verdict is indeterminate: %s",
			      p->verdict.text_count ? p->verdict.texts[0].text : "no reason kept");
	case VERDICT_UNJUDGED:
		return refuse(e, REASON_UNJUDGED, "the run had no policy");
	default:
		return refuse(e, REASON_INDETERMINATE, "the run's verdict is unknown");
	}
	if (strcmp(p->statement.verdict, verdict_name(value)) != 0 && value == VERDICT_CLEAN)
		return refuse(e, REASON_VERDICT_MISMATCH,
			      "the statement says %s, the trace gives %s", p->statement.verdict,
			      verdict_name(value));
	return 0;
}

static int check_policy_source(struct promotion *p, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	unsigned char hash[DIGEST_SIZE];
	char hex[DIGEST_HEX] = "";
	struct weir_err cause = { 0 };
	uint32_t mode = 0;
	git_oid oid;
	int err = repo_find(&p->repo, &p->base_head.tree, POLICY_PATH, &oid, &mode, &cause);

	if (err < 0 && err != -ENOENT)
		return err_set(e, err, "%s", cause.text);
	if (err == 0 && (mode == GIT_MODE_FILE || mode == GIT_MODE_EXEC)) {
		err = repo_read_object(&p->repo, &oid, GIT_OBJECT_BLOB, POLICY_TEXT_MAX, &text, e);
		if (err == 0)
			err = digest_bytes(buf_str(&text), text.len, hash);
		if (err < 0)
			return err;
		digest_hex(hash, sizeof(hash), hex);
	}
	if (strcmp(hex, p->statement.policy) == 0) {
		p->policy_source = "base commit";
		return 0;
	}
	if (gate_texts_have(&p->config->policies, p->statement.policy)) {
		p->policy_source = "gate.yaml";
		return 0;
	}
	return refuse(e, REASON_POLICY_UNTRUSTED, "the run used another policy (%.16s...) than %s",
		      p->statement.policy,
		      hex[0] ? POLICY_PATH " of the base commit" : "the base commit has (none)");
}

static int load_policy(struct promotion *p, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	struct weir_err cause = { 0 };
	char hex[DIGEST_HEX];
	int err;

	if (p->files[RUN_POLICY] < 0)
		return refuse(e, REASON_POLICY_UNTRUSTED, "the run has no policy.yaml");
	err = fsio_read_fd(p->files[RUN_POLICY], POLICY_TEXT_MAX, &text);
	if (err < 0)
		return err_errno(e, err, "policy.yaml");
	err = policy_load("policy.yaml", buf_str(&text), text.len, &p->policy, &cause);
	if (err < 0)
		return refuse(e, REASON_POLICY, "%s", cause.text);
	digest_hex(p->policy->sha256, DIGEST_SIZE, hex);
	if (strcmp(hex, p->statement.policy) != 0)
		return refuse(e, REASON_POLICY_UNTRUSTED,
			      "policy.yaml of the run is not the policy that the host signed");
	return 0;
}

/* A run that was only looked at from behind: what it may have done to the collector can't be
 * ruled out where a member had the power to. */
static int check_source(const struct promotion *p, struct weir_err *e)
{
	static const unsigned int powers[] = { CAP_DAC_OVERRIDE, CAP_SYS_ADMIN };
	const struct policy *policy = p->policy;

	if (p->verdict.source != VERDICT_SOURCE_SYSCALL)
		return 0;
	if (policy->coverage.value != POLICY_COVERAGE_SYSCALL)
		return refuse(e, REASON_COVERAGE,
			      "the run was watched by system calls only (source syscall), after "
			      "each had ended; the policy does not say `coverage: syscall`");
	for (size_t i = 0; i < ARRAY_SIZE(powers); i++)
		if (policy->capabilities.value >> powers[i] & 1)
			return refuse(e, REASON_COVERAGE,
				      "a run whose members have %s can't be promoted from source "
				      "syscall, which can't protect the collector from them",
				      policy_capability_name(powers[i]));
	if (!policy->no_new_privs.value)
		return refuse(e, REASON_COVERAGE,
			      "a run whose members may gain privileges (no_new_privs: false) can't "
			      "be promoted from source syscall");
	return 0;
}

static int check_policy(const struct promotion *p, struct weir_err *e)
{
	const struct policy *policy = p->policy;
	int err = check_source(p, e);

	if (err < 0)
		return err;
	if (policy->coverage.value == POLICY_COVERAGE_FULL)
		return refuse(e, REASON_COVERAGE,
			      "this build watches files only; the policy does not say `coverage: "
			      "files`");
	if (policy->require_exit.value == POLICY_EXIT_ANY)
		return 0;
	if (p->statement.exit_code < 0)
		return refuse(e, REASON_EXIT_STATUS, "the command was ended by signal %d",
			      p->statement.exit_signal);
	if ((uint64_t)p->statement.exit_code != policy->require_exit.value)
		return refuse(e, REASON_EXIT_STATUS, "the command exited with %d, not %llu",
			      p->statement.exit_code,
			      (unsigned long long)policy->require_exit.value);
	return 0;
}

static int load_manifest(struct promotion *p, enum run_file file, const char *name,
			 const char *want, struct manifest **ret_manifest, struct weir_err *e)
{
	struct weir_err cause = { 0 };
	char hex[DIGEST_HEX];

	if (p->files[file] < 0)
		return refuse(e, REASON_MANIFEST, "the run has no %s", name);
	if (manifest_load(p->files[file], name, ret_manifest, &cause) < 0)
		return refuse(e, REASON_MANIFEST, "%s", cause.text);
	digest_hex((*ret_manifest)->summary.sha256, DIGEST_SIZE, hex);
	if (strcmp(hex, want) != 0)
		return refuse(e, REASON_MANIFEST, "%s is not the one that the host signed", name);
	return 0;
}

/* By the host's clock the run lies between its nonce and now, and does not end before it begins. */
static int check_times(const struct promotion *p, struct weir_err *e)
{
	const int64_t began = p->before->taken_ns / NS_PER_S, ended = p->after->taken_ns / NS_PER_S;

	if (p->after->taken_ns < p->before->taken_ns)
		return refuse(e, REASON_CLOCK, "the run ends before it begins");
	if (began < p->nonce.issued - APPROVAL_SKEW_S)
		return refuse(e, REASON_CLOCK, "the run began before its nonce was issued");
	if (ended > time(NULL) + APPROVAL_SKEW_S)
		return refuse(e, REASON_CLOCK, "the run ends in the future");
	return 0;
}

static int check_coverage(const struct promotion *p, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	unsigned char hash[DIGEST_SIZE];
	char hex[DIGEST_HEX];
	int err = p->files[RUN_COVERAGE] < 0
			  ? -ENOENT
			  : fsio_read_fd(p->files[RUN_COVERAGE], COVERAGE_MAX, &text);

	if (err == 0)
		err = digest_bytes(buf_str(&text), text.len, hash);
	if (err < 0)
		return refuse(e, REASON_STATEMENT, "coverage.json: %s", strerror(-err));
	digest_hex(hash, sizeof(hash), hex);
	if (strcmp(hex, p->statement.coverage) != 0)
		return refuse(e, REASON_STATEMENT,
			      "coverage.json is not the one that the host signed");
	return 0;
}

static int check_rest(struct promotion *p, struct weir_err *e)
{
	int err = check_policy_source(p, e);

	if (err == 0)
		err = load_policy(p, e);
	if (err == 0)
		err = check_policy(p, e);
	if (err == 0 && promotion_asks_people(p))
		err = people_load(p->config, &p->repo, &p->base_head.tree, &p->people, e);
	if (err == 0)
		err = check_coverage(p, e);
	if (err == 0)
		err = load_manifest(p, RUN_BEFORE, "manifest.before", p->statement.manifest_before,
				    &p->before, e);
	if (err == 0)
		err = load_manifest(p, RUN_AFTER, "manifest.after", p->statement.manifest_after,
				    &p->after, e);
	if (err == 0)
		err = check_times(p, e);
	if (err == 0 && p->nonce.checkout[0]) {
		char hex[DIGEST_HEX];

		if (baseline_of(p->before, hex) < 0)
			return err_errno(e, -ENOMEM, "manifest.before");
		p->pristine = strcmp(hex, p->nonce.checkout) == 0;
	}
	return err;
}

/* That a run is violated is said before whatever else is wrong with it. */
int run_open(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	int err = read_trace(p, e);

	(void)ret_answer;
	if (err == 0)
		err = check_verdict(p, e);
	if (err < 0)
		return err;
	err = check_rest(p, e);
	if (p->verdict.value != VERDICT_VIOLATED)
		return err;
	if (err < 0 || strcmp(p->statement.verdict, verdict_name(VERDICT_VIOLATED)) != 0)
		return refuse_violated(p, e);
	return except_cover_run(p, e);
}
