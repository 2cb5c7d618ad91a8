/* SPDX-License-Identifier: MIT */
#include "user/kern/dcache.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi/syscalls.h"
#include "user/base/cleanup.h"

/* Agreement that no accident gives: with two wrong ones, 2^-60. */
#define AGREE_MIN 5

/* Chains: from 2^4 to 2^31. */
#define SHIFT_MIN 1
#define SHIFT_MAX 28

static const char *const names[] = {
	"status",  "stat",   "statm",	  "maps",      "smaps",	 "cmdline", "comm",  "auxv",
	"environ", "limits", "mounts",	  "mountinfo", "cgroup", "sched",   "wchan", "stack",
	"syscall", "io",     "oom_score", "pagemap",   "fdinfo", "attr",    "net",   "ns",
};

/* How the name of the hash is made, as the programs do it. */
static uint32_t name_hash(const struct weir_sample *s)
{
	__u64 x = 0, y = s->parent, word = 0;
	uint32_t at = 0;

	for (; at + 8 <= s->len; at += 8) {
		memcpy(&word, s->name + at, 8);
		weir_dcache_mix(&x, &y, word);
	}
	word = 0;
	memcpy(&word, s->name + at, s->len - at);
	return weir_dcache_fold(x, y, word);
}

/* Returns: whether there is a sample, whose hash is as it should be. */
static bool take_sample(int prog, const char *name, struct weir_sample *ret_sample)
{
	struct weir_sample s = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &s, .ctx_size_in = sizeof(s));
	char path[64];
	cleanup_close int fd = -1;

	snprintf(path, sizeof(path), "/proc/self/%s", name);
	fd = open(path, O_PATH | O_CLOEXEC);
	s.fd = (uint32_t)fd;
	if (fd < 0 || bpf_prog_test_run_opts(prog, &opts) < 0 || s.ret_err < 0 ||
	    s.len >= sizeof(s.name) || s.hash != name_hash(&s))
		return false;
	*ret_sample = s;
	return true;
}

/* Where the table would begin if what points at the entry were its chain. */
static uint64_t table_of(const struct weir_sample *s, unsigned int shift)
{
	return s->link - 8ull * (s->hash >> shift);
}

static size_t count_agreeing(const struct weir_sample *samples, size_t count, size_t with,
			     unsigned int shift)
{
	uint64_t table = table_of(&samples[with], shift);
	size_t agree = 0;

	for (size_t i = 0; i < count; i++)
		agree += table_of(&samples[i], shift) == table;
	return agree;
}

/* The place on which most agree. */
static struct weir_dcache solve(const struct weir_sample *samples, size_t count)
{
	struct weir_dcache found = { 0 };
	size_t best = AGREE_MIN - 1;

	for (unsigned int shift = SHIFT_MIN; shift <= SHIFT_MAX; shift++) {
		for (size_t i = 0; i < count; i++) {
			size_t agree = count_agreeing(samples, count, i, shift);

			if (agree <= best)
				continue;
			best = agree;
			found.table = table_of(&samples[i], shift);
			found.shift = shift;
		}
	}
	return found;
}

int dcache_find(struct bpf_object *obj, struct weir_err *e)
{
	const struct bpf_program *prog = bpf_object__find_program_by_name(obj, "weir_sys_sample");
	int map = bpf_object__find_map_fd_by_name(obj, "weir_dcache");
	struct weir_sample samples[ARRAY_SIZE(names)];
	struct weir_dcache found;
	size_t count = 0;
	__u32 zero = 0;

	if (!prog || map < 0)
		return err_errno(e, -ENOENT, "weir_sys_sample");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		count += take_sample(bpf_program__fd(prog), names[i], &samples[count]);
	found = solve(samples, count);
	if (bpf_map_update_elem(map, &zero, &found, BPF_ANY) < 0)
		return err_errno(e, -errno, "telling the table of names");
	if (getenv("WEIR_DEBUG"))
		fprintf(stderr, "weir: table of names: %zu samples, %llx >> %u\n", count,
			(unsigned long long)found.table, found.shift);
	return 0;
}
