#!/bin/bash
# SPDX-License-Identifier: MIT
# weir policy check and explain.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

try weir policy check "$policy"
is "$status" 0 'check: a good policy' "$stderr"
like "$stdout" "^$policy: good: usual, enforce, 4 files rules, 0 credential stores" 'says so'
like "$stdout" "sha256 $(sha256sum <"$policy" | cut -d ' ' -f 1)" 'with the digest of its bytes'
unlike "$stdout" 'on this host' 'without -w not of this host'
try weir policy check "$policy" -w "$ws"
like "$status $stdout" '^0 .*on this host: [1-9][0-9]* objects' 'check -w compiles it' "$stderr"

policy_write bad.yaml 'frobnicate: yes'
wrong 'an unknown key' "^weir: bad\.yaml:16:1: unknown key 'frobnicate'" weir policy check bad.yaml
: >bad.yaml
wrong 'an empty policy' '^weir: bad\.yaml:1:1: the policy is empty' weir policy check bad.yaml
wrong 'no such policy' '^weir: policy nowhere\.yaml: No such file' weir policy check nowhere.yaml
wrong 'a policy that is a directory' '^weir: policy out: ' weir policy check out
policy_write bad.yaml '  - path: ${WORKSPACE}/a/b/c
    allow: [write]'
try weir policy check bad.yaml
is "$status" 0 'a path that only a host can tell about' "$stderr"
wrong 'is wrong on this one' '^weir: bad\.yaml:16:[0-9]+: ' weir policy check bad.yaml -w "$ws"
wrong 'a workspace that is not there' '^weir: nowhere: No such file' weir policy check "$policy" -w nowhere
wrong 'a user who is not there' 'nobodyever' weir policy check "$policy" -w "$ws" --user nobodyever
wrong 'explain without a path' '^weir: usage: weir policy explain' weir policy explain "$policy" -w "$ws"
wrong 'explain without a workspace' '^weir: usage: weir policy explain' weir policy explain "$policy" /etc
wrong 'explain of a path with ..' '^weir: .*: write it without \.\.' \
	weir policy explain "$policy" "$ws/nowhere/../x" -w "$ws"

# what is wrong, or too much, on every host
policy_write bad.yaml '  - path: ${HOME}/x
    allow: [exec]
  - path: ~/x/**
    deny: [exec]'
wrong 'a path twice, written in two ways' \
	"^weir: bad\.yaml:18:11: '~/x/\*\*' has a rule in line 16 already, with other rights; keep one" weir policy check bad.yaml
policy_write bad.yaml 'credentials: [~/.ssh, "${HOME}/.ssh"]'
wrong 'a store twice' 'bad\.yaml:16:23: .* has a store in line 16 already; keep one' weir policy check bad.yaml
policy_write bad.yaml '  - path: ~/x
    allow: [exec]
    deny: [exec]'
wrong 'a rule against itself' "bad\.yaml:18:11: .* both allows \(line 17\) and denies \(line 18\) 'exec'; keep one" weir policy check bad.yaml
for path in / /etc '"${HOME}"' /home /var/lib '"/**"'; do
	policy_write bad.yaml "  - path: $path
    allow: [create]"
	wrong "all of $path" "bad\.yaml:16:11: .* is too much to change all of" weir policy check bad.yaml
done
policy_write bad.yaml "  - path: $ws/*.o
    allow: [write]"
wrong 'a wildcard' 'bad\.yaml:16:11: .* no wildcards in a path' weir policy check bad.yaml
sed '/owners:/d' "$policy" >bad.yaml
wrong 'no owners' "^weir: bad\.yaml:[0-9]+:[0-9]+: metadata lacks 'owners'; add it" weir policy check bad.yaml
policy_write bad.yaml 'ipc:
  unix: [/run/dbus/system_bus_socket, /run/docker.sock]
kernel: [module]'
try weir policy check bad.yaml
is "$status $(grep -c '^warning: ' "$lab/stdout")" '0 3' 'what gives away the host is warned of' "$stdout"
like "$stdout" "warning: bad\.yaml:17:10: '/run/dbus/system_bus_socket' gives away what is on the bus" 'a message bus'
like "$stdout" "warning: bad\.yaml:17:39: '/run/docker.sock' gives away the host" 'a container engine'

explained()
{
	try weir policy explain "$policy" "$1" -w "$ws"
	is "$status" 0 "explain $1" "$stderr"
	like "$stdout" "$2" "$1: $3"
}
policy_write "$policy" "  - path: $out
    allow: [write]
  - path: $out/file
    deny: [write]
credentials: [$lab/secret]"
mkdir secret
explained "$ws/new" "^$ws/new: read, write, exec; by the rule '\\\$\{WORKSPACE\}' at $policy:8$" 'may be written'
explained "$out/other" "^$out/other: read, write; by the rule '$out' at $policy:16$" 'may be written'
explained "$out/file" "^$out/file: read; by the rule '$out/file' at $policy:18$" 'may not'
explained "$lab/secret/key" ": none; by the credential store '$lab/secret' at $policy:20$" 'is a secret'
explained /etc/passwd '^/etc/passwd: read; no rule names it: the default$' 'may be read'
printf 'namespaces: [user, mount]\n' >>"$policy"
try weir policy explain "$policy" namespaces
is "$status" 0 'explain a key' "$stderr"
like "$stdout" "namespaces: user: allowed; by the list at $policy:21"$'\n' 'it names the line that allows'
like "$stdout" 'namespaces: pid: denied; no line allows it: the default' 'and says what no line does'
try weir policy check "$policy"
like "$stdout" 'beyond files it allows:'$'\n''namespaces: \[user, mount\]' 'check lists what is no file'
(cd "$ws" && weir policy explain "$policy" rel/x -w .) >"$lab/stdout" 2>&1
is "$?" 0 'explain of a relative path' "$(<"$lab/stdout")"
like "$(<"$lab/stdout")" "$ws/rel/x" 'is of the current directory'
weir policy check "$policy" >/dev/full 2>"$lab/stderr"
is "$? $(<"$lab/stderr")" '125 weir: standard output: No space left on device' 'check to a full disk'

# doctor, where nothing can be enforced: as nobody.
try setpriv --reuid 65534 --regid 65534 --clear-groups weir doctor
like "$status $stdout" "^1 weir: this host can't enforce" 'doctor without root: status 1' "$stderr"
like "$stdout" 'to do +[a-z]' 'and what to change'
try setpriv --reuid 65534 --regid 65534 --clear-groups weir doctor --json
is "$status $(python3 -c 'import json, sys; x = json.load(open(sys.argv[1]))
print(x["schema"], x["enforce"], x["root"], bool(x["missing"]), len(x["advice"]) > 0)' "$lab/stdout")" \
	'1 weir.doctor/1 False False True True' 'doctor --json: the same'
try setpriv --reuid 65534 --regid 65534 --clear-groups weir recover
is "$status $stderr" '125 weir: weir recover needs root: run it with sudo' 'recover without root'
try setpriv --reuid 65534 --regid 65534 --clear-groups weir run -w "$ws" -- touch "$ws/ran"
is "$status $(wc -l <"$lab/stderr")" '125 1' 'run without root: one line' "$stderr"
[[ ! -e $ws/ran ]]
ok $? 'nothing ran'

done_testing
