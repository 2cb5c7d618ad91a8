/* SPDX-License-Identifier: MIT */
/*
 * Capability sets: the policy of a run, read from YAML.
 *
 *   apiVersion: weir/v1                required
 *   kind: CapabilitySet                required
 *   metadata:                          required
 *     name: p0                         required; a-z 0-9 . - (63)
 *     owners: [build@example.org]      required, one at least
 *   mode: enforce                      or observe
 *   coverage: full                     or files: accept a build that watches files only;
 *                                      or syscall: accept as well that calls were only looked
 *                                      at when they ended, on a host that can do no more
 *   lossless: false                    deny what can't be logged
 *   leftover: block                    or kill
 *   grace: 0.5s                        for members that outlive the first process
 *   limits: {time: 10m, memory: 4G, processes: 4096, disk: 20G}    none: no limit
 *   environment: {pass: [LANG], set: {CI: "1"}}
 *   privileges: {no_new_privs: true, capabilities: [CAP_CHOWN], allow: [setuid]}
 *   memory: [members]                  powers, as in bpf/abi/power.h: what is no file
 *   namespaces: [user, mount]
 *   credentials: [~/.ssh]              stores: reading them is a finding
 *   attempts:                          what the kernel refused before any rule was asked is a
 *     {credentials: finding, memory: finding, kernel: finding, files: notice}
 *                                      finding or a notice; attempts on weir are findings
 *   files:
 *     - path: ${WORKSPACE}             the directory and all below it
 *       allow: [write, exec]           rights as in bpf/abi/policy.h
 *       deny: [delete]
 *       optional: true                 skip the rule when the path does not exist
 *       broad: true                    yes, writing to all of /etc is meant
 *   network:                           nothing of this is allowed unless it is written
 *     egress:                          addresses that members may connect or send to
 *       - {cidr: 192.0.2.0/24, ports: [443, 8000-8100], protocol: tcp}
 *     listen: [{cidr: 0.0.0.0/0, ports: [8080]}]   ... may take and wait at
 *     loopback: true                   members wait at loopback addresses, and reach each other
 *     raw: true                        sockets that are neither TCP, UDP, unix nor netlink
 *     netlink: true                    messages that change the kernel's tables
 *   ipc:
 *     unix: [/run/x.sock, "@abstract"] sockets of others that members may talk to
 *     sysv: true                       make System V queues, semaphores, shared memory
 *     posix: true                      make POSIX queues, semaphores, shared memory
 *     terminal: true                   put input into a terminal
 *     receive: true                    receive sockets that others made
 *   ignore: [nscd, syslog]             services that are refused without a finding; all by default
 *   writeback:
 *     paths: ["src/ **"]               globs (user/base/glob.h; written without the blank)
 *     require_exit: 0                  exit status of the command, or any
 *     approvals: 0                     of approvers, for whatever changed; or by path, where all
 *                                      that match hold together and each path needs one:
 *       - {paths: ["**"], role: approver, count: 1}
 *       - {paths: [".github/ **"], role: security, count: 2}
 *     approval_window: 7d              longest life of an approval
 *     exception_span: 30d              longest life of an exception
 *     revert: platform-owner           role that may undo the tip of a branch
 *     unlisted: list                   or refuse
 *     strict: false
 *
 * Only what is shown exists: unknown keys, other types, anchors, aliases, tags, a
 * second document, control and hidden characters are errors. Each error is one line,
 * FILE:LINE:COLUMN: what is wrong; how to mend it. Lines and columns count from 1.
 * The digest of a policy is the SHA-256 of the bytes of its file.
 */
#ifndef WEIR_POLICY_POLICY_H
#define WEIR_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/policy.h"
#include "bpf/abi/reach.h"
#include "user/base/buf.h"
#include "user/base/digest.h"
#include "user/base/err.h"

/* Bytes of a policy file. The largest real ones are a few KiB. */
#define POLICY_TEXT_MAX ((size_t)1 << 20)

/* Bytes of a path in a policy, without NUL. PATH_MAX. */
#define POLICY_PATH_MAX 4096

struct policy_pos {
	uint32_t line; /* from 1; 0: not written in the file */
	uint32_t column;
};

struct policy_text {
	char *text; /* NULL when not written */
	struct policy_pos pos;
};

struct policy_texts {
	struct policy_text *items;
	size_t count;
	struct policy_pos pos;
};

