#!/bin/bash
# SPDX-License-Identifier: MIT
# Ceilings of bpf/abi/limits.h that take minutes and memory (6 GiB): members, runs, rules. What just
# fits does, one more does not and says so.
limits=$(readlink -f "$(dirname "$0")/../../../bpf/abi/limits.h")
# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"

limit()
{
	sed -n "s/^#define WEIR_$1 \([0-9]*\)$/\1/p" "$limits"
}
echo 200000 >/proc/sys/kernel/pid_max
echo 200000 >/proc/sys/kernel/threads-max

# Members: as many threads of one process as there may be beside the collector, and what the next
# one is told.
members=$(($(limit MEMBERS_MAX) - 1))
cat >threads.c <<-'END'
	#include <pthread.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	#include <sys/mman.h>
	#include <unistd.h>

	#define SIZE 16384

	static void *wait_for_ever(void *none)
	{
		pause();
		return none;
	}

	int main(int argc, char **argv)
	{
		size_t most = strtoul(argv[argc - 1], NULL, 10), made = 1;
		char *stacks = mmap(NULL, most * SIZE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		pthread_attr_t attr;
		pthread_t t;
		int err = 0;

		pthread_attr_init(&attr);
		for (; made < most && !err; made += !err) {
			pthread_attr_setstack(&attr, stacks + (made - 1) * SIZE, SIZE);
			err = pthread_create(&t, &attr, wait_for_ever, NULL);
		}
		printf("%zu %s\n", made, strerror(err));
		return 0;
	}
END
gcc -O2 -pthread -o "$ws/threads" threads.c
weir_run -q --processes 60000 --memory 4G -- ./threads "$members"
is "$status $stdout" "0 $members Success" "$members members" "$stderr"
weir_run -q --processes 60000 --memory 4G -- ./threads $((members + 1))
is "$status $stdout" "121 $members Resource temporarily unavailable" 'one more is not made: indeterminate' "$stderr"
like "$(of_run '[x["text"] for x in r["reasons"]]')" 'could not be watched' 'which says so'
weir_run -q -- true
is "$status" 0 'all places are free again' "$stderr"

# Runs at once, each with a workspace of its own.
runs=$(limit RUNS_MAX)
hold()
{
	mkdir -p "$lab/w$1"
	rm -f "$lab/w$1/up"
	weir run -q --ring 64K -w "$lab/w$1" -p "${2:-$policy}" -- \
		sh -c 'exec 2>/dev/null; touch up; sleep 100000; true' >"$lab/w$1.out" 2>&1 &
}

# held FROM TO: waits until these stand.
held()
{
	local i
	for ((i = $1; i <= $2; i++)); do
		for ((j = 0; j < 1200; j++)); do
			[[ ! -e $lab/w$i/up ]] || break
			jobs %% >/dev/null 2>&1 || break
			sleep 0.1
		done
		[[ -e $lab/w$i/up ]] || return 1
	done
}

release()
{
	pkill -x sleep
	wait
}

for ((i = 1; i <= runs; i++)); do
	hold $i
	((i % 4)) || held $((i - 3)) $i || break
done
held $((runs - 3)) "$runs"
ok $? "$runs runs at once" "$i: $(cat "$lab/w$i.out")"
weir_run -q -- true
is "$status $(wc -l <"$lab/stderr")" '125 1' 'one more is refused' "$stderr"
like "$stderr" "$runs runs are active: wait for one to end" 'with what to do'
release
bad=$(cat "$lab"/w*.out)
is "$bad" '' 'each of them ends clean'
weir_run -q -- true
is "$status" 0 'and there is room again' "$stderr"

# Rules of all runs: three of 25,000 each, and one with what is left. Each run has some of its own as
# well (its home, and what lies above rules).
rules=$(limit RULES_MAX)
mkdir -p /m
mount -t tmpfs -o nr_inodes=0 none /m
(cd /m && seq 25000 | xargs touch)
policy_of()
{
	policy_write "$1" "$(seq "$2" | sed 's,.*,  - {path: /m/&\, allow: [write]},')"
}
policy_of "$lab/many.yaml" 25000
for i in 1 2 3; do
	hold $i "$lab/many.yaml"
	held $i $i || break
done
held 1 3
ok $? '75,000 rules' "$i: $(cat "$lab/w$i.out")"
said=''
for ((own = 0; own < 64; own++)); do
	policy_of "$policy" $((rules - 75000 - 4 * own))
	weir_run -q -- sh -c 'echo x >/m/1'
	[[ $status != 0 ]] || break
	said=$stderr
done
[[ $status = 0 && $own -gt 2 ]]
ok $? "$rules rules, $own of each run's own among them" "$stderr"
like "$said" "^weir: .*more than $rules rules on this host" 'a few more are refused, in one line' "$stderr"
policy_of "$policy" $((rules - 75000 - 4 * own + 4))
weir_run -q -- true
is "$status $(wc -l <"$lab/stderr")" '125 1' 'and again' "$stderr"
release
is "$(cat "$lab"/w[123].out)" '' 'the others were not disturbed'
umount /m
done_testing
