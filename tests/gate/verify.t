#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2119
# weir-gate verify: offline, public keys only; each broken link is named.
. "$(dirname "$0")/lib.sh"

S=/etc/weir/allowed_signers

promoted() {
	fresh
	echo 'int b;' >ws/src/b.c
	rm ws/Makefile
	end_run
	commit >/dev/null
	GOOD=$(tip)
	R=$LAB/trusted.git
}

verify() {
	"$GATE" verify "${1:-$GOOD}" --repo "$R" --signers $S
}

# breaks LINK TEXT [COMMIT]
breaks() {
	must_refuse verify "$2" verify "${3:-$GOOD}"
	grep -q "refused: verify: $1: " "$LAB/stderr" || fail "not $1: $(cat "$LAB/stderr")"
	grep -q "^FAIL  $1 " "$LAB/stdout"
}

# rewrite SED-SCRIPT: the commit with another text, signed again by the gate's own key
resign() {
	git -C "$R" cat-file commit "$GOOD" | sed '/^gpgsig/,/END SSH/d' | sed "$1" >plain
	rm -f plain.sig
	ssh-keygen -q -Y sign -f /etc/weir/keys/gate -n git plain 2>/dev/null
	{
		sed '/^$/,$d' plain
		sed '1s/^/gpgsig /; 2,$s/^/ /' plain.sig
		sed -n '/^$/,$p' plain
	} >signed
	FORGED=$(git -C "$R" hash-object -t commit -w "$LAB/signed")
}

t "good: by id, by branch, as JSON, as another user, in a clone" <<'EOT'
promoted
verify | grep -q "^good  $GOOD, signed by gate@example.invalid"
verify main >/dev/null; verify refs/heads/main >/dev/null
"$GATE" verify main --repo $R --signers $S --json | grep -q '"ok":true.*"schema":"weir.verify/1"'
setpriv --reuid nobody --regid nogroup --clear-groups "$GATE" verify main --repo $R --signers $S >/dev/null
rm -rf clone; git clone -q --bare $R clone; git -C clone fetch -q $R 'refs/weir/*:refs/weir/*'
"$GATE" verify $GOOD --repo clone --signers $S >/dev/null; rm -rf clone
EOT

t "a commit that was never promoted; the base commit" <<'EOT'
promoted; breaks signature 'no signature' "$BASE"
EOT

t "signer not listed, wrong namespace, expired" <<'EOT'
promoted; cp $S s
ssh-keygen -q -t ed25519 -N '' -f o; echo "x $(cut -d' ' -f1,2 o.pub)" >$S; rm o o.pub; breaks signature 'does not list'
sed 's/"git"/"file"/' s >$S; breaks signature 'does not list'
sed 's/namespaces/valid-before="20200101",namespaces/' s >$S; breaks signature 'does not list'
sed 's/^[^ ]*/*/' s >$S; breaks signature 'does not list'
cp s $S; verify >/dev/null
EOT

t "one flipped byte of the message breaks the signature" <<'EOT'
promoted
git -C $R cat-file commit $GOOD | sed 's/^a change$/b change/' >c; F=$(git -C $R hash-object -t commit -w "$LAB/c")
breaks signature wrong $F
EOT

t "signed again with another tree, parent, author, message, trailer" <<'EOT'
promoted; other=$(git -C $R rev-parse $BASE^{tree})
resign "s/^tree .*/tree $other/"; breaks record 'no ' $FORGED
# give the forged commit the record of the good one
graft() { (cd $R; t=$(git ls-tree refs/weir/attestations "${GOOD:0:2}/$GOOD" | cut -d' ' -f3 | cut -f1)
	m=$(printf '040000 tree %s\t%s\n' $t $FORGED | git mktree); r=$(printf '040000 tree %s\t%s\n' $m ${FORGED:0:2} | git mktree)
	git update-ref refs/weir/attestations $(echo x | git commit-tree $r)); }
keep=$(git -C $R rev-parse refs/weir/attestations); try() { resign "$1"; graft; breaks "$2" "$3" $FORGED; git -C $R update-ref refs/weir/attestations $keep; }
try "s/^tree .*/tree $other/" head 'another tree'
try "s/^parent .*/parent $GOOD/" head 'another parent'
try 's/^author .*>/author Eve <eve@x>/' head 'another author'
try 's/^a change$/another change/' head 'another message'
try 's/^Weir-Verdict: clean/Weir-Verdict: violated/' digest Weir-Verdict
try 's/^Weir-Run: /Weir-Run: x/' digest Weir-Run
try 's/^\(Weir-Promotion: sha256:\)./\1x/' digest 'not the one'
try '/^Weir-Policy/d' trailers missing
try 's/^a change$/Weir-Run: 1/' trailers imitates
EOT

