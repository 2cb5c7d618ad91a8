#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2119
# Gates against each other, and a gate against whoever keeps changing the workspace.
# ROUNDS: how often the latter (25; `make soak`: 1000). GATES: how many of the former.
. "$(dirname "$0")/lib.sh"

ROUNDS=${ROUNDS:-25}
GATES=${GATES:-50}
CHURN=$LAB/bin/churn
RUNS=/var/lib/weir/runs
mount -t tmpfs -o mode=755 run /run
mkdir /run/weir
(cd "$TOP" && ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I. -O1 -o "$CHURN" tests/gate/churn.c) || {
	echo "Bail out! churn does not compile"
	exit 1
}

# ledger KIND [REASON]: how many entries say so, by the independent reader
ledger() {
	python3 "$TOP/tests/gate/tlog.py" log /var/lib/weir-gate/ledger /etc/weir/ledger.vkey >"$LAB/entries" || return
	python3 -c 'import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
print(sum(r["kind"] == sys.argv[2] and sys.argv[3] in ("", r.get("reason")) for r in rows))' \
		"$LAB/entries" "$1" "${2:-}"
}

# many: $GATES runs of one base, each with a workspace, a change and a run directory of its own
many() {
	local i
	fresh
	for ((i = 0; i < GATES; i++)); do
		start_run
		echo "int v = $i;" >"$LAB/ws/src/v.c"
		rm -rf "$LAB/ws.$i"
		mv "$LAB/ws" "$LAB/ws.$i"
		"$MKRUN" after "$LAB/run" "$LAB/ws.$i" "$LAB/nonce.json" "$LAB/policy.yaml"
		rm -rf "$(run_of $i)"
		mkdir -p $RUNS
		chmod 700 $RUNS
		mv "$LAB/run" "$(run_of $i)"
	done
}

# run_of N: where the run's directory is
run_of() {
	printf '%s/20260101-000000-%06x' $RUNS "$1"
}

# together COMMAND: runs it for each run number at once; out.N, err.N and status.N tell
together() {
	local i pids=()
	rm -f "$LAB"/{out,err,status}.*
	for ((i = 0; i < GATES; i++)); do
		{
			while [ ! -e "$LAB/go" ]; do sleep 0.05; done
			local status=0
			"$1" "$i" >"$LAB/out.$i" 2>"$LAB/err.$i" || status=$?
			echo $status >"$LAB/status.$i"
		} &
		pids+=($!)
	done
	touch "$LAB/go"
	wait "${pids[@]}"
	rm "$LAB/go"
}

one_gate() {
	"$GATE" commit --run "$(run_of "$1")" -m "gate $1"
}

asked_gate() {
	"$GATE" call commit --socket /run/weir/gate.sock --run "$(basename "$(run_of "$1")")" --message "gate $1"
}

# one_won: exactly one of those that ran together; the others lost the branch and say so
one_won() {
	local won i
	[ "$(cat "$LAB"/status.* | sort | uniq -c | xargs)" = "1 0 $((GATES - 1)) 122" ] || fail "$(cat "$LAB"/status.* | sort | uniq -c | xargs): $(cat "$LAB"/err.*)"
	[ "$(cat "$LAB"/err.* | grep -c '^weir-gate: refused: base-moved: refs/heads/main moved from ')" = $((GATES - 1)) ]
	won=$(grep -lx 0 "$LAB"/status.* | sed 's/.*\.//')
	[ "$(git -C "$LAB/trusted.git" show main:src/v.c)" = "int v = $won;" ] || fail "another one's bytes"
	[ "$(git -C "$LAB/trusted.git" rev-parse main^)" = "$BASE" ] || fail "more than one commit"
	[ "$(ledger intent) $(ledger 'done') $(ledger aborted base-moved)" = "1 1 $((GATES - 1))" ]
	git -C "$LAB/trusted.git" fsck --strict --full >/dev/null 2>&1 || fail fsck
	[ -z "$(ls "$LAB/trusted.git/weir/quarantine" 2>/dev/null)" ] || fail "quarantine left"
	"$GATE" verify main --repo "$LAB/trusted.git" --signers /etc/weir/allowed_signers >/dev/null || fail verify
	for ((i = 0; i < GATES; i++)); do
		[ "$i" = "$won" ] || grep -q base-moved "$LAB/err.$i" || fail "gate $i: $(cat "$LAB/err.$i")"
	done
}

