#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2119
# The N-th allocation fails, alone or with all that follow: the branch is old or new, the ledger says
# done only of what the branch has, and the same command completes. POINTS of all N, spread evenly
# (`make soak`: 1,000).
. "$(dirname "$0")/lib.sh"

R=$LAB/trusted.git
SHIM=$LAB/bin/failmalloc.so
POINTS=${POINTS:-16}

${CC:-cc} -shared -fPIC -O1 -D_GNU_SOURCE -fno-builtin -o "$SHIM" "$TOP/tests/gate/failmalloc.c" -ldl || {
	echo "Bail out! failmalloc does not compile"
	exit 1
}

save() {
	rm -rf "$LAB/saved"
	mkdir "$LAB/saved"
	cp -a "$R" /var/lib/weir-gate "$LAB/saved"
}

restore() {
	rm -rf "$R" /var/lib/weir-gate
	cp -a "$LAB/saved/trusted.git" "$R"
	cp -a "$LAB/saved/weir-gate" /var/lib/weir-gate
}

# without N ON: commit, with the N-th allocation of each process failing
without() {
	FAIL_AT=$1 FAIL_ON=$2 LD_PRELOAD=$SHIM "$GATE" commit --run "$LAB/run" -m memory >"$LAB/stdout" 2>"$LAB/stderr"
}

# how many allocations the longest process makes
count() {
	: >"$LAB/counts"
	chmod 666 "$LAB/counts"
	FAIL_COUNT=$LAB/counts LD_PRELOAD=$SHIM "$GATE" commit --run "$LAB/run" -m memory >/dev/null || return 1
	sort -n "$LAB/counts" | tail -1
}

check_after() {
	local tip new
	tip=$(tip)
	[ "$tip" = "$BASE" ] || [ "$(git -C "$R" rev-parse "$tip^")" = "$BASE" ] || fail "tip $tip"
	"$GATE" commit --run "$LAB/run" -m memory >"$LAB/stdout" 2>"$LAB/stderr" || fail "again: $(cat "$LAB/stderr")"
	new=$(tip)
	[ "$(git -C "$R" rev-parse "$new^")" = "$BASE" ] || fail "new tip $new"
	[ "$tip" = "$BASE" ] || [ "$new" = "$tip" ] || fail "promoted twice"
	"$GATE" verify main --deep --repo "$R" --signers /etc/weir/allowed_signers >/dev/null || fail verify
	[ ! -e "$R/weir/journal" ] || fail "journal left"
	[ -z "$(find "$R" -name '*.lock')" ] || fail "lock left"
}

ended_by_libc() {
	[ "$1" = 134 ] && grep -q 'nss_database\.c:.*Assertion' "$LAB/stderr"
}

# sweep ON: what was said is an answer of the gate's, with one exception: libraries that end a process
# for want of memory. Then the one that waits for it says so; if it is the gate itself that the C library
# ends (an assertion of its look-up of users), that is a crash: what must hold after it is the same.
sweep() {
	local all i n status failed=0
	all=$(count)
	[ "$all" -gt 1000 ] || fail "$all allocations"
	for ((i = 1; i <= POINTS; i++)); do
		restore
		n=$((all * i / POINTS - $1))
		status=0
		without $n "$1" || status=$?
		[ $status = 0 ] || [ $status = 125 ] || [ $status = 122 ] || ended_by_libc $status || fail "allocation $n: status $status: $(cat "$LAB/stderr")"
		[ $status = 0 ] || [ -s "$LAB/stderr" ] || fail "allocation $n: no word about it"
		failed=$((failed + (status != 0)))
		check_after || fail "at allocation $n"
	done
	[ $failed -gt 0 ] || fail "nothing failed"
	echo "$failed of $POINTS failed"
}

fresh
echo 'int b;' >"$LAB/ws/src/b.c"
end_run
save

t "one allocation fails" <<'EOT'
sweep 0
EOT

t "it and all that follow fail" <<'EOT'
restore; sweep 1
EOT

done_testing
