#!/bin/bash
# SPDX-License-Identifier: MIT
# What the gate refuses: each test spoils one thing, and main must not move.
. "$(dirname "$0")/lib.sh"

# one change that would be promoted, so that only the spoiled thing can be the reason
good() {
	fresh "$@"
	echo good >ws/good
}

t "trusted branch moved (E16): both ids are named" <<'EOT'
good; end_run
git clone -q trusted.git other; (cd other; echo o >o; git add -A; git commit -qm outside; git push -q origin HEAD:main); rm -rf other
chown -R weir: trusted.git; new=$(tip)
must_refuse base-moved "$BASE to $new" commit
[ "$(tip)" = "$new" ]
start_run; echo good >ws/good; end_run; commit >/dev/null
EOT

t "file changed after the run (E17)" <<'EOT'
good; end_run; echo evil >>ws/good
must_refuse changed-after-run 'good has another content' commit; unchanged
EOT

t "file changed after the run, same size and times" <<'EOT'
good; sed -i 's/crosscheck: "stat"/crosscheck: "full"/' /etc/weir/gate.yaml
end_run; touch -r ws/good stamp; echo evil >ws/good; touch -r stamp ws/good
must_refuse changed-after-run 'good has another content' commit; unchanged
EOT

t "file added, removed or replaced by a link after the run" <<'EOT'
good; end_run; echo x >ws/added; must_refuse changed-after-run 'added appeared' commit; unchanged
good; end_run; rm ws/good; must_refuse changed-after-run 'good vanished' commit; unchanged
good; end_run; rm ws/good; ln -s /etc/shadow ws/good; must_refuse changed-after-run 'good was replaced' commit; unchanged
good; end_run; chmod +x ws/good; must_refuse changed-after-run 'good has another mode' commit; unchanged
EOT

t "change without a traced writer is a foreign write" <<'EOT'
good; echo x >ws/foreign; end_run untraced=foreign
must_refuse foreign-write foreign commit; unchanged
EOT

t "leaking link is a link in the commit, never its target (E03)" <<'EOT'
good; mkdir -p home/.aws; echo CANARY >home/.aws/credentials
ln -s "$LAB/home/.aws/credentials" ws/leak.txt; mkdir ws/sub; ln -s "$LAB/home/.aws" ws/sub/dir
end_run; commit >out
[ "$(git -C trusted.git show main:leak.txt)" = "$LAB/home/.aws/credentials" ]
git -C trusted.git ls-tree -r main | grep -q '^120000 blob .*leak.txt'
not git -C trusted.git grep -q CANARY main
grep -q 'warning: link-outside.*leak.txt' out; grep -q 'warning: link-outside.*sub/dir' out
EOT

t "leaking link under writeback.strict is refused" <<'EOT'
good "'**'" "  strict: true"; ln -s /etc/passwd ws/leak.txt; end_run
must_refuse tree-unsafe 'link-outside leak.txt' commit; unchanged
EOT

t "findings have ids that stay, and a refusal lists all of them" <<'EOT'
strict() { good "'**'" "  strict: true"; for n in a b c d; do ln -s /etc/passwd ws/$n; done; }
ids() { python3 -c 'import json,sys; r=json.load(open(sys.argv[1])); print(*(f["id"] for f in r["findings"]))' "$1"; }
strict; end_run; must_refuse tree-unsafe 'link-outside a, link-outside b, link-outside c and 1 more' commit; unchanged
grep -q '"code":"tree-unsafe"' run/refused.json; ids run/refused.json >first; [ "$(wc -w <first)" = 4 ]
grep -qE '^(link-outside-[0-9a-f]{32} ?){4}$' first; [ ! -e run/promoted.json ]
grep -q '"class":"link-outside".*"path":"a".*"severity":"refuse"' run/refused.json
strict; echo other >ws/other; end_run; not commit --json >out 2>/dev/null; ids out | cmp - first; unchanged
good; for n in a b c d; do ln -s /etc/passwd ws/$n; done; end_run; commit >/dev/null; ids run/promoted.json | cmp - first
[ ! -e run/refused.json ]; grep -q '"severity":"warn"' run/promoted.json
git -C trusted.git show "refs/weir/attestations:$(git -C trusted.git ls-tree -r --name-only refs/weir/attestations | grep "$(tip)/promotion")" >record
grep -q "^finding $(cut -d' ' -f1 first) warn - 1 a$" record
EOT

