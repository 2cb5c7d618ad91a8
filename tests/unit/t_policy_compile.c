/* SPDX-License-Identifier: MIT */
/* Policies against a real directory tree: what each rule becomes. */
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

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/policy/compile.h"

#define READ WEIR_RIGHT_READ
#define WRITE WEIR_RIGHTS_MUTATE
#define EXEC WEIR_RIGHT_EXEC
#define ROOT WEIR_RULE_ROOT
#define CRED WEIR_RULE_CREDENTIAL

#define HEAD \
	"apiVersion: weir/v1\n" \
	"kind: CapabilitySet\n" \
	"metadata: {name: t, owners: [a]}\n" /* rules begin in line 4 */

struct lab {
	char *root, *ws, *home, *tmp;
	struct policy_env env;
};

static char *join(const char *a, const char *b)
{
	char *s = NULL;

	assert_true(asprintf(&s, "%s%s%s", a, *b ? "/" : "", b) > 0);
	return s;
}

static void make(const struct lab *lab, const char *name, const char *text)
{
	cleanup_free char *path = join(lab->root, name);
	size_t len = strlen(path);

	if (path[len - 1] == '/') {
		assert_int_equal(fsio_mkdir_p(path, 0755, NULL), 0);
	} else if (text && text[0] == '>') {
		assert_int_equal(symlink(text + 1, path), 0);
	} else {
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

		assert_true(fd >= 0);
		assert_int_equal(write(fd, "x", 1), 1);
		close(fd);
	}
}

static int setup(void **state)
{
	struct lab *lab = calloc(1, sizeof(*lab));
	char dir[] = "/tmp/t_compile.XXXXXX";

	assert_non_null(mkdtemp(dir));
	lab->root = realpath(dir, NULL);
	make(lab, "ws/src/", NULL);
	make(lab, "ws/vendor/", NULL);
	make(lab, "ws-evil/", NULL);
	make(lab, "home/.ssh/sub/", NULL);
	make(lab, "home/.ssh/id", "k");
	make(lab, "home/.ssh/known_hosts", "k");
	make(lab, "home/.ssh/sub/key", "k");
	make(lab, "home/.npmrc", "k");
	make(lab, "tmp/", NULL);
	make(lab, "out/", NULL);
	make(lab, "out/file", "x");
	lab->env.workspace = lab->ws = join(lab->root, "ws");
	lab->env.home = lab->home = join(lab->root, "home");
	lab->env.tmpdir = lab->tmp = join(lab->root, "tmp");
	*state = lab;
	return 0;
}

static int teardown(void **state)
{
	struct lab *lab = *state;

	fsio_remove_tree(AT_FDCWD, lab->root, NULL);
	free(lab->root);
	free(lab->ws);
	free(lab->home);
	free(lab->tmp);
	free(lab);
	return 0;
}

/* @ in rules stands for the lab's root. */
static int compile(const struct lab *lab, const char *rules, struct policy_image **ret,
		   struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	cleanup_policy struct policy *p = NULL;

	buf_addf(&text, "%s", HEAD);
	for (const char *c = rules; *c; c++)
		buf_addf(&text, *c == '@' ? "%s" : "%.1s", *c == '@' ? lab->root : c);
	assert_int_equal(policy_load("p.yaml", text.data, text.len, &p, e), 0);
	return policy_compile(p, &lab->env, ret, e);
}

static struct policy_image *compile_ok(const struct lab *lab, const char *rules)
{
	struct policy_image *im = NULL;
	struct weir_err e = { 0 };

	if (compile(lab, rules, &im, &e) < 0)
		fail_msg("refused: %s", e.text);
	for (size_t i = 1; i < im->object_count; i++)
		assert_true(policy_path_compare(im->objects[i - 1].path, im->objects[i].path) < 0);
	/* every directory above a rule, and of a name, is in the image */
	for (size_t i = 0; i < im->object_count; i++) {
		cleanup_free char *up = strdup(im->objects[i].path);
		char *slash = strrchr(up, '/');

		*slash = '\0';
		if ((im->objects[i].flags & (ROOT | WEIR_RULE_ANCESTOR)) && up[0])
			assert_non_null(policy_image_find(im, up));
	}
	for (size_t i = 0; i < im->name_count; i++)
		assert_non_null(policy_image_find(im, im->names[i].dir));
	return im;
}

