#!/bin/bash
# SPDX-License-Identifier: MIT
# weir trace: each record of a run, for people and for programs; up to where a trace is broken.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# of_events EXPRESSION: about E, the events of the last JSON output, and A, those of the command
of_events()
{
	python3 -c 'import json, sys
E = [json.loads(line) for line in open(sys.argv[1])]
C = set(x["thread"] for x in E if "canary" in x.get("flags", []))
A = [x for x in E if "actor" in x and x["thread"] not in C
	and not C & set(p["pid"] for p in x["actor"].get("ancestors", []))]
print(eval(sys.argv[2]))' "$lab/stdout" "$1"
}

watch -- sh -c ': >a; mv a b; echo x >>/etc/hostname; sh -c "kill -9 \$\$"; exit 3' 2>/dev/null
id=$(basename "$run")
try weir trace "$id" --json
is "$status$stderr" 0 'trace as JSON'
is "$(of_events 'set(x["schema"] for x in E)')" "{'weir.event/1'}" 'each line has its schema'
is "$(of_events '[x["record"] for x in E if "data" in x]')" "['start', 'coverage', 'end']" \
	"weir's own records are there"
is "$(of_events '[x["seq"] for x in E if "seq" in x] == list(range(1, 1 + sum("seq" in x for x in E))) and len(E) > 20')" True \
	'no event is missing, none comes twice'
is "$(of_events 'sum("seq" in x for x in E)')" \
	"$(of_run 'sum(h["emitted"] for h in r["counters"].values())')" 'as many events as the kernel counted'
is "$(of_events '[x["object"]["path"].rsplit("/", 1)[1] + ">" + x["other"].rsplit("/", 1)[1]
	for x in A if x.get("op") == "rename"]')" "['a>b']" 'an operation has both its paths'
is "$(of_events '[(x["kind"], x["finding"], x["outcome"]) for x in A if x.get("op") == "write"]')" \
	"[('file-outside', True, 'passed')]" 'a finding says so'
is "$(of_events '[x["kind"] for x in A if x.get("op") == "create"]')" '[None]' 'what is allowed has no kind'
is "$(of_events '[x["actor"]["args"] for x in A if x["record"] == "exec"][1]')" "['mv', 'a', 'b']" \
	'programs have their arguments'
is "$(of_events '[x["status"] for x in A if x["record"] == "exit"]')" \
	"[{'code': 0}, {'signal': 9}, {'code': 3}]" 'processes end by code or signal'
is "$(of_events 'sum(x["record"] == "fork" for x in A)')" 2 'forks are there'

try weir trace "$id"
is "$status$stderr" 0 'trace as text'
like "$stdout" 'sh[^ ]*\([0-9]+\) > mv\([0-9]+\)  let through: rename .*/ws/a, other name .*/ws/b' 'names who did what'
like "$stdout" 'write to|append to file /etc/hostname  \[file-outside\]' 'and what it is'
like "$stdout" "weir's canary, .*\[tamper\]" "proofs of life are told apart"
like "$stdout" 'is ended by signal 9' 'and how processes end'

# Cut short, and changed.
trace=$state/runs/$id/trace
size=$(stat -c %s "$trace")
cp "$trace" "$lab/whole"
truncate -s $((size - 8)) "$trace"
try weir trace "$id" --json
is "$status $(wc -l <"$lab/stderr")" '125 1' 'a trace without its end'
like "$stderr" "^weir: .*/trace: cut short: it stops at byte [0-9]+ without an end" 'says where it stops'
cp "$lab/whole" "$trace"
printf '\377' | dd of="$trace" bs=1 seek=$((size / 2)) conv=notrunc status=none
try weir trace "$id" --json
is "$status $(wc -l <"$lab/stderr")" '125 1' 'a changed trace'
like "$stderr" '^weir: .*/trace: .*at byte [0-9]+ \(frame [0-9]+\): .*chain' 'says where and why'
[[ $(wc -l <"$lab/stdout") -ge 1 ]]
ok $? 'and tells what comes before'
cp "$lab/whole" "$trace"
weir trace "$id" >/dev/full 2>"$lab/stderr"
is "$? $(<"$lab/stderr")" '125 weir: standard output: No space left on device' 'to a full disk'

done_testing
