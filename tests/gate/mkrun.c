/* SPDX-License-Identifier: MIT */
/*
 * Makes a run directory as the collector would, without a kernel: manifests of a real
 * workspace, a trace with one event for each path that changed, and the statement signed
 * with the host key. The gate's tests start from it and then spoil one thing each.
 *
 *   mkrun before RUN WORKSPACE
 *   mkrun after RUN WORKSPACE NONCE.json POLICY [exit=N] [mode=M] [untraced=PATH]...
 *               [written=PATH]... [read=PATH]... [finding=PATH] [credential=PATH] [verdict=NAME] [noend] [key=FILE] [latched=N]
 *               [unwatched=FAMILY]...
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/digest.h"
#include "user/base/fsio.h"
#include "user/event/mounts.h"
#include "user/event/verdict.h"
#include "user/trace/writer.h"
#include "user/tree/compare.h"

#define RUN_ID "20260101-000000-abcdef"

struct run {
	int dir;
	int workspace;
	const char *path;
	json_t *nonce;
	char policy[DIGEST_HEX];
	char host_key[DIGEST_HEX];
	char coverage[DIGEST_HEX];
	char before[DIGEST_HEX];
	char after[DIGEST_HEX];
	unsigned char seed[ED25519_SEED];
	uint32_t dev;
	char inside[MOUNTS_PATH_SIZE]; /* the workspace in its file system */
	struct mounts *mounts;
	uint64_t seq;
	uint64_t found;
	uint64_t credentials;
	int argc;
	char **argv; /* options */
};

static void die(const struct weir_err *e, const char *what)
{
	fprintf(stderr, "mkrun: %s: %s\n", what, e && e->text[0] ? e->text : strerror(errno));
	exit(1);
}

static const char *option(const struct run *r, const char *name, int nth)
{
	size_t len = strlen(name);

	for (int i = 0; i < r->argc; i++)
		if (strncmp(r->argv[i], name, len) == 0 &&
		    (r->argv[i][len] == '=' || r->argv[i][len] == '\0') && nth-- == 0)
			return r->argv[i][len] ? r->argv[i] + len + 1 : "";
	return NULL;
}

static bool listed(const struct run *r, const char *name, const char *path)
{
	const char *value;

	for (int i = 0; (value = option(r, name, i)); i++)
		if (strcmp(value, path) == 0)
			return true;
	return false;
}

static void put(const struct run *r, const char *name, const void *data, size_t len)
{
	struct weir_err e = { 0 };

	if (fsio_replace(r->dir, name, data, len, 0600, &e) < 0)
		die(&e, name);
}

static void hash_text(const void *data, size_t len, char *hex)
{
	unsigned char hash[DIGEST_SIZE];

	if (digest_bytes(data, len, hash) < 0)
		die(NULL, "hashing");
	digest_hex(hash, sizeof(hash), hex);
}