static void expect_refused(const struct lab *lab, const char *rules, const char *want)
{
	struct policy_image *im = NULL;
	struct weir_err e = { 0 };

	if (compile(lab, rules, &im, &e) >= 0 || !strstr(e.text, want))
		fail_msg("\n%s\nwanted: %s\ngot:    %s", rules, want, e.text);
	assert_int_equal(e.exit_code, 2);
	assert_null(im);
}

static void expect_object(const struct lab *lab, const struct policy_image *im, const char *name,
			  uint32_t rights, uint32_t flags, uint32_t id)
{
	cleanup_free char *path = *name == '/' ? strdup(name) : join(lab->root, name);
	const struct policy_object *o = policy_image_find(im, path);
	struct stat st;

	if (!o)
		fail_msg("no object %s", path);
	if (o->rights != rights || o->flags != flags || o->id != id)
		fail_msg("%s: rights %x flags %x id %u, wanted %x %x %u", path, o->rights, o->flags,
			 o->id, rights, flags, id);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(o->ino, st.st_ino);
	assert_int_equal(o->dev, st.st_dev);
	assert_int_equal(o->mode, st.st_mode);
}

static void expect_name(const struct lab *lab, const struct policy_image *im, const char *dir,
			const char *name, uint32_t rights, uint32_t flags, uint32_t id)
{
	cleanup_free char *path = *dir == '/' ? strdup(dir) : join(lab->root, dir);

	for (size_t i = 0; i < im->name_count; i++) {
		const struct policy_name *n = &im->names[i];

		if (strcmp(n->dir, path) != 0 || strcmp(n->name, name) != 0)
			continue;
		if (n->rights != rights || n->flags != flags || n->id != id)
			fail_msg("%s/%s: rights %x flags %x id %u", dir, name, n->rights, n->flags,
				 n->id);
		return;
	}
	fail_msg("no name %s in %s", name, path);
}

static void t_plain(void **state)
{
	const struct lab *lab = *state;
	cleanup_policy_image struct policy_image *im =
		compile_ok(lab, "files:\n"
				"  - path: ${WORKSPACE}\n"
				"    allow: [write, exec]\n"
				"  - path: ${TMPDIR}/**\n"
				"    allow: [write]\n"
				"  - path: ${WORKSPACE}/vendor/\n"
				"    deny: [write]\n");

	assert_int_equal(im->rights, READ);
	assert_string_equal(im->workspace, lab->ws);
	expect_object(lab, im, "ws", READ | WRITE | EXEC, ROOT | WEIR_RULE_WORKSPACE, 1);
	expect_object(lab, im, "tmp", READ | WRITE, ROOT, 2);
	expect_object(lab, im, "ws/vendor", READ | EXEC, ROOT, 3);
	expect_object(lab, im, "", 0, WEIR_RULE_ANCESTOR, 0);
	expect_object(lab, im, "/tmp", 0, WEIR_RULE_ANCESTOR, 0);
	assert_null(policy_image_find(im, "/"));
	assert_int_equal(im->object_count, 5);
	assert_int_equal(im->name_count, 1);
	expect_name(lab, im, "ws", "vendor", READ | EXEC, 0, 3);
	assert_int_equal(im->note_count, 0);
	assert_int_equal(im->sources[2].pos.line, 9);
	assert_int_equal(policy_image_find(im, lab->ws)->line, 5);
}

/* B09 and D23: the three ways to write a directory are one, and a sibling is no part of it. */
static void t_forms(void **state)
{
	static const char *const forms[] = { "@/ws", "@/ws/", "@/ws/**" };
	const struct lab *lab = *state;

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		cleanup_policy_image struct policy_image *im = NULL;
		struct policy_answer in, evil;
		char rules[128];
		cleanup_free char *inside = join(lab->ws, "a/b"), *outside = NULL;

		snprintf(rules, sizeof(rules), "files:\n  - path: \"%s\"\n    allow: [write]\n",
			 forms[i]);
		im = compile_ok(lab, rules);
		outside = join(lab->root, "ws-evil/f");
		policy_explain(im, inside, &in);
		policy_explain(im, outside, &evil);
		assert_int_equal(in.rights, READ | WRITE);
		assert_int_equal(in.id, 1);
		assert_int_equal(evil.rights, READ);
		assert_int_equal(evil.id, 0);
		assert_null(evil.root);
	}
	expect_refused(lab, "files:\n  - path: @/out/file/\n    allow: [write]\n",
		       "p.yaml:5:11: '" /* path */);
	expect_refused(lab, "files:\n  - path: @/out/file/\n    allow: [write]\n",
		       "is no directory but is written as one; drop the / at its end");
	expect_refused(lab, "files:\n  - path: @/out/file/x\n    allow: [write]\n",
		       "is no directory, so nothing lies below it; mend the path");
}

