/* SPDX-License-Identifier: MIT */
/*
 * The gate as a service: `weir-gate serve`. One connection is one request and one answer, each a
 * frame {u32 length, big endian; JSON object}. Whoever connects to the unix socket is known by
 * SO_PEERCRED; a relay (`weir-gate serve --principal P`, an ssh forced command) first sends a frame
 * {"schema":"weir.hello/1","principal":P}, which is believed from root, the gate's user and the
 * `relay` of gate.yaml alone.
 *
 *   request  {"schema":"weir.request/1","op":OP, MEMBER: ...}; members as in SERVE_MEMBERS, those
 *            that the operation has and no others
 *   answer   {"schema":"weir.answer/1","ok":true,"result":OBJECT} or "text":TEXT in its place;
 *            {"schema":"weir.answer/1","ok":false,"code":CODE,"text":TEXT}, codes as in
 *            writeback/reason.h, and "failed" for what only the service's log tells
 *
 * Processes: the listener (root, cmdserve.c) takes connections and parses nothing. For each it
 * forks a broker (root, servebroker.c), and that a judge (the gate's user, servejudge.c) who reads
 * the request, finds out who asks, and decides whether they may ask it of this object. Then the
 * broker runs the operation's command, weir-gate itself with arguments of its own making, which
 * drops privilege as on the command line, and frames what it says. The judge asks the broker for
 * what only root can open, and tells it the outcome (writeback/proto.h):
 *
 *   SERVE_ASK_RUN    bytes run id   SERVE_GIVE_RUN    i32 err; a descriptor of statement.json
 *   SERVE_ASK_OWNER  bytes path     SERVE_GIVE_OWNER  struct serve_owner
 *   SERVE_ASK_SEAT   bytes principal SERVE_GIVE_SEAT i32 err; -EBUSY when they have enough
 *   SERVE_ANSWER     bytes: the answer, whole
 *   SERVE_GO         u32 op, u32 uid of the caller, then {u32 member, bytes value} ...; values of
 *                    class FILE are descriptors, in order, and their bytes are empty
 *
 * gate.yaml is read again by the judge once the request is there, and by the broker before it runs
 * the command: what root takes out of it holds at once, also for connections that are open already.
 * One that can't be read any more is no reason to go on with the old one.
 */
#ifndef WEIR_WRITEBACK_SERVE_H
#define WEIR_WRITEBACK_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/buf.h"
#include "user/base/err.h"
#include "writeback/config.h"

#define SERVE_SOCKET "/run/weir/gate.sock"
#define SERVE_REQUEST "weir.request/1"
#define SERVE_HELLO "weir.hello/1"
#define SERVE_ANSWERS "weir.answer/1"
#define SERVE_STATUS "weir.status/1"

#define SERVE_FRAME_MAX ((size_t)1 << 20)   /* bytes of a request */
#define SERVE_ANSWER_MAX ((size_t)17 << 20) /* bytes of an answer, for clients */
#define SERVE_CONNECTIONS 64		    /* at once; one more is told "busy" */
#define SERVE_PER_USER 16		    /* of one uid that is not root */
#define SERVE_PER_PRINCIPAL 4		    /* of one that relays name */
#define SERVE_READ_S 10			    /* seconds for a request to arrive */
#define SERVE_WRITE_S 30		    /* and for an answer to be taken */
#define SERVE_QUEUE_S 300		    /* to be judged: waiting for the repository's lock */
#define SERVE_MEMORY ((size_t)2 << 30)	    /* bytes of address space of each process */

/* What a value may be. A list is an array of words, kept as lines. */
enum serve_class {
	SERVE_HEX, /* lower-case hex digits, exactly so many */
	SERVE_RUN_ID,
	SERVE_WORD, /* letters, digits and ._/~^@:+- , not beginning with - */
	SERVE_LINE, /* UTF-8 without control characters */
	SERVE_LONG, /* UTF-8 with newlines and tabs */
	SERVE_BOOL, /* true */
	SERVE_FILE, /* as LONG, handed to the command as a file */
	SERVE_LIST, /* of words, handed on as a file */
};