static void write_manifest(const struct run *r, const char *name, char *hex)
{
	int fd = openat(r->dir, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct manifest_summary summary;
	struct weir_err e = { 0 };

	if (fd < 0 || manifest_write_tree(r->workspace, ".git", fd, &summary, &e) < 0)
		die(&e, name);
	digest_hex(summary.sha256, DIGEST_SIZE, hex);
	close(fd);
}

/* "a/b" below the workspace as components from the object to the root. */
static size_t stored_path(const struct run *r, const char *path, char *out)
{
	char whole[MOUNTS_PATH_SIZE + WEIR_PATH_MAX];
	size_t len = 0;

	snprintf(whole, sizeof(whole), "%s/%s", strcmp(r->inside, "/") ? r->inside : "", path);
	for (char *slash; (slash = strrchr(whole, '/'));) {
		if (slash[1]) {
			strcpy(out + len, slash + 1);
			len += strlen(slash + 1) + 1;
		}
		*slash = '\0';
	}
	return len;
}

static void add_event(struct run *r, struct trace_writer *w, enum weir_op op, const char *path,
		      const struct tree_side *side, enum weir_kind kind)
{
	static _Alignas(8) char record[WEIR_RECORD_MAX];
	struct weir_opev *o = (struct weir_opev *)record;
	struct weir_err e = { 0 };

	memset(record, 0, sizeof(record));
	o->head = (struct weir_head){ .version = WEIR_ABI_VERSION,
				      .type = WEIR_RECORD_OP,
				      .seq = ++r->seq,
				      .ts_ns = r->seq,
				      .slot = 1,
				      .tgid = 100,
				      .pid = 100,
				      .ns_tgid = 100,
				      .ppid = 1,
				      .start_ns = 1 };
	o->op = (uint16_t)op;
	o->hook = WEIR_HOOK_FILE_OPEN;
	o->outcome = WEIR_OUTCOME_PASSED;
	o->want = op == WEIR_OP_READ && kind == WEIR_KIND_NONE ? WEIR_RIGHT_READ : WEIR_RIGHT_WRITE;
	o->have = o->want;
	o->first.dev = r->dev;
	o->first.ino = side ? side->ino : 0;
	o->first.mode = side ? side->mode : 0;
	o->first.nlink = 1;
	if (kind != WEIR_KIND_NONE) {
		o->flags = WEIR_EV_FINDING | WEIR_EV_BAD_FIRST;
		o->kind = (uint16_t)kind;
		*(kind == WEIR_KIND_CREDENTIAL_READ ? &r->credentials : &r->found) += 1;
	}
	o->first_len = (uint32_t)stored_path(r, path, record + sizeof(*o));
	o->head.size = (uint32_t)((sizeof(*o) + o->first_len + 7) / 8 * 8);
	if (trace_writer_add(w, TRACE_EVENT, record, o->head.size, &e) < 0)
		die(&e, "trace");
}

static void add_changes(struct run *r, struct trace_writer *w)
{
	static const enum weir_op ops[] = { [TREE_ADDED] = WEIR_OP_CREATE,
					    [TREE_REMOVED] = WEIR_OP_UNLINK,
					    [TREE_CHANGED] = WEIR_OP_WRITE };
	cleanup_close int before = openat(r->dir, "manifest.before", O_RDONLY | O_CLOEXEC);
	cleanup_close int after = openat(r->dir, "manifest.after", O_RDONLY | O_CLOEXEC);
	struct manifest_reader *old = NULL, *now = NULL;
	struct tree_changes changes = { 0 };
	struct weir_err e = { 0 };
	const char *path;

	if (manifest_reader_new(before, "before", &old, &e) < 0 ||
	    manifest_reader_new(after, "after", &now, &e) < 0 ||
	    tree_compare_manifests(old, now, 0, &changes, &e) < 0)
		die(&e, "comparing");
	for (size_t i = 0; i < changes.count; i++) {
		const struct tree_change *c = &changes.items[i];

		if (!listed(r, "untraced", c->path))
			add_event(r, w, ops[c->kind], c->path,
				  c->kind == TREE_REMOVED ? &c->before : &c->after, WEIR_KIND_NONE);
	}
	for (int i = 0; (path = option(r, "written", i)); i++)
		add_event(r, w, WEIR_OP_WRITE, path, NULL, WEIR_KIND_NONE);
	for (int i = 0; (path = option(r, "read", i)); i++)
		add_event(r, w, WEIR_OP_READ, path, &(struct tree_side){ .mode = S_IFREG },
			  WEIR_KIND_NONE);
	for (int i = 0; (path = option(r, "finding", i)); i++)
		add_event(r, w, WEIR_OP_WRITE, path, NULL, WEIR_KIND_FILE_OUTSIDE);
	for (int i = 0; (path = option(r, "credential", i)); i++)
		add_event(r, w, WEIR_OP_READ, path, NULL, WEIR_KIND_CREDENTIAL_READ);
	tree_changes_done(&changes);
	manifest_reader_free(old);
	manifest_reader_free(now);
}

static json_t *base_of(const struct run *r)
{
	return json_pack("{s:O, s:O, s:O}", "repository", json_object_get(r->nonce, "repository"),
			 "ref", json_object_get(r->nonce, "ref"), "commit",
			 json_object_get(r->nonce, "commit"));
}

static const char *mode_of(const struct run *r)
{
	const char *mode = option(r, "mode", 0);

	return mode ? mode : "enforce";
}

static void add_json(struct trace_writer *w, enum trace_type type, json_t *json)
{
	char *text = json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT);
	struct weir_err e = { 0 };

	if (!text || trace_writer_add(w, type, text, strlen(text), &e) < 0)
		die(&e, "trace");
	free(text);
	json_decref(json);
}

