/* SPDX-License-Identifier: MIT */
/*
 * /etc/weir/gate.yaml: everything that the gate trusts starts here. Written by
 * `weir-gate init`, owned by root, writable for nobody else. Nothing that a run, a
 * workspace or a command line says can change it.
 *
 *   schema: weir.gate/1
 *   id: 32 hex digits                  names the repository in every promotion digest
 *   repository: /srv/git/project.git   bare, owned by user
 *   refs: [refs/heads/main]            what may be promoted to
 *   tags: [v*]                         optional: names of tags that may be made (user/base/glob.h)
 *   dirs: ["site dist /srv/www/site"]  optional: directories that runs may fill, each NAME FROM PATH
 *                                      (writeback/dirs.h)
 *   user: weir                         owner of repository, key and state
 *   key: /etc/weir/keys/gate           OpenSSH Ed25519 file, 0600, of user; with agent: .pub
 *   agent: /run/weir/agent.sock        optional: ssh-agent that holds the key
 *   signers: /etc/weir/allowed_signers
 *   name: weir gate                    author and committer
 *   email: weir@host
 *   hosts: [64 hex digits]             public host keys of collectors
 *   policies: [64 hex digits]          SHA-256 of policies besides the base commit's own
 *   crosscheck: stat                   or full, or trace (writeback/tracecheck.h)
 *   signer_root: /etc/weir/signer_root optional: allowed_signers of those who may say who the
 *                                      people of .weir/ are (writeback/roles.h)
 *   revoked: /etc/weir/revoked.krl     optional: keys that are revoked at once
 *   relay: weir-ssh                    optional: user whose `weir-gate serve --principal` is
 *                                      believed (writeback/serve.h); of ssh's forced commands
 *   expire: 30d                        optional: so long may a proposal wait (30d)
 *   ledger: /var/lib/weir-gate/ledger  directory of the transparency log
 *   ledger_key: /etc/weir/keys/ledger  OpenSSH Ed25519 file, 0600, of user; not the gate's key
 *   break_glass: /etc/weir/break_glass  optional: allowed_signers of those of whom two may push
 *                                      what no gate promoted (writeback/glass.h)
 *
 *   mode: direct                       or push: repository is a copy, the trusted one is remote
 *   remote: ssh://weir@host/srv/x.git  or an absolute path; with mode push (writeback/remote.h)
 *   remote_key: /etc/weir/keys/push    optional: OpenSSH key for ssh, of user
 *   remote_hosts: /etc/weir/known_hosts  optional: host keys of the remote
 *   ledgers: [NAME+ID+BASE64]          public keys of other gates' ledgers, whose promotions may
 *                                      be pushed here (writeback/receive.h)
 *
 * Unknown keys, missing keys and other types are errors, as FILE:LINE:COLUMN.
 */
#ifndef WEIR_WRITEBACK_CONFIG_H
#define WEIR_WRITEBACK_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "user/base/buf.h"
#include "user/base/digest.h"
#include "user/base/err.h"

#define GATE_ETC "/etc/weir"
#define GATE_CONFIG GATE_ETC "/gate.yaml"
#define GATE_HOST_KEY GATE_ETC "/host.key"
#define GATE_KEYS GATE_ETC "/keys"
#define GATE_KEY GATE_KEYS "/gate"
#define GATE_SIGNERS GATE_ETC "/allowed_signers"
#define GATE_STATE "/var/lib/weir-gate"
#define GATE_LEDGER GATE_STATE "/ledger"
#define GATE_LEDGER_KEY GATE_KEYS "/ledger"
#define GATE_LEDGER_PUBLIC GATE_ETC "/ledger.vkey" /* key text of writeback/note.h */
#define GATE_BREAK_GLASS GATE_ETC "/break_glass"
#define GATE_KNOWN_HOSTS GATE_ETC "/known_hosts"
#define GATE_PEM GATE_ETC "/gate.pem" /* the gate's public key, for openssl */
#define GATE_CONFIG_MAX ((size_t)1 << 20)
#define GATE_SCHEMA "weir.gate/1"
#define GATE_EXPIRE "30d"

struct gate_texts {
	char **items;
	size_t count;
};

struct gate_config {
	char *schema;
	char *id;
	char *repository;
	struct gate_texts refs;
	struct gate_texts tags;
	struct gate_texts dirs;
	char *user;
	char *key;
	char *agent; /* NULL: sign with the key file */
	char *signers;
	char *name;
	char *email;
	struct gate_texts hosts;
	struct gate_texts policies;
	char *crosscheck; /* NULL: stat */
	char *signer_root;
	char *revoked;
	char *relay;
	char *expire; /* NULL: GATE_EXPIRE */
	char *ledger;
	char *ledger_key;
	char *break_glass;
	char *mode; /* NULL: direct */
	char *remote;
	char *remote_key;
	char *remote_hosts;
	struct gate_texts ledgers;
	uid_t uid; /* of user */
	gid_t gid;
};

void config_done(struct gate_config *c);
#define cleanup_config __attribute__((__cleanup__(config_done)))

/* Reads a configuration's text; `file` is for messages. Looks nothing up on the host.
 * Returns: 0, -EINVAL with FILE:LINE:COLUMN, -ENOMEM. Borrows: file, text. Gives: ret. */
int config_parse(const char *file, const char *text, size_t len, struct gate_config *ret_config,
		 struct weir_err *e);

/* Reads GATE_CONFIG after checking who can write it, and finds the user.
 * Returns: 0 or a negative errno with e. Gives: ret_config. */
int config_load(struct gate_config *ret_config, struct weir_err *e);

/* The same for another file: a host may receive for several repositories. Returns: as above.
 * Borrows: path. */
int config_load_file(const char *path, struct gate_config *ret_config, struct weir_err *e);

/* Appends the text of a configuration. Returns: 0, -EINVAL for a value that can't be
 * written (control characters), -ENOMEM. Borrows: c. */
int config_format(const struct gate_config *c, struct buf *ret_text);

/* Returns: whether the list has the text. Borrows: both. */
bool gate_texts_have(const struct gate_texts *list, const char *text);

/* Frees the texts; puts them in order. */
void gate_texts_done(struct gate_texts *list);
void gate_texts_sort(struct gate_texts *list);

/* Appends a copy. Returns: 0 or -ENOMEM. Borrows: text. */
int gate_texts_add(struct gate_texts *list, const char *text);

#endif
