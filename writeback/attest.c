/* SPDX-License-Identifier: MIT */
#include "writeback/attest.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "user/base/cleanup.h"
#include "writeback/attestlink.h"
#include "writeback/digest.h"
#include "writeback/dsse.h"
#include "writeback/json.h"
#include "writeback/keys.h"
#include "writeback/promotion.h"
#include "writeback/version.h"

#define TIME_SIZE 32
#define READS_TYPE "application/vnd.weir.reads"
/* What the list of reads can't have; see writeback/reads.h. */
#define READS_ARE "partial: programs, and files opened for writing as well"

static const struct {
	const char *file;
	const char *type;
} kinds[] = {
#define WEIR_X(id, file, type) { file, type },
	ATTEST_KINDS(WEIR_X)
#undef WEIR_X
};

const char *attest_file(enum attest_kind kind)
{
	return kinds[kind].file;
}

const char *attest_type(enum attest_kind kind)
{
	return kinds[kind].type;
}

void attestations_done(struct attestations *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(a->envelopes); i++)
		buf_done(&a->envelopes[i]);
	buf_done(&a->reads);
	buf_done(&a->link);
}

int attest_bundle_hash(const struct attestations *a, char ret_hex[DIGEST_HEX])
{
	cleanup_digest struct digest *d = digest_new();
	unsigned char hash[DIGEST_SIZE];
	int err = d ? 0 : -EIO;

	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(a->envelopes); i++)
		err = digest_add(d, buf_str(&a->envelopes[i]), a->envelopes[i].len);
	if (err == 0)
		err = digest_end(d, hash);
	if (err == 0)
		digest_hex(hash, sizeof(hash), ret_hex);
	return err;
}

struct facts {
	const struct promotion *p;
	char commit[OID_HEX];
	char tree[OID_HEX];
	char reads[DIGEST_HEX];
	struct buf changes; /* SHA-256 of the changes text */
	char approvals[DIGEST_HEX];
	uint64_t counts[READS_HOW_COUNT];
	char builder[128];
	char gate[64];
	char started[TIME_SIZE];
	char finished[TIME_SIZE];
	char now[TIME_SIZE];
};

