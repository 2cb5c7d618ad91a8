#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2119
# Break-glass: what two people push past the gate, with stock git push --signed.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/receive.sh"

mkdir "$LAB/keys"
for name in ann ann2 ben eve; do
	ssh-keygen -q -t ed25519 -N '' -C "$name" -f "$LAB/keys/$name"
done
chown -R weir: "$LAB/keys"

# lists NAME=KEY...: who may
lists() {
	local one
	for one; do
		echo "${one%=*}@x namespaces=\"git\" $(cut -d' ' -f1,2 "$LAB/keys/${one#*=}.pub")"
	done >/etc/weir/break_glass
}

begin() {
	reset
	echo 'break_glass: /etc/weir/break_glass' >>/etc/weir/gate.yaml
	lists ann=ann ann=ann2 ben=ben
}

# signed WHO WHAT [OPTION...]
signed() {
	local who=$1 what=$2
	shift 2
	weir git -c gpg.format=ssh -c user.signingkey="$LAB/keys/$who.pub" -C "$LAB/clone" push -q --signed \
		"${@:--oreason=it burns}" "$R" "$what"
}

# denied CODE TEXT WHO WHAT [OPTION...]
denied() {
	REFS=$(git -C "$R" for-each-ref)
	not signed "${@:3}" 2>"$LAB/err"
	says "$1" "$2"
	same
}

both() {
	denied break-glass-waits 'ann@x has signed' ann "$1"
	signed ben "$1"
}

# change PATH: a commit in the clone
change() {
	(
		cd "$LAB/clone" || exit 1
		mkdir -p "$(dirname "$1")"
		echo "$RANDOM" >>"$1"
		weir git add -A
	)
	write "$1"
}

entries() {
	python3 "$TOP/tests/gate/tlog.py" log /var/lib/weir-gate/ledger /etc/weir/ledger.vkey
}

verify() {
	"$GATE" verify "${1:-main}" --repo "$R" --signers $S "${@:2}"
}

audit() {
	"$GATE" audit "$R" --signers $S "$@"
}

t "two people: on record, marked on what follows, listed by audit" <<'EOT'
begin; install -o weir /dev/null clone/x; one=$(change src/fix.c); two=$(change src/fix2.c); both main; [ "$(tip)" = $two ]; [ ! -e "$(echo $R/weir/glass/?*)" ]
entries | grep '"kind":"break-glass"' >e; grep -q '"by":"ann@x, ben@x"' e; grep -q '"why":"it burns; it burns"' e; grep -q "\"commit\":\"$two\"" e; grep -q '"ref":"refs/heads/main"' e
for c in $one $two; do must_refuse verify 'break-glass: ann@x, ben@x let it in' verify $c; done; audit >out; grep -qx "break-glass $one by ann@x, ben@x: it burns; it burns" out; grep -q '3 attested, 0 unattested, 0 broken, 1 from before the gate, 2 break-glass' out; audit --json | grep -q '"break-glass":2'
promote; verify >out; for c in $one $two; do grep -qx "note  break-glass commit $c is in its history" out; git -C $R show "$A:$(tip | cut -c1-2)/$(tip)/promotion" | grep -qx "break-glass $c"; done; verify main --json | grep -q "\"break_glass\":\[\"[0-9a-f]*\",\""
promote; [ "$(verify | grep -c '^note  break-glass')" = 2 ]; verify main~4 | grep -q break-glass && fail 'before it'; audit | grep -q '5 attested, 0 unattested'; weir git -C $R fsck --strict
EOT

t "stock tools check certificates, entry and proof" <<'EOT'
begin; new=$(change a); both main; D=${new:0:2}/$new; for f in break-glass break-glass.entry break-glass.tlog-proof; do git -C $R show $A:$D/$f >$f; done
python3 "$TOP/tests/gate/tlog.py" proof /etc/weir/ledger.vkey break-glass.tlog-proof break-glass.entry; [ "$(sha256sum <break-glass | cut -d' ' -f1)" = "$(sed 's/.*"statement":"\([0-9a-f]*\)".*/\1/' break-glass.entry)" ]
csplit -sz -f cert. break-glass '/^certificate version/' '{*}'; n=0; for c in cert.0?; do sed '/^-----BEGIN/,$d' $c >text; sed -n '/^-----BEGIN/,$p' $c >sig; p=$(ssh-keygen -Y find-principals -f /etc/weir/break_glass -s sig); ssh-keygen -Y verify -f /etc/weir/break_glass -I $p -n git -s sig <text >/dev/null; grep -q "$new refs/heads/main" text; n=$((n + 1)); done; [ $n = 2 ]
EOT

t "one principal under two keys is one person; one key under two names is none" <<'EOT'
begin; new=$(change a); denied break-glass-waits 'ann@x has signed' ann main; denied break-glass-waits 'ann@x has signed' ann2 main; denied break-glass-waits 'ann@x has signed' ann main
lists ann=ann ben=ann; denied break-glass 'listed for several people' ann main; rm -rf $R/weir/glass
lists ann=ann; denied break-glass-waits 'ann@x has signed' ann main; lists ben=ann; denied break-glass-waits 'ben@x has signed' ann main;
[ "$(entries | grep -c break-glass)" = 0 ]; lists ann=ann ben=ben; signed ben main
EOT

t "strangers, expired and revoked keys, another namespace, patterns" <<'EOT'
begin; new=$(change a); denied break-glass 'no line lists the key' eve main; denied break-glass-waits '' ann main; lists ann=ann; sed 's/ann@x/*/' /etc/weir/break_glass >w; cp w /etc/weir/break_glass; denied break-glass 'for a pattern' ann main
lists ann=ann; sed -i 's/"git"/"file"/' /etc/weir/break_glass; denied break-glass 'not for this role' ann main; lists ann=ann; sed -i 's/namespaces/valid-before="20200101",namespaces/' /etc/weir/break_glass; denied break-glass 'not valid at this time' ann main
lists ann=ann ben=ben; ssh-keygen -q -k -f /etc/weir/krl keys/ann.pub; echo 'revoked: /etc/weir/krl' >>/etc/weir/gate.yaml; denied break-glass 'revoked' ann main; denied break-glass-waits 'ben@x has signed' ben main
EOT

t "a first signature that was revoked meanwhile, or is too old" <<'EOT'
begin; new=$(change a); denied break-glass-waits '' ann main; lists ben=ben; denied break-glass-waits 'ben@x has' ben main
begin; new=$(change a); denied break-glass-waits '' ann main; touch -d '2 hours ago' $R/weir/glass/*; denied break-glass-waits 'ben@x has' ben main; signed ann main
EOT

t "never for .weir/, not even in between, nor for a name like it" <<'EOT'
begin; change .weir/policy.yaml; denied break-glass '.weir/ is changed' ann main; ours; change .weir/policy.yaml; weir git -C clone checkout -q HEAD^ -- .weir; write back; denied break-glass '.weir/ is changed' ann main
ours; weir git -C clone rm -qr .weir; write gone; denied break-glass '.weir/ is changed' ann main; ours; install -d -o weir clone/.WEIR; change .WEIR/policy.yaml; denied break-glass 'a name like .weir' ann main
ours; change a; weir git -C clone update-index --chmod=+x .weir/policy.yaml; write mode; denied break-glass '.weir/ is changed' ann main
EOT

t "unsigned, without a reason, two refs, a merge, a rewind, another branch, the records" <<'EOT'
begin; new=$(change a); refused unattested "$new" git -C clone push -q $R main; denied break-glass 'does not say why' ann main -oother=1; denied ref 'side' ann main:side; denied rewind '' ann +main~2:main; denied ref replace ann main:refs/replace/$(tip); denied records '' ann +$A~1:$A
REFS=$(git -C $R for-each-ref); not weir git -c gpg.format=ssh -c user.signingkey=$LAB/keys/ann.pub -C clone push -q --signed -oreason=x $R main $A~1:$A 2>err; same
m=$(weir git -C clone -c user.name=e -c user.email=e@x commit-tree -p main -p main~1 -m m main^{tree}); denied merge '' ann $m:main
begin; sed -i '/^break_glass/d' /etc/weir/gate.yaml; new=$(change a); denied unattested "$new" ann main; both main 2>/dev/null && fail 'got in' || :
EOT

t "a certificate of another push" <<'EOT'
begin; new=$(change a); denied break-glass-waits '' ann main; f=$(echo $R/weir/glass/*); b=$(weir git -C $R hash-object -w $f); n=$(sed -n 's/^nonce //p' $f); rm $f; git -C clone push -q ../clone.git main:main 2>/dev/null || :; weir git -C $R fetch -q ../clone $new
hook() { echo "$(tip) $new refs/heads/main" | weir env GIT_DIR=$R GIT_PUSH_CERT=$b "$@" "$GATE" receive pre-receive; }
must_refuse break-glass 'of another push' hook GIT_PUSH_CERT_NONCE=$n GIT_PUSH_CERT_NONCE_STATUS=SLOP; must_refuse break-glass 'of another push' hook GIT_PUSH_CERT_NONCE=1-a GIT_PUSH_CERT_NONCE_STATUS=OK; must_refuse break-glass 'of another push' hook; must_refuse break-glass-waits ann@x hook GIT_PUSH_CERT_NONCE=$n GIT_PUSH_CERT_NONCE_STATUS=OK
weir git -C clone -c user.name=e -c user.email=e@x commit -q --allow-empty -m x; x=$(git -C clone rev-parse main); weir git -C $R fetch -q ../clone $x; must_refuse break-glass 'about another push' eval 'new=$x; hook GIT_PUSH_CERT_NONCE=$n GIT_PUSH_CERT_NONCE_STATUS=OK'
EOT

t "the ledger first: without it, or without a record, nothing moves; again completes" <<'EOT'
begin; new=$(change a); denied break-glass-waits '' ann main; mv /var/lib/weir-gate/ledger l; denied ledger '' ben main; mv l /var/lib/weir-gate/ledger
setpriv --reuid weir touch $R/refs/weir/attestations.lock; denied locked attestations.lock ben main; entries | grep -q '"kind":"break-glass"'; must_refuse audit 'ledger contradicts' audit; grep -q 'is break-glass, and the branch does not reach its commit' stdout
rm $R/refs/weir/attestations.lock; signed ben main; audit | grep -q '1 break-glass'
EOT

t "a crash while the record was written: the lock goes, the push again gets in" <<'EOT'
begin; new=$(change a); denied break-glass-waits '' ann main; echo 0000 >$R/weir/lock-2; ln $R/weir/lock-2 $R/refs/weir/attestations.lock; chown weir: $R/weir/lock-2; signed ben main; [ ! -e $R/weir/lock-2 ]; audit | grep -q '1 break-glass'; promote
EOT

t "what was let in is let in as it is: not a part of it, and no more" <<'EOT'
begin; one=$(change a); two=$(change b); both main; behind update-ref refs/heads/main main~2; weir git -C clone checkout -q -b o $one; x=$(write x); weir git -C $R fetch -q ../clone $x; refused break-glass 'another push' git -C $R update-ref refs/heads/main $one; refused unattested "$x" git -C $R update-ref refs/heads/main $x; weir git -C $R update-ref refs/heads/main $two; audit | grep -q '2 break-glass'
EOT

t "records of it that were edited: broken" <<'EOT'
begin; new=$(change a); both main; D=${new:0:2}/$new; keep=$(git -C $R rev-parse $A)
edit() { ( cd $R; export GIT_INDEX_FILE=$LAB/idx; rm -f idx $GIT_INDEX_FILE; git read-tree $keep; b=$(git cat-file blob $keep:$D/$1 | sed "$2" | git hash-object -w --stdin); git update-index --cacheinfo 100644,$b,$D/$1; git -c core.hooksPath=/dev/null update-ref $A $(echo x | git commit-tree $(git write-tree)) ); chown -R weir: $R/objects $R/refs; must_refuse audit '1 broken' audit; grep -q "$3" stdout || fail "no $3: $(cat stdout)"; }
edit break-glass 's/^pushee /pushee x/' wrong; edit break-glass.entry 's/"by":"ann/"by":"eve/' 'not in the ledger'; edit break-glass.tlog-proof 's/^index ./index 0/' ''
EOT

done_testing
