/* SPDX-License-Identifier: MIT */
#include "user/policy/schema.h"

#include <linux/capability.h>
#include <string.h>

#include "user/base/cleanup.h"

#define AT(member) offsetof(struct policy, member)
#define RULE(member) offsetof(struct policy_rule, member)
#define TIER(member) offsetof(struct policy_tier, member)

#define NS_PER_MS 1000000ull
#define NS_PER_DAY (86400000 * NS_PER_MS)
#define GRACE_DEFAULT_NS (500 * NS_PER_MS)
#define WINDOW_DEFAULT_NS (7 * NS_PER_DAY)
#define SPAN_DEFAULT_NS (30 * NS_PER_DAY)

static const struct policy_choice bools[] = { { "true", 1 }, { "false", 0 }, { 0 } };
static const struct policy_choice api_versions[] = { { "weir/v1", 1 }, { 0 } };
static const struct policy_choice kinds[] = { { "CapabilitySet", 1 }, { 0 } };
static const struct policy_choice modes[] = { { "enforce", WEIR_MODE_ENFORCE },
					      { "observe", WEIR_MODE_OBSERVE },
					      { 0 } };
static const struct policy_choice coverages[] = { { "full", POLICY_COVERAGE_FULL },
						  { "files", POLICY_COVERAGE_FILES },
						  { "syscall", POLICY_COVERAGE_SYSCALL },
						  { 0 } };
static const struct policy_choice leftovers[] = { { "block", POLICY_LEFTOVER_BLOCK },
						  { "kill", POLICY_LEFTOVER_KILL },
						  { 0 } };
static const struct policy_choice unlisted[] = { { "list", POLICY_UNLISTED_LIST },
						 { "refuse", POLICY_UNLISTED_REFUSE },
						 { 0 } };

static const struct policy_choice weights[] = { { "finding", 1 }, { "notice", 0 }, { 0 } };

static const struct policy_choice roles[] = {
#define WEIR_X(id, name) { name, POLICY_ROLE_##id },
	POLICY_ROLES(WEIR_X)
#undef WEIR_X
		{ 0 },
};

/* WRITE's own bit never stands alone in a policy: the name means all that changes a tree. */
#define WRITE_MEANS(bits) ((bits) == WEIR_RIGHT_WRITE ? WEIR_RIGHTS_MUTATE : (bits))
static const struct policy_choice rights[] = {
#define WEIR_X(id, bit, name) { name, WRITE_MEANS(1u << (bit)) },
	WEIR_RIGHTS(WEIR_X)
#undef WEIR_X
		{ 0 },
};

#define CAP(name) \
	{ \
#name, 1ull << (name) \
	}
static const struct policy_choice capabilities[] = {
	CAP(CAP_CHOWN),
	CAP(CAP_DAC_OVERRIDE),
	CAP(CAP_DAC_READ_SEARCH),
	CAP(CAP_FOWNER),
	CAP(CAP_FSETID),
	CAP(CAP_KILL),
	CAP(CAP_SETGID),
	CAP(CAP_SETUID),
	CAP(CAP_SETPCAP),
	CAP(CAP_LINUX_IMMUTABLE),
	CAP(CAP_NET_BIND_SERVICE),
	CAP(CAP_NET_BROADCAST),
	CAP(CAP_NET_ADMIN),
	CAP(CAP_NET_RAW),
	CAP(CAP_IPC_LOCK),
	CAP(CAP_IPC_OWNER),
	CAP(CAP_SYS_MODULE),
	CAP(CAP_SYS_RAWIO),
	CAP(CAP_SYS_CHROOT),
	CAP(CAP_SYS_PTRACE),
	CAP(CAP_SYS_PACCT),
	CAP(CAP_SYS_ADMIN),
	CAP(CAP_SYS_BOOT),
	CAP(CAP_SYS_NICE),
	CAP(CAP_SYS_RESOURCE),
	CAP(CAP_SYS_TIME),
	CAP(CAP_SYS_TTY_CONFIG),
	CAP(CAP_MKNOD),
	CAP(CAP_LEASE),
	CAP(CAP_AUDIT_WRITE),
	CAP(CAP_AUDIT_CONTROL),
	CAP(CAP_SETFCAP),
	CAP(CAP_MAC_OVERRIDE),
	CAP(CAP_MAC_ADMIN),
	CAP(CAP_SYSLOG),
	CAP(CAP_WAKE_ALARM),
	CAP(CAP_BLOCK_SUSPEND),
	CAP(CAP_AUDIT_READ),
	CAP(CAP_PERFMON),
	CAP(CAP_BPF),
	CAP(CAP_CHECKPOINT_RESTORE),
	{ 0 },
};