t "twins warn, and are refused under strict (E19)" <<'EOT'
good; echo 1 >ws/README; echo 2 >ws/readme; echo 3 >"$(printf 'ws/caf\303\251')"; echo 4 >"$(printf 'ws/cafe\314\201')"
end_run; commit >out; grep -q 'warning: name-twin.*readme\|warning: name-twin.*README' out; [ "$(grep -c name-twin out)" = 2 ]
git -C trusted.git fsck --strict 2>&1
good "'**'" "  strict: true"; mkdir ws/SRC; echo 1 >ws/SRC/x; end_run
must_refuse tree-unsafe 'name-twin SRC' commit; unchanged
EOT

t "special files (E11)" <<'EOT'
good; mkfifo ws/p; mknod ws/zero c 1 5; end_run
must_refuse tree-unrepresentable 'special-file p, special-file zero' commit; unchanged
EOT

t "disguised .git names (E05), shown escaped" <<'EOT'
for d in .GIT 'git~1' '.git ' '.git.' "$(printf '.g\342\200\214it')" '.git::$INDEX_ALLOCATION' "$(printf '.git\357\273\277')"; do
	good; mkdir -p "ws/x/$d"; echo x >"ws/x/$d/config"; end_run
	must_refuse tree-unsafe name-dotgit commit
	unchanged
done
good; mkdir "$(printf 'ws/.g\342\200\214it')"; echo x >"$(printf 'ws/.g\342\200\214it/config')"; end_run
must_refuse tree-unsafe '.g\xe2\x80\x8cit/config' commit
EOT

t "control, hidden and undecodable names; carriage return in a directory (E06)" <<'EOT'
good; mkdir "$(printf 'ws/sub\r')"; echo f >"$(printf 'ws/sub\r/f')"; end_run
must_refuse tree-unsafe 'name-control sub\x0d/f' commit; unchanged
good; echo f >"$(printf 'ws/new\nline')"; end_run; must_refuse tree-unsafe 'name-control new\x0aline' commit
good; echo f >"$(printf 'ws/\342\200\256cod.exe')"; end_run; must_refuse tree-unsafe name-hidden commit
good; echo f >"$(printf 'ws/\377')"; end_run; must_refuse tree-unsafe 'name-encoding \xff' commit
good; echo f >'ws/a\b'; end_run; must_refuse tree-unsafe name-backslash commit; unchanged
EOT

t "link into .git beside a twin of it (E04)" <<'EOT'
good; ln -s .git ws/a; mkdir -p ws/A/hooks; printf '#!/bin/sh\n' >ws/A/hooks/post-checkout; end_run
must_refuse tree-unsafe 'link-git a' commit; unchanged
EOT

t "git metadata as links, submodule settings that leave the tree (E06)" <<'EOT'
good; rm ws/.gitignore; ln -s /etc/passwd ws/.gitignore; end_run; must_refuse tree-unsafe 'link-metadata .gitignore' commit
good; git config -f ws/.gitmodules submodule.../../x.url ./y; end_run; must_refuse tree-unsafe 'gitmodules .gitmodules' commit
good; printf '[submodule "x"]\n\tpath = "sub\r"\n' >ws/.gitmodules; end_run; must_refuse tree-unsafe 'gitmodules' commit; unchanged
EOT

t "content filters are refused and never run (E07)" <<'EOT'
good; echo '*.c filter=lab' >ws/.gitattributes
git -C ws config filter.lab.clean "touch $LAB/filter-ran; sed s/0/1/"; git -C ws config filter.lab.required true
echo '// 0' >>ws/src/main.c; end_run
must_refuse control-file 'attributes-filter .gitattributes' commit; unchanged; [ ! -e filter-ran ]
EOT

t "nested repository (E13)" <<'EOT'
good; git init -q ws/vendor/sub; echo payload >ws/vendor/sub/p.sh; git -C ws/vendor/sub add -A; git -C ws/vendor/sub commit -qm x; end_run
must_refuse tree-unsafe 'vendor/sub' commit; unchanged
good; mkdir -p ws/bare/objects ws/bare/refs; echo 'ref: refs/heads/x' >ws/bare/HEAD; end_run
must_refuse tree-unsafe 'nested-repository bare' commit; unchanged
EOT