static void t_workspace_alone(void **state)
{
	const struct lab *lab = *state;
	cleanup_policy_image struct policy_image *im = compile_ok(lab, "");

	expect_object(lab, im, "ws", READ, ROOT | WEIR_RULE_WORKSPACE, 0);
	assert_int_equal(im->name_count, 0);
}

static void t_nested(void **state)
{
	const struct lab *lab = *state;
	cleanup_policy_image struct policy_image *im =
		compile_ok(lab, "files:\n"
				"  - path: ${WORKSPACE}/src\n"
				"    allow: [exec]\n"
				"    deny: [delete, read]\n"
				"  - path: ${WORKSPACE}\n"
				"    allow: [write]\n");

	expect_object(lab, im, "ws/src", (WRITE | EXEC) & ~(uint32_t)WEIR_RIGHT_DELETE, ROOT, 1);
	/* the name does not carry what the rule allows */
	expect_name(lab, im, "ws", "src", WRITE & ~(uint32_t)WEIR_RIGHT_DELETE, 0, 1);
}

static void t_absent(void **state)
{
	const struct lab *lab = *state;
	cleanup_policy_image struct policy_image *im =
		compile_ok(lab, "credentials: [~/.aws/credentials, ~/.aws/config]\n"
				"files:\n"
				"  - path: ${WORKSPACE}\n"
				"    allow: [write]\n"
				"  - path: ${WORKSPACE}/gen/out/x\n"
				"    deny: [write]\n"
				"  - path: ${HOME}/.cache/go\n"
				"    allow: [write]\n"
				"    optional: true\n");

	expect_name(lab, im, "ws", "gen", READ, 0, 2);
	expect_name(lab, im, "home", ".aws", 0, CRED, 4);
	expect_object(lab, im, "home", 0, WEIR_RULE_ANCESTOR, 0);
	assert_int_equal(im->name_count, 2);
	assert_int_equal(im->note_count, 2);
	assert_int_equal(im->notes[0].kind, POLICY_NOTE_SKIPPED);
	assert_int_equal(im->notes[0].id, 3);
	assert_non_null(strstr(im->notes[0].text, "p.yaml:10:11: '"));
	assert_non_null(strstr(im->notes[0].text, "grants nothing in this run"));
	assert_int_equal(im->notes[1].kind, POLICY_NOTE_MERGED);
	expect_refused(lab, "files:\n  - path: @/nothing\n    allow: [exec]\n", "p.yaml:5:11: '");
	expect_refused(lab, "files:\n  - path: @/nothing\n    allow: [exec]\n",
		       "/nothing' does not exist; create it before the run, grant '");
}

static void t_credentials(void **state)
{
	const struct lab *lab = *state;
	cleanup_policy_image struct policy_image *im =
		compile_ok(lab, "credentials: [~/.ssh, ~/.npmrc]\n"
				"files:\n"
				"  - path: ${HOME}\n"
				"    allow: [write, read]\n"
				"    broad: true\n"
				"  - path: ~/.ssh/known_hosts\n"
				"    allow: [read]\n"
				"  - path: ~/.npmrc\n"
				"    allow: [read]\n");

	/* ids: rules 1 to 3, stores 4 and 5 */
	expect_object(lab, im, "home/.ssh", WRITE, ROOT | CRED, 4);
	expect_object(lab, im, "home/.ssh/id", WRITE, CRED, 4);
	expect_object(lab, im, "home/.ssh/sub/key", WRITE, CRED, 4);
	expect_object(lab, im, "home/.ssh/known_hosts", READ | WRITE, ROOT | CRED, 2);
	expect_object(lab, im, "home/.npmrc", READ | WRITE, ROOT | CRED, 3);
	assert_null(policy_image_find(im, "home/.ssh/sub"));
	expect_name(lab, im, "home", ".ssh", WRITE, CRED, 4);
	expect_name(lab, im, "home", ".npmrc", READ | WRITE, CRED, 5);
}

