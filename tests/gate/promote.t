#!/bin/bash
# SPDX-License-Identifier: MIT
# Clean promotions, and what stock git says about them.
. "$(dirname "$0")/lib.sh"

t "checkout: ordinary git works inside, nothing is shared" <<'EOT'
fresh
cd ws
[ -z "$(find . ! -user 1000 -o ! -group 1000)" ] || fail owner
[ -z "$(git status --porcelain)" ] || fail "$(git status --porcelain)"
[ "$(git rev-parse HEAD)" = "$BASE" ]
[ -z "$(git remote)" ]
git fsck --strict --full 2>&1 || fail fsck
git log --oneline >/dev/null
[ -z "$(find . -type f -links +1)" ] || fail "hard links"
[ -z "$(find .git/hooks -type f 2>/dev/null)" ] || fail hooks
cmp src/main.c ../seed/src/main.c
EOT

t "checkout: modes, links, empty files, bytes as in the blobs" <<'EOT'
fresh
cd seed
printf 'a\r\nb\r\n' >crlf.txt; echo '*.txt text' >.gitattributes
printf '#!/bin/sh\n' >run.sh; chmod +x run.sh; : >empty; ln -s src/main.c link
mkdir -p deep/er; echo '$Id$' >deep/er/ident
git -c core.autocrlf=false add -A; git update-index --cacheinfo 100644,"$(printf 'a\r\nb\r\n' | git hash-object -w --stdin)",crlf.txt
git commit -qm more; git push -q ../trusted.git HEAD:main; chown -R weir: ../trusted.git
cd ..; BASE=$(tip); start_run; cd ws
[ "$(stat -c %s crlf.txt)" = 6 ]; [ "$(stat -c %a run.sh)" = 755 ]; [ ! -s empty ]
[ "$(readlink link)" = src/main.c ]; [ "$(cat deep/er/ident)" = '$Id$' ]
git ls-files -s | cmp - <(cd ../seed && git ls-files -s)
EOT

t "clean run is promoted; git calls the signature good" <<'EOT'
fresh
echo 'int b;' >ws/src/b.c; echo '# x' >>ws/Makefile; rm ws/src/main.c; touch ws/app
end_run; commit
[ "$(git -C trusted.git rev-parse main^)" = "$BASE" ]
git -C trusted.git log -1 --show-signature main 2>&1 | grep -q 'Good "git" signature for gate@example.invalid'
git -C trusted.git verify-commit main
git -C trusted.git fsck --strict --full 2>&1 || fail fsck
[ "$(git -C trusted.git ls-tree -r --name-only main | tr '\n' ' ')" = ".gitignore .weir/policy.yaml Makefile src/b.c " ]
git -C trusted.git show main:src/b.c | cmp - ws/src/b.c
git -C trusted.git log -1 --format='%(trailers:key=Weir-Verdict,valueonly)' main | grep -qx clean
[ -s run/promoted.json ]; grep -q '"schema":"weir.promotion/1"' run/promoted.json
grep -q '"path":"app"' run/promoted.json; python3 -m json.tool run/promoted.json >/dev/null
EOT

t "the tree is what git itself would have made" <<'EOT'
fresh
mkdir -p ws/a/b ws/a.c ws/src.d; echo 1 >ws/a/b/c; echo 2 >ws/a.c/x; echo 3 >ws/a-b; echo 4 >ws/src.d/y
rm -r ws/src; echo now-a-file >ws/src; rm ws/Makefile; mkdir ws/Makefile; echo x >ws/Makefile/a
chmod +x ws/a-b; ln -s a-b ws/l
end_run; commit >/dev/null
cd ws; git add -A; [ "$(git write-tree)" = "$(git -C ../trusted.git rev-parse main^{tree})" ]
EOT

t "commit twice: already promoted, nothing changes" <<'EOT'
fresh
echo 1 >ws/one; end_run; commit >/dev/null; first=$(tip)
commit >out; grep -q "already promoted as $first, nothing changed" out
[ "$(tip)" = "$first" ]
EOT

t "two runs, one after the other; the second on the new base" <<'EOT'
fresh
echo 1 >ws/one; end_run; commit >/dev/null; first=$(tip)
start_run; echo 2 >ws/two; end_run; commit >/dev/null
[ "$(git -C trusted.git rev-parse main^)" = "$first" ]
"$GATE" verify "$first" --repo trusted.git --signers /etc/weir/allowed_signers >/dev/null
"$GATE" verify main --repo trusted.git --signers /etc/weir/allowed_signers >/dev/null
EOT

t "mode-only change; set-user-id is refused (E09)" <<'EOT'
fresh
chmod +x ws/Makefile; end_run; commit >/dev/null
git -C trusted.git diff-tree -r --no-commit-id main^ main | grep -q ':100644 100755 .*Makefile'
BASE=$(tip); start_run; chmod u+s ws/src/main.c; echo 1 >ws/n; end_run
must_refuse tree-unrepresentable 'setid src/main.c' commit
unchanged
EOT