t "hard link to a file outside the workspace: an ordinary file and a warning (D18)" <<'EOT'
good; mkdir -p ws/node_modules/lib store; echo lib >store/x; ln store/x ws/node_modules/lib/index.js; end_run; commit >out
git -C trusted.git ls-tree -r main | grep -q '^100644 blob .*node_modules/lib/index.js'
[ "$(git -C trusted.git show main:node_modules/lib/index.js)" = lib ]
[ "$(grep -c '^warning: hard-link' out)" = 1 ]; grep -q 'warning: hard-link.*node_modules/lib/index.js' out
rm -r store
EOT

t "hard link to a file outside the workspace under writeback.strict is refused" <<'EOT'
good "'**'" "  strict: true"; echo secret >outside; ln outside ws/inside; end_run
must_refuse tree-unsafe 'hard-link inside' commit; unchanged
good; echo both >ws/one; ln ws/one ws/two; end_run; commit >/dev/null
EOT

t "weir's own policy is never changed by a run" <<'EOT'
good; echo '# more' >>ws/.weir/policy.yaml; end_run
must_refuse control-file 'weir-policy .weir/policy.yaml' commit; unchanged
good; rm ws/.weir/policy.yaml; end_run; must_refuse control-file weir-policy commit
good; mkdir ws/.WEIR; echo x >ws/.WEIR/p; end_run; must_refuse control-file weir-policy commit; unchanged
EOT

t "too large a file is said before it is hashed (E10)" <<'EOT'
good; truncate -s 1 ws/big.bin; end_run
truncate -s 5G ws/big.bin; must_refuse changed-after-run big.bin commit; unchanged
EOT

t "what was dirty before the run is not the run's work" <<'EOT'
fresh; echo before >ws/dirty; "$MKRUN" before run ws; echo good >ws/good; end_run
must_refuse workspace-dirty dirty commit; unchanged
fresh; echo before >>ws/src/main.c; "$MKRUN" before run ws; echo good >ws/good; end_run
must_refuse workspace-dirty src/main.c commit; unchanged
EOT

t "forged trailers in the message" <<'EOT'
good; end_run
for MSG in 'x

Weir-Verdict: clean' 'Weir-Run: 1' '  weir-promotion : sha256:0' 'Weir-X=1' '> Weir-Run: 2'; do
	must_refuse message 'imitates a trailer' commit
done
MSG=' ' must_refuse message empty commit
MSG=$(printf 'x\033[31m') must_refuse message hidden commit
MSG=fine must_refuse message 'Name <email>' commit --author 'a <b> c'
unchanged
MSG='About Weir-Run and weir-gate: fine' commit >/dev/null
EOT

