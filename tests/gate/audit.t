#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2119
# weir-gate audit: who wrote to the branch, and does the ledger agree; verify --deep.
. "$(dirname "$0")/lib.sh"

R=$LAB/trusted.git
S=/etc/weir/allowed_signers

audit() {
	"$GATE" audit "$R" --signers $S "$@"
}

# states: of all commits, ancestors first
states() {
	audit --json "$@" 2>/dev/null | python3 -c 'import json, sys
for c in json.load(sys.stdin)["commits"]: print(c["state"])'
}

again() {
	BASE=$(tip)
	start_run
	echo "$RANDOM$RANDOM" >>ws/src/more.c
	end_run
	commit >/dev/null
}

# direct: somebody with access to the files writes to the branch
direct() {
	local tree=${1:-$(tip)^{tree\}}
	new=$(git -C "$R" commit-tree -p "$(tip)" ${2:+-p "$2"} -m direct "$tree")
	git -C "$R" update-ref refs/heads/main "$new"
	chown -R weir: "$R"
}

cd "$LAB" || exit 1
fresh
again
again
snapshot_take

t "all attested since the gate began; as JSON, in a clone, without the ledger" <<'EOT'
audit | grep -qx 'refs/heads/main: 2 attested, 0 unattested, 0 broken, 1 from before the gate'; audit | grep -qx 'ledger: 4 entries, 2 done and 0 aborted for this branch'
[ "$(states)" = "$(printf '%s\n' before attested attested)" ]; audit --json | grep -q '"ok":true.*"schema":"weir.audit/1"'
rm -rf clone; git clone -q --bare $R clone; git -C clone fetch -q $R 'refs/weir/*:refs/weir/*'; cp /etc/weir/ledger.vkey v
"$GATE" audit clone --signers $S --ledger-key v | grep -q 'ledger: not looked at'; rm -rf clone
EOT

t "a commit that somebody wrote without the gate, and what came after it" <<'EOT'
snapshot_restore; direct; must_refuse audit '1 unattested' audit; grep -qx "unattested  $new" stdout; again; must_refuse audit '1 unattested' audit
[ "$(states | tail -2)" = "$(printf 'unattested\nattested')" ]
EOT

t "a merge is unattested, and so is what it brings if it stands on the gate's work" <<'EOT'
snapshot_restore; side=$(git -C $R commit-tree -p $(tip)^ -m side "$(tip)^{tree}"); direct "" $side; must_refuse audit '2 unattested' audit
grep -qx "unattested  $side" stdout; grep -qx "unattested  $new" stdout
EOT

t "history from before the gate is told from later; --since draws the line" <<'EOT'
snapshot_restore; root=$(git -C $R rev-list --max-parents=0 main); audit --since $root >/dev/null; [ "$(states | head -1)" = before ]
rm -rf /etc/weir /var/lib/weir-gate $R; fresh; direct; audit | grep -q '0 attested, 0 unattested, 0 broken, 2 from before'; must_refuse audit '1 unattested' audit --since $BASE
EOT

t "a record that was edited or is gone: broken, with the link" <<'EOT'
snapshot_restore; c=$(tip); rm -f idx; ( cd $R; export GIT_INDEX_FILE=$LAB/idx; git read-tree refs/weir/attestations; D=${c:0:2}/$c
b=$(git cat-file blob refs/weir/attestations:$D/vsa.json | sed 's/"payload":"./"payload":"e/' | sed 's/"sig":"../"sig":"AA/' | git hash-object -w --stdin); git update-index --cacheinfo 100644,$b,$D/vsa.json
git update-ref refs/weir/attestations $(echo x | git commit-tree $(git write-tree)) ); chown -R weir: $R
must_refuse audit '1 broken' audit; grep -q "^broken      $c verify: \|^broken      $c dsse: vsa.json" stdout
git -C $R update-ref -d refs/weir/attestations; must_refuse audit '2 broken' audit; grep -c '^broken .* record: ' stdout | grep -qx 2
EOT

t "the ledger knows more than the branch: rewound" <<'EOT'
snapshot_restore; git -C $R update-ref refs/heads/main $(tip)^; must_refuse audit 'ledger contradicts' audit; grep -qx 'ledger: entry 3 is done, and the branch does not reach its commit' stdout
EOT

t "the ledger: set back, an entry of a full audit edited, another key" <<'EOT'
snapshot_restore; L=/var/lib/weir-gate/ledger; again; rm -rf $L; cp -a good/ledger $L; must_refuse audit '1 broken' audit; grep -q 'history: ' stdout
snapshot_restore; python3 -c 'import sys; p = sys.argv[1]; b = bytearray(open(p, "rb").read()); b[60] ^= 1; open(p, "wb").write(b)' $L/tile/entries/000.p/4; must_refuse ledger 'entry is missing or damaged' audit
EOT

t "refusals are counted, an intent that was never ended is told" <<'EOT'
snapshot_restore; start_run; echo 1 >ws/x; end_run; MSG='Weir-Run: x' must_refuse message '' commit; audit | grep -qx 'ledger: 5 entries, 2 done and 1 aborted for this branch'
touch $R/refs/weir/attestations.lock; must_refuse locked '' commit; rm $R/refs/weir/attestations.lock; audit | grep -qx 'ledger: 7 entries, 2 done and 2 aborted for this branch'
EOT

t "verify --deep: an object of the tree that no change touched" <<'EOT'
snapshot_restore; v() { "$GATE" verify main --repo $R --signers $S --deep "$@"; }; v | grep -q '^ok    deep'; v --json | grep -q '"link":"deep","ok":true'
"$GATE" verify main --repo $R --signers $S --json | grep -q '"deep"' && fail 'deep, without --deep'
b=$(git -C $R rev-parse main:.gitignore); mkdir loose; for p in $R/objects/pack/*.pack; do mv $p loose/; rm -f ${p%.pack}.idx; done; for p in loose/*.pack; do git -C $R unpack-objects -q <$p; done; rm -rf loose; chown -R weir: $R
v >/dev/null; f=$R/objects/${b:0:2}/${b:2}; chmod u+w $f; printf 'other' | git -C $R hash-object -w --stdin >o; o=$(cat o); cp $R/objects/${o:0:2}/${o:2} $f; chown weir: $f
"$GATE" verify main --repo $R --signers $S >/dev/null; must_refuse verify 'deep: ' v
EOT

t "bad arguments" <<'EOT'
snapshot_restore; for bad in "" "$R" "$R x --signers $S" "$R --signers /nonexistent" "nowhere --signers $S" "$R --signers $S --since nosuch"; do s=0; "$GATE" audit $bad 2>err || s=$?; [ $s = 2 ] || fail "$bad: $s"; [ "$(wc -l <err)" -ge 1 ]; done
s=0; audit --ref refs/heads/nosuch 2>err || s=$?; [ $s = 125 ]; grep -q 'no ref' err
EOT

done_testing
