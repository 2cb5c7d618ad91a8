/* SPDX-License-Identifier: MIT */
/* Policies as texts: what is read, and the one line for each thing that is wrong. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpf/abi/event.h"
#include "user/base/cleanup.h"
#include "user/policy/path.h"
#include "user/policy/schema.h"

#define HEAD \
	"apiVersion: weir/v1\n" \
	"kind: CapabilitySet\n" \
	"metadata:\n" \
	"  name: p0\n" \
	"  owners: [build@example.org]\n"

static struct policy *load_ok(const char *text)
{
	struct weir_err e = { 0 };
	struct policy *p = NULL;

	if (policy_load("p.yaml", text, strlen(text), &p, &e) < 0)
		fail_msg("refused: %s", e.text);
	return p;
}

static void t_defaults(void **state)
{
	cleanup_policy struct policy *p = load_ok(HEAD);
	unsigned char hash[DIGEST_SIZE];

	(void)state;
	assert_string_equal(p->name.text, "p0");
	assert_int_equal(p->owners.count, 1);
	assert_string_equal(p->owners.items[0].text, "build@example.org");
	assert_int_equal(p->owners.items[0].pos.line, 5);
	assert_int_equal(p->owners.items[0].pos.column, 12);
	assert_int_equal(p->mode.value, WEIR_MODE_ENFORCE);
	assert_int_equal(p->mode.pos.line, 0);
	assert_int_equal(p->coverage.value, POLICY_COVERAGE_FULL);
	assert_int_equal(p->leftover.value, POLICY_LEFTOVER_BLOCK);
	assert_int_equal(p->grace_ns.value, 500000000);
	assert_int_equal(p->time_ns.value, 0);
	assert_int_equal(p->no_new_privs.value, 1);
	assert_int_equal(p->capabilities.value, 0);
	assert_int_equal(p->approvals.pos.line, 0);
	assert_int_equal(p->require_exit.value, 0);
	assert_int_equal(p->files.count, 0);
	digest_bytes(HEAD, strlen(HEAD), hash);
	assert_memory_equal(p->sha256, hash, DIGEST_SIZE);
}

static const char full[] =
	HEAD "mode: observe\n"
	     "coverage: files\n"
	     "lossless: true\n"
	     "leftover: kill\n"
	     "grace: 250ms\n"
	     "limits: {time: 1.5h, memory: 4G, processes: 4096, disk: 512M}\n"
	     "environment: {pass: [LANG, TERM], set: {CI: \"1\", OUT: \"${TMPDIR}/o\", E: \"\"}}\n"
	     "privileges: {no_new_privs: false, capabilities: [CAP_CHOWN, CAP_BPF], "
	     "allow: [setid-exec]}\n"
	     "memory: [members]\nsignals: [outsiders]\nscheduling: [outsiders]\n"
	     "namespaces: [user, join]\nmounts: [bind, umount]\nkernel: [settime, module]\n"
	     "credentials: [~/.ssh, ~/.npmrc]\n"
	     "files:\n"
	     "  - path: ${WORKSPACE}\n"
	     "    allow: [write, exec]\n"
	     "  - {path: /usr/, allow: [exec], optional: true}\n"
	     "  - path: ${WORKSPACE}/vendor/**\n"
	     "    deny: [write, read]\n"
	     "    broad: true\n"
	     "writeback:\n"
	     "  paths: [\"src/**\", Makefile]\n"
	     "  require_exit: any\n"
	     "  approvals: 0\n"
	     "  unlisted: refuse\n"
	     "  strict: true\n";

static void t_all_keys(void **state)
{
	cleanup_policy struct policy *p = load_ok(full);

	(void)state;
	assert_int_equal(p->mode.value, WEIR_MODE_OBSERVE);
	assert_int_equal(p->coverage.value, POLICY_COVERAGE_FILES);
	assert_true(p->lossless.value);
	assert_int_equal(p->leftover.value, POLICY_LEFTOVER_KILL);
	assert_int_equal(p->grace_ns.value, 250000000);
	assert_int_equal(p->time_ns.value, 5400000000000);
	assert_int_equal(p->memory_bytes.value, 4ull << 30);
	assert_int_equal(p->processes.value, 4096);
	assert_int_equal(p->disk_bytes.value, 512ull << 20);
	assert_int_equal(p->env_pass.count, 2);
	assert_int_equal(p->env_set.count, 3);
	assert_string_equal(p->env_set.items[0].name.text, "CI");
	assert_string_equal(p->env_set.items[0].value.text, "1");
	assert_string_equal(p->env_set.items[2].value.text, "");
	assert_false(p->no_new_privs.value);
	assert_int_equal(p->capabilities.value, 1ull << 0 | 1ull << 39);
	assert_int_equal(policy_powers(p),
			 WEIR_POWER(SETID_EXEC) | WEIR_POWER(MEMORY_MEMBERS) |
				 WEIR_POWER(SIGNAL_OUTSIDERS) | WEIR_POWER(SCHEDULE_OUTSIDERS) |
				 WEIR_POWER(NS_USER) | WEIR_POWER(NS_JOIN) |
				 WEIR_POWER(MOUNT_BIND) | WEIR_POWER(MOUNT_UMOUNT) |
				 WEIR_POWER(SETTIME) | WEIR_POWER(MODULE));
	assert_int_equal(p->powers.mounts.pos.line, 18);
	assert_int_equal(p->credentials.count, 2);
	assert_int_equal(p->files.count, 3);
	assert_int_equal(p->files.items[0].allow.value, WEIR_RIGHTS_MUTATE | WEIR_RIGHT_EXEC);
	assert_int_equal(p->files.items[0].pos.line, 22);
	assert_true(p->files.items[1].optional.value);
	assert_int_equal(p->files.items[2].deny.value, WEIR_RIGHTS_MUTATE | WEIR_RIGHT_READ);
	assert_true(p->files.items[2].broad.value);
	assert_int_equal(p->writeback_paths.count, 2);
	assert_int_equal(p->require_exit.value, POLICY_EXIT_ANY);
	assert_int_not_equal(p->approvals.pos.line, 0);
	assert_int_equal(p->unlisted.value, POLICY_UNLISTED_REFUSE);
	assert_true(p->strict.value);
}

static void t_tiers(void **state)
{
	cleanup_policy struct policy *p =
		load_ok(HEAD "writeback:\n"
			     "  approvals:\n"
			     "    - paths: [\"**\"]\n"
			     "    - {paths: [\".github/**\", a], role: security, count: 2}\n"
			     "  approval_window: 2h\n"
			     "  exception_span: 3d\n"
			     "  revert: security\n");

	(void)state;
	assert_int_equal(p->approvals.pos.line, 8);
	assert_int_equal(p->tiers.count, 2);
	assert_int_equal(p->tiers.items[0].role.value, POLICY_ROLE_APPROVER);
	assert_int_equal(p->tiers.items[0].count.value, 1);
	assert_int_equal(p->tiers.items[1].role.value, POLICY_ROLE_SECURITY);
	assert_int_equal(p->tiers.items[1].count.value, 2);
	assert_int_equal(p->tiers.items[1].paths.count, 2);
	assert_int_equal(p->approval_window_ns.value, 7200000000000);
	assert_int_equal(p->exception_span_ns.value, 3 * 86400000000000);
	assert_int_equal(p->revert.value, POLICY_ROLE_SECURITY);
}

/* Part of an allowed write may be taken away again. */
static void t_write_without(void **state)
{
	cleanup_policy struct policy *p = load_ok(HEAD "files:\n"
						       "  - path: /a\n"
						       "    allow: [write]\n"
						       "    deny: [delete, link]\n");

	(void)state;
	assert_int_equal(p->files.items[0].deny.value, WEIR_RIGHT_DELETE | WEIR_RIGHT_LINK);
}

