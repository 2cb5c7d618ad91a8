#!/bin/bash
# SPDX-License-Identifier: MIT
# What is left when something was killed or removed: weir recover, and pins that are gone.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
pins=/sys/fs/bpf/weir

# Starts a run in the background; sets collector. Its command must make $ws/up.
background()
{
	rm -f "$ws/up"
	weir run -w "$ws" -p "$policy" "$@" >"$lab/bg.out" 2>"$lab/bg.err" </dev/null &
	collector=$!
	until_ok test -e "$ws/up" || echo "# the run did not start: $(<"$lab/bg.err")"
}

background_end()
{
	wait "$collector"
	status=$?
	stderr=$(<"$lab/bg.err")
	run=$(run_last)
}

clean()
{
	is "$status $(verdict_of) $(of_run 'len(f)')" '0 clean 0' "$1" "$stderr"
}

try weir recover
is "$status $stdout" '0 nothing to recover' 'nothing to recover at first' "$stderr"

# Pins that somebody removed. ---------------------------------------------------------------------
weir_run -- true
clean 'a run'
build=$(ls $pins)
whole=$(find "$pins/$build" | sort)
for pin in maps/weir_state adopt; do
	rm "$pins/$build/$pin"
	weir_run -- true
	if [[ $pin = maps/weir_state ]]; then
		is "$status $(wc -l <"$lab/stderr")" '125 1' "$pin is gone: refused, in one line" "$stderr"
		like "$stderr" "^weir: $pins/$build/$pin is gone, .*\`weir unload\`" 'which says what to do'
		try weir unload
		is "$status" 0 'this can be done' "$stderr"
		weir_run -- true
	fi
	clean "$pin is gone: the next run is as good as any"
	is "$(find "$pins/$build" | sort)" "$whole" 'all pins are there again'
done
# several at a time: making them anew takes seconds
rmdir "$pins/$build/complete"
rm "$pins/$build/maps/weir_rules"
rm -r "$pins/$build/links"
weir_run -- touch "$out/file.new"
is "$status" 120 'more is gone, all links among it: the next run sees what it should' "$stderr"
[[ ! -e $out/file.new ]]
ok $? 'and denies it'

background -- sh -c 'touch up; while [ ! -e go ]; do sleep 0.1; done'
rm "$pins/$build/links/file_open"
mkdir -p other
try weir run -w other -p "$policy" -- touch ran
is "$status $(wc -l <"$lab/stderr")" '125 1' 'a pin is gone while a run is active: no other begins' "$stderr"
like "$stderr" "^weir: $pins/$build/links/file_open is gone while a run is active: " 'which is said'
[[ ! -e other/ran ]]
ok $? 'nothing ran'
try weir unload
is "$status $stderr" '125 weir: a run is active: wait for its end, or weir recover' 'nor does unload touch it'
touch "$ws/go"
background_end
[[ $status = 121 || $status = 120 ]]
ok $? 'the active run is not clean' "$status $stderr"
like "$(of_run 'r["reasons"]')" 'links/file_open is gone' 'and says why'
weir_run -- true
clean 'the next one is'

# Pins of a load that was killed.
mkdir -p $pins/0123456789abcdef/maps
try weir recover
is "$status $stdout" '0 pins 0123456789abcdef: never complete; removed' 'pins that were never complete' "$stderr"
is "$(ls $pins)" "$build" 'are gone, others are not'

# A run in a fresh checkout is killed. ------------------------------------------------------------
gate_forget
git init -q --bare "$lab/trusted.git" -b main
git init -q "$lab/seed" -b main
mkdir "$lab/seed/.weir"
cp "$policy" "$lab/seed/.weir/policy.yaml"
git -C "$lab/seed" add -A
git -C "$lab/seed" -c user.name=x -c user.email=x@example.org commit -qm base
git -C "$lab/seed" push -q "$lab/trusted.git" main
try weir-gate init --repo "$lab/trusted.git"
is "$status" 0 'a gate' "$stderr"

