/* SPDX-License-Identifier: MIT */
/*
 * Instructions that the verifier looked at for each program that is loaded and whose name starts
 * with "weir_". Prints lines "NAME VERIFIED TRANSLATED-BYTES". Source of the numbers:
 * struct bpf_prog_info in linux/bpf.h.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int sys_bpf(int cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

int main(void)
{
	union bpf_attr next = { 0 };
	int seen = 0;

	while (sys_bpf(BPF_PROG_GET_NEXT_ID, &next) == 0) {
		struct bpf_prog_info info = { 0 };
		union bpf_attr by_id = { .prog_id = next.next_id }, look = { 0 };
		int fd = sys_bpf(BPF_PROG_GET_FD_BY_ID, &by_id);

		next.start_id = next.next_id;
		if (fd < 0)
			continue;
		look.info.bpf_fd = (uint32_t)fd;
		look.info.info_len = sizeof(info);
		look.info.info = (uint64_t)(uintptr_t)&info;
		if (sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &look) == 0 &&
		    strncmp(info.name, "weir_", 5) == 0) {
			printf("%s %u %u\n", info.name, info.verified_insns, info.xlated_prog_len);
			seen++;
		}
		close(fd);
	}
	if (!seen) {
		fprintf(stderr, "programs: none of weir's is loaded: %s\n", strerror(errno));
		return 1;
	}
	return 0;
}