/* What is granted can be written, and explained, key by key. */
static void t_powers_as_text(void **state)
{
	cleanup_policy struct policy *p = load_ok(HEAD "mounts: [bind]\n"
						       "privileges: {allow: [setgid, setuid]}\n");
	cleanup_buf struct buf b = { 0 }, why = { 0 };

	(void)state;
	assert_int_equal(policy_add_powers(&b, policy_powers(p) | WEIR_POWER_NEVER), 0);
	assert_string_equal(buf_str(&b), "privileges: {allow: [setuid, setgid]}\n"
					 "mounts: [bind]\n");
	assert_int_equal(policy_explain_key(&why, p, "mount"), -ENOENT);
	assert_int_equal(policy_explain_key(&why, p, "signals"), 0);
	assert_string_equal(buf_str(&why),
			    "signals: outsiders: denied; no line allows it: the default\n");
	assert_int_equal(policy_explain_key(&why, p, "mounts"), 0);
	assert_non_null(strstr(buf_str(&why),
			       "mounts: bind: allowed; by the list at p.yaml:6\n"
			       "mounts: move: denied; no line allows it: the default\n"));
}

/* Each word of each key, alone. */
static void t_every_power(void **state)
{
	static const struct {
		const char *line;
		unsigned int bit;
	} rows[] = {
#define ROW_M(id, bit, word, kind) { HEAD "mounts: [" word "]\n", bit },
#define ROW_N(id, bit, word, kind) { HEAD "namespaces: [" word "]\n", bit },
#define ROW_K(id, bit, word, kind) { HEAD "kernel: [" word "]\n", bit },
#define ROW_P(id, bit, word, kind) \
	{ HEAD "privileges: {no_new_privs: false, allow: [" word "]}\n", bit },
		WEIR_POWERS_MOUNTS(ROW_M) WEIR_POWERS_NAMESPACES(ROW_N) WEIR_POWERS_KERNEL(ROW_K)
			WEIR_POWERS_PRIVILEGES(ROW_P)
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_policy struct policy *p = load_ok(rows[i].line);

		assert_int_equal(policy_powers(p), 1ull << rows[i].bit);
	}
}

