/* SPDX-License-Identifier: MIT */
#include "writeback/verifyattest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "writeback/dirs.h"
#include "writeback/dsse.h"
#include "writeback/json.h"
#include "writeback/sshkey.h"

static int say(enum verify_link link, struct weir_err *e, const char *file, const char *why)
{
	char text[512];

	snprintf(text, sizeof(text), "%s: %.400s", file, why);
	return verify_fail(link, e, text);
}

static int open_envelope(struct verify *v, enum attest_kind kind, const unsigned char *key,
			 struct weir_err *e)
{
	struct buf *envelope = &v->attestations.envelopes[kind];
	struct weir_err cause = { 0 };
	int err = record_read_file(v->repo, &v->commit, attest_file(kind), envelope, &cause);

	if (err == 0)
		err = dsse_open(DSSE_IN_TOTO, key, buf_str(envelope), envelope->len,
				&v->payloads[kind], &cause);
	return err < 0 ? say(VERIFY_DSSE, e, attest_file(kind), cause.text) : 0;
}

int verifyattest_dsse(struct verify *v, struct weir_err *e)
{
	unsigned char key[ED25519_PUBLIC];
	int err = 0;

	if (sshkey_blob_ed25519(&v->signer, key) < 0)
		return verify_fail(VERIFY_DSSE, e, "the commit's key can't sign attestations");
	for (enum attest_kind kind = 0; err == 0 && kind < ATTEST_KIND_COUNT; kind++)
		if (kind_attests(v->kind, kind))
			err = open_envelope(v, kind, key, e);
	return err;
}

/* NAME's digest of this kind in a list of resource descriptors. */
static bool descriptor_is(const json_t *list, const char *name, const char *digest,
			  const char *value)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item)
		if (json_text_is(item, "name", name))
			return json_text_is(json_object_get(item, "digest"), digest, value);
	return false;
}

static const json_t *get(const json_t *root, const char *a, const char *b, const char *c)
{
	const json_t *at = json_object_get(json_object_get(root, a), b);

	return c ? json_object_get(at, c) : at;
}

static bool says(const struct verify *v, const char *key, struct buf *ret_value)
{
	ret_value->len = 0;
	return digest_find(buf_str(&v->record.promotion), key, ret_value) == 0;
}

static const char *check_provenance(const struct verify *v, const json_t *root,
				    const char *promotion, const char *reads)
{
	const json_t *made = get(root, "predicate", "runDetails", "byproducts");
	const json_t *from = get(root, "predicate", "buildDefinition", "resolvedDependencies");
	cleanup_buf struct buf value = { 0 };

	if (!descriptor_is(made, "promotion", "sha256", promotion))
		return "is of another promotion";
	if (!says(v, verify_began(v), &value) ||
	    !descriptor_is(from, "base", "gitCommit", buf_str(&value)))
		return "is of another base";
	if (!kind_of(v->kind)->has_run)
		return NULL;
	if (!says(v, "trace", &value) ||
	    !descriptor_is(made, "trace", "weirTraceRoot", buf_str(&value)))
		return "is of another trace";
	return descriptor_is(from, ATTEST_READS, "sha256", reads) ? NULL
								  : "is of another list of reads";
}

/* The parts that tie a predicate to the rest of the record. */
static const char *check_predicate(const struct verify *v, enum attest_kind kind,
				   const json_t *root, const char *promotion, const char *reads)
{
	cleanup_buf struct buf value = { 0 };
	const json_t *list;

	switch (kind) {
	case ATTEST_PROVENANCE:
		return check_provenance(v, root, promotion, reads);
	case ATTEST_TRACE:
		list = get(root, "predicate", "monitorLog", "fileAccess");
		if (!descriptor_is(list, ATTEST_READS, "sha256", reads))
			return "is of another list of reads";
		return says(v, "run", &value) && json_text_is(get(root, "predicate",
								  "monitoredProcess", NULL),
							      "event", buf_str(&value))
			       ? NULL
			       : "is of another run";
	case ATTEST_VSA:
		if (!json_text_is(json_object_get(root, "predicate"), "verificationResult",
				  "PASSED"))
			return "does not say PASSED";
		return says(v, "policy", &value) &&
				       json_text_is(get(root, "predicate", "policy", "digest"),
						    "sha256", buf_str(&value))
			       ? NULL
			       : "is of another policy";
	case ATTEST_APPROVALS:
		if (!json_text_is(json_object_get(root, "predicate"), "promotion", promotion))
			return "is of another promotion";
		return says(v, "review", &value) && json_text_is(json_object_get(root, "predicate"),
								 "review", buf_str(&value))
			       ? NULL
			       : "says another review";
	case ATTEST_SVR:
	case ATTEST_KIND_COUNT:
		break;
	}
	return NULL;
}

