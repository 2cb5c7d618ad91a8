#!/bin/bash
# SPDX-License-Identifier: MIT
# Bad input gets one clear line and the right status; odd commands get env(1)'s.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# refused STATUS REGEX TITLE COMMAND...: one line on standard error, nothing else, nothing ran.
refused()
{
	try "${@:4}"
	is "$status" "$1" "$3: status $1" "$stderr"
	like "$stderr" "$2" "$3: says it"
	is "$(wc -l <"$lab/stderr")" 1 "$3: in one line" "$stderr"
	[[ ! -e $ws/ran ]]
	ok $? "$3: nothing ran"
}

with_policy()
{
	refused 2 "$2" "$1" weir run -w "$ws" -p bad.yaml -- touch "$ws/ran"
}

policy_write bad.yaml 'frobnicate: yes'
with_policy 'unknown key' "^weir: bad\.yaml:16:1: unknown key 'frobnicate'"
policy_write bad.yaml 'lossless: [1, 2]'
with_policy 'wrong type' '^weir: bad\.yaml:16:11: .*lossless'
policy_write bad.yaml 'mode: maybe'
with_policy 'wrong choice' '^weir: bad\.yaml:16:7: .*observe'
: >bad.yaml
with_policy 'empty policy' '^weir: bad\.yaml:1:1: the policy is empty'
printf 'a: [' >bad.yaml
with_policy 'broken YAML' '^weir: bad\.yaml:[0-9]+:[0-9]+: '
{
	cat "$policy"
	head -c 1048576 /dev/zero | tr '\0' '#'
} >bad.yaml
with_policy 'policy over 1 MiB' '^weir: bad\.yaml: .*1 ?MiB|1048576'
policy_write bad.yaml "  - path: $(head -c 5000 /dev/zero | sed 's,..,/x,g')
    allow: [write]"
with_policy 'path over 4096 bytes' '^weir: bad\.yaml:16:11: .*409[56]'
printf 'apiVersion: weir/v1\nkind: Capability\033[31mSet\n' >bad.yaml
with_policy 'escape bytes in a policy' '^weir: bad\.yaml:'
unlike "$stderr" $'\033' 'escape bytes are printed escaped'
policy_write bad.yaml '  - path: /lab/input/out/not/yet/there
    allow: [write]'
with_policy 'a path that does not exist yet, two levels deep' '^weir: bad\.yaml:[0-9]+:[0-9]+: '

refused 2 '^weir: policy .*/none\.yaml: No such file' 'no such policy' \
	weir run -w "$ws" -p "$lab/none.yaml" -- touch "$ws/ran"
ln -s "$ws" link
refused 2 '^weir: workspace link is a symbolic link' 'workspace is a symbolic link' \
	weir run -w link -- touch "$ws/ran"
refused 2 '^weir: workspace nowhere: No such file' 'no such workspace' \
	weir run -w nowhere -- touch "$ws/ran"
refused 2 '^weir: workspace out/file is not a directory' 'workspace is a file' \
	weir run -w out/file -- touch "$ws/ran"
refused 2 '^weir: the root directory' 'workspace is the root' weir run -w / -- touch "$ws/ran"
long=$(head -c 5000 /dev/zero | tr '\0' x)
refused 2 '^weir: workspace x+\.\.\.: File name too long$' 'workspace over 4096 bytes' \
	weir run -w "$long" -- touch "$ws/ran"
refused 2 '^weir: policy x+\.\.\.x+: File name too long$' 'policy name over 4096 bytes' \
	weir run -w "$ws" -p "$long" -- touch "$ws/ran"
refused 2 '^weir: workspace a.x0a.x1b: No such file' 'workspace with newline and escape bytes' \
	weir run -w $'a\n\033' -- touch "$ws/ran"
refused 2 '^weir: -p @base needs a repository' 'policy of the base commit without a gate' \
	weir run -w "$ws" -p @base -- touch "$ws/ran"
refused 125 '^weir: /etc/weir/gate\.yaml: no gate on this host; .*weir-gate init' 'repository without a gate' \
	weir run -w "$ws" --repo "$lab" -- touch "$ws/ran"
refused 2 'user nobodyever does not exist' 'no such user' \
	weir run -w "$ws" --user nobodyever -- touch "$ws/ran"

# A wrong command line: tests/cli/usage.t.

weir_run -- nosuchcommand
is "$status" 127 'command not found: 127' "$stderr"
is "$(verdict_of)" clean 'and the run is clean'
try weir run -w "$ws" -p "$policy" -- "$ws"
is "$status" 126 'command is a directory: 126' "$stderr"
try weir run -w "$ws" -p "$policy" -- "$long"
is "$status" 126 'command over 4096 bytes: 126' "$stderr"
weir_run -- "$policy"
is "$status" 126 'command not executable: 126' "$stderr"
weir_sh 'kill -USR1 $$'
is "$status" 138 'killed by a signal: 128 + n' "$stderr"
weir_sh 'exit 77'
is "$status" 77 "the command's own status" "$stderr"

# Names that are made to mislead.
name=$'\n\033[31mweir: clean\u202e"\\\r'
weir_run -- sh -c 'touch "$@" 2>/dev/null' sh "$out/$name" "$ws/$name"
is "$status" 120 'a name with newline and escape bytes: violated' "$stderr"
unlike "$stdout$stderr" $'\033|\u202e|\r' 'is printed escaped'
like "$stderr" "$out/\\\\x0a\\\\x1b" 'so that one can see what it is'
like "$(of_run '[x["object"]["path"] for x in f]')" 'x0a..x1b' 'in run.json as well'
try weir show --json
unlike "$stdout" $'\033|\u202e' 'and by weir show'

done_testing