t "directory removed and made again keeps no old files (E02)" <<'EOT'
fresh
rm -r ws/src; mkdir ws/src; echo 'int n;' >ws/src/new.c; end_run; commit >/dev/null
[ "$(git -C trusted.git ls-tree -r --name-only main src)" = src/new.c ]
EOT

t "racy same-size change is in the commit (E01)" <<'EOT'
fresh
touch -r ws/src/main.c stamp; printf 'int main(void){return 9;}\n' >ws/src/main.c; touch -r stamp ws/src/main.c
end_run; commit >/dev/null; git -C trusted.git show main:src/main.c | grep -q 'return 9'
EOT

t "line ends stay as they are on disk (E08)" <<'EOT'
fresh
git -C ws config core.autocrlf true
printf 'a\r\nb\r\n' >ws/crlf.txt; echo '*.txt text' >ws/.gitattributes; end_run; commit >/dev/null
[ "$(git -C trusted.git cat-file -s main:crlf.txt)" = 6 ]
EOT

t "harmless names pass (E05)" <<'EOT'
fresh
for f in aux.c prn.sh end. ..git-notes 12:30:05.log .gitx git~a; do echo ok >"ws/$f"; done
end_run; commit >/dev/null; [ "$(git -C trusted.git ls-tree --name-only main | wc -l)" = 11 ]
EOT

t "ignore rules are the base's, never the run's (E14)" <<'EOT'
fresh
echo '*.sh' >>ws/.git/info/exclude; echo Makefile >>ws/.gitignore; echo 'echo hi' >ws/run.sh; echo '# x' >>ws/Makefile
touch ws/x.o; end_run; commit >out
git -C trusted.git show main:run.sh >/dev/null; git -C trusted.git show main:Makefile | grep -q '# x'
grep -q 'and 1 ignored file' out
EOT

t "writeback.paths decides; the rest is listed, tracked first" <<'EOT'
fresh "'src/**'"
echo 1 >ws/src/n.c; echo '# x' >>ws/Makefile; echo 2 >ws/other; end_run; commit >out
[ "$(git -C trusted.git diff --name-only main^ main)" = src/n.c ]
grep -A1 'left behind' out | grep -q 'M Makefile (tracked)'; grep -q 'A other' out
EOT

t "unlisted: refuse" <<'EOT'
fresh "'src/**'" "  unlisted: refuse"
echo 1 >ws/src/n.c; echo 2 >ws/other; touch ws/x.o; end_run
must_refuse unlisted-change other commit; unchanged
EOT

t "empty directories and times are no change" <<'EOT'
fresh
mkdir -p ws/a/b/c; touch -d 2001-01-01 ws/Makefile; end_run
must_refuse nothing-to-promote 'nothing changed' commit; unchanged
EOT

t "large file is streamed and equal (5 MiB, twice)" <<'EOT'
fresh
head -c 5000000 /dev/urandom >ws/big; cp ws/big ws/big2; end_run; commit >/dev/null
git -C trusted.git show main:big | cmp - ws/big; git -C trusted.git fsck --strict 2>&1
EOT

t "crosscheck: full" <<'EOT'
fresh
sed -i 's/crosscheck: "stat"/crosscheck: "full"/' /etc/weir/gate.yaml
echo 1 >ws/one; end_run; commit >/dev/null; grep -q '"crosscheck":"full"' run/promoted.json
EOT

t "signing by ssh-agent" <<'EOT'
fresh
ssh-keygen -q -t ed25519 -N secret -f akey; rm -rf /etc/weir /var/lib/weir-gate
printf 'echo secret\n' >ask; chmod +x ask
eval "$(setpriv --reuid weir --regid weir --clear-groups ssh-agent -a "$(mktemp -u /tmp/ga.XXXXXX)")" >/dev/null
SSH_ASKPASS=$PWD/ask SSH_ASKPASS_REQUIRE=force ssh-add -q akey </dev/null
"$GATE" init --repo trusted.git --email a@example.invalid --agent "$SSH_AUTH_SOCK" --public akey.pub >/dev/null
start_run; echo 1 >ws/one; end_run; commit >/dev/null; kill "$SSH_AGENT_PID"
git -C trusted.git verify-commit main 2>&1 | grep -q 'Good "git" signature for a@example.invalid'
EOT

t "author, and the record with its attestations" <<'EOT'
fresh
echo 1 >ws/one; end_run; commit --author 'Ann <ann@example.invalid>' >out
grep -q "^  promotion sha256" out
[ "$(git -C trusted.git log -1 --format='%an|%cn' main)" = 'Ann|weir gate' ]
git -C trusted.git ls-tree -r --name-only refs/weir/attestations | grep -q "$(tip)/promotion"
EOT

done_testing