/* What the kernel refuses is a finding or not, by what it was about. */
static void t_attempts(void **state)
{
	static const uint64_t always = 1ull << WEIR_KIND_TAMPER | 1ull << WEIR_KIND_BPF;
	static const struct {
		const char *text;
		uint64_t on, off;
	} rows[] = {
		{ HEAD,
		  1ull << WEIR_KIND_CREDENTIAL_READ | 1ull << WEIR_KIND_MEMORY_ACCESS |
			  1ull << WEIR_KIND_KERNEL_TUNABLE | 1ull << WEIR_KIND_MODULE |
			  1ull << WEIR_KIND_NAMESPACE | 1ull << WEIR_KIND_MOUNT,
		  1ull << WEIR_KIND_NONE | 1ull << WEIR_KIND_FILE_OUTSIDE |
			  1ull << WEIR_KIND_ATTEMPT },
		{ HEAD "attempts: {credentials: notice}\n", 1ull << WEIR_KIND_MEMORY_ACCESS,
		  1ull << WEIR_KIND_CREDENTIAL_READ },
		{ HEAD "attempts: {memory: notice, kernel: finding}\n",
		  1ull << WEIR_KIND_KERNEL_TUNABLE, 1ull << WEIR_KIND_MEMORY_ACCESS },
		{ HEAD "attempts: {kernel: notice, files: finding}\n",
		  1ull << WEIR_KIND_FILE_OUTSIDE | 1ull << WEIR_KIND_FILE_CONTROL,
		  1ull << WEIR_KIND_MODULE | 1ull << WEIR_KIND_MOUNT | 1ull << WEIR_KIND_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_policy struct policy *p = load_ok(rows[i].text);
		uint64_t kinds = policy_attempts(p);

		assert_int_equal(kinds & (rows[i].on | always), rows[i].on | always);
		assert_int_equal(kinds & rows[i].off, 0);
	}
}

struct bad {
	const char *text;
	const char *where; /* LINE:COLUMN */
	const char *what;  /* part of the message */
};

#define RULE(body) HEAD "files:\n  - path: /a\n    " body "\n"

static const struct bad bads[] = {
	{ "", "1:1", "the policy is empty; it needs" },
	{ "# only a remark\n", "1:1", "the policy is empty" },
	{ "---\n", "2:1", "the policy is empty" },
	{ "[]\n", "1:1", "the policy: a list is not a map; write" },
	{ "word\n", "1:1", "the policy: a single value is not a map" },
	{ "kind: CapabilitySet\n", "1:1", "the policy lacks 'apiVersion'; add it" },
	{ "apiVersion: weir/v2\n", "1:13",
	  "apiVersion: 'weir/v2' is unknown; write one of weir/v1" },
	{ "apiVersion: weir/v1\nkind: Policy\n", "2:7", "'Policy' is unknown; write one of Cap" },
	{ "apiVersion: weir/v1\nkind: CapabilitySet\nmetadata: {name: a}\n", "3:11",
	  "metadata lacks 'owners'" },
	{ "apiVersion: weir/v1\nkind: CapabilitySet\nmetadata: {name: a, owners: []}\n", "3:29",
	  "owners: the list is empty; name who answers" },
	{ "apiVersion: weir/v1\nkind: CapabilitySet\nmetadata: {name: A b, owners: [a]}\n", "3:18",
	  "name: 'A b' is not a name: a-z" },
	{ "apiVersion: weir/v1\nkind: CapabilitySet\nmetadata: {name: 1, owners: [a]}\n", "3:18",
	  "name: '1' is a number to YAML; if the text is meant, put it into double quotes" },
	{ "apiVersion: weir/v1\nkind: CapabilitySet\nmetadata: {name: a, owners: b}\n", "3:29",
	  "owners: a single value is not a list of people" },
	{ HEAD "mods: 1\n", "6:1",
	  "unknown key 'mods' in the policy; there are apiVersion, kind," },
	{ HEAD "mode: enforce\nmode: observe\n", "7:1",
	  "key 'mode' stands in line 6 already; remove one" },
	{ HEAD "mode: audit\n", "6:7", "mode: 'audit' is unknown; write one of enforce, observe" },
	{ HEAD "mode: [enforce]\n", "6:7", "mode: a list is not a single word" },
	{ HEAD "mode: {a: b}\n", "6:7", "mode: a map is not a single word" },
	{ HEAD "mode:\n", "6:6", "mode: '' is unknown" },
	{ HEAD "coverage: net\n", "6:11", "write one of full, files, syscall" },
	{ HEAD "lossless: yes\n", "6:11", "'yes' is unknown; write true or false" },
	{ HEAD "lossless: \"true\"\n", "6:11", "true or false, without quotes" },
	{ HEAD "attempts: notice\n", "6:11", "attempts: a single value is not a map" },
	{ HEAD "attempts: {files: maybe}\n", "6:19",
	  "'maybe' is unknown; write one of finding, notice" },
	{ HEAD "attempts: {monitor: notice}\n", "6:12", "unknown key 'monitor' in attempts" },
	{ HEAD "grace: 1\n", "6:8", "grace: '1' is not a duration: a number and ms, s, m, h or d" },
	{ HEAD "grace: -1s\n", "6:8", "is not a duration" },
	{ HEAD "grace: 1.s\n", "6:8", "is not a duration" },
	{ HEAD "grace: 1.5\n", "6:8", "is not a duration" },
	{ HEAD "grace: 1w\n", "6:8", "is not a duration" },
	{ HEAD "grace: 99999999999999999999s\n", "6:8", "is not a duration" },
	{ HEAD "grace: 9999999999999d\n", "6:8", "is not a duration" },
	{ HEAD "limits: {memory: 4X}\n", "6:18", "memory: '4X' is not a size" },
	{ HEAD "limits: {memory: 0.5K}\n", "6:18", "is not a size" },
	{ HEAD "limits: {memory: 9999999999T}\n", "6:18", "is not a size" },
	{ HEAD "limits: {processes: \"5\"}\n", "6:21", "'5' is not a number from 0, without" },
	{ HEAD "limits: {processes: 010}\n", "6:21", "is not a number" },
	{ HEAD "limits: {cpu: 1}\n", "6:10", "unknown key 'cpu' in limits; there are time" },
	{ HEAD "limits: [a]\n", "6:9", "limits: a list is not a map" },
	{ HEAD "environment: {pass: [1A]}\n", "6:22", "'1A' is not the name of a variable" },
	{ HEAD "environment: {pass: [A=B]}\n", "6:22", "'A=B' is not the name of a variable" },
	{ HEAD "environment: {set: [A]}\n", "6:20", "set: a list is not a map" },
	{ HEAD "environment: {set: {CI: 1}}\n", "6:25", "set: '1' is a number to YAML" },
	{ HEAD "environment: {set: {CI: true}}\n", "6:25", "is a truth value to YAML" },
	{ HEAD "environment: {set: {CI: }}\n", "6:25", "set: '' is nothing to YAML" },
	{ HEAD "environment: {set: {CI: a, CI: b}}\n", "6:28",
	  "environment: variable 'CI' stands in line 6 already" },
	{ HEAD "environment: {pass: [CI], set: {CI: a}}\n", "6:33",
	  "variable 'CI' stands in line 6" },
	{ HEAD "environment: {set: {CI: \"${PWD}\"}}\n", "6:25",
	  "unknown variable ${PWD}; there are ${WORKSPACE}, ${HOME} and ${TMPDIR}" },
	{ HEAD "privileges: {capabilities: [CAP_ALL]}\n", "6:29",
	  "capabilities: 'CAP_ALL' is unknown; write a capability as in capabilities(7)" },
	{ HEAD "privileges: {capabilities: CAP_BPF}\n", "6:28", "is not a list; write it in [ ]" },
	{ HEAD "privileges: {allow: [setid-exec]}\n", "6:21",
	  "setid-exec is of no use with no_new_privs; add `no_new_privs: false`" },
	{ HEAD "privileges: {allow: [root]}\n", "6:22",
	  "allow: 'root' is unknown; write one of setuid, setgid, setgroups, capset" },
	{ HEAD "memory: members\n", "6:9",
	  "memory: a single value is not a list; write it in [ ]" },
	{ HEAD "memory: [all]\n", "6:10", "'all' is unknown; write one of members, outsiders" },
	{ HEAD "signals: [outsiders, outsiders]\n", "6:22", "'outsiders' is in the list already" },
	{ HEAD "namespaces: [mnt]\n", "6:14", "write one of user, mount, pid, net, uts, ipc" },
	{ HEAD "mounts: {bind: true}\n", "6:9", "mounts: a map is not a list" },
	{ HEAD "kernel: [bpf]\n", "6:10", "'bpf' is unknown; write one of module, module-request" },
	{ HEAD "credentials: [.ssh]\n", "6:15", "'.ssh' is no absolute path; begin with /, ~/" },
	{ HEAD "credentials: [~root/.ssh]\n", "6:15", "other people's homes can't be named by ~" },
	{ HEAD "credentials: [~]\n", "6:15", "credentials: '~' is nothing to YAML" },
	{ HEAD "credentials: [\"~/*\"]\n", "6:15", "no wildcards in a path but a final /**" },
	{ HEAD "credentials: [${HOME}/.ssh]\n", "6:16",
	  "inside [ ] and { } put a value with ${...} into double quotes" },
	{ HEAD "files: {path: /a}\n", "6:8", "files: a map is not a list of rules" },
	{ HEAD "files: [/a]\n", "6:9", "a rule: a single value is not a map" },
	{ HEAD "files:\n  - allow: [write]\n", "7:5", "a rule lacks 'path'" },
	{ HEAD "files:\n  - path: /a\n", "7:5", "the rule for '/a' neither allows nor denies" },
	{ RULE("allow: []"), "7:5", "neither allows nor denies" },
	{ RULE("allow: write"), "8:12", "allow: a single value is not a list; write it in [ ]" },
	{ RULE("allow: [rw]"), "8:13",
	  "allow: 'rw' is unknown; write one of read, write, create, delete, link, attr, exec, "
	  "device, control" },
	{ RULE("allow: [exec, exec]"), "8:19", "allow: 'exec' is in the list already" },
	{ RULE("allow: [write, create]"), "8:20", "'create' is in the list already" },
	{ RULE("allow: [exec]\n    deny: [exec]"), "9:11",
	  "both allows (line 8) and denies (line 9) 'exec'; keep one" },
	{ RULE("allow: [write]\n    deny: [write]"), "9:11", "denies (line 9) 'write'" },
	{ RULE("allow: [delete]\n    deny: [write]"), "9:11", "denies (line 9) 'delete'" },
	{ RULE("mode: 7"), "8:5", "unknown key 'mode' in a rule; there are path, allow, deny" },
	{ RULE("allow: [exec]\n    path: /b"), "9:5", "key 'path' stands in line 7 already" },
	{ HEAD "files:\n  - path: a/b\n    allow: [exec]\n", "7:11", "'a/b' is no absolute path" },
	{ HEAD "files:\n  - path: $HOME/x\n    allow: [exec]\n", "7:11", "is no absolute path" },
	{ HEAD "files:\n  - path: ${USER}/x\n    allow: [exec]\n", "7:11",
	  "unknown variable ${USER}" },
	{ HEAD "files:\n  - path: ${HOME\n    allow: [exec]\n", "7:11",
	  "a ${ without }; close it" },
	{ HEAD "files:\n  - path: /a/*.c\n    allow: [exec]\n", "7:11", "no wildcards in a path" },
	{ HEAD "files:\n  - path: /a/**/b\n    allow: [exec]\n", "7:11", "no wildcards in a path" },
	{ HEAD "files:\n  - path: \"\"\n    allow: [exec]\n", "7:11", "path: empty; write a path" },
	{ HEAD "files:\n  - path: \"/a\\0b\"\n    allow: [exec]\n", "7:11",
	  "holds a NUL character" },
	{ HEAD "writeback: {require_exit: 256}\n", "6:27", "an exit status from 0 to 255, or any" },
	{ HEAD "writeback: {approvals: -1}\n", "6:24", "is not a number from 0" },
	{ HEAD "writeback: {approvals: 101}\n", "6:24", "approvals: more than 100" },
	{ HEAD "writeback: {approvals: []}\n", "6:24", "the list is empty; if nobody" },
	{ HEAD "writeback: {approvals: [1]}\n", "6:25", "an approval" },
	{ HEAD "writeback: {approvals: [{role: approver}]}\n", "6:25", "lacks 'paths'" },
	{ HEAD "writeback: {approvals: [{paths: []}]}\n", "6:25", "the list is empty" },
	{ HEAD "writeback: {approvals: [{paths: [\"a[\"]}]}\n", "6:34", "has a [ without ]" },
	{ HEAD "writeback: {approvals: [{paths: [a], role: boss}]}\n", "6:44", "one of producer" },
	{ HEAD "writeback: {approvals: [{paths: [a], role: producer}]}\n", "6:44",
	  "can't approve it" },
	{ HEAD "writeback: {approvals: [{paths: [a], count: 0}]}\n", "6:45", "from 1 to 100" },
	{ HEAD "writeback: {approval_window: 7}\n", "6:30", "a duration" },
	{ HEAD "writeback: {unlisted: drop}\n", "6:23", "write one of list, refuse" },
	{ HEAD "writeback: {paths: [\"/a\"]}\n", "6:21", "paths: '/a' begins with /; write it" },
	{ HEAD "writeback: {paths: [\"a[b\"]}\n", "6:21", "has a [ without ]" },
	{ HEAD "writeback: {paths: [\"**.c\"]}\n", "6:21", "has ** beside other characters" },
	{ HEAD "writeback: {paths: [a, a]}\n", "6:24", "paths: 'a' stands in line 6 already" },
	{ HEAD "mode: &x enforce\n", "6:7", "anchors (&x) are not allowed" },
	{ HEAD "mode: *x\n", "6:7", "aliases (*x) are not allowed" },
	{ HEAD "files: &a [*a, *a]\n", "6:8", "anchors (&a) are not allowed" },
	{ HEAD "<<: {mode: observe}\n", "6:1", "unknown key '<<'" },
	{ HEAD "mode: !!str enforce\n", "6:7", "tags (tag:yaml.org,2002:str) are not allowed" },
	{ HEAD "? [a]\n: b\n", "6:3", "the policy: a list is not a key" },
	{ HEAD "---\n" HEAD, "6:1", "a second document begins; keep one policy in a file" },
	{ HEAD "...\n---\n" HEAD, "7:1", "a second document begins" },
	{ HEAD "\tmode: observe\n", "6:1",
	  "a tab where only blanks may stand); indent with blanks" },
	{ HEAD " mode: observe\n", "6:2", "this is no valid YAML (" },
	{ HEAD "mode: 'enforce\n", "7:1", "this is no valid YAML (found unexpected end of stream" },
	{ HEAD "mode: enf\x01orce\n", "6:10", "control character 0x01; remove it" },
	{ HEAD "mode: enf\rorce\n", "6:10", "control character 0x0d" },
	{ HEAD "mode: enf\xfforce\n", "6:10", "byte 0xff is no UTF-8; save the policy as UTF-8" },
	{ HEAD "mode: \xc3\xa9\xe2\x80\xae\n", "6:8",
	  "hidden character (\\xe2\\x80\\xae); remove it" },
	{ "\xef\xbb\xbf" HEAD, "1:1", "hidden character" },
	{ "\xff\xfe"
	  "a\n",
	  "1:1", "is no UTF-8" },
};

static void expect_bad(const char *text, size_t len, const char *where, const char *what)
{
	struct weir_err e = { 0 };
	struct policy *p = NULL;
	char start[64];
	int err = policy_load("p.yaml", text, len, &p, &e);

	policy_free(p);
	snprintf(start, sizeof(start), "p.yaml:%s: ", where);
	if (err >= 0 || strncmp(e.text, start, strlen(start)) != 0 || !strstr(e.text, what))
		fail_msg("\n%.*s\nwanted: %s... %s\ngot:    %d %s", (int)len, text, start, what,
			 err, e.text);
	assert_null(strchr(e.text, '\n'));
	assert_int_equal(e.exit_code, 2);
	assert_string_equal(e.code, "policy");
}

static void t_bad_input(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bads); i++)
		expect_bad(bads[i].text, strlen(bads[i].text), bads[i].where, bads[i].what);
	expect_bad("kind: a\0b\n", 10, "1:8", "control character 0x00; remove it");
}