/* RFC 3339, UTC. */
static void format_time(int64_t seconds, char ret_text[TIME_SIZE])
{
	time_t t = (time_t)seconds;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || strftime(ret_text, TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(ret_text, TIME_SIZE, "1970-01-01T00:00:00Z");
}

static json_t *file(const char *name, const char *sha256)
{
	return json_pack("{s:s, s:{s:s}}", "name", name, "digest", "sha256", sha256);
}

static json_t *reads_file(const struct facts *f)
{
	return json_pack("{s:s, s:{s:s}, s:s}", "name", ATTEST_READS, "digest", "sha256", f->reads,
			 "mediaType", READS_TYPE);
}

/* The trace is named by the root of its chain, which no common digest name stands for. */
static json_t *trace_file(const struct facts *f)
{
	const struct statement *s = &f->p->statement;

	return json_pack("{s:s, s:{s:s}, s:s, s:{s:I}}", "name", "trace", "digest", "weirTraceRoot",
			 s->trace_root, "mediaType", "application/vnd.weir.trace", "annotations",
			 "bytes", (json_int_t)s->trace_bytes);
}

static json_t *policy_file(const struct facts *f)
{
	return json_pack("{s:s, s:{s:s}, s:{s:s}}", "name", ".weir/policy.yaml", "digest", "sha256",
			 f->p->statement.policy, "annotations", "source", f->p->policy_source);
}

/* Of what no run made: what was asked for, of which base. */
static json_t *order_definition(const struct facts *f)
{
	const struct promotion *p = f->p;
	json_t *external = json_pack("{s:s, s:o, s:s, s:o}", "repository", p->config->id, "ref",
				     json_escaped(p->target), "object", p->order.object, "policy",
				     policy_file(f));
	json_t *base =
		json_pack("{s:s, s:{s:s}}", "name", "base", "digest", "gitCommit", p->nonce.commit);
	cleanup_buf struct buf type = { 0 };

	buf_addf(&type, "urn:weir:build:%s:1", kind_of(p->kind)->name);
	return json_pack("{s:s, s:o, s:{s:s}, s:[o, o]}", "buildType", buf_str(&type),
			 "externalParameters", external, "internalParameters", "nonce", p->nonce.id,
			 "resolvedDependencies", base, policy_file(f));
}

static json_t *order_provenance(const struct facts *f)
{
	json_t *builder =
		json_pack("{s:s, s:{s:s}}", "id", f->gate, "version", "weir-gate", GATE_VERSION);
	json_t *metadata = json_pack("{s:s, s:s, s:s}", "invocationId", f->p->statement.run,
				     "startedOn", f->now, "finishedOn", f->now);
	json_t *byproducts = json_pack("[o, o]", file("promotion", f->p->digest),
				       file("statement.json", f->p->statement.sha256));

	return json_pack("{s:o, s:{s:o, s:o, s:o}}", "buildDefinition", order_definition(f),
			 "runDetails", "builder", builder, "metadata", metadata, "byproducts",
			 byproducts);
}

static json_t *build_definition(const struct facts *f)
{
	const struct promotion *p = f->p;
	json_t *external = json_pack("{s:s, s:o, s:o}", "repository", p->config->id, "ref",
				     json_escaped(p->nonce.ref), "policy", policy_file(f));
	json_t *skipped =
		p->strength == TREE_STRENGTH_TRACE ? json_integer((json_int_t)p->skipped) : NULL;
	json_t *internal =
		json_pack("{s:s, s:s, s:s, s:o*, s:s}", "nonce", p->nonce.id, "mode",
			  p->statement.mode, "crosscheck", tree_strength_name(p->strength),
			  "crosscheckSkipped", skipped, "coverage", p->statement.coverage);
	json_t *base =
		json_pack("{s:s, s:{s:s}}", "name", "base", "digest", "gitCommit", p->nonce.commit);
	json_t *completeness =
		json_pack("{s:s, s:i, s:{s:I, s:I, s:I}}", "reads", READS_ARE, "lost", 0, "hashing",
			  "at-open", (json_int_t)f->counts[READS_AT_OPEN], "after",
			  (json_int_t)f->counts[READS_AFTER], "unhashed",
			  (json_int_t)f->counts[READS_UNHASHED]);

	return json_pack("{s:s, s:o, s:o, s:[o, o, o], s:o}", "buildType", "urn:weir:build:run:1",
			 "externalParameters", external, "internalParameters", internal,
			 "resolvedDependencies", base, policy_file(f), reads_file(f),
			 "weir_completeness", completeness);
}

static json_t *provenance(const struct facts *f)
{
	const struct statement *s = &f->p->statement;
	json_t *builder;
	json_t *metadata;
	json_t *byproducts;

	if (!kind_of(f->p->kind)->has_run)
		return order_provenance(f);
	builder =
		json_pack("{s:s, s:{s:s}}", "id", f->builder, "version", "weir-gate", GATE_VERSION);
	metadata = json_pack("{s:s, s:s, s:s}", "invocationId", s->run, "startedOn", f->started,
			     "finishedOn", f->finished);
	byproducts = json_pack("[o, o, o, o, o]", file("promotion", f->p->digest),
			       file("statement.json", s->sha256),
			       file("manifest.before", s->manifest_before),
			       file("manifest.after", s->manifest_after), trace_file(f));

	return json_pack("{s:o, s:{s:o, s:o, s:o}}", "buildDefinition", build_definition(f),
			 "runDetails", "builder", builder, "metadata", metadata, "byproducts",
			 byproducts);
}

static json_t *runtime_trace(const struct facts *f)
{
	const struct statement *s = &f->p->statement;
	json_t *monitor = json_pack("{s:s, s:o, s:{s:s, s:{s:s}}}", "type", "urn:weir:monitor:1",
				    "configSource", policy_file(f), "tracePolicy", "mode", s->mode,
				    "coverage", "sha256", s->coverage);
	json_t *process = json_pack("{s:s, s:s, s:s}", "hostID", s->host_key, "type",
				    "urn:weir:build:run:1", "event", s->run);
	/* processes and connections are in the trace, which is bound by its root */
	json_t *log = json_pack("{s:[o], s:[], s:[o, o]}", "process", trace_file(f), "network",
				"fileAccess", reads_file(f), file("changes", buf_str(&f->changes)));

	return json_pack("{s:o, s:o, s:o, s:{s:s, s:s}}", "monitor", monitor, "monitoredProcess",
			 process, "monitorLog", log, "metadata", "buildStartedOn", f->started,
			 "buildFinishedOn", f->finished);
}

static json_t *vsa(const struct facts *f)
{
	cleanup_buf struct buf uri = { 0 };

	buf_addf(&uri, "urn:weir:repository:%s", f->p->config->id);
	return json_pack("{s:{s:s, s:{s:s}}, s:s, s:s, s:{s:{s:s}}, s:s, s:[s, s]}", "verifier",
			 "id", f->gate, "version", "weir-gate", GATE_VERSION, "timeVerified",
			 f->now, "resourceUri", buf_str(&uri), "policy", "digest", "sha256",
			 f->p->statement.policy, "verificationResult", "PASSED", "verifiedLevels",
			 "SLSA_SOURCE_LEVEL_1", "ORG_SOURCE_WEIR_GATED");
}

static json_t *svr(const struct facts *f)
{
	static const char *const strengths[] = { [TREE_STRENGTH_FULL] = "WEIR_CROSSCHECK_FULL",
						 [TREE_STRENGTH_STAT] = "WEIR_CROSSCHECK_STAT",
						 [TREE_STRENGTH_TRACE] = "WEIR_CROSSCHECK_TRACE" };
	const struct promotion *p = f->p;
	const char *review = promotion_asks_people(p) ? "WEIR_APPROVED" : "WEIR_UNREVIEWED";

	if (!kind_of(p->kind)->has_run)
		return json_pack("{s:{s:s, s:[o]}, s:s, s:[s, s]}", "verifier", "id", f->gate,
				 "policies", policy_file(f), "timeCreated", f->now, "properties",
				 "WEIR_CONTENT_INSPECTED", review);
	return json_pack(
		"{s:{s:s, s:[o]}, s:s, s:[s, s, s, s, s]}", "verifier", "id", f->gate, "policies",
		policy_file(f), "timeCreated", f->now, "properties",
		p->verdict.value == VERDICT_CLEAN ? "WEIR_VERDICT_CLEAN" : "WEIR_VERDICT_EXCEPTED",
		strengths[p->strength], "WEIR_CONTENT_INSPECTED", "WEIR_TRACE_LOSSLESS", review);
}

/* What the people signed is a file of the record; here is who they were. */
static json_t *approvals(const struct facts *f)
{
	const struct approve_tally *t = &f->p->tally;
	const struct except_use *x = &f->p->exceptions;
	json_t *need = json_object(), *names = json_array(), *exceptions = json_array();
	json_t *signed_file = json_null();

	for (unsigned int i = 0; i < ROLE_COUNT; i++)
		if (t->need[i] > 0)
			json_object_set_new(need, role_name((enum role)i),
					    json_integer(t->need[i]));
	for (size_t i = 0; i < t->approvers.count; i++)
		json_array_append_new(names, json_escaped(t->approvers.items[i]));
	for (size_t i = 0; i < x->used.count; i++)
		json_array_append_new(exceptions, file("exception", x->used.items[i]));
	if (t->bundle.len > 0)
		signed_file = file("approvals", f->approvals);
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "promotion", f->p->digest, "review",
			 promotion_asks_people(f->p) ? "required" : "none", "needed", need,
			 "approvers", names, "exceptions", exceptions, "signed", signed_file);
}