/* A number, choice, truth value, duration, size or set; the default when pos.line is 0. */
struct policy_value {
	uint64_t value;
	struct policy_pos pos;
};

enum policy_coverage {
	POLICY_COVERAGE_FULL = 0,
	POLICY_COVERAGE_FILES = 1,
	POLICY_COVERAGE_SYSCALL = 2,
};

enum policy_leftover {
	POLICY_LEFTOVER_BLOCK = 0,
	POLICY_LEFTOVER_KILL = 1,
};

enum policy_unlisted {
	POLICY_UNLISTED_LIST = 0,
	POLICY_UNLISTED_REFUSE = 1,
};

/* Who may sign what. X(ID, name) */
#define POLICY_ROLES(X) \
	X(PRODUCER, "producer") \
	X(APPROVER, "approver") \
	X(SECURITY, "security") \
	X(POLICY_OWNER, "policy-owner") \
	X(PLATFORM_OWNER, "platform-owner")

enum policy_role {
#define WEIR_X(id, name) POLICY_ROLE_##id,
	POLICY_ROLES(WEIR_X)
#undef WEIR_X
};

/* Services of the host that ordinary programs look for, and do without. X(ID, bit, name) */
#define POLICY_IGNORES(X) \
	X(NSCD, 0, "nscd") \
	X(NSS, 1, "nss-systemd") \
	X(RESOLVED, 2, "resolved") \
	X(SYSLOG, 3, "syslog")

enum policy_ignore {
#define WEIR_X(id, bit, name) POLICY_IGNORE_##id = 1u << (bit),
	POLICY_IGNORES(WEIR_X)
#undef WEIR_X
};

#define POLICY_APPROVALS_MAX 100 /* signatures that one rule may ask for */

/* require_exit: any */
#define POLICY_EXIT_ANY 256

struct policy_rule {
	struct policy_text path;   /* as written */
	struct policy_value allow; /* WEIR_RIGHT_*; "write" is WEIR_RIGHTS_MUTATE already */
	struct policy_value deny;
	struct policy_value optional;
	struct policy_value broad;
	struct policy_pos pos;
};

struct policy_rules {
	struct policy_rule *items;
	size_t count;
	struct policy_pos pos;
};

struct policy_port {
	uint16_t from, to;
	struct policy_pos pos;
};

/* None: all ports. */
struct policy_ports {
	struct policy_port *items;
	size_t count;
	struct policy_pos pos;
};

/* Addresses of a network rule. */
struct policy_net {
	struct policy_text cidr;
	struct policy_ports ports;
	struct policy_value protocol; /* WEIR_NET_TCP | WEIR_NET_UDP */
	struct policy_pos pos;
};

struct policy_nets {
	struct policy_net *items;
	size_t count;
	struct policy_pos pos;
};

/* So many people of a role for changes of these paths. */
struct policy_tier {
	struct policy_texts paths; /* globs, checked */
	struct policy_value role;  /* enum policy_role */
	struct policy_value count;
	struct policy_pos pos;
};

struct policy_tiers {
	struct policy_tier *items;
	size_t count;
};

struct policy_pair {
	struct policy_text name;
	struct policy_text value; /* as written; policy_expand_value gives the value */
};

struct policy_pairs {
	struct policy_pair *items;
	size_t count;
	struct policy_pos pos;
};

struct policy_powers {
#define WEIR_X(key, list) struct policy_value key;
	WEIR_POWER_KEYS(WEIR_X)
#undef WEIR_X
};

struct policy {
	char *file; /* name for messages */
	unsigned char sha256[DIGEST_SIZE];

	struct policy_value api_version; /* 1 */
	struct policy_value kind;	 /* 1: CapabilitySet */
	struct policy_text name;
	struct policy_texts owners;
	struct policy_value mode;     /* WEIR_MODE_ENFORCE or WEIR_MODE_OBSERVE */
	struct policy_value coverage; /* enum policy_coverage */
	struct policy_value lossless;
	struct policy_value leftover; /* enum policy_leftover */
	struct policy_value grace_ns;

	/* 0: no limit */
	struct policy_value time_ns;
	struct policy_value memory_bytes;
	struct policy_value processes;
	struct policy_value disk_bytes;

	struct policy_texts env_pass;
	struct policy_pairs env_set;
	struct policy_value no_new_privs;
	struct policy_value capabilities; /* bit CAP_x set: kept */