t "$GATES gates on one branch at once: one wins, the others say base-moved, the ledger too" <<'EOT'
many; together one_gate; one_won
EOT

t "the same, all of them asked of one service" <<'EOT'
many; "$GATE" serve >/dev/null 2>serve.log & SERVER=$!; trap 'kill $SERVER' EXIT
for _ in $(seq 100); do [ ! -S /run/weir/gate.sock ] || break; sleep 0.05; done
together asked_gate; one_won; [ "$(grep -c ': may$' serve.log)" = $GATES ]
EOT

# approved: what the host signed for, beside the workspace
approved() {
	rm -rf "$LAB/approved"
	cp -a "$LAB/ws" "$LAB/approved"
}

modes() {
	(cd "$1" && find . -name .git -prune -o -type f -perm -100 -print | sort)
}

# exact: the branch has what was approved, byte for byte and mode for mode, and nothing else
exact() {
	rm -rf "$LAB/now"
	mkdir "$LAB/now"
	git -C "$LAB/trusted.git" archive main | tar -x -C "$LAB/now"
	diff -r --no-dereference -x .git "$LAB/approved" "$LAB/now" || fail "unapproved bytes were promoted" || return
	[ "$(modes "$LAB/approved")" = "$(modes "$LAB/now")" ] || fail "unapproved modes were promoted"
}

# one_round N: a run with three changes, and a writer that begins when the host has signed
one_round() {
	local status=0 writer line
	start_run
	{
		printf 'int a = %d;\n' "$1"
		head -c $((RANDOM * 8)) /dev/zero | tr '\0' '\n'
	} >"$LAB/ws/src/a.c"
	echo "all: app $1" >"$LAB/ws/Makefile"
	echo "b $1" >"$LAB/ws/b"
	chown -R 1000:1000 "$LAB/ws"
	end_run
	approved
	BASE=$(tip)
	coproc WRITER { exec setpriv --reuid 1000 --regid 1000 --clear-groups "$CHURN" "$LAB/ws" "$1" src/a.c Makefile b; }
	writer=$!
	read -r line <&"${WRITER[0]}"
	[ "$line" = ready ] || fail "no writer"
	"$GATE" commit --run "$LAB/run" -m "round $1" >"$LAB/stdout" 2>"$LAB/stderr" || status=$?
	kill "$writer"
	wait "$writer" 2>/dev/null || true
	case $status in
	0) exact ;;
	122) unchanged && grep -qE '^weir-gate: refused: (changed-after-run|unlisted-change|tree-unsafe): ' "$LAB/stderr" ;;
	*) fail "status $status" ;;
	esac || fail "round $1: $(cat "$LAB/stderr")"
	echo "$status $(sed -n 's/^weir-gate: refused: \([a-z-]*\):.*/\1/p' "$LAB/stderr")" >>"$LAB/rounds"
}

fresh
chmod 755 "$LAB"
t "$ROUNDS rounds against a writer, unsealed: refused, or exactly what the host signed for" <<'EOT'
for ((n = 1; n <= ROUNDS; n++)); do one_round $n; done
sort rounds | uniq -c
[ "$(wc -l <rounds)" = "$ROUNDS" ]
EOT

t "the writer was in the way, and not always" <<'EOT'
cat rounds; grep -q '^122 ' rounds; grep -q '^0 ' rounds
EOT

done_testing