/* The files of a directory, NULL for other kinds and without memory. */
static json_t *more_subjects(const struct facts *f)
{
	struct weir_err none = { 0 };

	return kind_of(f->p->kind)->is_dir
		       ? dirs_subjects(buf_str(&f->p->changes_text), f->p->dir.from, &none)
		       : NULL;
}

static json_t *statement(const struct facts *f, enum attest_kind kind, json_t *predicate)
{
	json_t *subjects = json_array(), *more = more_subjects(f);
	json_t *subject = json_pack(
		"{s:o, s:{s:s, s:s}, s:{s:[o]}}", "name", json_escaped(f->p->target), "digest",
		kind_of(f->p->kind)->is_tag ? "gitTag" : "gitCommit", f->commit, "gitTree", f->tree,
		"annotations", "sourceRefs", json_escaped(f->p->target));

	json_array_append_new(subjects, subject);
	if (kind_of(f->p->kind)->is_dir && (!more || json_array_extend(subjects, more) < 0)) {
		json_decref(subjects);
		subjects = NULL;
	}
	json_decref(more);
	return json_pack("{s:s, s:o, s:s, s:o}", "_type", ATTEST_STATEMENT, "subject", subjects,
			 "predicateType", kinds[kind].type, "predicate", predicate);
}

static int sign(const struct keys_raw *key, json_t *json, struct buf *ret_text, struct weir_err *e)
{
	cleanup_json json_t *root = json;
	cleanup_buf struct buf payload = { 0 };
	cleanup_buf struct buf pae = { 0 };
	unsigned char signature[ED25519_SIGNATURE];
	int err = root ? json_canonical(root, &payload) : -ENOMEM;

	if (err == 0)
		err = dsse_pae(DSSE_IN_TOTO, payload.data, payload.len, &pae);
	if (err < 0)
		return err_errno(e, err, "making an attestation");
	err = keys_sign_raw(key, pae.data, pae.len, signature, e);
	if (err < 0)
		return err;
	return dsse_format(DSSE_IN_TOTO, payload.data, payload.len, key->keyid, signature,
			   ret_text) < 0
		       ? err_errno(e, -ENOMEM, "making an attestation")
		       : 0;
}

