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

t "paths that others run or obey: each with its role; spellings that fold to them (B03, B06, A10)" <<'EOT'
privileged() {
	mkdir -p ws/.github/workflows ws/.cursor ws/.CURSOR ws/.husky ws/.vscode ws/lib
	echo 'on: push' >ws/.github/workflows/ci.yml; echo '* @me' >ws/.github/CODEOWNERS
	echo {} >ws/.cursor/mcp.json; echo {} >ws/.CURSOR/MCP.json; echo x >ws/.husky/pre-commit; echo {} >ws/.vscode/tasks.json
	echo 'import x' >ws/lib/a.pth; echo x >ws/.envrc; echo '# x' >>ws/Makefile
}
good; privileged; end_run; commit >out
has exec-ci .github/workflows/ci.yml '' warn platform-owner 'added, known as .github'; has review-owners .github/CODEOWNERS '' warn policy-owner
has exec-agent .cursor/mcp.json '' warn security; has exec-agent .CURSOR/MCP.json '' warn security 'known as .cursor'
has exec-hook .husky/pre-commit '' warn security; has exec-editor .vscode/tasks.json '' warn security
has exec-startup lib/a.pth '' warn security '*.pth'; has exec-shell .envrc '' warn security
has exec-build Makefile '' warn approver 'changed, known as Makefile'; nothing name-lookalike
grep -q '^warning: exec-ci: .*: .github/workflows/ci.yml: added, known as .github$' out
BASE=$(tip); start_run; rm ws/.github/CODEOWNERS; end_run; commit >/dev/null; has review-owners .github/CODEOWNERS '' warn policy-owner deleted
good "'**'" "$strict"; privileged; end_run; must_refuse control-file 'exec-' commit; unchanged
good "'**'" "$strict"; echo '# x' >>ws/Makefile; end_run; commit >/dev/null; has exec-build Makefile '' warn approver
EOT

t "an id binds the content: another content of the same path has another id" <<'EOT'
id() { python3 -c 'import json; print(*(f["id"] for f in json.load(open("run/promoted.json"))["findings"] if f["class"] == "exec-shell"))'; }
good; echo one >ws/.envrc; end_run; commit >/dev/null; a=$(id); BASE=$(tip)
start_run; echo two >ws/.envrc; end_run; commit >/dev/null; b=$(id)
good; echo one >ws/.envrc; end_run; commit >/dev/null; [ "$(id)" = "$a" ]; [ "$a" != "$b" ]
EOT

t "what git has no place for is said (E12, E20), refused under strict" <<'EOT'
lose() { mkdir -p ws/a/b/c ws/priv; chmod 700 ws/src; echo x >ws/priv/f; chmod 000 ws/priv ws/src/main.c; mkdir -p ws/app/empty; }
fresh; mkdir -p ws/a/b/c; chmod 700 ws/src; end_run
must_refuse nothing-to-promote 'git has no place for a/b/c (empty directory), src (mode 0700)' commit; unchanged
good; lose; end_run; commit >out; has not-representable a/b/c '' warn approver 'empty directory'; has not-representable src '' warn approver 'mode 0700'
has not-representable priv '' warn approver 'mode 0000'; has not-representable src/main.c '' warn approver 'mode 0000'
[ "$(git -C trusted.git show main:priv/f)" = x ]; not grep -q app/empty out
good "'**'" "$strict"; lose; end_run; must_refuse tree-unrepresentable 'not-representable a/b/c' commit; unchanged
EOT