/* A second hard link of a stored key keeps the rule, wherever it lies. */
static void t_hard_links(void **state)
{
	const struct lab *lab = *state;
	cleanup_free char *key = join(lab->root, "home/.ssh/id");
	cleanup_free char *twin = join(lab->root, "ws/src/id");
	cleanup_policy_image struct policy_image *im = NULL;

	assert_int_equal(link(key, twin), 0);
	im = compile_ok(lab, "credentials: [~/.ssh]\n"
			     "files:\n"
			     "  - path: ${WORKSPACE}/src/id\n"
			     "    allow: [write, read]\n"
			     "  - path: ${WORKSPACE}\n"
			     "    allow: [write]\n");
	expect_object(lab, im, "ws/src/id", 0, ROOT | CRED, 3);
	expect_object(lab, im, "home/.ssh/id", 0, ROOT | CRED, 3);
	expect_refused(lab,
		       "files:\n"
		       "  - path: ${WORKSPACE}/src/id\n"
		       "    allow: [write]\n"
		       "  - path: ~/.ssh/id\n"
		       "    allow: [exec]\n",
		       "(line 5) are one object with two rules; keep one of them");
}

static void t_symlinks(void **state)
{
	const struct lab *lab = *state;
	cleanup_policy_image struct policy_image *im = NULL;

	make(lab, "link", ">out");
	make(lab, "out/inner", ">../ws/../out/file");
	make(lab, "home/.gnupg", ">../out");
	make(lab, "home/.netrc", ">nowhere/file");
	im = compile_ok(lab, "credentials: [~/.gnupg, ~/.netrc]\n"
			     "files:\n"
			     "  - path: @/link/inner\n"
			     "    deny: [write]\n"
			     "  - path: @/link\n"
			     "    allow: [write]\n");
	expect_object(lab, im, "out", WRITE, ROOT | CRED, 3);
	expect_object(lab, im, "out/file", 0, ROOT | CRED, 1);
	expect_name(lab, im, "", "link", READ, 0, 1);
	expect_name(lab, im, "out", "inner", 0, CRED, 1);
	expect_name(lab, im, "out", "file", 0, CRED, 1);
	expect_name(lab, im, "", "out", 0, CRED, 3);
	expect_name(lab, im, "home", ".gnupg", 0, CRED, 3);
	expect_name(lab, im, "home", "nowhere", 0, CRED, 4);
	expect_name(lab, im, "home", ".netrc", 0, CRED, 4);
	assert_int_equal(im->notes[0].kind, POLICY_NOTE_SYMLINK);
	assert_non_null(strstr(im->notes[0].text, "goes through a symbolic link; the rule holds"));
}

static void t_symlink_traps(void **state)
{
	const struct lab *lab = *state;

	make(lab, "ws/out", ">../out");
	make(lab, "ws/loop", ">loop");
	make(lab, "tmp/etc", ">/etc");
	make(lab, "home/.ssh/dir", ">../../out");
	expect_refused(lab, "files:\n  - path: ${WORKSPACE}/out\n    allow: [write]\n",
		       "leads out of the workspace to '");
	expect_refused(lab, "files:\n  - path: ${TMPDIR}/etc\n    allow: [exec]\n",
		       "leads out of the temporary directory to '/etc' by a symbolic link");
	expect_refused(lab, "files:\n  - path: ${TMPDIR}/etc\n    allow: [write]\n",
		       "is too much to change all of");
	expect_refused(lab, "files:\n  - path: ${WORKSPACE}/loop\n    allow: [exec]\n",
		       "Too many levels of symbolic links; mend the path");
	expect_refused(lab, "credentials: [~/.ssh]\n", "holds a link '");
}

/* A link to a file in a store: the file is the secret. */
static void t_store_links(void **state)
{
	const struct lab *lab = *state;
	cleanup_policy_image struct policy_image *im = NULL;

	make(lab, "home/.ssh/outer", ">../../out/file");
	make(lab, "home/.ssh/inner", ">sub");
	make(lab, "home/.ssh/gone", ">nowhere");
	im = compile_ok(lab, "credentials: [~/.ssh]\n");
	expect_object(lab, im, "out/file", 0, CRED, 1);
	assert_int_equal(im->note_count, 1);
	assert_non_null(strstr(im->notes[0].text, "reading that is a finding as well"));
}

