#!/bin/bash
# SPDX-License-Identifier: MIT
# Which source a kernel gives, and what it is good for: LSM where bpf is in the list of active ones,
# else fmod_ret, which on a preemptible kernel can be slipped past and therefore only observes.
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
read -r preempt < <(sed 's/.*(\(.*\)).*/\1/' /sys/kernel/debug/sched/preempt)
source=fmod_ret
! grep -qw bpf /sys/kernel/security/lsm || source=lsm

sources()
{
	of_run 'sorted({h["source"] for n, h in r["coverage"]["hooks"].items() if n.startswith("path_")})'
}

weir_run --observe -- sh -c "echo x >$out/file"
is "$(sources)" "['$source']" "source $source" "$stderr"
if [[ $source = lsm || $preempt != full ]]; then
	is "$status" 120 'observes' "$stderr"
	weir_run -- sh -c "echo y >$out/file"
	is "$status $(<"$out/file")" '120 x' 'denies' "$stderr"
	done_testing
	exit
fi

# On a preemptible kernel.
weir_run -- touch ran
is "$status $(wc -l <"$lab/stderr")" '125 1' 'to enforce is refused' "$stderr"
like "$stderr" 'preemptible \(full\): boot with preempt=none.*--observe' 'with what to do'
[[ ! -e $ws/ran ]]
ok $? 'and nothing ran'
try weir doctor
like "$stdout$stderr" 'preemptible: nothing is sure to be stopped' 'weir doctor says so too'

# Outsiders get in between: a run during which a program was skipped is never clean.
mkdir "$lab/hammered"
setsid python3 "$here/hammer.py" "$lab/hammered" &
hammer=$!
trap 'kill -- -$hammer 2>/dev/null' EXIT
until_ok test -e "$lab/hammered/hammer0" -o -e "$lab/hammered/hammer1"
skipped=0 slipped=0 wrong=''
for round in 1 2 3 4 5; do
	weir_run --observe -- sh -c 'i=0; while [ $i -lt 300 ]; do : >f$i; rm f$i; i=$((i + 1)); done'
	seen=$(of_run 'r["counters"]["path_mknod"]["seen"]')
	said=$(of_run '[x["text"] for x in r["reasons"]]')
	if [[ $said =~ 'programs were skipped' ]]; then
		skipped=$((skipped + 1))
		[[ $status = 121 ]] || wrong+=" $round:$status"
	else
		[[ $status = 0 && $seen -ge 300 ]] || wrong+=" $round:$status,$seen,$said"
	fi
	((seen >= 300)) || slipped=$((slipped + 1))
done
echo "# skipped in $skipped of 5 runs; in $slipped of them a member slipped past"
[[ $skipped -gt 0 ]]
ok $? 'programs are skipped' "$stderr"
is "$wrong" '' 'and then the run is indeterminate, and says so'
done_testing
