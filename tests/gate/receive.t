#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2119
# weir-gate receive: what stock git may push to the gate's repository, or write in it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/receive.sh"

t "init installs both hooks and git's settings" <<'EOT'
reset; for h in pre-receive reference-transaction; do [ "$(stat -c '%a %U' $R/hooks/$h)" = '755 root' ]; grep -q "receive $h" $R/hooks/$h; done; [ "$(stat -c '%a %U' $R/hooks)" = '755 root' ]
for c in receive.denyDeletes receive.denyNonFastForwards transfer.fsckObjects receive.fsckObjects receive.advertisePushOptions; do [ "$(git -C $R config $c)" = true ] || fail $c; done
[ "$(git -C $R config core.hooksPath)" = $R/hooks ]; [ "$(git -C $R config receive.certNonceSeed | wc -c)" = 65 ]; [ "$(stat -c %U $R/config)" = weir ]
EOT

t "hooks that are there are not replaced; --no-hooks, --add-hooks" <<'EOT'
rm -rf /etc/weir /var/lib/weir-gate t.git; git init -q --bare t.git; echo mine >t.git/hooks/pre-receive
s=0; "$GATE" init --repo t.git 2>err || s=$?; [ $s = 2 ]; grep -q 'hooks/pre-receive exists' err; [ ! -e /etc/weir/gate.yaml ]; [ "$(cat t.git/hooks/pre-receive)" = mine ]; [ ! -e t.git/hooks/reference-transaction ]
"$GATE" init --repo t.git --no-hooks >/dev/null; [ "$(cat t.git/hooks/pre-receive)" = mine ]; [ -z "$(git -C t.git config receive.denyDeletes)" ]
rm t.git/hooks/pre-receive; "$GATE" init --add-hooks >/dev/null; [ -x t.git/hooks/pre-receive ]; "$GATE" init --add-hooks >/dev/null
s=0; "$GATE" init --add-hooks --no-hooks 2>err || s=$?; [ $s = 2 ]; rm -rf t.git
EOT

t "what the gate promoted may be pushed, with its records, in one push" <<'EOT'
older 1; weir git -C clone push -q --atomic $R main $A; [ "$(git -C $R rev-parse main $A)" = "$(git -C good.git rev-parse main $A)" ]
older 2; weir git -C clone push -q --atomic $R main $A; [ "$(git -C $R rev-parse main $A)" = "$(git -C good.git rev-parse main $A)" ]; git -C $R fsck --strict
older 2; weir git -C clone push -q --atomic $R main~1:main $A~2:$A; weir git -C clone push -q --atomic $R main $A; [ "$(tip)" = "$(git -C good.git rev-parse main)" ]
"$GATE" audit $R --signers $S | grep -q '3 attested, 0 unattested, 0 broken'
EOT

t "the gate goes on by itself; git goes on with its housekeeping" <<'EOT'
reset; promote; weir git -C $R gc -q; weir git -C $R pack-refs --all --prune; [ -e $R/packed-refs ]; [ ! -e $R/refs/heads/main ]; promote; weir git -C $R pack-refs --all; promote; "$GATE" audit $R --signers $S | grep -q '6 attested, 0 unattested'
EOT

t "the first history of an empty repository, and only that" <<'EOT'
rm -rf /etc/weir /var/lib/weir-gate t.git; "$GATE" init --repo t.git >/dev/null; weir git -C seed push -q $LAB/t.git HEAD:main
for w in HEAD:side HEAD:refs/tags/t; do not weir git -C seed push -q $LAB/t.git $w 2>err; says ref "${w#HEAD:}"; done; rm -rf t.git
EOT

t "a commit that nobody promoted; and one on top of what was" <<'EOT'
reset; new=$(write evil); refused unattested "commit $new: signature: " git -C clone push -q $R main
older 1; new=$(write evil); refused unattested "commit $new: signature: " git -C clone push -q --atomic $R main $A
EOT

t "without its records, or with those of another" <<'EOT'
older 1; refused unattested 'record: ' git -C clone push -q $R main; refused unattested 'record: ' git -C clone push -q --atomic $R main $A~2:$A
refused unattested 'checkpoint: ' git -C clone push -q --atomic $R main $A~1:$A
EOT

t "side branch, tag, replace ref, notes, other namespaces" <<'EOT'
reset; for n in refs/heads/side refs/tags/v1 refs/replace/$(tip) refs/notes/commits refs/weir/other refs/heads/main2 refs/heads/Main refs/x/y; do refused ref "$n is no ref" git -C clone push -q $R HEAD:$n; done
refused ref "refs/replace/" git -C clone push -q --atomic $R main $A HEAD^:refs/replace/$(tip)
EOT