static void t_same_object(void **state)
{
	const struct lab *lab = *state;
	cleanup_policy_image struct policy_image *im = NULL;

	make(lab, "bin", ">out");
	im = compile_ok(lab, "files:\n"
			     "  - path: @/bin\n"
			     "    allow: [exec]\n"
			     "  - path: @/out\n"
			     "    allow: [exec]\n");
	expect_object(lab, im, "out", READ | EXEC, ROOT, 1);
	assert_int_equal(im->note_count, 2);
	assert_int_equal(im->notes[1].kind, POLICY_NOTE_MERGED);
	expect_refused(lab,
		       "files:\n"
		       "  - path: @/bin\n"
		       "    allow: [exec]\n"
		       "  - path: @/out\n"
		       "    allow: [write]\n",
		       "of line 5 are the same object '");
	expect_refused(lab,
		       "files:\n"
		       "  - path: @/out\n"
		       "    allow: [exec]\n"
		       "  - path: @/out/**\n"
		       "    allow: [exec]\n",
		       "has a rule in line 5 already; keep one of them");
	expect_refused(lab,
		       "files:\n"
		       "  - path: @/out\n"
		       "    allow: [exec]\n"
		       "  - path: @//out/.\n"
		       "    deny: [read]\n",
		       "has a rule in line 5 already, with other rights; keep one of them");
	expect_refused(lab, "credentials:\n  - ~/.ssh\n  - ${HOME}/.ssh\n", "p.yaml:6:5: '");
}

static void t_broad(void **state)
{
	static const char *const broad[] = { "/",    "/etc",	"/usr", "/proc",  "/sys",
					     "/dev", "${HOME}", "@",	"/tmp/.." };
	const struct lab *lab = *state;

	for (size_t i = 0; i < ARRAY_SIZE(broad); i++) {
		char rules[200];

		snprintf(rules, sizeof(rules), "files:\n  - path: \"%s\"\n    allow: [delete]\n",
			 broad[i]);
		expect_refused(lab, rules,
			       i == ARRAY_SIZE(broad) - 1 ? "goes up by .."
							  : "is too much to change all of");
		if (i == ARRAY_SIZE(broad) - 1)
			continue;
		strcat(rules, "    broad: true\n");
		policy_image_free(compile_ok(lab, rules));
		/* what changes nothing is not broad */
		snprintf(rules, sizeof(rules), "files:\n  - path: \"%s\"\n    allow: [exec]\n",
			 broad[i]);
		policy_image_free(compile_ok(lab, rules));
	}
}

static void t_environment(void **state)
{
	struct lab lab = *(struct lab *)*state;
	cleanup_free char *file = join(lab.root, "out/file");
	cleanup_policy_image struct policy_image *im = NULL;

	lab.env.tmpdir = NULL;
	expect_refused(&lab, "files:\n  - path: ${TMPDIR}\n    allow: [write]\n",
		       "p.yaml:5:11: ${TMPDIR} has no value in this run");
	lab.env.workspace = NULL;
	expect_refused(&lab, "", "is no existing directory; make it before the run");
	lab.env.workspace = file;
	expect_refused(&lab, "", "is no existing directory");
	/* a workspace reached through a link is the real one */
	make(&lab, "alias", ">ws");
	free(lab.ws);
	((struct lab *)*state)->ws = lab.ws = join(lab.root, "alias");
	lab.env.workspace = lab.ws;
	((struct lab *)*state)->env.workspace = lab.ws;
	im = compile_ok(&lab, "files:\n  - path: ${WORKSPACE}/src\n    allow: [write]\n");
	expect_object(&lab, im, "ws", READ, ROOT | WEIR_RULE_WORKSPACE, 0);
	expect_object(&lab, im, "ws/src", READ | WRITE, ROOT, 1);
}

static void t_store_limit(void **state)
{
	const struct lab *lab = *state;
	char name[64];

	make(lab, "home/.big/", NULL);
	for (int i = 0; i <= POLICY_STORE_FILES_MAX; i++) {
		snprintf(name, sizeof(name), "home/.big/%d", i);
		make(lab, name, "x");
	}
	expect_refused(lab, "credentials: [~/.ssh, ~/.big]\n",
		       "the stores hold more than 10000 files, at '");
}

static void t_many_rules(void **state)
{
	const struct lab *lab = *state;
	cleanup_buf struct buf rules = { 0 };

	buf_addf(&rules, "files:\n");
	for (int i = 0; i <= WEIR_NAMES_MAX; i++)
		buf_addf(&rules, "- {path: \"${HOME}/n%d\", deny: [read]}\n", i);
	expect_refused(lab, buf_str(&rules), "needs more than 16384 names; deny directories");
}

