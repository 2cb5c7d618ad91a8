#!/bin/bash
# SPDX-License-Identifier: MIT
# What source "syscall" can't do it says: it refuses to enforce, names what it can't see, and is
# not sure where something went past it.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
source=(--source "${WEIR_NATIVE_SOURCE:-syscall}")

# Verdicts.
watch -- sh -c ': >a; mv a b; cat b /etc/hostname >/dev/null; exit 3'
is "$status $(verdict_of)" '3 clean' 'clean: the status of the command' "$stdout$stderr"
is "$(of_run 'r["coverage"]["source"]')" syscall 'the coverage names the source'
is "$(of_run 'r["coverage"]["families"]["guard"]["watched"]')" False 'which guards nothing'
for text in io_uring 'by design' 'refused attempts' 'not sealed' self-protection; do
	like "$(of_run '" ".join(r["coverage"]["blind_spots"])')" "$text" "blind spot: $text"
done
is "$(of_run 'sorted(k for k, h in r["coverage"]["hooks"].items() if h["source"] == "unseen") != []')" \
	True 'hooks out of sight are unseen'
is "$(of_run '[k for k, h in r["coverage"]["hooks"].items()
	if h["source"] in ("syscall", "tracing") and not h["proven"] and k not in ("task_free", "inode_file_setattr")]')" \
	'[]' 'all others are proven by a canary'
try weir run "${source[@]}" -q --user root -w "$ws" -- sh -c ': >x; rm x'
run=$(run_last)
is "$status $(verdict_of)" '0 unjudged' 'without a policy: unjudged' "$stderr"
watch -- make --version
is "$status $(verdict_of)" '0 clean' 'make'

# Enforcing.
try weir run "${source[@]}" -w "$ws" -p "$policy" --user root -- touch ran
is "$status $(wc -l <"$lab/stderr")" '125 1' 'enforce: refused with one line' "$stderr"
like "$stderr" 'cannot enforce here.*--observe' 'which says what to do'
[[ ! -e $ws/ran ]]
ok $? 'and the command has not run'
is "$(find "$state/runs" -mindepth 1 -maxdepth 1 -newer "$lab/stderr" | wc -l)" 0 'nothing is left of it'
policy_native 'lossless: true'
watch -- true
like "$status $stderr" '125 .*lossless: true can.t be kept' 'lossless: refused'
policy_native ''

# Powers.
for cap in CAP_DAC_OVERRIDE CAP_SYS_ADMIN; do
	policy_native "privileges: {capabilities: [$cap]}"
	watch -- true
	like "$status $(verdict_of) $(reasons)" "^121 indeterminate .*$cap" "with $cap: indeterminate"
done
policy_native 'privileges: {no_new_privs: false}'
watch -- true
like "$status $(reasons)" '^121 .*no_new_privs' 'able to gain privileges: indeterminate'
policy_native ''

# Past it: io_uring, and the numbers of another ABI.
cat >compat.c <<-'END'
	int main(void)
	{
		long ret = 20; /* getpid */
		__asm__ volatile("int $0x80" : "+a"(ret) : : "r8", "r9", "r10", "r11", "memory");
		return ret < 0;
	}
END
if gcc -o "$ws/compat" compat.c 2>"$lab/stderr" && "$ws/compat"; then
	watch -- ./compat
	like "$status $(reasons)" '^121 .*another ABI' 'a 32-bit call: indeterminate' "$stderr"
fi
cat >uring.c <<-'END'
	#include <string.h>
	#include <sys/syscall.h>
	#include <unistd.h>
	int main(void)
	{
		char params[120];
		memset(params, 0, sizeof(params));
		return syscall(SYS_io_uring_setup, 4, params) < 0;
	}
END
if gcc -o "$ws/uring" uring.c 2>"$lab/stderr" && "$ws/uring"; then
	watch -- ./uring
	like "$status $(reasons)" '^121 .*io_uring' 'io_uring: indeterminate' "$stderr"
fi

# A storm: all of it is read, and adds up.
watch --ring 4M -- sh -c 'for i in $(seq 3000); do : >f$i; mv f$i g$i; rm g$i; done'
is "$status $(verdict_of) $(reasons)" '0 clean ' 'a storm: nothing is lost' "$stderr"
is "$(of_run 'sum(h["dropped"] for h in r["counters"].values())')" 0 'nothing dropped'
is "$(of_run 'r["counters"]["path_rename"]["seen"] >= 3000')" True 'all of it seen'

# Many at once, each a member.
watch -- sh -c "for i in \$(seq 40); do (mkdir $out/m\$i) & done; wait"
is "$(of_run 'len([x for x in f if x["op"] == "mkdir"]) or sum(x["count"] for x in f)')" 40 \
	'all children are members' "$(findings)"

# Not after the collector.
weir run --observe "${source[@]}" -q -w "$ws" -p "$policy" --user root -- sh -c ': >up; exec sleep 60' &
collector=$!
until_ok test -e "$ws/up"
kill -9 $collector
wait $collector 2>/dev/null
pkill -f 'sleep 60' -P 1
weir recover --kill >/dev/null 2>&1
watch -- true
is "$status $(verdict_of)" '0 clean' 'after a collector that was killed: a new run' "$stderr"

# doctor says the same before a run.
try weir doctor --json
if [[ -z ${WEIR_NATIVE_SOURCE:-} ]]; then
	is "$status $(python3 -c 'import json, sys; x = json.load(open(sys.argv[1]))
print(x["source"], x["observe"], x["enforce"], bool(x["missing"]))' "$lab/stdout")" \
		'1 syscall True False True' 'doctor --json: the source, and why not a better one'
	try weir doctor
	like "$stdout" "can't enforce, but watch and judge.*source +syscall" 'doctor: the same'
fi
done_testing