/* X(ID, name, class, longest in bytes, option of the command) */
#define SERVE_MEMBERS(X) \
	X(NONCE, "nonce", SERVE_HEX, 32, "--nonce") \
	X(RUN, "run", SERVE_RUN_ID, 22, "--run") \
	X(COMMIT, "commit", SERVE_WORD, 256, "") \
	X(PROMOTION, "promotion", SERVE_HEX, 64, "--promotion") \
	X(DECISION, "decision", SERVE_WORD, 16, NULL) \
	X(ROLE, "role", SERVE_WORD, 32, "--role") \
	X(REASON, "reason", SERVE_LONG, 4096, "--reason") \
	X(FOR, "for", SERVE_WORD, 16, "--for") \
	X(ACKNOWLEDGE, "acknowledge", SERVE_LIST, 512 << 10, "--ack-list") \
	X(STATEMENT, "statement", SERVE_FILE, 768 << 10, "--statement") \
	X(SIGNATURE, "signature", SERVE_FILE, 16 << 10, "--signature") \
	X(MESSAGE, "message", SERVE_LONG, 64 << 10, "--message") \
	X(AUTHOR, "author", SERVE_LINE, 1024, "--author") \
	X(DEEP, "deep", SERVE_BOOL, 8, "--deep") \
	X(TEXT, "text", SERVE_BOOL, 8, NULL) \
	X(ONLY, "only", SERVE_LIST, 64 << 10, "--only-list") \
	X(REBASE, "rebase", SERVE_BOOL, 8, "--rebase")

enum serve_member {
#define WEIR_X(id, name, class, max, option) SERVE_M_##id,
	SERVE_MEMBERS(WEIR_X)
#undef WEIR_X
	SERVE_MEMBER_COUNT,
};
#define SERVE_BIT(id) (1u << SERVE_M_##id)

/* Who may ask it. An object's people are those of the commit that it is based on. Root may all. */
enum serve_who {
	SERVE_MAY_ANYONE,   /* whoever can connect */
	SERVE_MAY_LISTED,   /* whoever is a person of some proposal; sees those */
	SERVE_MAY_KNOWN,    /* a person of the proposal's people */
	SERVE_MAY_ROLE,	    /* one who has the role, and for a yes is no producer of it */
	SERVE_MAY_SIGNER,   /* the person whose key has signed */
	SERVE_MAY_OWNER,    /* the workspace's owner, or a producer of the run's proposal */
	SERVE_MAY_PRODUCER, /* a producer of the proposal */
	SERVE_MAY_MEMBER,   /* a person of a branch's tip */
	SERVE_MAY_KEEPER,   /* a platform-owner of a branch's tip */
};

enum serve_form {
	SERVE_JSON,
	SERVE_PLAIN,
	SERVE_EITHER, /* JSON unless "text" is asked for */
};

#define SERVE_SPEAK (SERVE_BIT(NONCE) | SERVE_BIT(DECISION))

/* X(ID, name, command; NULL: the decision's; "": none, who may, members needed, members allowed
 * besides, form, longest request in KiB, longest result in KiB, seconds) */
#define SERVE_OPS(X) \
	X(STATUS, "status", "", SERVE_MAY_ANYONE, 0, 0, SERVE_JSON, 4, 64, 10) \
	X(PENDING, "pending", "pending", SERVE_MAY_LISTED, 0, SERVE_BIT(TEXT), SERVE_EITHER, 4, \
	  4096, 60) \
	X(REVIEW, "review", "review", SERVE_MAY_KNOWN, SERVE_BIT(NONCE), SERVE_BIT(TEXT), \
	  SERVE_EITHER, 4, 16384, 300) \
	X(STATEMENT, "statement", NULL, SERVE_MAY_ROLE, SERVE_SPEAK, \
	  SERVE_BIT(ROLE) | SERVE_BIT(REASON) | SERVE_BIT(FOR) | SERVE_BIT(PROMOTION) | \
		  SERVE_BIT(ACKNOWLEDGE), \
	  SERVE_PLAIN, 1024, 4096, 60) \
	X(SIGN, "sign", NULL, SERVE_MAY_SIGNER, \
	  SERVE_SPEAK | SERVE_BIT(STATEMENT) | SERVE_BIT(SIGNATURE), 0, SERVE_PLAIN, 1024, 64, 60) \
	X(COMMIT, "commit", "commit", SERVE_MAY_OWNER, SERVE_BIT(RUN), \
	  SERVE_BIT(MESSAGE) | SERVE_BIT(AUTHOR) | SERVE_BIT(PROMOTION) | SERVE_BIT(REBASE), \
	  SERVE_JSON, 128, 16384, 600) \
	X(DROP, "drop", "pending", SERVE_MAY_PRODUCER, SERVE_BIT(NONCE), 0, SERVE_PLAIN, 4, 64, \
	  60) \
	X(VERIFY, "verify", "verify", SERVE_MAY_MEMBER, SERVE_BIT(COMMIT), SERVE_BIT(DEEP), \
	  SERVE_JSON, 4, 64, 300) \
	X(QUARANTINE, "quarantine", "pending", SERVE_MAY_KEEPER, 0, 0, SERVE_JSON, 4, 4096, 60)

enum serve_op {
#define WEIR_X(id, ...) SERVE_OP_##id,
	SERVE_OPS(WEIR_X)
#undef WEIR_X
	SERVE_OP_COUNT,
};