static void t_big(void **state)
{
	size_t len = POLICY_TEXT_MAX + 1, head = strlen(HEAD);
	cleanup_free char *text = malloc(len);
	struct weir_err e = { 0 };
	struct policy *p = NULL;

	(void)state;
	memset(text, '\n', len);
	memcpy(text, HEAD, head);
	assert_int_equal(policy_load("p.yaml", text, len, &p, &e), -EFBIG);
	assert_string_equal(e.text, "p.yaml:1:1: the policy is larger than 1048576 bytes; grant "
				    "directories instead of single files");
	assert_int_equal(policy_load("p.yaml", text, len - 1, &p, &e), 0);
	policy_free(p);
	/* a megabyte of nesting must not cost more than a message */
	memset(text, '[', len);
	expect_bad(text, 100000, "1:1", "the policy: a list is not a map");
	memcpy(text, HEAD "mode: ", head + 6);
	expect_bad(text, len - 1, "6:7", "mode: a list is not a single word");
}

static void t_hostile_names_are_escaped(void **state)
{
	struct weir_err e = { 0 };
	struct policy *p = NULL;
	static const char text[] = HEAD "\"a\\e[31m\\nb\": 1\n";

	(void)state;
	assert_int_equal(policy_load("p\n\033.yaml", text, strlen(text), &p, &e), -EINVAL);
	assert_non_null(strstr(e.text, "p\\x0a\\x1b.yaml:6:1: unknown key 'a\\x1b[31m\\x0ab'"));
}

