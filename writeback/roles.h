/* SPDX-License-Identifier: MIT */
/*
 * People: who may sign what. Four files of the base commit, in .weir/, all regular:
 *
 *   allowed_signers  keys of people (writeback/signers.h); a role is a namespace of its own
 *   roles.yaml       persons: names for principals, roles, and logins on this host
 *   revoked.krl      optional: revoked keys and certificates (writeback/krl.h)
 *   people           SHA-256 of the three, as sha256sum prints them: "HEX  NAME" lines
 *   people.sig       SSHSIG over `people`, namespace policy-owner@weir.v1, by a key that the
 *                    signer root of gate.yaml lists
 *
 * So stock tools make it: cd .weir; sha256sum allowed_signers roles.yaml revoked.krl >people;
 * ssh-keygen -Y sign -f KEY -n policy-owner@weir.v1 people. gate.yaml may name a second
 * revocation list, `revoked`, which holds at once.
 *
 * roles.yaml:
 *   schema: weir.roles/1
 *   people:
 *     - name: alice                        one person; no two names for one
 *       principals: [alice@example.org]    as in allowed_signers
 *       roles: [approver, security]
 *       logins: [alice, "1000"]            users of this host: what they start, alice produces
 *
 * A signature counts for a role when its key is listed for the role's namespace under a
 * principal of a person who has the role. Unknown keys, a principal, name or login that stands twice
 * and empty lists are errors.
 */
#ifndef WEIR_WRITEBACK_ROLES_H
#define WEIR_WRITEBACK_ROLES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/err.h"
#include "user/policy/policy.h"
#include "writeback/config.h"
#include "writeback/signers.h"

#define ROLES_SCHEMA "weir.roles/1"
#define ROLES_PEOPLE_MAX 10000

/* X(ID, name); the namespace of a role's signatures is NAME@weir.v1 */
#define ROLES(X) POLICY_ROLES(X)

enum role {
#define WEIR_X(id, name) ROLE_##id,
	ROLES(WEIR_X)
#undef WEIR_X
	ROLE_COUNT,
};

/* Returns: name and namespace of a role; static. */
const char *role_name(enum role role);
const char *role_namespace(enum role role);

/* Returns: the role of a name, ROLE_COUNT if there is none. Borrows: name. */
enum role role_find(const char *name);

struct person {
	char *name;
	struct gate_texts principals;
	struct gate_texts logins;
	uint32_t roles; /* bit set of enum role */
};

struct roles {
	struct person *people;
	size_t count;
};

void roles_done(struct roles *r);
#define cleanup_roles __attribute__((__cleanup__(roles_done)))

/* Reads roles.yaml; name is for messages. Returns: 0, -EINVAL with NAME:LINE:COLUMN, -ENOMEM.
 * Borrows: text. Gives: ret_roles. */
int roles_parse(const char *name, const char *text, size_t len, struct roles *ret_roles,
		struct weir_err *e);

/* Finds the person of a principal, or of a login given by name and number. Returns: the
 * person, borrowed from r, or NULL. Borrows: all. */
const struct person *roles_by_principal(const struct roles *r, const char *principal);
const struct person *roles_by_login(const struct roles *r, uid_t uid, const char *login);

/* The people of one base commit, with the digests of what they come from. */
struct people {
	struct signers signers;
	struct roles roles;
	struct buf krl;	     /* of the commit; empty: none */
	struct buf host_krl; /* of gate.yaml */
	char signers_sha256[DIGEST_HEX];
	char roles_sha256[DIGEST_HEX];
	char krl_sha256[DIGEST_HEX]; /* "" when there is none; so the others */
	char host_krl_sha256[DIGEST_HEX];
	char root_sha256[DIGEST_HEX]; /* of the signer root's file */
	bool loaded;
};

void people_done(struct people *p);
#define cleanup_people __attribute__((__cleanup__(people_done)))

struct repo; /* writeback/repo.h */
struct git_oid;

/* Reads the people of a commit's tree and checks them against the signer root.
 * Returns: 0; refused with code "signer-root" or "people"; or a negative errno.
 * Borrows: all. Gives: ret_people. */
int people_load(const struct gate_config *c, const struct repo *r, const struct git_oid *tree,
		struct people *ret_people, struct weir_err *e);

/* The same for a verifier, who has neither the host's signer root nor its revocation list: who
 * may say who the people are is the gate's word. Returns: as above. */
int people_load_public(const struct repo *r, const struct git_oid *tree, struct people *ret_people,
		       struct weir_err *e);

/* Finds who signed: the person of a key for a role, at a time. Returns: 0; refused with code
 * "signer-unknown", "signer-role", "signer-expired", "signer-revoked" or "signer-shared";
 * -EBADMSG. Gives: ret_person, borrowed from p, and the principal appended. Borrows: blob. */
int people_find(const struct people *p, const struct sshwire *blob, enum role role, time_t when,
		const struct person **ret_person, struct buf *ret_principal, struct weir_err *e);

#endif