static void explain(const struct lab *lab, const struct policy_image *im, const char *name,
		    const char *want)
{
	cleanup_free char *path = join(lab->root, name);
	cleanup_buf struct buf b = { 0 };
	struct policy_answer a;

	policy_explain(im, path, &a);
	assert_int_equal(policy_add_explanation(&b, im, path, &a), 0);
	if (!strstr(buf_str(&b), want))
		fail_msg("wanted: %s\ngot:    %s", want, buf_str(&b));
}

static void t_explain(void **state)
{
	const struct lab *lab = *state;
	cleanup_policy_image struct policy_image *im =
		compile_ok(lab, "credentials: [~/.ssh, ~/.aws]\n"
				"files:\n"
				"  - path: ${WORKSPACE}\n"
				"    allow: [write]\n"
				"  - path: ${WORKSPACE}/vendor\n"
				"    deny: [write]\n");

	explain(lab, im, "ws/a.c", "/ws/a.c: read, write; by the rule '${WORKSPACE}' at p.yaml:6");
	explain(lab, im, "ws/vendor/x/y", ": read; by the rule '${WORKSPACE}/vendor' at p.yaml:8");
	explain(lab, im, "home/.ssh/id", ": none; by the credential store '~/.ssh' at p.yaml:4");
	explain(lab, im, "home/.ssh/new", ": none; by the credential store '~/.ssh' at p.yaml:4");
	explain(lab, im, "home/.aws/x",
		": none; by the credential store '~/.aws' at p.yaml:4, for "
		"the name '.aws' in ");
	explain(lab, im, "home/.bashrc", "/home/.bashrc: read; no rule names it: the default");
	explain(lab, im, "ws/\033x", "/ws/\\x1bx: read, write; by");
	explain(lab, im, "ws/sub/.GitHub/x", "(a control name: changes need \"control\" as well)");
}

