#!/bin/bash
# SPDX-License-Identifier: MIT
# What the kernel refuses a member before any rule is asked: on record with its errno, and by the
# policy a finding or a notice.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

chown builder "$ws"
mkdir -m 755 "$lab/store"
install -m 600 /dev/null "$lab/store/key"
mkdir -m 700 "$lab/closed"
install -m 644 /dev/null "$lab/closed/file"
chmod 600 "$out/file"
# with_attempts [WEIGHTS]: the usual policy with a store, and what the policy says of attempts.
with_attempts()
{
	local more=
	[[ -z ${1:-} ]] || more=$'\n'"attempts: {$1}"
	policy_write "$policy" "credentials: [$lab/store]$more"
}

# As somebody who may not: try [OPTION...] SCRIPT; both modes say the same.
member()
{
	weir_sh --user builder "$@"
}

# One line for each finding: kind, outcome, errno, operation, path.
told()
{
	of_run '" ".join(sorted("%s:%s:%s:%s:%s" % (x["kind"], x["outcome"], x.get("errno"), x["op"], x["object"]["path"]) for x in f))'
}

# The same of what is on record as a notice.
noticed()
{
	weir trace --json "$(basename "$run")" 2>/dev/null | python3 -c 'import json, sys
seen = set()
for line in sys.stdin:
    x = json.loads(line)
    if x.get("kind") == "attempt" and "canary" not in x["flags"]:
        seen.add("%s:%s:%s:%s" % (x["outcome"], x.get("errno"), x["op"], x["object"]["path"]))
print(" ".join(sorted(seen)))'
}

with_attempts
for mode in '' --observe; do
	member $mode "cat $lab/store/key"
	is "$status $(told)" "120 credential-read:refused:EACCES:read:$lab/store/key" \
		"a key that it may not read${mode:+, observed}: a finding" "$stderr"
done
like "$stderr" 'refused by the kernel' 'and told as such'
like "$(of_run 'f[0].get("target")')" "$lab/store/key" 'with the name that was asked for, as a label'

member "cat $out/file; echo x >$out/file; cat $lab/closed/file; rm $lab/closed/file; true"
is "$status $(told)" '0 ' 'files that are nobody'\''s secret: no finding' "$stderr"
is "$(noticed)" "refused:EACCES:read:$lab/closed refused:EACCES:read:$out/file refused:EACCES:unlink:$lab/closed refused:EACCES:write:$out/file" \
	'but on record: the object, or the directory that refused'

member "cat $lab/store/none $ws/none /none; test -r $lab/store/key; ls $lab/closed; find $lab -type d; stat $lab/closed/file; true"
is "$status $(told)" '0 ' 'what is not there, and questions: no finding' "$stderr"
unlike "$(noticed)" 'none|/store/key' 'nor on record'

sleep 300 &
victim=$!
peek="import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(0x4206, $victim, None, None), ctypes.get_errno())"
echo "$peek" >"$ws/peek.py"
for mode in '' --observe; do
	member $mode "python3 peek.py"
	is "$status $stdout $(told)" "120 -1 1 memory-access:refused:EPERM:ptrace:$(readlink -f "/proc/$victim/exe")" \
		"memory of another user's process${mode:+, observed}: a finding" "$stderr"
done
like "$(of_run 'f[0]["peer"]["pid"]')" "^$victim\$" 'with the process'
member "ps aux >/dev/null; ls -l /proc/*/exe >/dev/null 2>&1; true"
is "$(told)" '' 'looking at processes is none' "$stderr"

with_attempts 'credentials: notice, memory: notice'
member "cat $lab/store/key; python3 peek.py"
is "$(told)" '' 'as the policy says: notices' "$stderr"
like "$(noticed)" "refused:EACCES:read:$lab/store/key .*refused:EPERM:ptrace:|refused:EPERM:ptrace:.* refused:EACCES:read:$lab/store/key" 'which are on record'
with_attempts 'files: finding'
member "cat $out/file; echo x >$out/file; true"
is "$status $(told)" "120 file-outside:refused:EACCES:write:$out/file" 'or findings; what may be read is none' "$stderr"
kill $victim

# Root is refused as well, without its capabilities.
chown builder "$out/file"
weir_sh --user root "cat $out/file; true"
is "$status $(told)" '0 ' 'root without its power' "$stderr"
is "$(noticed)" "refused:EACCES:read:$out/file" 'is on record'

with_attempts 'credentials: maybe'
try weir policy check "$policy"
is "$status $(wc -l <<<"$stdout$stderr")" '2 1' 'a word that is none: one line' "$stdout$stderr"
done_testing
