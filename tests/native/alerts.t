#!/bin/bash
# SPDX-License-Identifier: MIT
# Findings as they happen, as JSON lines in a file or a pipe.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
lab_make
policy_native ''
alerts=$lab/alerts
nl=$'\n'

# The value of a Python expression over a, the lines so far.
of_alerts()
{
	python3 -c 'import json, sys
a = [json.loads(line) for line in open(sys.argv[1])]
print(eval(sys.argv[2]))' "$alerts" "$1"
}

watch -q --alerts "$alerts" -- true
is "$status $(of_alerts '[(x["kind"], x["severity"]) for x in a]')" \
	"0 [('start', 'debug'), ('end', 'informational')]" 'a clean run begins and ends' "$stderr"
is "$(stat -c %a "$alerts") $(of_alerts '{(x["schema"], x["run"]) for x in a}')" \
	"600 {('weir.alert/1', '$(basename "$run")')}" 'the file is private, its lines name schema and run'

watch -q --alerts "$alerts" -- sh -c "echo x >$out/file; echo x >$out/file; mkdir $out/d; :"
is "$status $(of_alerts 'len(a), len({x["run"] for x in a})')" '120 (6, 2)' \
	'a second run adds to it: each finding is one line' "$stderr $(<"$alerts")"
is "$(of_alerts '[(x["kind"], x["severity"], x["finding"]["object"]["path"]) for x in a[3:5]]')" \
	"[('file-outside', 'error', '$out/file'), ('file-outside', 'error', '$out/d')]" \
	'with kind, severity and path' "$(<"$alerts")"
is "$(of_alerts '(a[5]["verdict"], a[5]["findings"], a[5]["severity"])')" "('violated', 2, 'critical')" \
	'the last line has the verdict'

# While the run goes on.
mkfifo "$lab/pipe"
timeout 60 cat "$lab/pipe" >"$alerts" &
watch -q --alerts "$lab/pipe" -- sh -c "echo x >$out/file; i=0
	until grep -q file-outside $alerts || [ \$i = 300 ]; do sleep 0.1; i=\$((i + 1)); done
	[ \$i != 300 ] && echo told"
is "$status $stdout" '120 told' 'a pipe: the command itself can see its alert' "$stderr"
wait

# What can't be.
watch --alerts "$lab/pipe" -- touch ran
is "$status ${stderr##*"$nl"}" "125 weir: --alerts $lab/pipe: nobody reads this pipe" 'a pipe that nobody reads: refused'
watch --alerts "$ws/alerts" -- touch ran
is "$status ${stderr##*"$nl"}" "2 weir: --alerts $ws/alerts: lies in the workspace, where the run may change it" \
	'a file in the workspace: refused'
watch --alerts "$lab/missing/file" -- touch ran
is "$status ${stderr##*"$nl"}" "125 weir: --alerts $lab/missing/file: No such file or directory" 'no such directory: refused'
watch --alerts /dev/full -- touch ran
is "$status ${stderr##*"$nl"}" '2 weir: --alerts /dev/full: neither a file nor a pipe' 'a device: refused'
[[ ! -e $ws/ran && ! -e $ws/alerts ]]
ok $? 'and nothing ran, or was made'

# Its reader goes away.
timeout 60 head -n 1 "$lab/pipe" >"$alerts" &
watch -q --alerts "$lab/pipe" -- sh -c "i=0; until [ -s $alerts ] || [ \$i = 300 ]; do sleep 0.1; i=\$((i + 1)); done
	sleep 0.5; head -c 1 /dev/null; echo x 2>/dev/null >>$out/file; :"
is "$status $(of_run '[x["text"] for x in r["reasons"]]')" \
	"120 ['an alert could not be written to $lab/pipe: Broken pipe']" \
	'an alert that is lost: a doubt' "$stderr"
done_testing