t "nonce: unknown, reused by another run, of another workspace" <<'EOT'
good; end_run; rm /var/lib/weir-gate/nonces/*; must_refuse nonce-unknown "$NONCE" commit; unchanged
good; end_run; commit >/dev/null; BASE=$(tip)
"$MKRUN" before run ws; echo again >ws/again; end_run
must_refuse nonce-used "$NONCE" commit; unchanged
good; end_run; cp -a ws ws2; must_refuse nonce-mismatch 'workspace' commit --workspace ws2; rm -rf ws2; unchanged
good; end_run; mv ws away; must_refuse nonce-mismatch 'ws' commit; mv away ws
EOT

t "statement: edited, of another host, missing, not canonical" <<'EOT'
good; end_run; sed -i 's/"code":0/"code":00/' run/statement.json; must_refuse statement statement.json commit
good; end_run; sed -i 's/"machine":"m"/"machine":"n"/' run/statement.json; must_refuse statement-signature wrong commit
good; openssl rand -hex 32 >otherkey; end_run key=otherkey; must_refuse statement-signature unknown commit
good; end_run; rm run/statement.json; must_refuse statement 'statement.json' commit
good; end_run; rm run/statement.sig; must_refuse statement 'statement.sig' commit
good; end_run; printf ' ' >>run/statement.json; must_refuse statement 'canonical' commit; unchanged
EOT

t "trace: flipped, cut, of another run, without END" <<'EOT'
good; end_run; printf '\377' | dd of=run/trace bs=1 seek=200 conv=notrunc 2>/dev/null; must_refuse trace 'trace' commit
good; end_run; truncate -s -40 run/trace; must_refuse trace 'trace' commit
good; end_run; cp run/trace t1; start_run; echo good >ws/good; end_run; cp t1 run/trace; must_refuse trace START commit
good; end_run noend; must_refuse indeterminate indeterminate commit; unchanged
good; end_run finding=../evil verdict=violated; mkdir -p signed; cp run/statement.* signed; end_run; cp signed/* run; must_refuse trace 'not the one that the host signed' commit; unchanged
EOT

t "verdicts: violated, unjudged, and a lie about it" <<'EOT'
good; end_run finding=../evil verdict=violated; must_refuse violated 'file-outside (1)' commit
good; end_run finding=../evil; must_refuse violated file-outside commit
good; end_run mode=trace; must_refuse unjudged 'no policy' commit
good; end_run verdict=indeterminate; must_refuse verdict-mismatch 'the trace gives clean' commit; unchanged
EOT

t "run.json is believed in nothing" <<'EOT'
good; end_run finding=../evil verdict=violated; echo '{"verdict":"clean"}' >run/run.json
must_refuse violated file-outside commit; unchanged
EOT

t "manifests: edited, exchanged" <<'EOT'
good; end_run; sed -i 's/^f 0644/f 0755/' run/manifest.after; must_refuse manifest 'manifest.after' commit
good; end_run; cp run/manifest.after run/manifest.before; must_refuse manifest 'manifest.before' commit
good; end_run; truncate -s -5 run/manifest.after; must_refuse manifest 'manifest.after' commit; unchanged
EOT

t "policy: not the base commit's, unless gate.yaml lists it" <<'EOT'
good; sed 's/name: p0/name: mine/' seed/.weir/policy.yaml >policy.yaml; end_run
must_refuse policy-untrusted 'another policy' commit; unchanged
sed -i "s/^crosscheck/policies:\n  - $(sha256sum <policy.yaml | cut -d' ' -f1)\ncrosscheck/" /etc/weir/gate.yaml
commit >/dev/null; "$GATE" verify main --repo trusted.git --signers /etc/weir/allowed_signers >/dev/null
good; end_run; echo '# x' >>run/policy.yaml; must_refuse policy-untrusted 'signed' commit; unchanged
EOT

t "policy: approvals not stated or asked for, coverage, exit status" <<'EOT'
edit() { good; (cd seed; sed -i "$1" .weir/policy.yaml; git commit -qam p; git push -qf ../trusted.git HEAD:main); chown -R weir: trusted.git
	cp seed/.weir/policy.yaml policy.yaml; BASE=$(tip); start_run; echo good >ws/good; }
edit /^kind/d; end_run; must_refuse policy "lacks 'kind'" commit; unchanged
edit /approvals/d; end_run; must_refuse approvals 'does not say' commit; unchanged
edit 's/approvals: 0/approvals: 2/'; end_run; must_refuse signer-root 'names no signer_root' commit; unchanged
edit '/^coverage/d'; end_run; must_refuse coverage 'coverage: files' commit; unchanged
good; end_run exit=3; must_refuse exit-status 'exited with 3' commit; unchanged
edit 's/require_exit: 0/require_exit: any/'; end_run exit=3; commit >/dev/null
EOT

t "a run that was only looked at from behind (source syscall)" <<'EOT'
edit() { good; (cd seed; sed -i "$1" .weir/policy.yaml; git commit -qam p; git push -qf ../trusted.git HEAD:main); chown -R weir: trusted.git
	cp seed/.weir/policy.yaml policy.yaml; BASE=$(tip); start_run; echo good >ws/good; }
good; end_run source=syscall; must_refuse coverage 'coverage: syscall' commit; unchanged
edit 's/^coverage: .*/coverage: syscall\nprivileges: {capabilities: [CAP_DAC_OVERRIDE]}/'; end_run source=syscall
must_refuse coverage CAP_DAC_OVERRIDE commit; unchanged
edit 's/^coverage: .*/coverage: syscall\nprivileges: {capabilities: [CAP_SYS_ADMIN]}/'; end_run source=syscall
must_refuse coverage CAP_SYS_ADMIN commit; unchanged
edit 's/^coverage: .*/coverage: syscall\nprivileges: {no_new_privs: false}/'; end_run source=syscall
must_refuse coverage no_new_privs commit; unchanged
edit 's/^coverage: .*/coverage: syscall/'; end_run source=unknown; must_refuse indeterminate source commit; unchanged
edit 's/^coverage: .*/coverage: syscall/'; end_run source=syscall; commit >/dev/null
edit 's/^coverage: .*/coverage: syscall/'; end_run; commit >/dev/null
EOT

t "nothing may be promoted without writeback.paths" <<'EOT'
good "'nothing/**'"; end_run; must_refuse nothing-to-promote '1 path elsewhere' commit; unchanged
EOT

