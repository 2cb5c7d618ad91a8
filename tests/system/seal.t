#!/bin/bash
# SPDX-License-Identifier: MIT
# weir seal, unseal: nobody changes a tree, by any way that leads there; who could is named.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
tree=$lab/tree

fresh()
{
	rm -rf "$tree" "$tree.away" "$out"
	mkdir -p "$tree/sub" "$out"
	echo content >"$tree/file"
	echo two names >"$tree/linked"
	ln "$tree/linked" "$out/linked"
	echo own >"$out/own"
}

# Starts a seal in the background; sets holder.
sealed()
{
	weir seal "$tree" >"$lab/bg.out" 2>"$lab/bg.err" </dev/null &
	holder=$!
	until_ok grep -q '^sealed ' "$lab/bg.out" || echo "# no seal: $(<"$lab/bg.err")"
}

wrong()
{
	try "${@:3}"
	is "$status $(wc -l <"$lab/stderr")" '2 1' "$1: bad input, in one line" "$stderr"
	like "$stderr" "$2" 'which says what'
}

fresh
is "$(python3 "$here/seal.py" change "$tree" "$out/linked" | wc -l)" 26 'without a seal each change passes, or fails for want of what went before'
fresh
before=$(find "$tree" "$out" -printf '%P %m %U %s %T@ %C@\n' | sort)
sealed
is "$(python3 "$here/seal.py" change "$tree" "$out/linked")" '' 'sealed: no change passes, nor by another name'
mkdir -p "$lab/bind"
mount --bind "$tree" "$lab/bind"
is "$(python3 "$here/seal.py" change "$lab/bind" "$out/linked" | grep -v 'Errno 1[68]\]')" '' 'nor through another mount'
umount "$lab/bind"
is "$(find "$tree" "$out" -printf '%P %m %U %s %T@ %C@\n' | sort)" "$before" 'nothing has changed'
is "$(cat "$tree/file")" content 'it can be read'
try weir list
id=$(sed -n "s|^\([0-9a-f-]*\)  holds  *$holder  $tree\$|\1|p" "$lab/stdout")
like "$id" '^[0-9]{8}-[0-9]{6}-' 'weir list shows it' "$stdout"
is "$(weir list --json | python3 -c 'import json, sys; print([(s["path"], s["state"]) for s in json.load(sys.stdin)["seals"]])')" \
	"[('$tree', 'holds')]" 'in JSON too'
try weir seal "$tree"
like "$status $stderr" "^125 .*$tree is in use by .*process $holder" 'there is no second one' "$stderr"
try weir seal "$tree/sub"
like "$status $stderr" "^125 .*$tree/sub is in use by .*process $holder" 'nor one below'
try weir run -w "$tree" -p "$policy" -- true
like "$status $stderr" "^125 .*process $holder" 'nor a run in it'
try weir recover
is "$status $stdout" '0 nothing to recover' 'recover leaves it alone' "$stderr"
try weir unseal "$id"
is "$status $stdout" "0 unsealed $tree" 'weir unseal' "$stderr"
wait "$holder"
is $? 0 'it has ended in order'
like "$(<"$lab/bg.err")" 'attempts to change it that were denied: [1-9]' 'and tells what it has denied'
touch "$tree/new" && echo x >>"$out/linked"
ok $? 'the tree can be changed again'
wrong 'unseal of what is not sealed' 'not sealed; `weir list`' weir unseal "$tree"
is "$(weir list | grep -c SEAL)" 0 'nor is it listed'

# Who can write already.
fresh
for how in open map; do
	python3 "$here/seal.py" hold "$tree/file" $how 60 >"$lab/pid" &
	until_ok test -s "$lab/pid"
	try weir seal "$tree" true
	is "$status" 1 "a file that somebody has ${how/map/mapped} for writing: no seal" "$stderr"
	like "$stderr" "$tree/file: process $! \(.*python3.*\) has it ${how/map/mapped} for writing" 'who and what is named'
	kill $!
	wait $! 2>/dev/null
	: >"$lab/pid"
	touch "$tree/file"
	ok $? 'nothing is sealed'
done
python3 "$here/seal.py" hold "$tree/file" open 2 >"$lab/pid" &
until_ok test -s "$lab/pid"
try weir seal --wait 20s "$tree" true
is "$status" 0 'with --wait it is waited for' "$stderr"

# As long as a command goes on.
fresh
try weir seal "$tree" sh -c 'touch "$0/new"; cat "$0/file"; exit 7' "$tree"
is "$status $stdout" '7 content' 'a command reads, and its status counts' "$stderr"
like "$stderr" 'Operation not permitted' 'it can change nothing either'
[[ ! -e $tree/new ]]
ok $? 'nothing is there'
try weir seal "$tree" "$lab/nowhere"
is "$status" 127 'a command that is not there' "$stderr"

# A seal ends with its holder, and that is no secret.
sealed
kill -KILL "$holder"
wait "$holder" 2>/dev/null
touch "$tree/new"
ok $? 'the holder was killed: the seal is gone'
like "$(weir list)" "ended  *$holder  $tree" 'weir list says so'
try weir unseal "$tree"
like "$status $stderr" "^125 .*ended when process $holder did; run .weir recover" 'so does unseal'
try weir seal "$tree" true
like "$status $stderr" '^125 .*weir recover' 'so does the next seal'
try weir recover
is "$status" 0 'weir recover' "$stderr"
like "$stdout" "seal [0-9a-f-]+ of $tree: ended when process $holder did, and held nobody off since; lifted" 'reports it'
like "$stdout" 'slot [0-9]+: its collector is gone; freed' 'and frees its slot'
try weir seal "$tree" true
is "$status" 0 'then it can be sealed again' "$stderr"

wrong 'no directory' 'which directory' weir seal
wrong 'a directory that is not there' 'No such file' weir seal "$lab/nowhere"
wrong 'a file' 'Not a directory' weir seal "$tree/file"
wrong 'the root' 'root directory' weir seal /
wrong 'too long a wait' 'an hour at most' weir seal --wait 2h "$tree"
mkdir -p "$lab/up" "$lab/work" "$lab/merged"
mount -t tmpfs none "$lab/up" && mkdir "$lab/up/u" "$lab/up/w"
mount -t overlay none -o "lowerdir=$tree,upperdir=$lab/up/u,workdir=$lab/up/w" "$lab/merged"
wrong 'an overlay' 'lies on an overlay' weir seal "$lab/merged"
umount "$lab/merged" "$lab/up"
mkdir "$tree/mnt" && mount -t tmpfs none "$tree/mnt"
try weir seal "$tree" true
like "$status $stderr" '^125 .*mnt' 'a tree with another mount in it is refused'
umount "$tree/mnt"
done_testing
