#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2119
# The ledger: what is written for promotions and refusals, and what its enemies do to it.
. "$(dirname "$0")/lib.sh"

L=/var/lib/weir-gate/ledger
V=/etc/weir/ledger.vkey
S=/etc/weir/allowed_signers
TLOG=$TOP/tests/gate/tlog.py

# entries: kinds and reasons in order, from the independent reader
entries() {
	python3 "$TLOG" log $L $V >"$LAB/entries"
	python3 -c 'import json, sys
for line in open(sys.argv[1]):
	e = json.loads(line)
	print(e["kind"], e.get("intent", "-"), e.get("reason", "-"))' "$LAB/entries"
}

verify() {
	"$GATE" verify main --repo trusted.git --signers $S "$@"
}

# breaks LINK TEXT [OPTION...]
breaks() {
	local link=$1 text=$2
	shift 2
	must_refuse verify "$text" verify "$@"
	grep -q "refused: verify: $link: " "$LAB/stderr" || fail "not $link: $(cat "$LAB/stderr")"
}

again() {
	BASE=$(tip)
	start_run
	echo "$RANDOM" >>ws/src/more.c
	end_run
}

promoted() {
	fresh
	echo 'int b;' >ws/src/b.c
	end_run
	commit >/dev/null
}

t "one promotion: intent and done, on disk, in the record and in the trailer" <<'EOT'
promoted; [ "$(entries)" = "$(printf 'intent - -\ndone 0 -')" ]
git -C trusted.git log -1 --format='%(trailers:key=Weir-Ledger,valueonly)' main | grep -q '^0 sha256:e3b0c44298fc1c149afbf4c8996fb924'
D=refs/weir/attestations:$(tip | cut -c1-2)/$(tip); for f in done done.tlog-proof done.consistency; do git -C trusted.git cat-file blob $D/$f >$f; done
python3 "$TLOG" proof $V done.tlog-proof done; sed -n 2p entries | cmp - done
grep -q "\"commit\":\"$(tip)\"" done; grep -q "\"promotion\":\"$(git -C trusted.git cat-file blob $D/promotion | sha256sum | cut -d' ' -f1)\"" entries
[ "$(git -C trusted.git rev-list --count refs/weir/attestations)" = 2 ]; cmp $L/checkpoint trusted.git/weir/checkpoint
[ "$(stat -c '%a %U' $L/checkpoint $L/tile/0/000.p/2 | sort -u)" = '644 weir' ]
EOT