static void t_file(void **state)
{
	char dir[] = "/tmp/t_policy.XXXXXX";
	cleanup_buf struct buf bytes = { 0 };
	struct weir_err e = { 0 };
	struct policy *p = NULL;
	char path[64];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/p.yaml", dir);
	assert_int_equal(policy_load_file(path, &p, NULL, &e), -ENOENT);
	assert_non_null(strstr(e.text, "p.yaml: No such file"));
	assert_int_equal(e.exit_code, 2);
	assert_int_equal(policy_load_file(dir, &p, NULL, &e), -EINVAL);
	assert_non_null(strstr(e.text, "not a regular file"));
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(policy_load_file(path, &p, NULL, &e), -EINVAL);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, HEAD, strlen(HEAD)), strlen(HEAD));
	close(fd);
	assert_int_equal(policy_load_file(path, &p, &bytes, &e), 0);
	assert_int_equal(bytes.len, strlen(HEAD));
	policy_free(p);
	assert_int_equal(truncate(path, (off_t)POLICY_TEXT_MAX + 1), 0);
	assert_int_equal(policy_load_file(path, &p, NULL, &e), -EFBIG);
	unlink(path);
	rmdir(dir);
}

static const struct policy_env env = { "/ws/", "/home//u", "/tmp" };

static void expand(const char *text, const char *want, bool must_dir)
{
	struct policy p = { .file = (char *)"p.yaml" };
	struct policy_text t = { (char *)text, { 3, 4 } };
	struct policy_path path = { 0 };
	struct weir_err e = { 0 };
	int err = policy_expand_path(&p, &t, &env, &path, &e);

	if (err == 0 && *want == '/') {
		assert_string_equal(path.path, want);
		assert_int_equal(path.must_dir, must_dir);
		free(path.path);
		return;
	}
	assert_int_equal(err, -EINVAL);
	assert_int_equal(strncmp(e.text, "p.yaml:3:4: ", 12), 0);
	if (!strstr(e.text, want))
		fail_msg("%s: got %s", text, e.text);
}