static json_t *hooks_json(bool counters, uint64_t events)
{
	static const char *const names[] = {
#define WEIR_X(id, name, family) name,
		WEIR_HOOKS(WEIR_X)
#undef WEIR_X
	};
	json_t *hooks = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		json_int_t n = i == WEIR_HOOK_FILE_OPEN ? (json_int_t)events : 0;

		json_object_set_new(hooks, names[i],
				    counters
					    ? json_pack("{s:I, s:I, s:i, s:i}", "seen", n,
							"emitted", n, "aggregated", 0, "dropped", 0)
					    : json_pack("{s:s}", "source", "lsm"));
	}
	return hooks;
}

static void write_trace(struct run *r, char *root_hex, uint64_t *ret_bytes)
{
	int fd = openat(r->dir, "trace", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct trace_writer *w = NULL;
	unsigned char root[DIGEST_SIZE];
	struct weir_err e = { 0 };

	if (fd < 0 || trace_writer_new(fd, &w, &e) < 0)
		die(&e, "trace");
	add_json(w, TRACE_START,
		 json_pack("{s:s, s:s, s:i, s:s, s:s, s:o, s:o, s:O, s:s, s:s}", "schema",
			   "weir.start/1", "run", RUN_ID, "slot", 1, "policy", r->policy, "mode",
			   mode_of(r), "mounts", mounts_to_json(r->mounts), "base", base_of(r),
			   "nonce", json_object_get(r->nonce, "nonce"), "boot", "b", "machine",
			   "m"));
	add_json(w, TRACE_COVERAGE,
		 json_pack("{s:s, s:o}", "source",
			   option(r, "source", 0) ? option(r, "source", 0) : "lsm", "hooks",
			   hooks_json(false, 0)));
	add_changes(r, w);
	if (!option(r, "noend", 0)) {
		json_t *latch = json_object();

		if (option(r, "latched", 0))
			r->found += (uint64_t)atoi(option(r, "latched", 0));
		if (r->found)
			json_object_set_new(latch, "file-outside",
					    json_integer((json_int_t)r->found));
		if (r->credentials)
			json_object_set_new(latch, "credential-read",
					    json_integer((json_int_t)r->credentials));
		add_json(w, TRACE_END,
			 json_pack("{s:o, s:o, s:i, s:I, s:i, s:[]}", "hooks",
				   hooks_json(true, r->seq), "latch", latch, "trouble", 0,
				   "last_seq", (json_int_t)r->seq, "live", 0, "reasons"));
	}
	if (trace_writer_sync(w, &e) < 0)
		die(&e, "trace");
	trace_writer_root(w, root);
	digest_hex(root, sizeof(root), root_hex);
	*ret_bytes = trace_writer_size(w);
	trace_writer_free(w);
	close(fd);
}

static void write_statement(struct run *r, const char *root, uint64_t bytes)
{
	static const char context[] = "weir-statement/1";
	const char *exit_code = option(r, "exit", 0), *verdict = option(r, "verdict", 0);
	unsigned char signature[ED25519_SIGNATURE];
	char hex[2 * ED25519_SIGNATURE + 1];
	cleanup_buf struct buf message = { 0 };
	struct stat st;
	json_t *json;
	char *text;

	if (fstat(r->workspace, &st) < 0)
		die(NULL, "workspace");
	json = json_pack("{s:s, s:s, s:O, s:s, s:s, s:s, s:s, s:{s:s, s:I}, s:{s:I}, s:s, s:s, s:s,"
			 " s:s, s:s, s:{s:i}, s:{s:s, s:I, s:I}}",
			 "schema", "weir.statement/1", "run", RUN_ID, "nonce",
			 json_object_get(r->nonce, "nonce"), "machine", "m", "boot", "b", "mode",
			 mode_of(r), "host_key", r->host_key, "trace", "root", root, "bytes",
			 (json_int_t)bytes, "counters", "records", (json_int_t)r->seq, "coverage",
			 r->coverage, "manifest_before", r->before, "manifest_after", r->after,
			 "policy", r->policy, "verdict", verdict ? verdict : "clean", "exit",
			 "code", exit_code ? atoi(exit_code) : 0, "workspace", "path", r->path,
			 "dev", (json_int_t)st.st_dev, "ino", (json_int_t)st.st_ino);
	if (!json)
		die(NULL, "statement");
	json_object_update_new(json, base_of(r));
	text = json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT);
	buf_add(&message, context, sizeof(context));
	buf_addf(&message, "%s\n", text);
	if (digest_sign(r->seed, message.data, message.len, signature) < 0)
		die(NULL, "signing");
	digest_hex(signature, sizeof(signature), hex);
	put(r, "statement.json", message.data + sizeof(context), message.len - sizeof(context));
	put(r, "statement.sig", hex, strlen(hex));
	free(text);
	json_decref(json);
}