t "signing key: mode, owner, missing, passphrase, not listed, is a link" <<'EOT'
good; end_run
chmod 640 /etc/weir/keys/gate; must_refuse key 'mode 0640' commit
chmod 600 /etc/weir/keys/gate; chown root /etc/weir/keys/gate; must_refuse key '/etc/weir/keys/gate' commit
chown weir /etc/weir/keys/gate; mv /etc/weir/keys/gate k; must_refuse key 'No such file' commit
ln -s /etc/weir/keys/k /etc/weir/keys/gate; must_refuse key '/etc/weir/keys/gate' commit; rm /etc/weir/keys/gate
ssh-keygen -q -t ed25519 -N secret -f lk; install -o weir -m 600 lk /etc/weir/keys/gate; must_refuse key passphrase commit
rm -f lk lk.pub; ssh-keygen -q -t ed25519 -N '' -f lk; install -o weir -m 600 lk /etc/weir/keys/gate; must_refuse key 'does not list' commit; rm -f lk lk.pub
unchanged
install -o weir -m 600 k /etc/weir/keys/gate; commit >/dev/null
EOT

t "gate.yaml: writable by others, unknown key, missing" <<'EOT'
good; end_run
chmod 666 /etc/weir/gate.yaml; not commit 2>err; grep -q 'nobody else can write' err; chmod 644 /etc/weir/gate.yaml
echo 'sudo: yes' >>/etc/weir/gate.yaml; not commit 2>err; grep -q '^weir-gate: /etc/weir/gate.yaml:[0-9]*:1: unknown key' err
mv /etc/weir/gate.yaml y; not commit 2>err; grep -q 'weir-gate init' err; unchanged
EOT

t "repositories that lend objects or history" <<'EOT'
good; end_run; R=$LAB/trusted.git
echo /tmp >$R/objects/info/alternates; must_refuse repository alternates commit; rm $R/objects/info/alternates
mkdir -p $R/info; echo "$BASE" >$R/info/grafts; must_refuse repository grafts commit; rm $R/info/grafts
echo "$BASE" >$R/shallow; must_refuse repository shallow commit; rm $R/shallow
echo x >$R/commondir; must_refuse repository worktree commit; rm $R/commondir
mkdir -p $R/refs/replace; echo $BASE >$R/refs/replace/$BASE; must_refuse repository 'replace refs' commit; rm -r $R/refs/replace
(cd $R; git update-ref refs/replace/$BASE $(git commit-tree -m x $BASE^{tree}); git pack-refs --all); must_refuse repository 'replace refs' commit; git -C $R update-ref -d refs/replace/$BASE; chown -R weir: $R
mkdir $R/reftable; must_refuse repository reftable commit; rmdir $R/reftable; echo http://x >$R/objects/info/http-alternates; must_refuse repository alternates commit; rm $R/objects/info/http-alternates
chmod 777 $R; must_refuse repository 'written by others' commit; chmod 755 $R
chown root $R; must_refuse repository 'belongs to uid 0' commit; chown weir $R
git config -f $R/config extensions.objectformat sha256; must_refuse repository SHA-256 commit; git config -f $R/config --unset extensions.objectformat
git config -f $R/config core.bare false; must_refuse repository bare commit; git config -f $R/config core.bare true
unchanged; commit >/dev/null
EOT