struct serve_row {
	const char *name;
	const char *command;
	enum serve_who who;
	uint32_t needed; /* bits of enum serve_member */
	uint32_t allowed;
	enum serve_form form;
	size_t request_kib;
	size_t result_kib;
	unsigned int seconds;
};

struct serve_value {
	const char *name;
	enum serve_class class;
	size_t max;
	const char *option;
};

/* Returns: a row of either table; static. */
const struct serve_row *serve_op(enum serve_op op);
const struct serve_value *serve_member(enum serve_member member);

/* Returns: the operation or member of a name, or the count. Borrows: name. */
enum serve_op serve_op_find(const char *name);
enum serve_member serve_member_find(const char *name);

struct serve_request {
	enum serve_op op;
	char *values[SERVE_MEMBER_COUNT]; /* NULL: not given */
};

void serve_request_done(struct serve_request *r);
#define cleanup_serve_request __attribute__((__cleanup__(serve_request_done)))

/* Whether a text may stand for a member. Returns: truth. Borrows: text. */
bool serve_value_fits(enum serve_member member, const char *text);

/* Reads a request. Pure. Returns: 0; refused with code "request", or "limit" when it is longer
 * than its operation allows; -ENOMEM. Borrows: text. Gives: ret_request. */
int serve_request_parse(const char *text, size_t len, struct serve_request *ret_request,
			struct weir_err *e);

/* Appends the request as JSON. Returns: 0 or -ENOMEM. Borrows: r. */
int serve_request_format(const struct serve_request *r, struct buf *ret_text);

/* Whether it is a relay's hello. Returns: 1 with ret_principal for free, 0, refused with code
 * "request", or -ENOMEM. Borrows: text. */
int serve_hello_parse(const char *text, size_t len, char **ret_principal, struct weir_err *e);

/* Appends a hello. Returns: 0 or -ENOMEM. Borrows: principal. */
int serve_hello_format(const char *principal, struct buf *ret_text);

/* Appends an answer that holds JSON (one object, checked by who made it) or a text.
 * Returns: 0, -EBADMSG for a text that is no UTF-8, -ENOMEM. Borrows: all. */
int serve_answer_json(const char *json, size_t len, struct buf *ret_answer);
int serve_answer_text(const char *text, size_t len, struct buf *ret_answer);

/* Appends one that says no. Without a code of its own an error says only "failed".
 * Returns: 0 or -ENOMEM. Borrows: e. */
int serve_answer_error(const struct weir_err *e, struct buf *ret_answer);

/* Reads an answer: result as JSON and a newline, or text; or the refusal in e. Returns: 0;
 * -EPERM with e's code and text; -EBADMSG, -ENOMEM. Borrows: text. Gives: ret_result. */
int serve_answer_parse(const char *text, size_t len, struct buf *ret_result, struct weir_err *e);

/* Reads or writes a frame on a stream within so many seconds. Returns: 0; -EMSGSIZE for an empty
 * or longer one; -ETIMEDOUT; -EPIPE when the other side ended; another errno. Borrows: data. */
int serve_frame_read(int fd, size_t max, unsigned int seconds, struct buf *ret_data);
int serve_frame_write(int fd, const void *data, size_t len, unsigned int seconds);

/* Connects to a service. Returns: a descriptor or a negative errno with e. Borrows: path. */
int serve_connect(const char *path, struct weir_err *e);

enum serve_message {
	SERVE_ASK_RUN = 1,
	SERVE_GIVE_RUN,
	SERVE_ASK_OWNER,
	SERVE_GIVE_OWNER,
	SERVE_ASK_SEAT,
	SERVE_GIVE_SEAT,
	SERVE_ANSWER,
	SERVE_GO,
};

struct serve_owner {
	int32_t err;
	uint32_t uid;
	uint64_t dev;
	uint64_t ino;
};

/* Who asks. */
struct serve_caller {
	uid_t uid;	 /* of the peer */
	char *principal; /* NULL: none was named */
};

/* The judge: reads one request from client, asks and answers on broker. Runs as the gate's user.
 * Returns: 0 or a negative errno. */
int serve_judge(int client, int broker, uid_t peer, struct weir_err *e);

/* Whom the connections of relays are for, in memory that the listener and all brokers share. */
struct serve_seats {
	uint64_t principals[SERVE_CONNECTIONS]; /* of SHA-256; 0: none was named */
};

/* The broker: serves the connection to its end, and answers on it. own: its place among the seats.
 * Returns: an exit status. Borrows: c, seats. */
int serve_broker(const struct gate_config *c, int client, uid_t peer, struct serve_seats *seats,
		 unsigned int own);

#endif
