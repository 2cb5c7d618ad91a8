#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2119
# A full disk, and writes, syncs, renames and links that fail, one after the other: the branch is old
# or new, the ledger says done only of what the branch has, and the same command completes.
. "$(dirname "$0")/lib.sh"

command -v strace >/dev/null || {
	echo "1..0 # SKIP needs strace"
	exit 0
}

S=/etc/weir/allowed_signers
R=$LAB/trusted.git

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

# failing ERROR CALLS N: runs commit with the N-th such call of each process failing.
failing() {
	local status=0
	strace -f -qq -o "$LAB/strace" -e trace="$2" -e inject="$2:error=$1:when=$3" \
		"$GATE" commit --run "$LAB/run" -m fault >"$LAB/stdout" 2>"$LAB/stderr" || status=$?
	grep -q INJECTED "$LAB/strace" || return 1
	# a message, and no crash
	[ $status = 0 ] || [ $status = 125 ] || [ $status = 122 ] || fail "status $status: $(cat "$LAB/stderr")"
	[ $status = 0 ] || [ -s "$LAB/stderr" ] || grep -q 'write(2' "$LAB/strace" || fail "no word about it"
}

check_after() {
	local tip new
	tip=$(tip)
	[ "$tip" = "$BASE" ] || [ "$(git -C "$R" rev-parse "$tip^")" = "$BASE" ] || fail "tip $tip"
	git -C "$R" fsck --strict --full >"$LAB/fsck" 2>&1 || fail "fsck: $(cat "$LAB/fsck")"
	python3 "$TOP/tests/gate/tlog.py" log /var/lib/weir-gate/ledger /etc/weir/ledger.vkey >"$LAB/entries" || fail "ledger"
	[ "$tip" != "$BASE" ] || ! grep -q '"kind":"done"' "$LAB/entries" || fail "done without the ref"
	"$GATE" commit --run "$LAB/run" -m fault >"$LAB/stdout" 2>"$LAB/stderr" || fail "again: $(cat "$LAB/stderr")"
	new=$(tip)
	[ "$tip" = "$BASE" ] || [ "$new" = "$tip" ] || fail "promoted twice"
	"$GATE" verify main --repo "$R" --signers $S >/dev/null || fail verify
	"$GATE" audit "$R" --signers $S >/dev/null || fail audit
	[ ! -e "$R/weir/journal" ] || fail "journal left"
	[ -z "$(find "$R" -name '*.lock')" ] || fail "lock left"
	[ -z "$(ls "$R/weir/quarantine" 2>/dev/null)" ] || fail "quarantine left"
}

sweep() {
	local n=0
	while restore && n=$((n + 1)) && failing "$1" "$2" $n; do
		[ $n -lt 300 ] || fail "never ends"
		check_after || fail "at call $n of $2"
	done
	[ $n -gt 1 ] || fail "nothing failed"
	echo "$1 $2: $((n - 1)) times" >>"$LAB/sweeps"
}

fresh
echo 'int b;' >"$LAB/ws/src/b.c"
end_run
save

for what in "ENOSPC write,pwrite64" "EIO fsync,fdatasync" "ENOSPC renameat,renameat2,rename" "ENOSPC linkat,link" "ENOSPC mkdirat,mkdir" "EIO ftruncate,fchmod"; do
	t "$what" <<-EOT
		sweep $what
	EOT
done

done_testing