	/* WEIR_POWER_* of each key: powers.memory ... */
	struct policy_powers powers;

	struct policy_texts credentials; /* paths as written */
	/* 1: an attempt that the kernel refuses is a finding */
	struct policy_value attempt_credentials;
	struct policy_value attempt_memory;
	struct policy_value attempt_kernel;
	struct policy_value attempt_files;
	struct policy_rules files;

	struct policy_nets egress;
	struct policy_nets listen;
	struct policy_value loopback;
	struct policy_value raw;
	struct policy_value netlink;
	struct policy_texts unix_peers; /* paths as written, or "@" and an abstract name */
	struct policy_value sysv;
	struct policy_value posix;
	struct policy_value terminal;
	struct policy_value receive;
	struct policy_value ignore; /* POLICY_IGNORE_*; pos.line 0: all */

	struct policy_texts writeback_paths; /* globs, checked */
	struct policy_value require_exit;    /* 0 to 255, or POLICY_EXIT_ANY */
	struct policy_value approvals;	     /* pos.line 0: not stated, the gate refuses */
	struct policy_tiers tiers;	     /* approvals as a list; then the number says nothing */
	struct policy_value approval_window_ns;
	struct policy_value exception_span_ns;
	struct policy_value revert;   /* enum policy_role */
	struct policy_value unlisted; /* enum policy_unlisted */
	struct policy_value strict;
};

/* Reads a policy and checks all that can be checked without the host: shape, values,
 * names of rights and variables, globs, rules that contradict themselves. `file` is the
 * name in messages.
 * Gives: a policy for policy_free. Borrows: file, bytes.
 * Returns: 0; -EINVAL with e set (exit code 2, code "policy"), -EFBIG, -ENOMEM, -EIO. */
int policy_load(const char *file, const void *bytes, size_t len, struct policy **ret_policy,
		struct weir_err *e);

/* The same from a file; refuses what is no regular file. Gives: policy, and the exact
 * bytes appended to ret_bytes (may be NULL). Borrows: path. Returns: as policy_load, or
 * the errno of opening and reading. */
int policy_load_file(const char *path, struct policy **ret_policy, struct buf *ret_bytes,
		     struct weir_err *e);

/* Frees a policy; NULL is fine. */
void policy_free(struct policy *p);
static inline void cleanup_policy_fn(struct policy **p)
{
	policy_free(*p);
}
#define cleanup_policy __attribute__((cleanup(cleanup_policy_fn)))

/* Sets e to FILE:LINE:COLUMN: text, code "policy", exit code 2. Returns: -EINVAL.
 * Borrows: everything. */
int policy_error(const char *file, struct policy_pos pos, struct weir_err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Appends the names of rights as a policy writes them: "read, write, exec"; "none" for 0.
 * "write" stands for all of WEIR_RIGHTS_MUTATE; a part of it that has no name of its own is
 * "write (without delete, link)". Returns: as buf_add. */
int policy_add_rights(struct buf *b, uint32_t rights);

/* All powers that a policy grants. Borrows: p. Returns: WEIR_POWER_* bits. */
uint64_t policy_powers(const struct policy *p);

/* Kinds of findings of which an attempt that the kernel refused is one too. Borrows: p.
 * Returns: bit n for enum weir_kind n. */
uint64_t policy_attempts(const struct policy *p);

/* Appends powers as lines of a policy, such as "namespaces: [user, mount]", one for each key;
 * powers that no policy can grant say nothing. Returns: as buf_add. */
int policy_add_powers(struct buf *b, uint64_t powers);

/* Appends what a policy says about one key of powers, as "memory: members: denied; ..." lines.
 * Borrows: all. Returns: 0, -ENOENT when there is no such key, or as buf_add. */
int policy_explain_key(struct buf *b, const struct policy *p, const char *key);

/* A text cut in its middle to what a message can hold; escape it on output. */
struct policy_quoted {
	char text[168];
};
/* Gives: a copy by value, so that `policy_quote(s).text` lives as long as the call it is an
 * argument of. Borrows: text. Returns: the cut text. */
struct policy_quoted policy_quote(const char *text);

/* Name of a capability ("CAP_CHOWN"). Returns: static text, NULL for an unknown one. */
const char *policy_capability_name(unsigned int cap);

#endif