/* Behind the commit: nothing, or the files of a directory. */
static bool has_subjects(const struct verify *v, const json_t *subjects)
{
	cleanup_buf struct buf from = { 0 };
	cleanup_json json_t *want = NULL;
	struct weir_err none = { 0 };

	if (!kind_of(v->kind)->is_dir)
		return json_array_size(subjects) == 1;
	if (!says(v, "from", &from) || escape_undo(from.data) < 0)
		return false;
	want = dirs_subjects(buf_str(&v->record.changes), buf_str(&from), &none);
	if (!want || json_array_insert(want, 0, json_array_get(subjects, 0)) < 0)
		return false;
	return json_equal(want, subjects);
}

static const char *check_statement(const struct verify *v, enum attest_kind kind,
				   const json_t *root)
{
	const json_t *subjects = json_object_get(root, "subject");
	const json_t *digest = json_object_get(json_array_get(subjects, 0), "digest");
	char commit[OID_HEX], tree[OID_HEX];

	git_oid_tostr(commit, sizeof(commit), &v->commit);
	git_oid_tostr(tree, sizeof(tree), &v->head.tree);
	if (!json_text_is(root, "_type", ATTEST_STATEMENT) ||
	    !json_text_is(root, "predicateType", attest_type(kind)))
		return "is a statement of another type";
	if (json_array_size(subjects) == 0 ||
	    !json_text_is(digest, v->is_tag ? "gitTag" : "gitCommit", commit))
		return "is about another commit";
	if (!json_text_is(digest, "gitTree", tree))
		return "is about another tree";
	return has_subjects(v, subjects) ? NULL : "is about other files";
}

static int check_payload(const struct verify *v, enum attest_kind kind, const char *promotion,
			 const char *reads, struct weir_err *e)
{
	const struct buf *payload = &v->payloads[kind];
	struct weir_err cause = { 0 };
	cleanup_json json_t *root = json_read(buf_str(payload), payload->len, "payload", &cause);
	const char *why = root ? check_statement(v, kind, root) : cause.text;

	if (!why)
		why = check_predicate(v, kind, root, promotion, reads);
	return why ? say(VERIFY_ATTESTED, e, attest_file(kind), why) : 0;
}

int verifyattest_content(struct verify *v, struct weir_err *e)
{
	cleanup_buf struct buf promotion = { 0 };
	unsigned char hash[DIGEST_SIZE];
	struct buf *list = &v->attestations.reads;
	struct weir_err cause = { 0 };
	char reads[DIGEST_HEX];
	int err = 0;

	if (kind_of(v->kind)->has_run &&
	    record_read_file(v->repo, &v->commit, ATTEST_READS, list, &cause) < 0)
		return verify_fail(VERIFY_ATTESTED, e, cause.text);
	if (digest_bytes(buf_str(list), list->len, hash) < 0 ||
	    verify_trailer(v, "Weir-Promotion", &promotion) < 0 || promotion.len < 7)
		return verify_fail(VERIFY_ATTESTED, e, "the reads can't be hashed");
	digest_hex(hash, sizeof(hash), reads);
	for (enum attest_kind kind = 0; err == 0 && kind < ATTEST_KIND_COUNT; kind++)
		if (kind_attests(v->kind, kind))
			err = check_payload(v, kind, promotion.data + 7, reads, e);
	return err;
}