t "deletion, rewind, unrelated history, and by force" <<'EOT'
reset; git -C $R config receive.denyDeletes false; git -C $R config receive.denyNonFastForwards false; git -C $R config receive.denyDeleteCurrent ignore; chown weir: $R/config
refused deletion 'refs/heads/main would be deleted' git -C clone push -q $R :main; refused deletion $A git -C clone push -q $R :$A
refused rewind 'refs/heads/main would lose' git -C clone push -qf $R HEAD^:main; refused records 'would lose' git -C clone push -qf $R $A~1:$A
weir git -C clone checkout -q --orphan o; new=$(write root); refused rewind 'would lose' git -C clone push -qf $R o:main
EOT

t "a merge, also of attested commits, signed by the gate's own key" <<'EOT'
reset; side=$(weir git -C clone -c user.name=e -c user.email=e@x commit-tree -p main~1 -m side main^{tree}); m=$(weir git -C clone -c user.name=e -c user.email=e@x commit-tree -p main -p $side -m merge main^{tree}); refused merge "$m is a merge" git -C clone push -q $R $m:main
m=$(weir git -C clone -c user.name=e -c user.email=e@x commit-tree -p main -p main~1 -m merge main^{tree}); refused merge "$m is a merge" git -C clone push -q $R $m:main
m=$(git -C clone -c user.name=e -c user.email=e@x -c gpg.format=ssh -c user.signingkey=/etc/weir/keys/gate commit-tree -S -p main -p $side -m merge main^{tree}); chown -R weir: clone; refused merge "$m is a merge" git -C clone push -q $R $m:main
EOT

t "a committer date that lies, under a key that has expired" <<'EOT'
older 1; sed -i 's/namespaces/valid-before="20200101",namespaces/' $S; refused unattested 'signature: the signers file does not list' git -C clone push -q --atomic $R main $A
d='@1500000000 +0000'; c=$(GIT_COMMITTER_DATE=$d GIT_AUTHOR_DATE=$d git -C clone -c user.name=e -c user.email=e@x -c gpg.format=ssh -c user.signingkey=/etc/weir/keys/gate commit-tree -S -p main~1 -m 'long ago' main^{tree}); chown -R weir: clone
refused unattested "commit $c: signature: the signers file does not list" git -C clone push -q $R $c:main; cp good.etc/allowed_signers $S
refused unattested "commit $c: trailers: " git -C clone push -q $R $c:main
EOT

t "an attested commit on another branch of the gate" <<'EOT'
rm -rf $R /etc/weir /var/lib/weir-gate; cp -a good.git $R; cp -a good /var/lib/weir-gate; cp -a good.etc /etc/weir; ours; old=$(git -C $R rev-parse main~1)
sed -i 's|^refs:|refs:\n  - refs/heads/next|' /etc/weir/gate.yaml; refused unattested 'refs/heads/next is not there' git -C clone push -q $R main:next
behind update-ref refs/heads/next $old; refused unattested 'branch: it was promoted to another branch' git -C clone push -q $R main:next
EOT

t "update-ref, branch, tag, replace, fetch and reset behind the gate" <<'EOT'
reset; side=$(write evil); weir git -C clone push -q ../good.git HEAD:refs/heads/evil 2>/dev/null || :
new=$(weir git -C $R -c user.name=e -c user.email=e@x commit-tree -p main -m e main^{tree})
refused unattested "commit $new" git -C $R update-ref refs/heads/main $new; refused rewind 'would lose' git -C $R update-ref refs/heads/main main~1; refused deletion main git -C $R update-ref -d refs/heads/main
refused ref refs/heads/side git -C $R branch side main; refused ref refs/tags/t git -C $R tag t main; refused ref refs/replace/ git -C $R replace main main~1; refused deletion main git -C $R branch -m main m2
refused unattested "commit $side" git -C $R fetch -q ../clone main:main; refused deletion $A git -C $R update-ref -d $A; refused records 'would lose' git -C $R update-ref $A $A~1
refused ref HEAD git -C $R update-ref --no-deref HEAD main~1; weir git -C $R pack-refs --all; refused deletion main git -C $R update-ref -d refs/heads/main; refused deletion main git -C $R update-ref -d refs/heads/main main
promote; refused deletion main git -C $R update-ref -d refs/heads/main
EOT

t "root's git is refused too: it would leave files that the gate can't write" <<'EOT'
reset; REFS=$(git -C $R for-each-ref); not git -C clone push -q $R main~1:main -f 2>err; says repository 'user weir alone'; not git -C $R update-ref refs/heads/x main 2>err; says repository 'user weir alone'; same
EOT