/* clang-format off */
#define POWER(id, bit, word, kind) { word, WEIR_POWER_BIT(bit) },
#define WEIR_X(key, list) static const struct policy_choice power_##key[] = { list(POWER) { 0 } };
WEIR_POWER_KEYS(WEIR_X)
#undef WEIR_X
/* clang-format on */

static bool is_name(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-");

	return len > 0 && len <= 63 && text[len] == '\0' && text[0] != '.' && text[0] != '-';
}

#define WANT_BOOL "true or false, without quotes"
#define WANT_DURATION "a duration: a number and ms, s, m, h or d, such as 0.5s"
#define WANT_SIZE "a size: bytes, or a whole number and K, M, G or T, such as 512M"
#define WANT_NUMBER "a number from 0, without quotes"
#define WANT_RIGHTS "a right"
#define BOOL(name, where, first) \
	{ \
		.key = name, .kind = POLICY_KIND_VALUE, .offset = where, .choices = bools, \
		.want = WANT_BOOL, .initial = first \
	}
#define CHOICE(name, where, table, first) \
	{ \
		.key = name, .kind = POLICY_KIND_VALUE, .offset = where, .choices = table, \
		.initial = first \
	}
#define PARSED(name, where, fn, text, first) \
	{ \
		.key = name, .kind = POLICY_KIND_VALUE, .offset = where, .parse = fn, \
		.want = text, .initial = first \
	}
#define TEXTS(name, where, text) \
	{ \
		.key = name, .kind = POLICY_KIND_TEXTS, .offset = where, .want = text \
	}
#define POWERS(name, member) \
	{ \
		.key = name, .kind = POLICY_KIND_SET, .offset = AT(powers.member), \
		.choices = power_##member \
	}
#define MAP(name, fields) \
	{ \
		.key = name, .kind = POLICY_KIND_MAP, .sub = fields \
	}

static const struct policy_field metadata_fields[] = {
	{ .key = "name",
	  .kind = POLICY_KIND_TEXT,
	  .offset = AT(name),
	  .required = true,
	  .check = is_name,
	  .want = "a name: a-z, 0-9, '.' and '-', 63 at most" },
	{ .key = "owners",
	  .kind = POLICY_KIND_TEXTS,
	  .offset = AT(owners),
	  .required = true,
	  .want = "a list of people, such as [build@example.org]" },
	{ 0 },
};

static const struct policy_field limits_fields[] = {
	PARSED("time", AT(time_ns), policy_parse_duration, WANT_DURATION, 0),
	PARSED("memory", AT(memory_bytes), policy_parse_size, WANT_SIZE, 0),
	PARSED("processes", AT(processes), policy_parse_number, WANT_NUMBER, 0),
	PARSED("disk", AT(disk_bytes), policy_parse_size, WANT_SIZE, 0),
	{ 0 },
};

static const struct policy_field environment_fields[] = {
	{ .key = "pass",
	  .kind = POLICY_KIND_TEXTS,
	  .offset = AT(env_pass),
	  .check = policy_is_env_name,
	  .want = "the name of a variable: letters, digits and '_'" },
	{ .key = "set",
	  .kind = POLICY_KIND_PAIRS,
	  .offset = AT(env_set),
	  .check = policy_is_env_name,
	  .want = "the name of a variable: letters, digits and '_'" },
	{ 0 },
};

static const struct policy_field privileges_fields[] = {
	BOOL("no_new_privs", AT(no_new_privs), 1),
	{ .key = "capabilities",
	  .kind = POLICY_KIND_SET,
	  .offset = AT(capabilities),
	  .choices = capabilities,
	  .want = "a capability as in capabilities(7), such as CAP_CHOWN" },
	POWERS("allow", privileges),
	{ 0 },
};

static const struct policy_field rule_fields[] = {
	{ .key = "path",
	  .kind = POLICY_KIND_TEXT,
	  .offset = RULE(path),
	  .required = true,
	  .want = "a path, such as ${WORKSPACE}/out" },
	{ .key = "allow",
	  .kind = POLICY_KIND_SET,
	  .offset = RULE(allow),
	  .choices = rights,
	  .want = WANT_RIGHTS },
	{ .key = "deny",
	  .kind = POLICY_KIND_SET,
	  .offset = RULE(deny),
	  .choices = rights,
	  .want = WANT_RIGHTS },
	BOOL("optional", RULE(optional), 0),
	BOOL("broad", RULE(broad), 0),
	{ 0 },
};

static const struct policy_field attempts_fields[] = {
	CHOICE("credentials", AT(attempt_credentials), weights, 1),
	CHOICE("memory", AT(attempt_memory), weights, 1),
	CHOICE("kernel", AT(attempt_kernel), weights, 1),
	CHOICE("files", AT(attempt_files), weights, 0),
	{ 0 },
};

