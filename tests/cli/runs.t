#!/bin/bash
# SPDX-License-Identifier: MIT
# weir list, show, rm: on runs that have ended, were cut short, or are broken.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# value PYTHON: of x, the JSON on standard output.
value()
{
	python3 -c 'import json, sys; x = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' \
		"$lab/stdout" "$1"
}

# Nothing there.
try weir list
is "$status $stdout" '0 no runs' 'list: no runs, and no state directory either'
[[ ! -e $state ]]
ok $? 'which it does not make'
try weir list --json
is "$status $(value 'x')" "0 {'schema': 'weir.list/1', 'runs': [], 'seals': []}" 'list --json: the same'
wrong 'show without runs' '^weir: there is no run yet' weir show
wrong 'rm without runs' '^weir: there is no run yet' weir rm last
wrong 'commit without runs' '^weir: there is no run yet' weir commit -m x
wrong 'a relative state directory' "^weir: WEIR_STATE is 'relative'" env WEIR_STATE=relative weir list

a=20260101-000000-aaaaaa b=20260102-000000-bbbbbb c=20260102-111111-cccccc d=20260103-000000-dddddd
fake $a
fake $b '"note": "x"'
sed -i 's/"clean"/"violated"/; s/"exit": 0/"exit": 120/; s/"findings": 0/"findings": 1/
	s/\["make", "all"\]/["sh", "-c", "echo \\\\u001b[31m'"$(printf '%080d' 0)"'"]/' "$state/runs/$b/run.json"
mkdir -m 700 "$state/runs/$c"
mkdir -m 700 "$state/runs/$d"
echo '{"schema": ' >"$state/runs/$d/run.json"
mkdir "$state/runs/not-a-run"

# list
try weir list
is "$status $(wc -l <"$lab/stdout")" '0 5' 'list: a head, and a line for each run' "$stdout$stderr"
is "$(awk 'NR > 1 { print $1, $2 }' "$lab/stdout" | paste -sd ,)" \
	"$a clean,$b violated,$c cut-short,$d unreadable" 'in order, with verdicts'
like "$stdout" "$a +clean +0 +0 +1\.5 +make all" 'with status, findings, time and command'
unlike "$stdout" $'\033' 'commands are printed escaped'
[[ $(wc -L <"$lab/stdout") -lt 140 ]]
ok $? 'and cut'
try weir list --json
is "$status $(value '[(r["id"][-1], r["verdict"]) for r in x["runs"]]')" \
	"0 [('a', 'clean'), ('b', 'violated'), ('c', 'cut-short'), ('d', 'unreadable')]" 'list --json'
is "$(value 'sorted(x["runs"][0])')" \
	"['command', 'duration_ms', 'exit', 'findings', 'id', 'started', 'verdict', 'workspace']" 'its members'
chmod 777 "$state/runs"
try weir list
is "$status $(wc -l <"$lab/stderr")" '125 1' 'a state directory that others can write is refused' "$stderr"
like "$stderr" "^weir: $state/runs belongs to someone else or can be written by others; " 'says why'
chmod 700 "$state/runs"

# show
try weir show $a
is "$status" 0 'show by id' "$stderr"
like "$stdout" 'clean: no findings; 7 changes' 'tells the verdict'
try weir show 20260101
like "$stdout" "$a" 'by the beginning of an id'
try weir show --json $a
is "$status $(value '(x["schema"], x["id"], x["counts"]["mutations"])')" "0 ('weir.run/1', '$a', 7)" 'as JSON'
wrong 'an id that does not exist' "^weir: there is no run '20260109'; .weir list. shows all" weir show 20260109
wrong 'an ambiguous beginning' "^weir: '20260102' is the start of 2 runs \\($b, $c\\)" weir show 20260102
wrong 'too short a beginning' "^weir: '202' is too short" weir show 202
wrong 'what is no id' "^weir: '\.\./x' is no run" weir show ../x
wrong 'escape bytes in an id' "^weir: 'a.x1b' is no run" weir show $'a\033'
wrong 'an id that is too long' "^weir: '$a' is no run|is no run" weir show ${a}0
try weir show $c
is "$status $(wc -l <"$lab/stderr")" '125 1' 'show of a run without an end' "$stdout$stderr"
like "$stderr" "^weir: run $c has not ended" 'says so'
for how in '' --json; do
	# shellcheck disable=SC2086 # none or one
	try weir show $d $how
	is "$status $(wc -l <"$lab/stderr")$stdout" '125 1' "show $how of a broken run.json" "$stdout$stderr"
	like "$stderr" "^weir: .*$d/run\.json:[0-9]+:[0-9]+: " 'names the file and the place'
done
try weir show last
is "$status" 125 'last is the newest, broken or not'
echo '{"schema": "weir.run/1", "verdict": 5, "findings": {}, "reasons": []}' >"$state/runs/$d/run.json"
try weir show $d
is "$status $(wc -l <"$lab/stderr")" '125 1' 'show of a run.json with other types' "$stdout$stderr"
weir show $a >/dev/full 2>"$lab/stderr"
is "$? $(<"$lab/stderr")" '125 weir: standard output: No space left on device' 'show to a full disk'
weir list >/dev/full 2>"$lab/stderr"
is "$? $(<"$lab/stderr")" '125 weir: standard output: No space left on device' 'list to a full disk'

# rm
wrong 'rm of what is not there' "^weir: there is no run '20260109'" weir rm 20260109
wrong 'rm of an ambiguous beginning' "^weir: '20260102' is the start of 2 runs" weir rm 20260102
mkdir -p "$state/work/$a" "$state/work/$b" "$lab/other"
ln -s "$lab/other" "$state/work/$a/link"
touch "$lab/other/kept"
try weir rm 20260101
is "$status $stdout" "0 removed $a and its checkout" 'rm by the beginning of an id' "$stderr"
[[ ! -e $state/runs/$a && ! -e $state/work/$a && -e $lab/other/kept && -e $state/work/$b ]]
ok $? 'takes the run and its checkout, no other, and follows no link'
mkdir -m 700 "$state/locks"
cat >"$state/locks/1-2" <<-END
	weir.lock/1
	run $c
	pid $$
	start $(cut -d ' ' -f 22 /proc/$$/stat)
	boot $(</proc/sys/kernel/random/boot_id)
	path /work/ws
END
chmod 600 "$state/locks/1-2"
try weir list
like "$stdout" "$c +running" 'a run that goes on is listed as such'
try weir rm $b $c $d
is "$status $stdout" "125 removed $b and its checkout
removed $d" 'rm of several removes those that it can'
is "$stderr" "weir: run $c is active; end it first" 'and says which not, and why'
sed -i 's/^pid .*/pid 999999999/' "$state/locks/1-2"
try weir rm $c
is "$status $stderr" "125 weir: run $c was cut off; run \`weir recover\` first" 'nor one that was cut off'
rm "$state/locks/1-2"
try weir rm last
is "$status $stdout" "0 removed $c" 'last is the newest'
is "$(ls "$state/runs")" not-a-run 'what is no run stays'

done_testing