static void t_paths(void **state)
{
	char name[300], deep[2000] = "", wide[6000] = "";

	(void)state;
	expand("/", "/", true);
	expand("/a", "/a", false);
	expand("/a/", "/a", true);
	expand("/a/**", "/a", true);
	expand("/**", "/", true);
	expand("//a///b/./c", "/a/b/c", false);
	expand("~", "/home/u", false);
	expand("~/.ssh", "/home/u/.ssh", false);
	expand("/a/~", "/a/~", false);
	expand("${WORKSPACE}", "/ws", false);
	expand("${WORKSPACE}/", "/ws", true);
	expand("${WORKSPACE}-evil", "/ws/-evil", false);
	expand("${TMPDIR}/a b", "/tmp/a b", false);
	expand("/a${TMPDIR}", "/a/tmp", false);
	expand("/a$b", "/a$b", false);
	expand("/a/../b", "goes up by ..; write where it leads", false);
	expand("/..", "goes up by ..", false);
	expand("/a/...", "/a/...", false);
	memset(name, 'n', 257);
	name[0] = '/';
	name[257] = '\0';
	expand(name, "more than 255 bytes", false);
	name[256] = '\0';
	expand(name, name, false);
	for (int i = 0; i < 129; i++)
		strcat(deep, "/d");
	expand(deep, "more than 128 levels", false);
	expand(deep + 2, deep + 2, false);
	for (int i = 0; i < 17; i++)
		strcat(wide, name);
	expand(wide, "longer than 4096 bytes", false);
	wide[4096] = '\0';
	expand(wide, wide, false);
}