static void read_key(struct run *r)
{
	const char *file = option(r, "key", 0);
	unsigned char public_key[ED25519_PUBLIC];
	struct buf text = { 0 };
	struct weir_err e = { 0 };

	if (fsio_read_file(AT_FDCWD, file ? file : "/etc/weir/host.key", 256, &text, &e) < 0)
		die(&e, "host key");
	text.data[strcspn(text.data, "\n")] = '\0';
	if (digest_unhex(text.data, r->seed, sizeof(r->seed)) < 0 ||
	    digest_public(r->seed, public_key) < 0)
		die(NULL, "host key");
	digest_hex(public_key, sizeof(public_key), r->host_key);
	buf_done(&text);
}

static void locate(struct run *r)
{
	struct buf text = { 0 };
	struct weir_err e = { 0 };

	if (fsio_read_file(AT_FDCWD, "/proc/self/mountinfo", 16 << 20, &text, &e) < 0 ||
	    mounts_parse(text.data, text.len, &r->mounts, &e) < 0 ||
	    mounts_locate(r->mounts, r->path, &r->dev, r->inside, sizeof(r->inside)) < 0)
		die(&e, "mounts");
	buf_done(&text);
}

/* As user/cli/coverage.h has it, the part that the gate reads. */
static void write_coverage(const struct run *r, struct buf *b)
{
	static const char *const families[] = { "file", "name", "attr", "exec", "task" };

	buf_addf(b, "{\"families\":{");
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		buf_addf(b, "%s\"%s\":{\"watched\":%s}", i ? "," : "", families[i],
			 listed(r, "unwatched", families[i]) ? "false" : "true");
	buf_addf(b, "},\"schema\":\"weir.coverage/1\"}\n");
}

static void after(struct run *r, const char *nonce_file, const char *policy_file)
{
	cleanup_buf struct buf coverage = { 0 };
	struct buf policy = { 0 };
	struct weir_err e = { 0 };
	char root[DIGEST_HEX];
	uint64_t bytes;
	struct buf old = { 0 };

	r->nonce = json_load_file(nonce_file, JSON_REJECT_DUPLICATES, NULL);
	if (!r->nonce || fsio_read_file(AT_FDCWD, policy_file, 1 << 20, &policy, &e) < 0 ||
	    fsio_read_file(r->dir, "manifest.before", 1 << 30, &old, &e) < 0)
		die(&e, "inputs");
	hash_text(policy.data, policy.len, r->policy);
	write_coverage(r, &coverage);
	hash_text(coverage.data, coverage.len, r->coverage);
	hash_text(old.data, old.len, r->before);
	put(r, "policy.yaml", policy.data, policy.len);
	put(r, "coverage.json", coverage.data, coverage.len);
	read_key(r);
	locate(r);
	write_manifest(r, "manifest.after", r->after);
	write_trace(r, root, &bytes);
	write_statement(r, root, bytes);
	mounts_free(r->mounts);
	json_decref(r->nonce);
	buf_done(&policy);
	buf_done(&old);
}

int main(int argc, char **argv)
{
	struct run r = { 0 };

	if (argc < 4 || (strcmp(argv[1], "after") == 0 && argc < 6))
		return 2;
	mkdir(argv[2], 0700);
	r.dir = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r.path = realpath(argv[3], NULL);
	r.workspace = r.path ? open(r.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (r.dir < 0 || r.workspace < 0)
		die(NULL, argv[3]);
	if (strcmp(argv[1], "before") == 0) {
		write_manifest(&r, "manifest.before", r.before);
		return 0;
	}
	r.argc = argc - 6;
	r.argv = argv + 6;
	after(&r, argv[4], argv[5]);
	return 0;
}
