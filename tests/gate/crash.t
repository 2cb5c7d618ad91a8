#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2119
# SIGKILL at every system call that changes something on disk: the branch is old or new, the
# same command run again promotes or says that it did, and nothing is left behind.
. "$(dirname "$0")/lib.sh"

command -v strace >/dev/null || {
	echo "1..0 # SKIP needs strace"
	exit 0
}

# state: what the gate's side of the disk looks like before the promotion
save() {
	rm -rf "$LAB/saved"
	mkdir "$LAB/saved"
	cp -a "$LAB/trusted.git" /var/lib/weir-gate "$LAB/saved"
}

restore() {
	rm -rf "$LAB/trusted.git" /var/lib/weir-gate
	cp -a "$LAB/saved/trusted.git" "$LAB/trusted.git"
	cp -a "$LAB/saved/weir-gate" /var/lib/weir-gate
}

# killed CALLS N: runs commit and kills the process that makes its N-th such call.
# Returns: 0 when something was killed, 1 when the command ended by itself.
killed() {
	local status=0
	strace -f -qq -o /dev/null -e trace="$1" -e inject="$1:signal=SIGKILL:when=$2" \
		"$GATE" commit --run "$LAB/run" -m crash >"$LAB/stdout" 2>"$LAB/stderr" || status=$?
	[ $status != 0 ]
}

check_after_crash() {
	local tip new
	tip=$(tip)
	[ "$tip" = "$BASE" ] || [ "$(git -C "$LAB/trusted.git" rev-parse "$tip^")" = "$BASE" ] || fail "tip $tip"
	git -C "$LAB/trusted.git" fsck --strict --full >"$LAB/fsck" 2>&1 || fail "fsck: $(cat "$LAB/fsck")"
	"$GATE" commit --run "$LAB/run" -m crash >"$LAB/stdout" 2>"$LAB/stderr" || fail "again: $(cat "$LAB/stderr")"
	new=$(tip)
	[ "$(git -C "$LAB/trusted.git" rev-parse "$new^")" = "$BASE" ] || fail "new tip $new"
	[ "$tip" = "$BASE" ] || [ "$new" = "$tip" ] || fail "promoted twice"
	grep -q "promoted.* $new" "$LAB/stdout" || fail "says $(cat "$LAB/stdout")"
	"$GATE" verify main --repo "$LAB/trusted.git" --signers /etc/weir/allowed_signers >/dev/null || fail verify
	[ ! -e "$LAB/trusted.git/weir/journal" ] || fail "journal left"
	[ -z "$(find "$LAB/trusted.git" -name '*.lock')" ] || fail "lock left"
	[ -z "$(ls "$LAB/trusted.git/weir/quarantine" 2>/dev/null)" ] || fail "quarantine left"
	[ -z "$(ls /var/lib/weir-gate/nonces)" ] || fail "nonce left"
}

sweep() {
	local calls=$1 n=0 new=0
	while restore && n=$((n + 1)) && killed "$calls" $n; do
		[ $n -lt 300 ] || fail "never ends"
		[ "$(tip)" = "$BASE" ] || new=$((new + 1))
		check_after_crash || fail "at call $n of $calls"
	done
	echo "killed $((n - 1)) times, $new with the new state" >>"$LAB/sweeps"
	[ $n -gt 1 ] || fail "nothing was killed"
}

fresh
echo 'int b;' >"$LAB/ws/src/b.c"
echo '# x' >>"$LAB/ws/Makefile"
end_run
save

for calls in renameat,renameat2,rename linkat,link unlinkat,unlink,rmdir fsync,fdatasync mkdirat,mkdir write,pwrite64 ftruncate,fchmod,chmod; do
	t "killed at every $calls" <<-EOT
		sweep $calls
	EOT
done

t "both states were seen" <<'EOT'
cat sweeps; grep -q ' [1-9][0-9]* with the new state' sweeps; grep -q 'killed [1-9]' sweeps
EOT

t "a crash while another program moves the branch: given up, not forced" <<'EOT'
n=1
while restore; killed renameat,renameat2,rename $n; do
	if [ -e trusted.git/weir/journal ] && grep -q '"phase":"ready"' trusted.git/weir/journal && [ "$(tip)" = "$BASE" ]; then
		rm -f trusted.git/refs/heads/main.lock
		other=$(git -C trusted.git commit-tree -p $BASE -m other "$BASE^{tree}"); git -C trusted.git update-ref refs/heads/main $other; chown -R weir: trusted.git
		must_refuse base-moved "$other" commit; [ "$(tip)" = $other ]; [ ! -e trusted.git/weir/journal ]; found=1
	fi
	n=$((n + 1))
done
[ "${found:-}" = 1 ]
EOT

t "given up, and killed before the journal went: not published after all" <<'EOT'
restore; strace -f -qq -o tr -e trace=renameat "$GATE" commit --run run -m crash >/dev/null; n=$(grep renameat tr | grep -n '"refs/heads/main")' | head -1 | cut -d: -f1); [ -n "$n" ]; found=
for m in {1..60}; do
	restore; strace -f -qq -o tr -e trace=renameat,unlinkat -e inject=renameat:error=ENOSPC:when=$n -e inject=unlinkat:signal=SIGKILL:when=$m "$GATE" commit --run run -m crash >/dev/null 2>&1 || true
	! grep -qs '"phase":"ready"' trusted.git/weir/journal || ! python3 $TOP/tests/gate/tlog.py log /var/lib/weir-gate/ledger /etc/weir/ledger.vkey | tail -1 | grep -q '"kind":"aborted"' || { found=1; break; }
done; [ "$found" ]; [ "$(tip)" = $BASE ]; commit >/dev/null; "$GATE" verify main --repo trusted.git --signers /etc/weir/allowed_signers >/dev/null
EOT

t "a lock of another program survives our recovery" <<'EOT'
n=1
while restore; killed linkat $n; do
	rm -f trusted.git/refs/heads/main.lock; touch trusted.git/refs/heads/main.lock
	must_refuse locked main.lock commit; [ -e trusted.git/refs/heads/main.lock ]
	n=$((n + 1)); [ $n -lt 3 ] || break
done
[ $n -gt 1 ]
EOT

done_testing