static void t_no_value(void **state)
{
	struct policy p = { .file = (char *)"p.yaml" };
	struct policy_text t = { (char *)"a${TMPDIR}b${HOME}", { 1, 2 } };
	struct policy_env none = { .home = "~" }, some = { .home = "/h", .tmpdir = "/t" };
	struct weir_err e = { 0 };
	char *value = NULL;

	(void)state;
	assert_int_equal(policy_expand_value(&p, &t, &none, &value, &e), -EINVAL);
	assert_non_null(strstr(e.text, "p.yaml:1:2: ${TMPDIR} has no value in this run"));
	none.tmpdir = "/t";
	assert_int_equal(policy_expand_value(&p, &t, &none, &value, &e), -EINVAL);
	assert_non_null(strstr(e.text, "${HOME} is '~', which is no absolute path"));
	assert_int_equal(policy_expand_value(&p, &t, &some, &value, &e), 0);
	assert_string_equal(value, "a/tb/h");
	free(value);
}

static void t_order(void **state)
{
	(void)state;
	assert_true(policy_path_compare("/a/b", "/a-b") < 0);
	assert_true(policy_path_compare("/a", "/a/b") < 0);
	assert_true(policy_path_compare("/a\x01", "/a/b") > 0);
	assert_true(policy_path_compare("/a\xff", "/ab") > 0);
	assert_int_equal(policy_path_compare("/a", "/a"), 0);
	assert_true(policy_path_is_below("/lab/ws/x", "/lab/ws"));
	assert_true(policy_path_is_below("/lab/ws", "/lab/ws"));
	assert_false(policy_path_is_below("/lab/ws-evil", "/lab/ws"));
	assert_true(policy_path_is_below("/a", "/"));
}