#define WANT_GLOBS "a list of globs, such as [\"src/**\", Makefile]"

static const struct policy_field tier_fields[] = {
	{ .key = "paths",
	  .kind = POLICY_KIND_TEXTS,
	  .offset = TIER(paths),
	  .required = true,
	  .want = WANT_GLOBS },
	CHOICE("role", TIER(role), roles, POLICY_ROLE_APPROVER),
	PARSED("count", TIER(count), policy_parse_count, "a number from 1 to 100, without quotes",
	       1),
	{ 0 },
};

static const struct policy_field writeback_fields[] = {
	TEXTS("paths", AT(writeback_paths), WANT_GLOBS),
	PARSED("require_exit", AT(require_exit), policy_parse_exit,
	       "an exit status from 0 to 255, or any", 0),
	{ .key = "approvals",
	  .kind = POLICY_KIND_TIERS,
	  .offset = AT(approvals),
	  .sub = tier_fields,
	  .parse = policy_parse_number,
	  .want = WANT_NUMBER },
	PARSED("approval_window", AT(approval_window_ns), policy_parse_duration, WANT_DURATION,
	       WINDOW_DEFAULT_NS),
	PARSED("exception_span", AT(exception_span_ns), policy_parse_duration, WANT_DURATION,
	       SPAN_DEFAULT_NS),
	CHOICE("revert", AT(revert), roles, POLICY_ROLE_PLATFORM_OWNER),
	CHOICE("unlisted", AT(unlisted), unlisted, POLICY_UNLISTED_LIST),
	BOOL("strict", AT(strict), 0),
	{ 0 },
};

static const struct policy_field policy_fields[] = {
	{ .key = "apiVersion",
	  .kind = POLICY_KIND_VALUE,
	  .offset = AT(api_version),
	  .required = true,
	  .choices = api_versions },
	{ .key = "kind",
	  .kind = POLICY_KIND_VALUE,
	  .offset = AT(kind),
	  .required = true,
	  .choices = kinds },
	{ .key = "metadata", .kind = POLICY_KIND_MAP, .required = true, .sub = metadata_fields },
	CHOICE("mode", AT(mode), modes, WEIR_MODE_ENFORCE),
	CHOICE("coverage", AT(coverage), coverages, POLICY_COVERAGE_FULL),
	BOOL("lossless", AT(lossless), 0),
	CHOICE("leftover", AT(leftover), leftovers, POLICY_LEFTOVER_BLOCK),
	PARSED("grace", AT(grace_ns), policy_parse_duration, WANT_DURATION, GRACE_DEFAULT_NS),
	MAP("limits", limits_fields),
	MAP("environment", environment_fields),
	MAP("privileges", privileges_fields),
	POWERS("memory", memory),
	POWERS("signals", signals),
	POWERS("scheduling", scheduling),
	POWERS("namespaces", namespaces),
	POWERS("mounts", mounts),
	POWERS("kernel", kernel),
	TEXTS("credentials", AT(credentials), "a list of paths, such as [~/.ssh]"),
	MAP("attempts", attempts_fields),
	{ .key = "files",
	  .kind = POLICY_KIND_RULES,
	  .offset = AT(files),
	  .sub = rule_fields,
	  .want = "a list of rules, each with path and allow or deny" },
	MAP("network", policy_network_fields),
	MAP("ipc", policy_ipc_fields),
	{ .key = "ignore",
	  .kind = POLICY_KIND_SET,
	  .offset = AT(ignore),
	  .choices = policy_ignores },
	MAP("writeback", writeback_fields),
	{ 0 },
};

_Static_assert(ARRAY_SIZE(policy_fields) <= POLICY_FIELDS_MAX, "loader counts keys in an array");

const struct policy_field *policy_schema(void)
{
	return policy_fields;
}

const struct policy_choice *policy_right_names(void)
{
	return rights;
}

const char *policy_capability_name(unsigned int cap)
{
	for (const struct policy_choice *c = capabilities; c->name; c++)
		if (cap < 64 && c->value == 1ull << cap)
			return c->name;
	return NULL;
}

void policy_schema_init(const struct policy_field *fields, void *base)
{
	for (const struct policy_field *f = fields; f->key; f++) {
		struct policy_value *v = (void *)((char *)base + f->offset);

		if (f->kind == POLICY_KIND_MAP)
			policy_schema_init(f->sub, base);
		else if (f->kind == POLICY_KIND_VALUE || f->kind == POLICY_KIND_SET)
			v->value = f->initial;
	}
}