t "a nested repository is named once, with its files (E13)" <<'EOT'
good; git init -q ws/vendor/sub; echo payload >ws/vendor/sub/p.sh; echo q >ws/vendor/sub/q; git -C ws/vendor/sub add -A; git -C ws/vendor/sub commit -qm x; end_run
must_refuse tree-unsafe 'nested-repository vendor/sub: a repository inside' commit; has nested-repository vendor/sub '' refuse nobody '2 files'; unchanged
good; mkdir ws/mod; echo 'gitdir: /etc' >ws/mod/.git; echo x >ws/mod/x; end_run; must_refuse tree-unsafe 'nested-repository mod' commit; unchanged
good; git init -q ws/src; rm ws/src/main.c; echo x >ws/src/z.c; end_run; must_refuse tree-unsafe 'nested-repository src' commit; unchanged
EOT

t "deletions are counted (B07), and most of a project's files gone is a finding" <<'EOT'
many() { (cd seed; for i in $(seq 12); do echo $i >f$i; done; git add -A; git commit -qm many; git push -qf ../trusted.git HEAD:main); chown -R weir: trusted.git; BASE=$(tip); start_run; }
fresh; many; rm ws/f1 ws/f2 ws/f3; echo x >ws/f4; end_run; commit >out; grep -q '^4 files changed (0 added, 1 replaced, 3 deleted):$' out; nothing mass-deletion
fresh; many; rm ws/f*; end_run; commit >/dev/null; has mass-deletion . '' warn approver '12 of 16'
fresh "'**'" "$strict"; many; rm ws/f*; end_run; must_refuse control-file mass-deletion commit; unchanged
EOT

t "attributes and submodule settings, each at its line (E06, E07)" <<'EOT'
good; printf '* text\n*.c filter=lab\n' >ws/.gitattributes; end_run
must_refuse control-file 'attributes-filter .gitattributes:2:1: git attributes that make others run programs: filter=lab' commit; unchanged
good; printf '*.c ident\n*.py diff=python\n' >ws/.gitattributes; end_run; commit >/dev/null; has attributes-rewrite .gitattributes 1:1 warn security ident; nothing attributes-filter
good; printf '[submodule "x"]\n\tpath = x\n\turl = ext::sh -c x\n' >ws/.gitmodules; end_run; must_refuse tree-unsafe 'gitmodules .gitmodules:3:1' commit; unchanged
good; { head -c 1100000 /dev/zero | tr '\0' '\n'; echo '*.c filter=lab'; } >ws/.gitattributes; end_run; must_refuse limit 'metadata-size .gitattributes' commit; unchanged
EOT

t "special files are named with their type (E11), a file above the limit with both sizes (E10)" <<'EOT'
good; mkfifo ws/p; mknod ws/zero c 1 5; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("ws/s.sock")'; end_run
must_refuse tree-unrepresentable 'special-file p, special-file s.sock, special-file zero' commit; unchanged
has special-file p '' refuse nobody FIFO; has special-file s.sock '' refuse nobody socket; has special-file zero '' refuse nobody 'character device'
good; truncate -s 8589934593 ws/big.bin; end_run; must_refuse limit 'size-limit big.bin: a file that is too large: 8589934593 bytes, the limit is 8589934592' commit; unchanged
EOT

t "names that look alike, in any script and at any depth; new executables" <<'EOT'
good; echo 1 >"$(printf 'ws/src/m\320\260in.c')"; echo 2 >"$(printf 'ws/STRA\303\237E')"; echo 3 >ws/strasse; echo '#!/bin/sh' >ws/run.sh; chmod +x ws/run.sh; end_run; commit >/dev/null
has name-lookalike "$(printf 'src/m\320\260in.c')" '' warn security src/main.c; grep -q '"class":"name-twin".*"path":"stra' run/promoted.json; has mode-executable run.sh '' warn approver
good; mkdir "$(printf 'ws/.g\321\226t')"; echo x >"$(printf 'ws/.g\321\226t/config')"; end_run; commit >/dev/null; has name-lookalike "$(printf '.g\321\226t/config')" '' warn security
good; ln -s "$(printf 'x\033[31m')" ws/l; end_run; must_refuse tree-unsafe 'name-control l: a name with control characters: in the link' commit; unchanged
EOT

done_testing