# killed SCRIPT: sets dead, the id of the run.
killed()
{
	weir run -p @base -- sh -c "$1" >"$lab/bg.out" 2>"$lab/bg.err" </dev/null &
	collector=$!
	until_ok sh -c "ls $state/work/*/up" >/dev/null
	sleep 2 # the trace is written each second
	dead=$(basename "$(dirname "$(ls "$state"/work/*/up)")")
	kill -9 $collector
	wait $collector 2>/dev/null
}

try weir run -p @base -- touch "made"
is "$status" 0 'a run in a fresh checkout' "$stderr"
ended=$(basename "$(run_last)")
[[ -e $state/work/$ended/made ]]
ok $? 'which stays, since it may be promoted'
killed 'sleep 60 & touch up; sleep 60'
try weir rm "$dead"
is "$status $stderr" "125 weir: run $dead was cut off; run \`weir recover\` first" 'a dead run is not removed before'
try weir recover
is "$status" 1 'recover while processes are left: something stays' "$stdout$stderr"
like "$stdout" 'tasks left, and denied everything: [1-9]' 'it names them'
like "$stdout" "run $dead\): stays" 'and the lock'
[[ -e $state/work/$dead/up ]]
ok $? 'the checkout is still there'
try weir recover --kill
is "$status" 0 'recover --kill' "$stdout$stderr"
like "$stdout" "lock .* of $state/work/$dead \(run $dead\): lifted" 'says that it lifts the lock'
like "$stdout" "checkout $state/work/$dead: removed" 'and that it removes the checkout'
like "$stdout" "temporary directory $state/tmp/$dead: removed" 'and the temporary directory'
[[ ! -e $state/work/$dead && -e $state/work/$ended/made && -e $state/runs/$dead/trace ]]
ok $? 'which is gone; that of the run that has ended is not, nor what the dead run has recorded'
is "$(find "$state/locks" "$state/tmp" -mindepth 1) $(find /sys/fs/cgroup/weir -mindepth 1 -type d)" ' ' \
	'no lock, no temporary directory, no control group is left'
try weir recover
is "$status $stdout" '0 nothing to recover' 'after that there is nothing to recover' "$stderr"
try weir list
like "$stdout" "$dead +cut-short" 'weir list calls it cut short'
try weir show "$dead"
is "$status" 0 'weir show tells what its trace has' "$stderr"
like "$stdout" 'INDETERMINATE' 'indeterminate'
like "$stdout" 'cut short: this is what its trace tells' 'says why'
like "$stdout" 'sleep 60 & touch up; sleep 60' 'the command'
try weir show --json "$dead"
is "$(python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
print(r["verdict"], r["exit"], r["counts"]["mutations"] > 0, [x["code"] for x in r["reasons"]])' "$lab/stdout")" \
	"indeterminate None True ['no-end']" 'also as JSON' "$stderr"
cp "$state/runs/$dead/trace" "$lab/trace"
truncate -s 100 "$state/runs/$dead/trace"
try weir show "$dead"
is "$status $(wc -l <"$lab/stderr")" '125 1' 'a trace without a beginning: one line' "$stderr"
cp "$lab/trace" "$state/runs/$dead/trace"
try weir rm "$dead" "$ended"
is "$status $stdout" "0 removed $dead
removed $ended and its checkout" 'and rm removes both' "$stderr"

# What has no lock any more.
mkdir -p "$state/work/20200101-000000-abcdef" "$state/work/20200101-000000-fedcba"
try weir recover
is "$status $stdout" '0 nothing to recover' 'a checkout that is just being made is spared' "$stderr"
date -s '+2 minutes' >/dev/null
mkdir -p "$state/runs/20200101-000000-fedcba"
echo '{}' >"$state/runs/20200101-000000-fedcba/run.json"
try weir recover
is "$status $stdout" "0 checkout $state/work/20200101-000000-abcdef: removed" 'an old one is not; one of a run that has ended is' "$stderr"
date -s '-2 minutes' >/dev/null
rm -rf "$state/work/20200101-000000-fedcba" "$state/runs/20200101-000000-fedcba"
gate_forget

# Where it is right, weir doctor says so.
try weir doctor
like "$status $stdout" '^0 weir: this host can watch, judge and deny' 'doctor: status 0' "$stderr"
like "$stdout" 'hooks +[1-9][0-9]* attached, [1-9][0-9]* proven' 'with hooks attached and proven'
like "$stdout" 'no gate yet' 'and what is to do'
try weir doctor --json
source='False fmod_ret'
! grep -qw bpf /sys/kernel/security/lsm || source='True lsm'
is "$(python3 -c 'import json, sys; x = json.load(open(sys.argv[1]))
print(x["schema"], x["enforce"], x["root"], "file" in x["watched"] and bool(x["not_watched"]),
	not x["missing"], x["hooks"]["file_open"]["source"])' "$lab/stdout")" "weir.doctor/1 True True True $source" 'doctor --json: the same'

done_testing
