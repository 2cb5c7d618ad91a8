# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# lib.sh: what the system tests share. They run as root inside the test VM, under prove
# (tests/cli uses it outside, with another WEIR_LAB):
#
#	tests/vm/run -k 6.1 -- sh -c 'prove /share/weir/tests/system/*.t'
#
# Each file has a place of its own, $lab: ws (the workspace), out (what is none of the run's
# business), policy.yaml. Nothing that a test leaves there matters to another file.
set -u
state=${WEIR_STATE:-/var/lib/weir}
lab=${WEIR_LAB:-/lab}/$(basename "$0" .t)
ws=$lab/ws
out=$lab/out
policy=$lab/policy.yaml
tap_count=0

lab_make()
{
	rm -rf "$lab"
	mkdir -p "$ws" "$out"
	echo precious >"$out/file"
	began=$(mktemp)
	policy_write "$policy"
	cd "$lab" || exit
}

# policy_write FILE [LINES]: the usual policy, with LINES (YAML) added.
policy_write()
{
	cat >"$1" <<-END
		apiVersion: weir/v1
		kind: CapabilitySet
		metadata:
		  name: usual
		  owners: [build@example.org]
		coverage: files
		files:
		  - path: \${WORKSPACE}
		    allow: [write, exec]
		  - path: \${TMPDIR}
		    allow: [write]
		  - path: /usr
		    allow: [exec]
		  - path: /bin
		    allow: [exec]
		${2:-}
	END
}

# ok STATUS TITLE [DETAIL]
ok()
{
	local detail=${3:-}
	tap_count=$((tap_count + 1))
	if [[ $1 = 0 ]]; then
		echo "ok $tap_count - $2"
	else
		echo "not ok $tap_count - $2"
		printf '# %s\n' "${detail//$'\n'/$'\n# '}"
	fi
}

is()
{
	[[ $1 = "$2" ]]
	ok $? "$3" "got '$1', wanted '$2'"$'\n'"${4:-}"
}

like()
{
	[[ $1 =~ $2 ]]
	ok $? "$3" "no match for '$2' in:"$'\n'"$1"
}

unlike()
{
	[[ ! $1 =~ $2 ]]
	ok $? "$3" "a match for '$2' in:"$'\n'"$1"
}

# Of the runs since lab_make: what the hooks of each counted does not add up, or was lost although
# the run is said to be sure.
unreconciled()
{
	find "$state/runs" -name run.json -newer "$began" -print0 2>/dev/null |
		xargs -r -0 python3 -c 'import json, sys
for path in sys.argv[1:]:
    r = json.load(open(path))
    for name, c in r["counters"].items():
        lost = c["dropped"] and r["verdict"] not in ("indeterminate", "violated")
        if lost or c["seen"] != c["emitted"] + c["aggregated"] + c["dropped"]:
            print(path, name, c)'
	rm -f "$began"
}

# Tests outside of the VM (WEIR_LAB) have runs that never were.
done_testing()
{
	[[ -n ${WEIR_LAB:-} ]] || is "$(unreconciled)" '' 'seen = emitted + aggregated + dropped, in each run'
	echo "1..$tap_count"
}

# Runs a command; sets status, stdout, stderr.
try()
{
	timeout -k 5 120 "$@" >"$lab/stdout" 2>"$lab/stderr" </dev/null
	status=$?
	stdout=$(<"$lab/stdout")
	stderr=$(<"$lab/stderr")
}

# One run in the workspace under the policy; sets run, its directory, as well.
weir_run()
{
	try weir run -w "$ws" -p "$policy" "$@"
	run=$(run_last)
}

# The same with a shell script as the command; options of weir may come before it.
weir_sh()
{
	local script=${*: -1}
	weir_run "${@:1:$#-1}" -- sh -c "$script"
}

# A chain of 300 directories, longer than a path can be.
deep_make()
{
	python3 -c 'import os, sys
os.mkdir(sys.argv[1])
os.chdir(sys.argv[1])
for i in range(300):
    os.mkdir("d")
    os.chdir("d")
open("file", "w")' "$1"
}

# An outsider opens the file at its end for writing: says what becomes of it.
deep_write()
{
	python3 -c 'import os, sys
os.chdir(sys.argv[1])
for i in range(300):
    os.chdir("d")
try:
    open("file", "w")
    print("written")
except OSError as e:
    print(e.strerror)' "$1"
}

run_last()
{
	# shellcheck disable=SC2012 # names that weir makes
	ls -td "$state"/runs/*/ 2>/dev/null | head -n 1
}

# The value of a Python expression over r, the last run's run.json.
of_run()
{
	python3 -c 'import json, sys
r = json.load(open(sys.argv[1] + "/run.json"))
f = r["findings"]
print(eval(sys.argv[2]))' "$run" "$1"
}

verdict_of()
{
	sed -n 's/^  "verdict": "\(.*\)",$/\1/p' "$run/run.json"
}

# No gate on this host, whatever another test has left.
gate_forget()
{
	rm -rf /etc/weir /var/lib/weir-gate
}

# Waits until a command succeeds, 20 s at most.
until_ok()
{
	local i
	for ((i = 0; i < 200; i++)); do
		! "$@" 2>/dev/null || return 0
		sleep 0.1
	done
	return 1
}

lab_make
