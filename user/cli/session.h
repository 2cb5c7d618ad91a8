/* SPDX-License-Identifier: MIT */
/*
 * One run from sealed start to sealed end (session_open ... session_close), as the steps
 * of `weir run`. Each step leaves the session in a state that session_close can end.
 */
#ifndef WEIR_CLI_SESSION_H
#define WEIR_CLI_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/cli/child.h"
#include "user/cli/gatecall.h"
#include "user/event/mounts.h"
#include "user/kern/kern.h"
#include "user/pipe/pipe.h"
#include "user/policy/compile.h"
#include "user/tree/manifest.h"
#include "user/tree/rundir.h"

struct run_options {
	const char *policy;		  /* file, "@base", or NULL: unjudged */
	const char *workspace;		  /* -w, NULL: a fresh checkout */
	const char *repository;		  /* --repo, NULL */
	const char *ref;		  /* --ref, NULL */
	const char *user;		  /* --user, NULL */
	const char *without;		  /* --without-hook, NULL */
	const char *alerts;		  /* --alerts, NULL */
	enum kern_source source;	  /* where decisions are made */
	uint32_t mode;			  /* WEIR_MODE_OFF: as the policy says */
	uint64_t timeout_ns;		  /* 0: as the policy says */
	uint64_t grace_ns;		  /* UINT64_MAX: as the policy says */
	uint64_t memory, processes, disk; /* 0: as the policy says */
	size_t ring_bytes;
	bool quiet;
	char *const *argv;
};

/* Who the command runs as. */
struct run_user {
	char name[64];
	uid_t uid;
	gid_t gid;
	char *home;
};

struct session {
	const struct run_options *opt;
	char *state;
	struct rundir run;
	struct rundir_lock lock;
	struct gate_base base; /* nonce and base commit, if there is a repository */
	char *workspace;       /* real path */
	int workspace_fd;
	bool fresh; /* made by the gate for this run */
	char *tmpdir;
	bool own_tmpdir;
	struct run_user user;
	char **env;

	struct policy *policy;
	struct policy_image *image;
	char *policy_sha256;

	struct kern *kern;
	struct kern_slot slot;
	char *canary_dir;
	uint64_t canaries; /* members that were canaries */
	struct mounts *mounts;

	int trace_fd;
	int alerts_fd; /* -1: none, or given up */
	struct trace_writer *trace;
	struct pipe pipe;
	struct kern_ring *ring;
	struct manifest_summary before, after;

	char *cgroup;
	struct child child;
	uint32_t mode;
	uint64_t grace_ns, timeout_ns;
	int wait_status;	     /* of the command, -1: none */
	int exec_err;		     /* exec failed with this */
	bool interrupted, cut_short; /* by a signal; by a limit */
	uint64_t disk_bytes;	     /* that the run's file systems may lose, 0: no limit */
	uint64_t disk_free;	     /* at the start */
	struct timespec started;
	json_t *reasons; /* what kept us from being sure; strings */
	json_t *coverage;
};

/* Steps before the command (session.c). Return: 0 or a negative errno with e set. */
int session_prepare(struct session *s, const struct run_options *opt, struct weir_err *e);
int session_attach(struct session *s, struct weir_err *e);

/* Whether the source can do what the run wants (session_source.c); what it can't keep although
 * the run goes on is a doubt. Returns: likewise. */
int session_source(struct session *s, struct weir_err *e);

/* Parts of the two above: workspace.c and rules.c. Return: likewise. */
int session_choose_workspace(struct session *s, struct weir_err *e);
int session_bind(struct session *s, struct weir_err *e);

/* The command itself (loop.c): until its members are gone or killed. Returns: likewise. */
int session_watch(struct session *s, struct weir_err *e);

/* Steps after it (finish.c): seal, drain, prove, hash, judge, write. Gives the verdict.
 * Returns: likewise. */
int session_finish(struct session *s, enum verdict_value *ret_verdict, struct weir_err *e);

/* Ends whatever was begun; nothing is left attached, mounted or running. */
void session_close(struct session *s);

/* Something that makes the run indeterminate, as one line. */
void session_doubt(struct session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What went wrong after the verdict: what can't be kept can't be proven. */
void session_spoil(struct session *s, const struct weir_err *why);

/* Sends a canary; what it could not prove is a doubt. when: "at the start" ... */
void session_prove(struct session *s, const char *when);

/* Takes what is in the ring; wait_ms 0 only looks. Returns: records taken, or an errno. */
int session_drain(struct session *s, int wait_ms);

#endif