t "an object id that the repository has with another content" <<'EOT'
good; end_run; id=$(git hash-object ws/good); f=trusted.git/objects/${id:0:2}/${id:2}; install -d -o weir ${f%/*}
python3 -c 'import sys, zlib; open(sys.argv[1], "wb").write(zlib.compress(b"blob 5\0evil\n"))' $f; chown weir: $f
s=0; commit >out 2>err || s=$?; [ $s = 122 ] || [ $s = 125 ]; grep -q "$id\|object-collision" err; [ "$(tip)" = $BASE ]
good; head -c 9000000 /dev/zero >ws/large; end_run; id=$(git hash-object ws/large); head -c 9000000 /dev/urandom | python3 $TOP/tests/gate/forgepack.py $id trusted.git/objects/pack; chown -R weir: trusted.git
must_refuse object-collision large commit; [ "$(tip)" = $BASE ]
EOT

t "the branch moves between the look and the lock" <<'EOT'
command -v strace >/dev/null || exit 0
good; end_run; other=$(git -C trusted.git commit-tree -p $BASE -m other "$BASE^{tree}"); chown -R weir: trusted.git
strace -f -qq -o /dev/null -e trace=linkat -e inject=linkat:delay_enter=3000000:when=1 "$GATE" commit --run run -m x >out 2>err & G=$!
for i in $(seq 200); do ! grep -qs '"phase":"lock"' trusted.git/weir/journal || break; sleep 0.05; done; git -C trusted.git update-ref refs/heads/main $other
s=0; wait $G || s=$?; [ $s = 122 ]; grep -q "refused: base-moved: .*$other" err; [ "$(tip)" = $other ]; [ ! -e trusted.git/weir/journal ]
EOT

t "a quarantine that somebody edits while the commit is signed" <<'EOT'
command -v strace >/dev/null || exit 0
good; end_run; Q=trusted.git/weir/quarantine/$NONCE
strace -f -qq -o /dev/null -P /etc/weir/keys/gate -e trace=openat -e inject=openat:delay_enter=2000000 "$GATE" commit --run run -m x >out 2>err & G=$!
for i in $(seq 200); do [ ! -e $Q/idx ] || break; sleep 0.05; done; sleep 0.2; chmod u+w $Q/pack; printf '\377' | dd of=$Q/pack bs=1 seek=20 conv=notrunc 2>/dev/null
s=0; wait $G || s=$?; [ $s = 122 ]; grep -q 'refused: quarantine: the quarantined pack has other bytes' err; unchanged
EOT

t "paths of 4095 bytes; longer ones" <<'EOT'
deep() { python3 - "$1" <<'PY'
import os, sys
left = int(sys.argv[1]); os.chdir("ws")
while left > 255:
    name = "d" * min(255, left - 2); os.mkdir(name); os.chdir(name); left -= len(name) + 1
open("f" * left, "w").write("deep\n")
PY
}
good; deep 4095; end_run; commit >/dev/null; git -C trusted.git ls-tree -r --name-only main | awk '{ if (length > n) n = length } END { exit n != 4095 }'
good; deep 4096; end_run; must_refuse limit path-limit commit; unchanged; good; deep 7000; end_run; must_refuse limit path-limit commit; unchanged
good; python3 -c 'import os
os.chdir("ws")
for i in range(130): os.mkdir("d"); os.chdir("d")
open("f", "w")'; end_run; must_refuse limit path-limit commit; unchanged
EOT

t "the workspace's .git: a file that leads elsewhere, a link, hostile settings: not opened" <<'EOT'
good; rm -rf ws/.git; echo "gitdir: $LAB/trusted.git" >ws/.git; end_run; commit >/dev/null; git -C trusted.git ls-tree -r --name-only main | not grep '\.git$'
good; rm -rf ws/.git; ln -s ../trusted.git ws/.git; end_run; commit >/dev/null; [ "$(git -C trusted.git show main:good)" = good ]
good; git init -q ws 2>/dev/null; printf '[core]\n\tfsmonitor = "touch %s/ran"\n\thooksPath = %s\n[filter "x"]\n\tclean = touch %s/ran\n' $LAB $LAB $LAB >>ws/.git/config
mkdir -p ws/.git/objects/info; echo /etc >ws/.git/objects/info/alternates; echo /etc >ws/.git/commondir; mkfifo ws/.git/HEAD.lock; end_run; commit >/dev/null; [ ! -e ran ]
EOT

t "clocks: a host and people from other times; the order is the ledger's" <<'EOT'
good; end_run; for f in ws/good run/statement.json; do touch -d 2099-01-01 $f; done; touch -d 1971-01-01 ws/src/main.c
s=0; commit >out 2>err || s=$?; [ $s = 0 ] || grep -q changed-after-run err; good; touch -d 1971-01-01 ws/good; end_run; commit >/dev/null
EOT

t "another program's lock on the branch" <<'EOT'
good; end_run; touch trusted.git/refs/heads/main.lock
must_refuse locked 'main.lock' commit; [ -e trusted.git/refs/heads/main.lock ]; rm trusted.git/refs/heads/main.lock
unchanged; commit >/dev/null
EOT

t "a writer that never stops: never promoted" <<'EOT'
fresh; echo AAAA >ws/race; end_run
( while :; do echo BBBB >ws/race; echo AAAA >ws/race; done ) & W=$!
for i in 1 2 3 4 5; do commit >out 2>err && break; done
kill $W; wait $W 2>/dev/null || :
[ "$(tip)" = "$BASE" ] || [ "$(git -C trusted.git show main:race)" = AAAA ]
EOT

done_testing