t "ten promotions: each goes on from the one before; stock git is content" <<'EOT'
promoted; for i in 1 2 3 4 5 6 7 8 9; do again; commit >/dev/null; done
[ "$(entries | grep -c done)" = 10 ]; git -C trusted.git fsck --strict --full >/dev/null 2>&1
for c in $(git -C trusted.git rev-list -n 10 main); do
	"$GATE" verify $c --repo trusted.git --signers $S >/dev/null
	read -r n root <<<"$(git -C trusted.git log -1 --format='%(trailers:key=Weir-Ledger,valueonly)' $c)"
	for f in done done.tlog-proof done.consistency; do git -C trusted.git cat-file blob refs/weir/attestations:${c:0:2}/$c/$f >$f; done
	python3 "$TLOG" proof $V done.tlog-proof done; python3 "$TLOG" prefix $n ${root#sha256:} $V done.consistency done.tlog-proof
done
EOT

t "a refusal is on record, with its code; a run that was promoted before adds nothing" <<'EOT'
promoted; commit | grep -q already; [ "$(entries | wc -l)" = 2 ]
again; MSG='Weir-Run: x' must_refuse message '' commit; [ "$(entries | tail -1)" = 'aborted None message' ]
grep -q "\"run\":\"20260101-000000-abcdef\"" entries; grep -q "\"nonce\":\"$NONCE\"" entries
commit >/dev/null; verify >/dev/null; [ "$(entries | tail -2)" = "$(printf 'intent - -\ndone 3 -')" ]
EOT

t "the branch moved: aborted" <<'EOT'
promoted; again; other=$(git -C trusted.git commit-tree -p $BASE -m other "$BASE^{tree}"); git -C trusted.git update-ref refs/heads/main $other; chown -R weir: trusted.git
must_refuse base-moved "$other" commit; [ "$(entries | tail -1)" = 'aborted None base-moved' ]
EOT

t "another program holds the record's ref: intent, aborted, old state" <<'EOT'
promoted; again; touch trusted.git/refs/weir/attestations.lock; must_refuse locked attestations.lock commit
[ "$(entries | tail -2)" = "$(printf 'intent - -\naborted 2 locked')" ]; rm trusted.git/refs/weir/attestations.lock; unchanged
commit >/dev/null; verify >/dev/null; [ "$(entries | tail -1)" = 'done 4 -' ]
EOT

t "attack: the ledger set back to an earlier state" <<'EOT'
promoted; cp -a $L old; again; commit >/dev/null; verify >/dev/null; rm -rf $L; cp -a old $L; again
must_refuse ledger-rolled-back '4 before' commit; unchanged
breaks history '4 before'
"$GATE" verify $BASE --repo trusted.git --signers $S --ledger-key $V >/dev/null; rm -rf old
EOT

t "attack: set back and grown again by other entries" <<'EOT'
promoted; cp -a $L old; again; commit >/dev/null; GOOD=$(tip); rm -rf $L; cp -a old $L; mv trusted.git/weir/checkpoint keep; "$GATE" ledger check --newest >/dev/null
again; MSG='Weir-Run: x' must_refuse message '' commit; MSG='Weir-Run: x' must_refuse message '' commit; MSG='Weir-Run: x' must_refuse message '' commit
breaks history 'not those it had before'; mv keep trusted.git/weir/checkpoint; chown weir: trusted.git/weir/checkpoint
must_refuse ledger-rolled-back 'not those it had before' commit; rm -rf old
EOT

t "attack: tile, entry, checkpoint edited or gone; the gate and the verifier say so" <<'EOT'
flip() { python3 -c 'import sys; p, n = sys.argv[1], int(sys.argv[2]); b = bytearray(open(p, "rb").read()); b[n] ^= 1; open(p, "wb").write(b)' "$1" "$2"; }
for edit in "tile/0/000.p/2 3" "tile/0/000.p/2 40" "checkpoint 70" "checkpoint 2" "checkpoint 150"; do
	promoted; again; flip $L/${edit% *} ${edit#* }; must_refuse ledger "$L" commit; unchanged; must_refuse ledger "$L" verify
	s=0; python3 "$TLOG" log $L $V >/dev/null 2>&1 || s=$?; [ $s != 0 ]
done
promoted; again; flip $L/tile/entries/000.p/2 20; must_refuse ledger 'last bundle' commit; unchanged; breaks history 'entry is missing or damaged'
promoted; again; rm $L/tile/0/000.p/2; must_refuse ledger missing commit; unchanged
promoted; again; rm $L/checkpoint; must_refuse ledger checkpoint commit; rm -rf $L; must_refuse ledger 'No such' commit; unchanged
EOT

t "attack: a checkpoint of another key, of another log, unsigned" <<'EOT'
promoted; again; cp $L/checkpoint c; sed -i 's/^\(— [^ ]* \).*/\1AAAAAAAA/' $L/checkpoint; must_refuse ledger 'not signed by' commit
sed '/^—/d' c >$L/checkpoint; must_refuse ledger 'signed note' commit; sed '1s/.*/example.com/' c >$L/checkpoint; must_refuse ledger wrong commit; cp c $L/checkpoint; commit >/dev/null
sed 's/+/x+/' $V >v; s=0; "$GATE" verify main --repo trusted.git --signers $S --ledger-key v 2>err || s=$?; [ $s = 2 ]; grep -q 'no public key' err
rm -f k; ssh-keygen -q -t ed25519 -N '' -f k; python3 -c 'import base64, hashlib, sys
name = open(sys.argv[1]).read().split("+")[0]; raw = b"\1" + base64.b64decode(open(sys.argv[2]).read().split()[1])[-32:]
print(name + "+" + hashlib.sha256(name.encode() + b"\n" + raw).hexdigest()[:8] + "+" + base64.b64encode(raw).decode())' $V k.pub >v
breaks checkpoint 'not signed by' --ledger-key v; rm -f k k.pub v c
EOT

# edit FILE COMMAND: the record of the tip with one file piped through a command
edit() {
	local ref=refs/weir/attestations dir
	dir=$(tip | cut -c1-2)/$(tip)
	(
		cd trusted.git || exit 1
		export GIT_INDEX_FILE=$LAB/idx
		rm -f "$GIT_INDEX_FILE"
		git read-tree $ref
		b=$(git cat-file blob "$ref:$dir/$1" | sh -c "$2" | git hash-object -w --stdin)
		git update-index --cacheinfo "100644,$b,$dir/$1"
		git update-ref $ref "$(echo x | git commit-tree "$(git write-tree)")"
	)
}

t "attack: the record's proof, entry or consistency edited, taken from elsewhere or taken away" <<'EOT'
promoted; first=$(tip); again; commit >/dev/null; keep=$(git -C trusted.git rev-parse refs/weir/attestations)
back() { git -C trusted.git update-ref refs/weir/attestations $keep; verify >/dev/null; }
edit done 's() { sed s/done/gone/; }; s'; breaks inclusion 'not in the ledger'; back
edit done "cat >/dev/null; sed -n 3p $LAB/entries"; entries >/dev/null; edit done "cat >/dev/null; sed -n 3p $LAB/entries"; breaks inclusion 'not in the ledger'; back
edit done.tlog-proof 'sed "s/^index 3/index 2/"'; breaks inclusion 'not in the ledger'; back
edit done.tlog-proof 'sed "s/^4$/5/"'; breaks checkpoint wrong; back
edit done.tlog-proof 'sed "3s/^./=/"'; breaks checkpoint "can't be read"; back
edit done.consistency 'sed "s/^old 2/old 1/"'; breaks history "can't be read"; back
edit done.consistency 'sed "2{s/^A/B/;t;s/^./A/}"'; breaks history 'does not go on'; back
for f in done done.tlog-proof; do D=$(echo ${first:0:2})/$first; git -C trusted.git cat-file blob refs/weir/attestations:$D/$f >$f.first; done
edit done "cat >/dev/null; cat $LAB/done.first"; edit done.tlog-proof "cat >/dev/null; cat $LAB/done.tlog-proof.first"; breaks ledger 'another commit'; back
git -C trusted.git update-ref refs/weir/attestations $keep^; breaks checkpoint 'not completed'; back
EOT

t "attack: an intent passed off as done" <<'EOT'
promoted; entries >/dev/null; edit done "cat >/dev/null; sed -n 1p $LAB/entries"
python3 - "$TOP" <<-EOP
	import base64, hashlib, sys
	e = open("$LAB/entries", "rb").read().splitlines(keepends=True)
	h = [hashlib.sha256(b"\0" + x).digest() for x in e]
	c = open("$L/checkpoint", "rb").read()
	open("$LAB/forged", "wb").write(b"c2sp.org/tlog-proof@v1\nindex 0\n" + base64.b64encode(h[1]) + b"\n\n" + c)
EOP
edit done.tlog-proof "cat >/dev/null; cat $LAB/forged"; breaks ledger 'does not say done'
EOT

t "attack: done without the ref" <<'EOT'
promoted; again; commit >/dev/null; c=$(tip); git -C trusted.git update-ref refs/heads/main $BASE
must_refuse verify 'does not reach' "$GATE" verify $c --repo trusted.git --signers $S; grep -q 'verify: branch: ' stderr
git -C trusted.git update-ref -d refs/heads/main; must_refuse verify 'refs/heads/main' "$GATE" verify $c --repo trusted.git --signers $S
EOT

t "the ledger's key: missing, readable by others, another's, or the gate's own: nothing is promoted" <<'EOT'
K=/etc/weir/keys/ledger; promoted; again; cp -a $K k; chmod 644 $K; must_refuse key 'mode 0644' commit; chmod 600 $K; rm $K; must_refuse key 'No such' commit
ssh-keygen -q -t ed25519 -N '' -f $K; chown weir: $K; must_refuse key 'another key than the one that signs' commit; must_refuse ledger 'not signed by' "$GATE" key rotate --ledger; cp -a k $K; unchanged
sed -i 's,^ledger_key: .*,ledger_key: "/etc/weir/keys/gate",' /etc/weir/gate.yaml; s=0; commit 2>err || s=$?; [ $s = 125 ]; grep -q 'another key than key' err; rm k
EOT

t "a gate.yaml from before the ledger: said, and mended by init --add-ledger" <<'EOT'
promoted; again; sed -i '/^ledger/d' /etc/weir/gate.yaml; rm -rf $L $V /etc/weir/keys/ledger trusted.git/weir/checkpoint
s=0; commit 2>err || s=$?; [ $s = 125 ]; grep -q 'before there was a ledger; run `weir-gate init --add-ledger`' err
"$GATE" init --add-ledger | grep -q "$V"; commit >/dev/null; verify >/dev/null
s=0; "$GATE" init --add-ledger 2>err || s=$?; [ $s = 2 ]; grep -q twice err
EOT

t "a clone verifies with public files alone" <<'EOT'
promoted; rm -rf clone; git clone -q --bare trusted.git clone; git -C clone fetch -q "$LAB/trusted.git" 'refs/weir/*:refs/weir/*'; cp $V v
rm -rf hidden; mv $L hidden; "$GATE" verify main --repo clone --signers $S --ledger-key v | grep -q '^ok    history'; mv hidden $L
"$GATE" verify main --repo clone --signers $S --ledger-key v --ledger $L >/dev/null; rm -rf clone v
EOT

done_testing
