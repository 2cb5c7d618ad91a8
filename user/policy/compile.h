/* SPDX-License-Identifier: MIT */
/*
 * From a policy to the image that is bound into the kernel's maps.
 *
 * The kernel takes the nearest rule above an object, alone. So each object here carries
 * its whole rights: (those of the nearest enclosing rule, else the run's default, which
 * is read) | allow & ~deny; allow before deny.
 *
 * What a rule becomes
 *  - A rule whose path exists: one object, WEIR_RULE_ROOT, at its real path. Symbolic
 *    links on the way are followed and reported as a note: a rule holds for the real object.
 *    An allow rule written inside the workspace or ${TMPDIR} must stay inside: a link
 *    there may have been made by an earlier run, and is refused.
 *  - deny rules and credential stores, existing or not, are also names {directory, name}:
 *    putting another object in the place does not shed the rule. If the path goes through
 *    links, every link's name on the way is such a name as well, and so is the real path's.
 *    A name never gives rights that the rule's allow part added.
 *  - A path that does not exist: with allow it is refused, unless the rule is `optional`,
 *    which leaves a note. With deny, and for stores, the first absent component below the
 *    nearest existing directory becomes the name, so all of it falls under the rule.
 *  - A credential store has WEIR_RULE_CREDENTIAL and the enclosing rights without read.
 *    Read comes only from a files rule on the store or below it. Rules below a store
 *    keep the flag. Every regular file below it that exists, and the targets of links in
 *    it, are objects of their own (without WEIR_RULE_ROOT), so that another hard link
 *    does not lead around the store.
 *  - The workspace is always an object with WEIR_RULE_WORKSPACE; id 0 and the enclosing
 *    rights if no rule names it.
 *  - Every directory above a rule root or a name's directory, from the first component
 *    down, and the names' directories: objects with WEIR_RULE_ANCESTOR alone and no
 *    rights; a walk goes on over them.
 *  - One inode under several paths (bind mounts, hard links of store files) has the same
 *    rights, flags and id in each of its objects; two rules that differ are refused.
 *
 *  - A network rule: one for each of its ranges of ports. A unix socket: the object that its path
 *    leads to now, or the hash of its abstract name. Ignored services: those that are there.
 *
 * Numbers (ids): files rules from 1 in their order, then credential stores, egress, listen, unix.
 */
#ifndef WEIR_POLICY_COMPILE_H
#define WEIR_POLICY_COMPILE_H

#include <sys/stat.h>

#include "user/policy/path.h"

/* Regular files below all stores together. ~/.ssh and its like hold dozens; more means that
 * a store was set too high, and each costs a rule of WEIR_RULES_MAX. */
#define POLICY_STORE_FILES_MAX 10000

struct policy_object {
	char *path;	 /* real, absolute */
	uint32_t rights; /* effective WEIR_RIGHT_* */
	uint32_t flags;	 /* WEIR_RULE_* */
	uint32_t id;	 /* 0: no rule of the policy */
	uint32_t line;	 /* in the policy, 0 likewise */
	uint64_t dev;	 /* as stat said; whoever binds the object compares */
	uint64_t ino;
	uint32_t mode;
};

struct policy_name {
	char *dir; /* real path of an existing directory, which is an object as well */
	char *name;
	uint32_t rights;
	uint32_t flags; /* WEIR_RULE_CREDENTIAL or 0 */
	uint32_t id;
	uint32_t line;
};

enum policy_note_kind {
	POLICY_NOTE_SKIPPED, /* optional, does not exist: grants nothing */
	POLICY_NOTE_SYMLINK, /* holds for the real path */
	POLICY_NOTE_MERGED,  /* same object or name as another rule */
};

struct policy_note {
	enum policy_note_kind kind;
	uint32_t id;
	struct policy_pos pos;
	char *text; /* FILE:LINE:COLUMN: text, safe for a terminal */
};

/* Where a rule number comes from. */
struct policy_source {
	char *written; /* path as the policy writes it */
	struct policy_pos pos;
	bool credential;
};

/* A unix socket that members may talk to, or that is refused without a finding. */
struct policy_peer {
	char *path;	/* real; NULL: abstract */
	char *abstract; /* name without its first NUL */
	uint64_t dev;	/* of the path, as stat said */
	uint64_t ino;
	uint32_t id; /* 0: of the list of ignored services */
	bool ignored;
};

struct policy_image {
	char *file;
	char *workspace;	       /* real path */
	uint32_t rights;	       /* default, where no rule applies */
	uint64_t powers;	       /* WEIR_POWER_* that are granted */
	uint64_t attempts;	       /* kinds of which a refused attempt is a finding, as bits */
	struct policy_object *objects; /* by policy_path_compare, no path twice */
	size_t object_count;
	struct policy_name *names; /* by directory, then name; no pair twice */
	size_t name_count;
	struct weir_netrule *nets;
	size_t net_count;
	struct policy_peer *peers;
	size_t peer_count;
	struct policy_note *notes;
	size_t note_count;
	struct policy_source *sources; /* sources[id - 1] */
	size_t source_count;
};

/* Compiles against the host's files as they are now (the caller needs to see them: root).
 * env->workspace is required.
 * Gives: an image for policy_image_free. Borrows: p, env.
 * Returns: 0; -EINVAL with FILE:LINE:COLUMN (missing path, duplicate, contradiction, broad
 * grant), -E2BIG past the limits of bpf/abi/limits.h, -ENOMEM, or the errno of a failed
 * look at a path. */
int policy_compile(const struct policy *p, const struct policy_env *env,
		   struct policy_image **ret_image, struct weir_err *e);

/* Refuses what policy_compile would refuse on every host: the same path twice, broad grants.
 * Borrows: p. Returns: 0, -EINVAL with FILE:LINE:COLUMN, -ENOMEM. */
int policy_check_written(const struct policy *p, struct weir_err *e);

/* Frees an image; NULL is fine. */
void policy_image_free(struct policy_image *im);
static inline void cleanup_policy_image_fn(struct policy_image **im)
{
	policy_image_free(*im);
}
#define cleanup_policy_image __attribute__((cleanup(cleanup_policy_image_fn)))

/* The object with exactly this path. Borrows: path. Returns: borrowed from im, or NULL. */
const struct policy_object *policy_image_find(const struct policy_image *im, const char *path);

/* What decides about a path. */
struct policy_answer {
	uint32_t rights; /* what members may do, before the control check */
	uint32_t flags;
	uint32_t id;
	uint32_t line;
	const char *root; /* the deciding rule's object, or the name's directory; NULL: default */
	const char *name; /* set when a name rule decides */
	bool control;	  /* below the rule lies a control name: changes need "control" too */
};

/* Finds the rule for a real absolute path, existing or not, as the kernel side does:
 * from the object upwards, at each level its own rule before a rule for its name.
 * Gives: ret_answer, borrowed from im. Borrows: path. */
void policy_explain(const struct policy_image *im, const char *path,
		    struct policy_answer *ret_answer);

/* Appends one line of text for an answer, without newline: the rights and FILE:LINE of the
 * rule. Borrows: all. Returns: as buf_add. */
int policy_add_explanation(struct buf *b, const struct policy_image *im, const char *path,
			   const struct policy_answer *a);

/* Whether a path below a rule (components with "/", no "/" at the start) is or lies below
 * a control name (bpf/abi/control.h). own_git: the path starts at the workspace's root, so
 * that only WEIR_GIT_CONTROL counts below its .git. Borrows: path. Returns: truth. */
bool policy_path_is_control(const char *path, bool own_git);

#endif