static void t_control(void **state)
{
	static const struct {
		const char *path;
		bool own_git, control;
	} rows[] = {
		{ "", true, false },
		{ "src/main.c", true, false },
		{ ".github", true, true },
		{ "a/.GitHub/workflows/x.yml", true, true },
		{ ".github2", true, false },
		{ "x/.envrc", false, true },
		{ ".git", true, true },
		{ ".git/index", true, false },
		{ ".git/refs/heads/main", true, false },
		{ ".git/refs/replace/x", true, true },
		{ ".git/hooks/pre-commit", true, true },
		{ ".GIT/Hooks", true, true },
		{ ".git/config", true, true },
		{ ".git/configs", true, false },
		{ ".git/info", true, false },
		{ ".git/info/exclude", true, true },
		{ ".git/objects/info/alternates", true, true },
		{ ".git/objects/info/packs", true, false },
		{ ".git/modules/m/config", true, true },
		{ ".git/modules/m/HEAD", true, false },
		{ ".git/modules/hooks", true, false },
		{ ".git/modules/libs/m/hooks/x", true, true },
		{ ".git/modules/libs/m/info", true, true },
		{ ".git/modules/libs/m/objects/x", true, false },
		{ ".git/worktrees/w/modules/m/config", true, true },
		{ ".git/worktrees/w/modules/m/index", true, false },
		{ ".git/worktrees/w/HEAD", true, false },
		{ ".git/worktrees/w/gitdir", true, true },
		{ ".git/index", false, true },
		{ "sub/.git/index", true, true },
		{ ".git/x/.git/y", true, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (policy_path_is_control(rows[i].path, rows[i].own_git) != rows[i].control)
			fail_msg("%s", rows[i].path);
}

/* The policy that the cases run under, as the runner of the cases prepares it. */
static void t_profiles(void **state)
{
	static const char file[] = "tests/cases/p0.yaml";
	const struct lab *lab = *state;
	cleanup_policy_image struct policy_image *im = NULL;
	cleanup_policy struct policy *p = NULL;
	cleanup_buf struct buf raw = { 0 }, text = { 0 };
	struct weir_err e = { 0 };
	char *at, *mark;

	make(lab, "bin/", NULL);
	assert_int_equal(fsio_read_file(AT_FDCWD, file, 65536, &raw, &e), 0);
	for (at = raw.data; (mark = strstr(at, "@LAB@")); at = mark + 5) {
		buf_add(&text, at, (size_t)(mark - at));
		buf_addf(&text, "%s", lab->root);
	}
	buf_addf(&text, "%s", at);
	if (policy_load(file, text.data, text.len, &p, &e) < 0 ||
	    policy_compile(p, &lab->env, &im, &e) < 0)
		fail_msg("%s", e.text);
	expect_object(lab, im, "ws", READ | WRITE | EXEC, ROOT | WEIR_RULE_WORKSPACE, 1);
	expect_object(lab, im, "tmp", READ | WRITE, ROOT, 2);
	expect_object(lab, im, "/usr", READ | EXEC, ROOT, 3);
	expect_object(lab, im, "home/.ssh/id", 0, CRED, (uint32_t)p->files.count + 1);
	expect_name(lab, im, "home", ".netrc", 0, CRED, (uint32_t)p->files.count + 4);
	assert_int_not_equal(p->approvals.pos.line, 0);
	expect_object(lab, im, "bin", READ | EXEC, ROOT, 7);
	expect_name(lab, im, "home", ".docker", 0, CRED, 13);
}

/* What is wrong on every host is found without one. */
static void t_written(void **state)
{
	static const struct {
		const char *text, *wrong; /* NULL: nothing */
	} rows[] = {
		{ "files:\n  - {path: \"~/a\", allow: [exec]}\n  - {path: \"${HOME}/a/**\", allow: "
		  "[exec]}\n",
		  "p.yaml:6:12: '${HOME}/a/**' has a rule in line 5 already; keep one of them" },
		{ "files:\n  - {path: \"/a\", allow: [exec]}\n  - {path: \"//a/.\", deny: "
		  "[exec]}\n",
		  "p.yaml:6:12: '//a/.' has a rule in line 5 already, with other rights; keep "
		  "one" },
		{ "credentials: [~/.ssh, ~/.aws, \"${HOME}/.ssh/\"]\n",
		  "'${HOME}/.ssh/' has a store in line 4 already; keep one of them" },
		{ "credentials: [~/.ssh]\nfiles:\n  - {path: \"~/.ssh\", allow: [read]}\n", NULL },
		{ "files:\n  - {path: \"/a\", allow: [exec]}\n  - {path: \"/a/b\", allow: "
		  "[exec]}\n",
		  NULL },
		{ "files:\n  - {path: \"~/\", allow: [write]}\n",
		  "p.yaml:5:12: '~/' is too much to change all of; name a directory below it" },
		{ "files:\n  - {path: \"~/\", allow: [write], broad: true}\n", NULL },
		{ "files:\n  - {path: \"/**\", allow: [control]}\n",
		  "p.yaml:5:12: '/**' is too much" },
		{ "files:\n  - {path: \"/etc\", allow: [create]}\n",
		  "p.yaml:5:12: '/etc' is too much" },
		{ "files:\n  - {path: \"/etc/x\", allow: [write]}\n", NULL },
		{ "files:\n  - {path: \"${WORKSPACE}\", allow: [write]}\n", NULL },
		{ "files:\n  - {path: \"${WORKSPACE}/../x\", allow: [write]}\n",
		  "p.yaml:5:12: '/${WORKSPACE}/../x' goes up by .." },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_policy struct policy *p = NULL;
		struct weir_err e = { 0 };
		char text[512];
		int err;

		snprintf(text, sizeof(text), HEAD "%s", rows[i].text);
		assert_int_equal(policy_load("p.yaml", text, strlen(text), &p, &e), 0);
		err = policy_check_written(p, &e);
		if (err != (rows[i].wrong ? -EINVAL : 0) ||
		    (err < 0 && !strstr(e.text, rows[i].wrong)))
			fail_msg("%s gives: %d %s", rows[i].text, err, e.text);
	}
}

#define LAB_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAB_TEST(t_plain),	     LAB_TEST(t_forms),	      LAB_TEST(t_workspace_alone),
		LAB_TEST(t_nested),	     LAB_TEST(t_absent),      LAB_TEST(t_credentials),
		LAB_TEST(t_hard_links),	     LAB_TEST(t_symlinks),    LAB_TEST(t_symlink_traps),
		LAB_TEST(t_store_links),     LAB_TEST(t_same_object), LAB_TEST(t_broad),
		LAB_TEST(t_environment),     LAB_TEST(t_store_limit), LAB_TEST(t_many_rules),
		LAB_TEST(t_explain),	     LAB_TEST(t_profiles),    cmocka_unit_test(t_control),
		cmocka_unit_test(t_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