t "record: missing, promotion edited, changes edited, statement exchanged" <<'EOT'
promoted; keep=$(git -C $R rev-parse refs/weir/attestations); D=${GOOD:0:2}/$GOOD
edit() { (cd $R; export GIT_INDEX_FILE=$LAB/idx; rm -f $GIT_INDEX_FILE; git read-tree $keep
	b=$(git cat-file blob $keep:$D/$1 | sed "$2" | git hash-object -w --stdin); git update-index --cacheinfo 100644,$b,$D/$1
	git update-ref refs/weir/attestations $(echo x | git commit-tree $(git write-tree))); }
edit promotion 's/^verdict .*/verdict violated/'; breaks digest 'not the one'
edit changes 's/b.c$/c.c/'; breaks changes 'not the recorded'
edit statement.json 's/"machine":"m"/"machine":"n"/'; breaks statement wrong
edit statement.sig 's/^../00/'; breaks statement ''
git -C $R update-ref -d refs/weir/attestations; breaks record 'no ref'
EOT

t "branch that was rewound" <<'EOT'
promoted; git -C $R update-ref refs/heads/main $BASE; breaks branch 'does not reach'
EOT

t "replace refs never change what is verified" <<'EOT'
promoted; git -C $R replace $GOOD $BASE; must_refuse repository 'replace refs' verify
EOT

t "usage and missing things" <<'EOT'
promoted
bad() { local s=0; "$GATE" "${@:2}" >out 2>err || s=$?; [ $s = 2 ] || fail "status $s: $(cat err)"
	[ "$(wc -l <err)" = 1 ] && grep -q -- "$1" err || fail "no '$1' in one line: $(cat err)"; }
bad --signers verify main --repo $R; bad COMMIT verify --repo $R --signers $S; bad /nonexistent verify main --repo $R --signers /nonexistent
bad /nonexistent verify main --repo /nonexistent --signers $S; bad 'no directory' verify main --repo $S --signers $S
bad 'no command' frobnicate; bad 'which command' ; bad 'no option --frob' verify --frob; bad 'needs a value' verify --repo
bad 'one commit' verify a b --repo $R --signers $S; bad 'too many' commit x; bad 'takes no value' verify --json=1
EOT

t "names of commits: HEAD, tags, abbreviations, steps" <<'EOT'
promoted
good() { verify "$1" | grep -q "^good  $GOOD, " || fail "$1"; }
git -C $R tag light $GOOD; git -C $R tag -a -m x heavy $GOOD; git -C $R branch side $GOOD
for n in HEAD @ refs/heads/main refs/tags/heavy light heavy heavy^{} heavy^{commit} main^0 HEAD~0 side tags/light heads/main ${GOOD:0:12} ${GOOD:0:7}^0; do good "$n"; done
git -C $R pack-refs --all; for n in HEAD main heavy light; do good $n; done
breaks signature 'no signature' main~1; breaks signature 'no signature' HEAD^; breaks signature 'no signature' "$BASE"
EOT

t "names that are no commit, or mean two things" <<'EOT'
promoted
no() { local s=0; "$GATE" verify "$1" --repo $R --signers $S >out 2>err || s=$?; [ $s = 2 ] || fail "$1: status $s: $(cat err)"
	[ "$(wc -l <err)" = 1 ] && grep -q -- "$2" err || fail "$1: no '$2' in: $(cat err)"; }
no nosuch "no branch, tag or object 'nosuch'"; no deadbeef 'no branch'; no '' 'names no commit'; no -x 'no option'
no main:src 'names no commit'; no 'main@{0}' 'names no commit'; no '@{u}' 'names no commit'; no ':/change' 'names no commit'
no 'main^{tree}' 'names no commit'; no main~99 'leads to no commit'; no $(git -C $R rev-parse main^{tree}) 'is no commit'; no config 'no branch'
no ../x 'directory ../x'; no "$(printf '%2000s' x | tr ' ' a)" 'more than'; no "$(printf 'a\033b')" 'a.x1bb'
git -C $R tag main $BASE; no main 'ambiguous: it means refs/tags/main'; verify heads/main >/dev/null; verify refs/heads/main >/dev/null; git -C $R tag -d main >/dev/null
git -C $R update-ref refs/heads/${GOOD:0:8} $BASE; no ${GOOD:0:8} ambiguous; verify $GOOD >/dev/null; git -C $R update-ref -d refs/heads/${GOOD:0:8}
mkdir many; for i in {1..1000}; do echo $i >many/$i; done; (cd many; ls | git --git-dir $R hash-object -w --stdin-paths) >ids
p=$(cut -c1-4 ids | sort | uniq -d | head -1); [ -n "$p" ]; no $p 'beginning of several ids'
EOT

t "refs that lead out of the repository are not followed" <<'EOT'
promoted
echo $GOOD >outside; ln -s $LAB/outside $R/refs/heads/link; must_refuse repository 'symbolic link' verify link
ln -s $LAB $R/refs/heads/dir; must_refuse repository 'symbolic link' verify dir/outside; rm $R/refs/heads/{link,dir}
echo 'ref: ../../outside' >$R/refs/heads/up; s=0; verify up >out 2>err || s=$?; [ $s != 0 ]; not grep -q "$GOOD" out
EOT

done_testing
