#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2119
# What inspection finds in a tree: class, place, severity, who may accept it; and what must pass.
. "$(dirname "$0")/lib.sh"

strict="  strict: true"

good() {
	fresh "$@"
	echo good >ws/good
}

# has CLASS PATH PLACE SEVERITY ROLE [DETAIL]: run/promoted.json or run/refused.json has it once
has() {
	local file=run/promoted.json
	[ ! -e run/refused.json ] || file=run/refused.json
	python3 - "$file" "$@" <<-'EOT' || fail "no such finding in $(cat $file)"
		import json, sys
		name, kind, path, place, severity, role = sys.argv[1:7]
		with open(name) as f:
		    found = [x for x in json.load(f)["findings"] if x["class"] == kind and x["path"] == path]
		assert len(found) == 1, found
		f = found[0]
		assert (f["place"], f["severity"], f["role"]) == (place, severity, role), f
		assert f["id"].startswith(kind + "-") and f["why"], f
		assert len(sys.argv) < 8 or sys.argv[7] in f["detail"], f
	EOT
}

# nothing CLASS...: no finding of these classes
nothing() {
	local class
	for class; do
		not grep -q "\"class\":\"$class\"" run/promoted.json
	done
}

github=ghp_
github+=zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17

t "text that deceives: warned of by line and column, refused under strict" <<'EOT'
deceive() {
	printf 'a\nif (x) { \342\200\256 } \342\201\246\n' >ws/bidi.c
	printf 'ad\342\200\213min\n' >ws/invisible.c
	printf '\n\nis_\320\260dmin\n' >ws/mixed.c
	printf 'x\033[2K\n' >ws/escape.txt
	head -c 10001 /dev/zero | tr '\0' x >ws/long.js
	printf 'na\303\257ve \320\277\321\200\320\270\320\262\320\265\321\202 USB \342\202\254\n' >ws/fine.txt
}
good; deceive; end_run; commit >out
has text-bidi bidi.c 2:10 warn security U+202E; has text-invisible invisible.c 1:3 warn security U+200B
has text-mixed-script mixed.c 3:6 warn security; has text-escape escape.txt 1:2 warn security U+001B
has text-long-line long.js 1:1 warn approver
grep -q '^warning: text-bidi: .*: bidi.c:2:10 and 1 more: U+202E$' out
not grep -q '^warning.*fine.txt' out; not grep -q "$(printf '\342\200\256\\|\033')" out
good "'**'" "$strict"; deceive; end_run
must_refuse content 'text-bidi bidi.c:2:10, text-escape escape.txt:1:2, text-invisible invisible.c:1:3 and 1 more' commit
has text-long-line long.js 1:1 warn approver; unchanged
EOT

t "what the base has already is no finding of the run" <<'EOT'
good; printf '\342\200\256\n' >ws/old.txt; end_run; commit >/dev/null; BASE=$(tip)
start_run; chmod +x ws/old.txt; echo 2 >ws/new; end_run; commit >/dev/null; nothing text-bidi
BASE=$(tip); start_run; echo more >>ws/old.txt; end_run; commit >/dev/null; has text-bidi old.txt 1:1 warn security
EOT

t "private keys and tokens with a good checksum are refused; nothing repeats them" <<'EOT'
good; ssh-keygen -q -t ed25519 -N '' -f ws/id; end_run
must_refuse secret 'secret-key id:1:1: a private key: private key' commit; has secret-key id 1:1 refuse security; unchanged
good; openssl genpkey -algorithm ed25519 -out ws/key.pem 2>/dev/null; end_run; must_refuse secret 'secret-key key.pem:1:1' commit
good; printf '\n token = "%s"\n' "$github" >ws/t.ini; end_run
must_refuse secret 'secret-token t.ini:2:11' commit --json; not grep -q zQWB run/refused.json stdout stderr; unchanged
good; printf 'token = "%sx"\n' "${github%?}" >ws/t.ini; end_run; commit >/dev/null; nothing secret-token secret-likely
EOT

t "likely tokens and locked keys are warned of, refused under strict" <<'EOT'
likely() { ssh-keygen -q -t ed25519 -N secret -f ws/id; printf 'id=AKIA%s\n' QWERTYUIOP234567 >ws/aws; printf 'x = AKIAIOSFODNN7EXAMPLE\n' >ws/doc; }
good; likely; end_run; commit >/dev/null; has secret-locked id 1:1 warn security; has secret-likely aws 1:4 warn security 'AWS access key'
not grep -q '"path":"doc","place"' run/promoted.json
good "'**'" "$strict"; likely; end_run; must_refuse secret 'secret-likely aws:1:4, secret-locked id:1:1' commit; unchanged
EOT

t "a secret across the border of two pieces of a large file" <<'EOT'
good; { head -c 1048560 /dev/zero | tr '\0' '\n'; echo "$github"; head -c 3000000 /dev/zero | tr '\0' '\n'; } >ws/big; end_run
must_refuse secret 'secret-token big:1048561:1' commit; unchanged
good; { head -c 2000000 /dev/urandom; echo; echo "$github"; } >ws/bin; end_run; must_refuse secret 'secret-token bin:byte ' commit
EOT

t "programs, binaries, pointers of git-lfs" <<'EOT'
binaries() { cp /bin/true ws/tool; printf '\211PNG\r\n\0\0' >ws/i.png; printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n' >ws/big.bin; }
good; binaries; end_run; commit >/dev/null
has binary-program tool '' warn security 'ELF, '; has binary i.png '' warn approver '8 bytes, sha256:'; has lfs-pointer big.bin '' warn approver
good "'**'" "$strict"; binaries; end_run; must_refuse tree-unrepresentable 'lfs-pointer big.bin, binary-program tool' commit; unchanged
EOT

done_testing
