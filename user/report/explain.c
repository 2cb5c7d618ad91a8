/* SPDX-License-Identifier: MIT */
#include "user/report/explain.h"

#include <errno.h>
#include <string.h>

#include "user/base/buf.h"
#include "user/base/cleanup.h"
#include "user/policy/suggest.h"

/* Kinds that a files rule can allow, and what helps with the others. */
static const struct {
	unsigned int kind;
	bool by_rule;
	const char *hint;
} mends[] = {
	{ WEIR_KIND_FILE_OUTSIDE, true, "" },
	{ WEIR_KIND_FILE_CONTROL, true, "tools run what such a file says: allow it with care" },
	{ WEIR_KIND_CREDENTIAL_READ, true, "the command could hand on what it read" },
	{ WEIR_KIND_EXEC_NEW_BINARY, true, "" },
	{ WEIR_KIND_KERNEL_TUNABLE, true, "" },
	{ WEIR_KIND_EXEC_MEMFD, false, "no rule allows programs that are in no file" },
	{ WEIR_KIND_TAMPER, false, "no rule allows touching weir itself" },
	{ WEIR_KIND_BPF, false, "no rule allows bpf()" },
	{ WEIR_KIND_MEMORY_ACCESS, false,
	  "the command could read or change what other programs hold in memory" },
	{ WEIR_KIND_PRIVILEGE, false, "" },
	{ WEIR_KIND_NAMESPACE, false, "in a namespace of its own a command can mount" },
	{ WEIR_KIND_GATE_RACE, false,
	  "find out what else works in the workspace, stop it, and run again" },
	{ WEIR_KIND_MEMBERSHIP, false,
	  "let the command wait for its children, or say `leftover: kill` in the policy" },
};

static bool mended_by_rule(unsigned int kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(mends); i++)
		if (mends[i].kind == kind)
			return mends[i].by_rule;
	return false;
}

static const char *hint_of(unsigned int kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(mends); i++)
		if (mends[i].kind == kind)
			return mends[i].hint;
	return "";
}

/* The rule that the kernel side went by. */
static void add_rule(struct buf *b, const struct policy_image *im, const struct finding *f)
{
	const struct policy_source *s;

	if (f->note || f->overflow || !mended_by_rule(f->kind))
		return;
	if (f->rule == 0 || f->rule > im->source_count) {
		buf_addf(b, "no rule");
		return;
	}
	s = &im->sources[f->rule - 1];
	buf_addf(b, "%s '", s->credential ? "credential store" : "rule");
	buf_add_escaped(b, s->written, strlen(s->written));
	buf_addf(b, "' at ");
	buf_add_escaped(b, im->file, strlen(im->file));
	buf_addf(b, ":%u gives ", s->pos.line);
	if (f->have)
		policy_add_rights(b, f->have);
	else
		buf_addf(b, "no right");
	if (f->want & ~f->have & WEIR_RIGHT_CONTROL)
		buf_addf(b, ", but not for control files");
}

/* Why a rule that seems to be enough was not. */
static const char *why_not_enough(const struct finding *f, uint32_t missing)
{
	if (f->flags & WEIR_EV_HARDLINK)
		return "the file has other names, which the run did not make: name this very path";
	if (missing & WEIR_RIGHT_DELETE)
		return "the root of a rule, or what lies above one, can't be removed or renamed";
	return "the policy gives this right now: the file system was mounted after the start";
}

static void fill_want(const struct finding *f, struct policy_want *want)
{
	*want = (struct policy_want){ .path = f->path, .rights = f->want & ~f->have };
	/* the file itself is named: its own rights are meant, not those of its directory */
	if (f->flags & WEIR_EV_HARDLINK)
		want->rights |= WEIR_RIGHT_CONTROL;
}

static bool can_want(const struct finding *f)
{
	return !f->note && !f->overflow && mended_by_rule(f->kind) && f->path[0] == '/' &&
	       !(f->flags & (WEIR_EV_TRUNCATED | WEIR_EV_UNRESOLVED)) && (f->want & ~f->have);
}

/* Lines for powers, then policy_suggest without the line "files:" */
static int suggest(const struct explainer *x, const struct policy_want *wants, size_t count,
		   uint64_t powers, json_t **ret_text)
{
	static const char head[] = "files:\n";
	cleanup_buf struct buf b = { 0 }, all = { 0 };
	const char *text;

	if (count > 0 && policy_suggest(wants, count, &x->env, &b) < 0)
		return -ENOMEM;
	text = buf_str(&b);
	if (strncmp(text, head, strlen(head)) == 0)
		text += strlen(head);
	policy_add_powers(&all, powers);
	if (buf_addf(&all, "%s", text) < 0)
		return -ENOMEM;
	*ret_text = json_string(buf_str(&all));
	return *ret_text ? 0 : -ENOMEM;
}

/* Powers that a policy could have granted. */
static uint64_t missing_powers(const struct explainer *x, const struct finding *f)
{
	return f->powers & WEIR_POWERS_ALL & ~x->image->powers;
}

json_t *explain_finding(const struct explainer *x, const struct finding *f)
{
	cleanup_buf struct buf rule = { 0 };
	struct policy_answer answer = { 0 };
	const char *hint = hint_of(f->kind);
	uint32_t missing = f->want & ~f->have;
	struct policy_want want;
	size_t count = 0;
	json_t *fix;

	if (f->powers && !f->overflow)
		buf_addf(&rule, "no rule");
	else
		add_rule(&rule, x->image, f);
	if (can_want(f)) {
		policy_explain(x->image, f->path, &answer);
		fill_want(f, &want);
		count = 1;
		if (!(missing & ~answer.rights) && !(missing & WEIR_RIGHT_CONTROL)) {
			hint = why_not_enough(f, missing);
			count = f->flags & WEIR_EV_HARDLINK ? 1 : 0;
		}
	}
	if (rule.failed || suggest(x, &want, count, missing_powers(x, f), &fix) < 0)
		return NULL;
	return json_pack("{s:s, s:o, s:s}", "rule", buf_str(&rule), "fix", fix, "hint", hint);
}

json_t *explain_all(const struct explainer *x, const struct findings *list)
{
	size_t total = findings_count(list), count = 0;
	cleanup_free struct policy_want *wants = calloc(total + 1, sizeof(*wants));
	uint64_t powers = 0;
	json_t *text;

	if (!wants)
		return NULL;
	for (size_t i = 0; i < total; i++) {
		powers |= missing_powers(x, findings_at(list, i));
		if (can_want(findings_at(list, i)))
			fill_want(findings_at(list, i), &wants[count++]);
	}
	return suggest(x, wants, count, powers, &text) < 0 ? NULL : text;
}