static int fill_run(struct promotion *p, struct facts *f, struct buf *ret_reads)
{
	unsigned char hash[DIGEST_SIZE];
	int err = reads_format(&p->reads, p->before, p->after, p->mutations, ret_reads, f->counts);

	if (err == 0)
		err = digest_bytes(ret_reads->data, ret_reads->len, hash);
	if (err < 0)
		return err;
	digest_hex(hash, sizeof(hash), f->reads);
	snprintf(f->builder, sizeof(f->builder), "urn:weir:builder:%.16s:%.64s", p->statement.mode,
		 p->statement.host_key);
	format_time(p->before->taken_ns / 1000000000, f->started);
	format_time(p->after->taken_ns / 1000000000, f->finished);
	return 0;
}

static int fill(struct promotion *p, struct facts *f, struct buf *ret_reads)
{
	unsigned char hash[DIGEST_SIZE];
	int err = kind_of(p->kind)->has_run ? fill_run(p, f, ret_reads) : 0;

	if (err < 0)
		return err;
	err = digest_bytes(buf_str(&p->tally.bundle), p->tally.bundle.len, hash);
	if (err < 0)
		return err;
	digest_hex(hash, sizeof(hash), f->approvals);
	err = digest_find(buf_str(&p->digest_text), "changes", &f->changes);
	if (err < 0)
		return err;
	git_oid_tostr(f->commit, sizeof(f->commit), &p->commit);
	git_oid_tostr(f->tree, sizeof(f->tree), &p->tree);
	snprintf(f->gate, sizeof(f->gate), "urn:weir:gate:%s", p->config->id);
	format_time(time(NULL), f->now);
	return 0;
}

int attest_make(struct promotion *p, struct attestations *ret_attestations, struct weir_err *e)
{
	static json_t *(*const makers[])(const struct facts *f) = {
		[ATTEST_PROVENANCE] = provenance,
		[ATTEST_TRACE] = runtime_trace,
		[ATTEST_VSA] = vsa,
		[ATTEST_SVR] = svr,
		[ATTEST_APPROVALS] = approvals,
	};
	cleanup_keys_raw struct keys_raw key = { 0 };
	struct attestations *a = ret_attestations;
	struct facts f = { .p = p };
	int err = fill(p, &f, &a->reads);

	if (err < 0)
		return err_errno(e, err, "listing what the run read");
	err = keys_raw_open(p->config, &key, e);
	for (enum attest_kind kind = 0; err == 0 && kind < ATTEST_KIND_COUNT; kind++)
		if (kind_attests(p->kind, kind))
			err = sign(&key, statement(&f, kind, makers[kind](&f)), &a->envelopes[kind],
				   e);
	buf_done(&f.changes);
	return err < 0 || !kind_of(p->kind)->has_run ? err : attestlink_make(p, &key, &a->link, e);
}
