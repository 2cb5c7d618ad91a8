#!/bin/bash
# SPDX-License-Identifier: MIT
# How runs begin and end: in order, by signals, by limits, by accidents, and what is left then.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

programs_loaded()
{
	bpftool prog show | grep -E '^[0-9]+: .* name weir_' | cut -d: -f1 | sort -n | tr '\n' ' '
}

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

nothing_left()
{
	is "$(find "$state/locks" -name '*.lock' 2>/dev/null | wc -l) $(ls "$state/tmp")" '0 ' "$1: no lock, no temporary files"
}

# Programs stay between runs.
weir_run -- true
is "$status" 0 'a first run' "$stderr"
before=$(programs_loaded)
start=$(date +%s%N)
weir_run -- true
took=$((($(date +%s%N) - start) / 1000000))
is "$(programs_loaded)" "$before" 'a second run takes the programs that are there'
[[ -n $before && $took -lt 3000 ]]
ok $? 'and starts fast' "$took ms"
[[ -s $run/trace && -s $run/run.json && -s $run/manifest.before && -s $run/manifest.after &&
	-s $run/coverage.json ]]
ok $? 'a run directory has all its parts' "$(ls -l "$run")"
cmp -s "$policy" "$run/policy.yaml"
ok $? 'the policy in it is byte for byte'
is "$(stat -c %a "$run")" 700 'and it is private'
nothing_left 'an ordinary end'

# Signals.
for signal in INT TERM; do
	background -- sh -c 'touch up; sleep 60; touch late'
	kill -s $signal $collector
	background_end
	is "$status" 121 "SIG$signal: indeterminate" "$stderr"
	like "$stderr" 'stopped by signal' 'which is said'
	is "$(verdict_of)" indeterminate 'and written'
	[[ ! -e $ws/late ]] && ! pgrep -x sleep >/dev/null
	ok $? 'the members are gone'
	nothing_left "SIG$signal"
done
background -- sh -c "trap '' TERM; touch up $out/bad; while :; do sleep 1; done"
kill $collector
background_end
is "$status" 120 'SIGTERM to a run that ignores it and was violated: violated' "$stderr"

# Time.
weir_run --timeout 1s -- sleep 60
is "$status" 121 'a time limit: indeterminate' "$stderr"
like "$stderr" 'time limit of 1 s' 'which is said'

# Members that outlive the command.
weir_sh --grace 0.2s 'sleep 60 & exit 0'
is "$status" 120 'a process left behind: violated' "$stderr"
is "$(of_run '[(x["kind"], x["severity"]) for x in f]')" "[('membership', 'error')]" 'of kind membership'
! pgrep -x sleep >/dev/null
ok $? 'and killed'
weir_sh --grace 5s 'sleep 1 & exit 0'
is "$status" 0 'one that ends within the grace: clean' "$stderr"
policy_write "$policy" 'leftover: kill'
weir_sh --grace 0.2s 'sleep 60 & exit 0'
is "$status" 0 'leftover: kill makes it a notice' "$stderr"
! pgrep -x sleep >/dev/null
ok $? 'and kills all the same'
policy_write "$policy"

# Two runs at once.
background -- sh -c 'touch up; sleep 4'
weir_run -- touch "$ws/second"
[[ $status != 0 && ! -e $ws/second ]]
ok $? 'a second run in the same workspace is refused' "$status $stderr"
like "$stderr" "^weir: .*${ws}[ :]" 'which is named'
is "$(wc -l <"$lab/stderr")" 1 'in one line'
mkdir -p "$lab/other"
try weir run -w "$lab/other" -p "$policy" -- touch mine
is "$status" 0 'one elsewhere goes on meanwhile' "$stderr"
try weir run -w "$lab/other" -p "$policy" -- touch "$ws/theirs"
is "$status" 120 'but not in the workspace of the first' "$stderr"
background_end
is "$status" 0 'and the first never notices' "$stderr"

# The workspace goes away under the run.
background -- sh -c 'touch up; sleep 3'
mv "$ws" "$lab/moved"
background_end
is "$status" 120 'the workspace is moved away by somebody else: violated' "$stderr"
is "$(of_run 'sorted({x["kind"] for x in f})')" "['gate-race']" 'as a race with the run'
like "$stderr" 'removed or replaced' 'and said to be gone'
mkdir "$ws"
weir_run -- true
is "$status" 0 'a new one can be used' "$stderr"
rm -rf "$lab/moved"
background -- sh -c 'touch up; sleep 3; touch late'
rm -r "$ws"
background_end
is "$status" 120 'the workspace is removed by somebody else: violated' "$stderr"
like "$stderr" 'removed or replaced' 'and said to be gone'
[[ ! -e $ws ]]
ok $? 'it does not come back'
mkdir "$ws"