static void t_rights_names(void **state)
{
	static const struct {
		uint32_t rights;
		const char *text;
	} rows[] = {
		{ 0, "none" },
		{ WEIR_RIGHT_READ, "read" },
		{ WEIR_RIGHT_READ | WEIR_RIGHTS_MUTATE | WEIR_RIGHT_EXEC, "read, write, exec" },
		{ WEIR_RIGHT_CREATE | WEIR_RIGHT_DELETE, "create, delete" },
		{ WEIR_RIGHTS_MUTATE & ~WEIR_RIGHT_DELETE, "write (without delete)" },
		{ (WEIR_RIGHTS_MUTATE & ~(WEIR_RIGHT_DELETE | WEIR_RIGHT_LINK)) | WEIR_RIGHT_DEVICE,
		  "write (without delete, link), device" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_buf struct buf b = { 0 };

		assert_int_equal(policy_add_rights(&b, rows[i].rights), 0);
		assert_string_equal(buf_str(&b), rows[i].text);
	}
	assert_string_equal(policy_capability_name(2), "CAP_DAC_READ_SEARCH");
	assert_null(policy_capability_name(63));
	assert_null(policy_capability_name(200));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_defaults),
		cmocka_unit_test(t_all_keys),
		cmocka_unit_test(t_tiers),
		cmocka_unit_test(t_write_without),
		cmocka_unit_test(t_powers_as_text),
		cmocka_unit_test(t_every_power),
		cmocka_unit_test(t_attempts),
		cmocka_unit_test(t_bad_input),
		cmocka_unit_test(t_big),
		cmocka_unit_test(t_hostile_names_are_escaped),
		cmocka_unit_test(t_file),
		cmocka_unit_test(t_paths),
		cmocka_unit_test(t_no_value),
		cmocka_unit_test(t_order),
		cmocka_unit_test(t_rights_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
