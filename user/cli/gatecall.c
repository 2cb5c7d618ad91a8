/* SPDX-License-Identifier: MIT */
#include "user/cli/gatecall.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"

#define GATE_CONFIG "/etc/weir/gate.yaml"
#define GATE_OUTPUT_MAX (16u << 20)
#define ARGS_MAX 64

void gate_base_done(struct gate_base *b)
{
	free(b->nonce);
	free(b->repository);
	free(b->ref);
	free(b->commit);
	free(b->policy_sha256);
	memset(b, 0, sizeof(*b));
}

int gate_is_configured(void)
{
	return access(GATE_CONFIG, F_OK) == 0;
}

/* The gate stands beside this program, else on a path that only root writes to. */
static void exec_gate(const char *const *args)
{
	static const char *const dirs[] = { "/usr/local/bin", "/usr/bin" };
	const char *argv[ARGS_MAX + 2] = { "weir-gate" };
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - sizeof("weir-gate"));

	for (int i = 0; i < ARGS_MAX && args[i]; i++)
		argv[i + 1] = args[i];
	if (len > 0) {
		path[len] = '\0';
		memcpy(strrchr(path, '/') + 1, "weir-gate", sizeof("weir-gate"));
		execv(path, (char *const *)argv);
	}
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		snprintf(path, sizeof(path), "%s/weir-gate", dirs[i]);
		execv(path, (char *const *)argv);
	}
	_exit(127);
}

int gate_call(const char *const *args, struct buf *out, struct weir_err *e)
{
	int ends[2] = { -1, -1 }, status, err = 0;
	pid_t pid;

	if (out && pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, -errno, "calling weir-gate");
	pid = fork();
	if (pid == 0) {
		if (out)
			dup2(ends[1], 1);
		exec_gate(args);
	}
	if (out)
		close(ends[1]);
	if (pid < 0)
		return err_errno(e, -errno, "calling weir-gate");
	if (out) {
		err = fsio_read_fd(ends[0], GATE_OUTPUT_MAX, out);
		close(ends[0]);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_errno(e, -errno, "waiting for weir-gate");
	if (err < 0)
		return err_errno(e, err, "reading from weir-gate");
	if (!WIFEXITED(status))
		return err_set(e, -EIO, "weir-gate was killed by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status) == 127)
		return err_set(e, -ENOENT, "weir-gate is not installed beside weir");
	return WEXITSTATUS(status);
}

int gate_said(int status, struct weir_err *e)
{
	*e = (struct weir_err){ .err = -EACCES, .exit_code = status };
	return -EACCES;
}

static char *member(const json_t *json, const char *name)
{
	const char *text = json_string_value(json_object_get(json, name));

	return text ? strdup(text) : NULL;
}

int gate_nonce(const char *repository, const char *ref, const char *workspace,
	       struct gate_base *ret_base, struct weir_err *e)
{
	const char *args[ARGS_MAX] = { "nonce", "--workspace", workspace };
	cleanup_buf struct buf out = { 0 };
	json_t *json;
	int n = 3, status;

	if (!gate_is_configured())
		return err_set(e, -ENOENT,
			       "%s: no gate on this host; make one: weir-gate init --repo DIR",
			       GATE_CONFIG);
	if (repository) {
		args[n++] = "--repo";
		args[n++] = repository;
	}
	if (ref) {
		args[n++] = "--ref";
		args[n++] = ref;
	}
	status = gate_call(args, &out, e);
	if (status < 0)
		return status;
	if (status > 0)
		return gate_said(status, e);
	json = json_loads(buf_str(&out), JSON_REJECT_DUPLICATES, NULL);
	*ret_base = (struct gate_base){
		.nonce = member(json, "nonce"),
		.repository = member(json, "repository"),
		.ref = member(json, "ref"),
		.commit = member(json, "commit"),
		.policy_sha256 = member(json, "policy_sha256"),
	};
	json_decref(json);
	if (!ret_base->nonce || !ret_base->repository || !ret_base->ref || !ret_base->commit)
		return err_set(e, -EBADMSG, "weir-gate's answer is not understood");
	return 0;
}