# No room for the trace.
mkdir "$lab/small"
truncate -s 4M "$lab/small.ext4"
mke2fs -q -F -O ^has_journal "$lab/small.ext4"
modprobe loop
mount -o loop "$lab/small.ext4" "$lab/small"
head -c 3000000 /dev/zero >"$lab/small/fill"
WEIR_STATE=$lab/small weir_sh 'i=0; while [ $i -lt 6000 ]; do : >f; i=$((i + 1)); done'
is "$status" 121 'a full disk under the run directory: indeterminate' "$stderr"
like "$stderr" 'No space left' 'which is said'
head -c 9000000 /dev/zero >"$lab/small/more" 2>/dev/null
WEIR_STATE=$lab/small weir_sh 'touch ran'
is "$status $(wc -l <"$lab/stderr")" '125 1' 'no room to begin with: one line' "$stderr"
like "$stderr" '^weir: .*No space left' 'which says so'
[[ ! -e $ws/ran ]]
ok $? 'nothing ran'
umount "$lab/small"

# What can't be recorded, as the collector stands still: allowed and doubted, or denied.
flood()
{
	rm -f "$ws"/f[0-9]* "$lab/go"
	background --ring 4K -- sh -c 'touch up; until [ -e ../go ]; do sleep 0.1; done
		i=0; while [ $i -lt 200 ] && { true >f$i; } 2>/dev/null; do i=$((i + 1)); done
		echo $i'
	kill -STOP $collector
	touch "$lab/go"
	sleep 3
	kill -CONT $collector
	background_end
	made=$(find "$ws" -name 'f[0-9]*' | wc -l)
}
policy_write "$policy"
flood
is "$status $(<"$lab/bg.out") $made" '121 200 200' 'records are lost: indeterminate' "$stderr"
is "$(of_run 'sum(c["dropped"] for c in r["counters"].values()) > 0')" True 'and counted'
policy_write "$policy" 'lossless: true'
flood
[[ $status = 121 && $(<"$lab/bg.out") -lt 100 && $made -gt 0 ]]
ok $? 'lossless: denied from the first one on that does not fit' "$status $(<"$lab/bg.out") $made $stderr"
is "$(of_run "r['counters']['path_mknod']['emitted'] >= $made")" True 'all that was made is recorded'
policy_write "$policy"

# The collector is killed.
background -- sh -c 'echo y >here; sleep 60 & touch up
	while { echo x >>mine; } 2>/dev/null; do :; done
	{ read -r y <here; } 2>/dev/null || echo unread; wait'
kill -9 $collector
wait $collector 2>/dev/null
sleep 1
size=$(stat -c %s "$ws/mine")
sleep 1
is "$(stat -c %s "$ws/mine")" "$size" 'the collector is killed: members may write nothing any more'
is "$(<"$lab/bg.out")" unread 'nor read what is their own'
touch "$ws/outsider"
ok $? 'others may'
try weir recover
[[ $status != 0 ]] && pgrep -x sleep >/dev/null
ok $? 'weir recover kills nobody unasked' "$status $stdout $stderr"
try weir recover --kill
is "$status" 0 'weir recover --kill cleans up' "$stdout $stderr"
! pgrep -x sleep >/dev/null
ok $? 'the members are gone'
nothing_left 'weir recover'
try weir recover
like "$stdout" 'nothing to recover' 'after that there is nothing to recover'
weir_run -- true
is "$status" 0 'and the workspace can be used again' "$stderr"

# Looking at runs, and removing them.
try weir show
like "$stdout" "$(basename "$run")" 'weir show tells of the last run'
try weir list
like "$stdout" "$(basename "$run")" 'weir list has it'
try weir rm "$(basename "$run")"
[[ $status = 0 && ! -e $run ]]
ok $? 'weir rm removes it' "$stderr"
try weir unload
is "$status" 0 'weir unload' "$stderr"
no_programs()
{
	[[ -z $(programs_loaded) ]]
}
until_ok no_programs
ok $? 'takes all programs out' "$(bpftool prog show | grep weir_; bpftool link show)"

done_testing