t "a pack with objects that nothing reaches; also beside what may come in" <<'EOT'
older 1; b=$(echo junk | weir git -C clone hash-object -w --stdin); p() { weir git -C clone rev-list --objects main $A ^main~1 ^$A~2 | cut -d' ' -f1; }
send() { python3 - "$@" >req <<-'X'
	import subprocess, sys
	refs, objects = sys.argv[1].split(), sys.stdin.read() if 0 else open("list").read()
	out, first = b"", True
	for r in refs:
	    old, new, name = r.split(",")
	    line = f"{old} {new} {name}".encode() + (b"\0report-status atomic" if first else b"")
	    out += b"%04x" % (len(line) + 4) + line; first = False
	pack = subprocess.run(["git", "-C", "clone", "pack-objects", "--stdout", "-q"], input=objects.encode(), stdout=subprocess.PIPE).stdout
	sys.stdout.buffer.write(out + b"0000" + pack)
	X
	weir git receive-pack $R <req >answer 2>err || :; }
m="$(git -C $R rev-parse main),$(git -C clone rev-parse main),refs/heads/main $(git -C $R rev-parse $A),$(git -C clone rev-parse $A),$A"; REFS=$(git -C $R for-each-ref)
{ p; echo $b; } >list; send "$m"; says unreachable-objects "1 objects came that no ref reaches, as $b"; same; not git -C $R cat-file -e $b 2>/dev/null
p >list; send "$m"; grep -aq 'unpack ok' answer; [ "$(tip)" = "$(git -C clone rev-parse main)" ]
EOT

# records SHELL: pushes records that the commands have changed, in an index of their own
records() {
	(
		cd "$LAB/clone" || exit 1
		export GIT_INDEX_FILE=$LAB/idx
		rm -f "$GIT_INDEX_FILE"
		git read-tree $A
		eval "$1"
		git -c user.name=e -c user.email=e@x commit-tree -p $A -m x "$(git write-tree)"
	)
}

t "records: edited, removed, added, of commits that are on no branch, hidden in between" <<'EOT'
reset; c=$(tip); D=${c:0:2}/$c; junk='b=$(echo junk | git hash-object -w --stdin)'
try() { n=$(records "$2"); chown -R weir: clone; refused records "$1" git -C clone push -q $R $n:$A; }
try 'other bytes' "$junk; git update-index --cacheinfo 100644,\$b,$D/vsa.json"; try 'is gone' "git rm -q --cached $D/approvals.json"; try 'is gone' "git rm -qr --cached ${c:0:2}"
try "that records don't have" "$junk; git update-index --add --cacheinfo 100644,\$b,$D/junk"; try 'no record' "$junk; git update-index --add --cacheinfo 100644,\$b,junk"; try 'no record' "$junk; git update-index --add --cacheinfo 100644,\$b,aa/junk"
try "that records don't have" "$junk; git update-index --add --cacheinfo 100755,\$b,$D/exceptions"
try 'no ' "$junk; git update-index --add --cacheinfo 100644,\$b,aa/aa00000000000000000000000000000000000000/done"
n=$(records "$junk; git update-index --add --cacheinfo 100644,\$b,$D/junk"); n=$(git -C clone -c user.name=e -c user.email=e@x commit-tree -p $n -m back $A^{tree}); chown -R weir: clone; refused records 'a file' git -C clone push -q $R $n:$A
older 1; refused records 'no object' git -C clone push -q $R $A
EOT

t "the hook outside of its repository, without git, with bad arguments" <<'EOT'
reset; git init -q --bare other.git; chown -R weir: other.git; cp $R/hooks/* other.git/hooks/; not weir git -C clone push -q ../other.git main 2>err; says repository 'runs elsewhere'
s=0; weir "$GATE" receive pre-receive </dev/null 2>err || s=$?; [ $s = 125 ]; grep -q 'run by git' err
for a in "" "update" "pre-receive x" "reference-transaction" "reference-transaction prepared x" "--config"; do s=0; weir "$GATE" receive $a </dev/null 2>err || s=$?; [ $s = 2 ] || fail "$a: $s"; done
for l in "x" "$Z $Z" "$Z $Z " "x $Z refs/heads/main"; do s=0; echo "$l" | weir env GIT_DIR=$R "$GATE" receive pre-receive 2>err || s=$?; [ $s = 125 ] || fail "$l: $s $(cat err)"; grep -q "can't be read" err; done
mv /etc/weir/gate.yaml y; not weir git -C clone push -q $R HEAD~1:refs/heads/side 2>err; grep -q 'weir-gate init' err; mv y /etc/weir/gate.yaml
EOT

t "without its ledger nothing comes in" <<'EOT'
older 1; rm -rf /var/lib/weir-gate/ledger/checkpoint; refused ledger '' git -C clone push -q --atomic $R main $A
EOT

done_testing
