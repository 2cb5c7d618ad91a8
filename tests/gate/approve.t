#!/bin/bash
# SPDX-License-Identifier: MIT
# Who has to agree, who may, and what becomes of their word.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/people.sh"

# shellcheck disable=SC2034 # used by tests
TWO='  approvals: 2
'

t "one approver: nothing before, promoted after, by exactly these bytes" <<'EOT'
proposed; approve ann >out; grep -q 'complete: promote it with' out
echo evil >ws/good; rm -rf ws
"$GATE" commit --run run >out; grep -q '^promoted' out; promoted
[ "$(git -C trusted.git show main:good)" = good ]; git -C trusted.git verify-commit main
"$GATE" commit --run run >out; grep -q 'already promoted' out; [ "$("$GATE" pending | wc -l)" = 0 ]
"$GATE" verify main --repo trusted.git --signers /etc/weir/allowed_signers >/dev/null
EOT

t "the promotion text says who produced, who was asked and by which people" <<'EOT'
proposed; approve ann >/dev/null; commit >/dev/null
git -C trusted.git show "refs/weir/attestations:$(tip | cut -c1-2)/$(tip)/promotion" >text
grep -qx 'review required' text; grep -qx 'producer job' text; grep -qx 'need approver 1' text
grep -qx "people $(sha256sum <seed/.weir/allowed_signers | cut -d' ' -f1)" text; grep -qx 'revoked -' text
EOT

t "approvals: 0 is promoted at once, and is attested as unreviewed" <<'EOT'
fresh; echo good >ws/good; end_run; commit >/dev/null
git -C trusted.git show "refs/weir/attestations:$(tip | cut -c1-2)/$(tip)/promotion" | grep -qx 'review none'
EOT

t "stock ssh-keygen alone checks an approval, and signs one" <<'EOT'
proposed; statement --reason 'looked at it'
cat s; hand ann >out; grep -q complete out
P=$(ls trusted.git/weir/pending/*/signed/*.text); cmp $P s
ssh-keygen -Y verify -f seed/.weir/allowed_signers -I ann@x -n approver@weir.v1 -s ${P%.text}.sig <$P
not ssh-keygen -Y verify -f seed/.weir/allowed_signers -I ann@x -n security@weir.v1 -s ${P%.text}.sig <$P 2>/dev/null
not ssh-keygen -Y verify -f seed/.weir/allowed_signers -I ben@x -n approver@weir.v1 -s ${P%.text}.sig <$P 2>/dev/null
commit >/dev/null; promoted
EOT

t "the commit's record has what was signed; csplit and ssh-keygen check it in a clone" <<'EOT'
proposed "$TWO"; approve ann >/dev/null; approve ben >/dev/null; commit >/dev/null
git clone -q --mirror trusted.git clone.git
git -C clone.git show "refs/weir/attestations:$(tip | cut -c1-2)/$(tip)/approvals" >all
csplit -sz -f part. all '/^weir-approval\/1$/' '{*}'; n=0
for f in part.*; do
	sed '/^-----BEGIN/,$d' $f >s; sed -n '/^-----BEGIN/,$p' $f >s.sig
	git -C clone.git show main^:.weir/allowed_signers >al
	who=$(ssh-keygen -Y find-principals -f al -s s.sig); ssh-keygen -Y verify -f al -I $who -n approver@weir.v1 -s s.sig <s
	git -C clone.git show "refs/weir/attestations:$(tip | cut -c1-2)/$(tip)/promotion" | sha256sum | cut -c1-64 | xargs -I{} grep -qx 'promotion {}' s
	n=$((n+1)); echo "$who" >>names
done
[ "$n $(sort names | tr '\n' ' ')" = '2 ann@x ben@x ' ]; rm -rf clone.git part.* names
EOT

t "two approvers are two persons with two keys" <<'EOT'
proposed "$TWO"; must_refuse approvals-missing '2 approver' commit
approve ann >out; grep -q 'missing: 1 approver' out
must_refuse signer-twice 'ann has said approve' approve ann
must_refuse approvals-missing '1 approver (1 agreed)' commit
approve ben >/dev/null; commit >/dev/null; promoted
EOT

t "one person under two keys and roles fills one place" <<'EOT'
proposed "  approvals:
    - {paths: ['**']}
    - {paths: [good], role: security}
"
approve ben >/dev/null; approve ben --role security >out; grep -q 'still missing: 1' out
approve ann >out; grep -q complete out; commit >/dev/null; promoted
EOT

t "the producer is never an approver: caller, workspace owner, author" <<'EOT'
proposed; must_refuse producer 'job made this change' approve job; unchanged
with_people "$ONE"; sed -i 's/ann-login/"1000"/; s/\[root, "1000"\]/[root]/' seed/.weir/roles.yaml; seal_people; push
echo good >ws/good; end_run; must_refuse approvals-missing waits commit
must_refuse producer 'ann made' approve ann; approve ben >/dev/null; commit >/dev/null; promoted
proposed; must_refuse approvals-missing waits commit --author 'Ann <ann@x>'; must_refuse producer 'ann made' approve ann
sed -i 's/ann-login/"4711"/' seed/.weir/roles.yaml; seal_people; push; echo good >ws/good; end_run
[ "$(cat /proc/self/loginuid)" != 4294967295 ] || { SUDO_UID=4711 must_refuse approvals-missing waits commit; must_refuse producer 'ann made' approve ann; }
EOT

t "an unknown producer is no other person" <<'EOT'
with_people "$ONE"; sed -i 's/\[root, "1000"\]/[root]/' seed/.weir/roles.yaml; seal_people; push
echo good >ws/good; end_run; must_refuse producer-unknown 'uid 1000' commit; unchanged
EOT

t "wrong key, role, namespace; expired, revoked, shared, pattern" <<'EOT'
again() { seal_people; push; echo good >ws/good; end_run; must_refuse approvals-missing waits commit; }
proposed; must_refuse signer-unknown 'no line lists' approve eve
must_refuse signer-role 'not for this role' approve pat
must_refuse signer-role 'cat has not the role approver' approve cat
must_refuse signer-role 'not for this role' approve job --role security
statement; must_refuse signed-signature approver@weir.v1 hand ann security@weir.v1; must_refuse signed-signature '' hand ann git
sed -i 's/namespaces="approver@weir.v1,security@weir.v1" \(.*\)/valid-before="20200101" \1/' seed/.weir/allowed_signers; again
must_refuse signer-expired 'not valid at this time' approve ann
signers >seed/.weir/allowed_signers; echo "eve@x $(public ann)" >>seed/.weir/allowed_signers; again; must_refuse signer-shared 'several people' approve ann
signers >seed/.weir/allowed_signers; echo "eve@x namespaces=\"security@weir.v1\" $(public ann)" >>seed/.weir/allowed_signers; again; must_refuse signer-shared 'several people' approve ann
signers | sed 's/^ann@x/*@x/' >seed/.weir/allowed_signers; again; must_refuse signer-shared 'a pattern' approve ann
signers >seed/.weir/allowed_signers; ssh-keygen -q -k -f seed/.weir/revoked.krl keys/ann.pub; again; must_refuse signer-revoked revoked approve ann
approve ben >/dev/null; commit >/dev/null; promoted
EOT

t "the host's revocation list holds at once" <<'EOT'
proposed; approve ann >/dev/null
ssh-keygen -q -k -f /etc/weir/revoked.krl keys/eve.pub; echo 'revoked: /etc/weir/revoked.krl' >>/etc/weir/gate.yaml
must_refuse void 'host-revoked' commit; must_refuse void 'changed since' review; must_refuse approvals-missing '0 agreed' commit -m again
ssh-keygen -q -k -f /etc/weir/revoked.krl keys/ann.pub; must_refuse approvals-missing '0 agreed' commit -m more
must_refuse signer-revoked revoked approve ann; echo junk >/etc/weir/revoked.krl; must_refuse people 'no key revocation list' review
EOT

t "the signer root: not named, other key, edited people" <<'EOT'
with_people "$ONE"; echo good >ws/good; end_run
sed -i /signer_root/d /etc/weir/gate.yaml; must_refuse signer-root 'names no signer_root' commit; echo 'signer_root: /etc/weir/signer_root' >>/etc/weir/gate.yaml
mv /etc/weir/signer_root r; must_refuse signer-root 'No such file' commit; mv r /etc/weir/signer_root
next() { push; echo good >ws/good; end_run; }
seal_people eve; next; must_refuse signer-root 'no line lists' commit
seal_people; echo '#' >>seed/.weir/roles.yaml; next; must_refuse people 'roles.yaml is not the one' commit
seal_people; cp keys/ann.pub seed/.weir/revoked.krl; next; must_refuse people 'revoked.krl is not the one' commit
seal_people; next; must_refuse people 'no key revocation list' commit; rm seed/.weir/revoked.krl
echo 'x y' >>seed/.weir/allowed_signers; seal_people; next; must_refuse people 'line 8' commit
signers >seed/.weir/allowed_signers; echo 'x: y' >>seed/.weir/roles.yaml; seal_people; next; must_refuse people 'roles.yaml:10:1' commit
roles >seed/.weir/roles.yaml; seal_people; mv seed/.weir/allowed_signers seed/al; ln -s ../al seed/.weir/allowed_signers; next
must_refuse people 'no plain file' commit; mv seed/al seed/.weir/allowed_signers; chmod +x seed/.weir/people; next; must_refuse people 'no plain file' commit
chmod -x seed/.weir/people; rm seed/.weir/people.sig; next; must_refuse people 'no .weir/people' commit; unchanged
EOT

t "thresholds by path; each path needs a rule" <<'EOT'
with_people "  approvals:
    - {paths: ['src/**'], count: 2}
    - {paths: [special], role: security}
"
echo 1 >ws/src/n.c; echo x >ws/other; end_run; must_refuse approvals 'no rule of writeback.approvals covers other' commit
start_run; echo 1 >ws/src/n.c; end_run; must_refuse approvals-missing 'waits for 2 approver' commit
start_run; echo '#' >>ws/special; end_run; must_refuse approvals-missing 'waits for 1 security' commit
approve cat --role security >/dev/null; commit >/dev/null; promoted
EOT

t "findings are acknowledged one by one, and ask for their role" <<'EOT'
with_people "$ONE"; ln -s /etc/passwd ws/l1; ln -s /etc/group ws/l2; end_run; must_refuse approvals-missing waits commit
ids=$(review --json | python3 -c 'import json,sys; print(*[f["id"] for f in json.load(sys.stdin)["findings"]])'); set -- $ids
must_refuse acknowledge "$1" approve ann; must_refuse acknowledge "$2" approve ann --ack $1
must_refuse acknowledge 'no finding all' approve ann --ack $1 --ack $2 --ack all
statement --ack $1 --ack $2; grep -v "$2" s >s2; mv s2 s; must_refuse acknowledge "$2" hand ann
printf '%s\n' $ids >list; must_refuse acknowledge 'no finding x' approve ann --ack-list list --ack x
approve ann --ack-list list >/dev/null; commit >/dev/null; promoted
EOT

t "windows: too long, over, not begun" <<'EOT'
with_people "$ONE  approval_window: 2h
"; echo good >ws/good; end_run; must_refuse approvals-missing waits commit
must_refuse window 'the policy allows 2' approve ann --for 3h; must_refuse window 'no span' approve ann --for soon
statement; sed -i "s/^until .*/until 2999-01-01T00:00:00Z/" s; must_refuse window 'the policy allows 2' hand ann
statement; sed -i "s/^from .*/from 2020-01-01T00:00:00Z/; s/^until .*/until 2020-01-01T01:00:00Z/" s; must_refuse window 'not valid any more' hand ann
statement; sed -i "s/^from .*/from 2998-01-01T00:00:00Z/; s/^until .*/until 2998-01-01T01:00:00Z/" s; must_refuse window 'not valid yet' hand ann
statement; f=$(sed -n 's/^from //p' s); sed -i "s/^until .*/until $f/" s; must_refuse window 'ends before' hand ann
approve ann --for 12s >/dev/null; sleep 13; must_refuse approvals-missing '1 approver (0 agreed)' commit
review | grep -q 'window: it is not valid any more'; approve ann --for 1h >/dev/null; commit >/dev/null; promoted
EOT

t "a text that is not the gate's own is nobody's word" <<'EOT'
proposed; statement; cp s good
edit() { sed "$1" good >s; must_refuse "$2" "$3" hand ann; }
edit 's/^tree .*/tree 0000000000000000000000000000000000000000/' signed-text 'another repository, ref'
edit 's/^ref .*/ref refs\/heads\/other/' signed-text 'another'
edit 's/^promotion ..../promotion 0000/' void 'about promotion 0000'
edit 's/^role approver/role boss/' signed-text 'no weir-approval/1'
edit 's/^weir-approval.1/weir-approval\/2/' signed-text 'no weir-approval'
edit '$a more x' signed-text 'no weir'; edit 's/reason -/reason/' signed-text 'no weir'; edit '2d' signed-text 'no weir'
edit 's/^decision approve/decision reject/' signed-text 'no weir'
cp good s; hand ann >/dev/null; commit >/dev/null; promoted
EOT

t "reject stops it until it is withdrawn; withdraw takes a yes back" <<'EOT'
proposed; approve ann >/dev/null
"$GATE" reject --run run -k keys/ben --reason 'no: see line 3' >out; grep -q 'rejected by ben: no: see line 3' out
must_refuse rejected 'ben: no: see line 3' commit; "$GATE" pending | grep -q 'rejected by ben'
must_refuse signer-twice 'ben has said reject' "$GATE" reject --run run -k keys/ben
"$GATE" withdraw --run run -k keys/ben >out; grep -q complete out; sleep 1
"$GATE" withdraw --run run -k keys/ann >out; grep -q 'still missing: 1 approver' out; must_refuse approvals-missing '' commit
sleep 1; approve ann >/dev/null; commit >/dev/null; promoted
EOT

t "a yes is to what was looked at, and to nothing that came since" <<'EOT'
proposed; s=0; "$GATE" approve --run run -k keys/ann 2>err || s=$?; [ $s = 2 ]; grep -q -- '--promotion SHA256 is missing' err
OLD=$(shown); eval "set -- $(review | sed -n 's/^a yes to all of this: weir approve \(.*\) -k KEY$/\1/p')"; [ "$*" = "--nonce $NONCE --promotion $OLD" ]
must_refuse approvals-missing waits commit -m 'another message'; [ "$(shown)" != $OLD ]
must_refuse void "is now sha256:$(shown)" "$GATE" approve "$@" -k keys/ann; must_refuse approvals-missing '0 agreed' commit; [ "$(tip)" = "$BASE" ]
EOT

t "a producer may say no, not yes" <<'EOT'
proposed; approve ann >/dev/null; "$GATE" reject --run run -k keys/job --role producer --reason oops >out; grep -q 'rejected by job: oops' out
must_refuse rejected job commit; "$GATE" withdraw --run run -k keys/job --role producer >/dev/null; commit >/dev/null; promoted
EOT

t "what was taken back can't be handed in for the same change proposed again" <<'EOT'
proposed; statement; hand ann >/dev/null; cp s.sig kept.sig; "$GATE" withdraw --run run -k keys/ann >/dev/null
must_refuse approvals-missing '0 agreed' commit -m other; must_refuse approvals-missing '0 agreed' commit; must_refuse void 'about promotion' "$GATE" approve --run run --statement s --signature kept.sig
must_refuse approvals-missing '0 agreed' commit; [ "$(tip)" = "$BASE" ]
EOT

t "anything else in the digest voids approvals" <<'EOT'
proposed; approve ann >/dev/null
must_refuse approvals-missing '0 agreed' commit -m 'another message'; review | grep -q '^approvals   0 of 1'
approve ann >/dev/null; MSG='another message' must_refuse approvals-missing '0 agreed' commit --author 'Eve <eve@x>'
proposed; approve ann >/dev/null; cp run/statement.json st; end_run; must_refuse approvals-missing '0 agreed' commit
proposed; approve ann >/dev/null; sed -i 's/^email: .*/email: "other@x"/' /etc/weir/gate.yaml; must_refuse void 'author' commit
proposed; approve ann >/dev/null; echo '#' >>/etc/weir/allowed_signers; must_refuse void '`signers`' commit; [ "$(tip)" = "$BASE" ]
EOT

t "base, trace, policy and ref stay checked until the end" <<'EOT'
proposed; approve ann >/dev/null
printf '\377' | dd of=run/trace bs=1 seek=200 conv=notrunc 2>/dev/null; must_refuse trace trace commit
proposed; approve ann >/dev/null; sed -i 's/heads\/main/heads\/other/' /etc/weir/gate.yaml; must_refuse ref 'no promotable ref' commit
proposed; approve ann >/dev/null; echo x >seed/o; (cd seed; git add -A; git commit -qm o; git push -q ../trusted.git HEAD:main); chown -R weir: trusted.git
must_refuse base-moved moved commit
EOT

t "a quarantine that was edited is never published" <<'EOT'
proposed; approve ann >/dev/null; P=trusted.git/weir/pending/$NONCE; chmod u+w $P/q.pack
printf '\377' | dd of=$P/q.pack bs=1 seek=20 conv=notrunc 2>/dev/null; must_refuse quarantine 'other bytes' commit; [ "$(tip)" = "$BASE" ]
proposed; approve ann >/dev/null; P=trusted.git/weir/pending/$NONCE; rm $P/q.idx; must_refuse quarantine 'No such' commit
proposed; approve ann >/dev/null; P=trusted.git/weir/pending/$NONCE; sed -i 's/^need approver 1/need approver 0/' $P/promotion; must_refuse void '' commit; [ "$(tip)" = "$BASE" ]
EOT

t "keys: agent, only key of an agent, certificate, RSA, ECDSA; passphrase and mode" <<'EOT'
proposed "  approvals: 5
"
cd keys; ssh-keygen -q -t rsa -b 2048 -N '' -f r -C r; ssh-keygen -q -t ecdsa -N '' -f e -C e; ssh-keygen -q -t ed25519 -N '' -f ca -C ca
ssh-keygen -q -t ed25519 -N '' -f c -C c; ssh-keygen -q -s ca -I id -n c@x c.pub; chown -R 2000:2000 .; cd ..
for n in r e; do echo "$n@x namespaces=\"approver@weir.v1\" $(public $n)"; done >>seed/.weir/allowed_signers
echo "c@x cert-authority,namespaces=\"approver@weir.v1\" $(public ca)" >>seed/.weir/allowed_signers
for n in r e c; do echo "- {name: $n, principals: [$n@x], roles: [approver]}"; done >>seed/.weir/roles.yaml
seal_people; push; echo good >ws/good; end_run; must_refuse approvals-missing '5 approver' commit
eval "$(setpriv --reuid 2000 --regid 2000 --clear-groups ssh-agent -a "$(mktemp -u /tmp/ga.XXXXXX)")" >/dev/null
run_as() { setpriv --reuid 2000 --regid 2000 --clear-groups "$@"; }
cp -r keys /tmp/gk.$$; chown -R 2000:2000 /tmp/gk.$$; run_as ssh-add -q /tmp/gk.$$/ann
approve agent 2>err || :; "$GATE" approve --run run --promotion "$(shown)" -k agent --agent "$SSH_AUTH_SOCK" >/dev/null
run_as ssh-add -q /tmp/gk.$$/r /tmp/gk.$$/e /tmp/gk.$$/c; rm -r /tmp/gk.$$
not "$GATE" approve --run run --promotion "$(shown)" -k agent --agent "$SSH_AUTH_SOCK" 2>err; grep -q 'holds [0-9]* keys' err
for n in r e; do "$GATE" approve --run run --promotion "$(shown)" -k keys/$n.pub --agent "$SSH_AUTH_SOCK" >/dev/null; done
"$GATE" approve --run run --promotion "$(shown)" -k keys/c-cert.pub --agent "$SSH_AUTH_SOCK" >/dev/null; kill "$SSH_AGENT_PID"
not "$GATE" approve --run run --promotion "$(shown)" -k keys/ben.pub 2>err; grep -q 'there is no ssh-agent' err
chmod 644 keys/ben; not approve ben 2>err; grep -q 'chmod 600' err; chmod 600 keys/ben
ssh-keygen -q -p -N secret -f keys/ben >/dev/null; not approve ben 2>err; grep -q passphrase err; ssh-keygen -q -p -P secret -N '' -f keys/ben >/dev/null
chown 2000 keys/ben; approve ben >out; grep -q complete out; commit >/dev/null; promoted
EOT

t "gittuf's form is written beside, checks by stock, and never counts" <<'EOT'
proposed; mkdir -m 777 out.d; approve ann --gittuf out.d/g.json >/dev/null
python3 - <<'PY'
import base64, json
env = json.load(open('out.d/g.json')); body = base64.b64decode(env['payload']); st = json.loads(body)
assert st['predicateType'] == 'https://gittuf.dev/reference-authorization/v0.2' and st['predicate']['targetRef'] == 'refs/heads/main'
assert st['subject'][0]['digest']['gitTree'] == st['predicate']['targetID']
t = env['payloadType']; open('pae', 'wb').write(b'DSSEv1 %d %s %d ' % (len(t), t.encode(), len(body)) + body)
open('g.sig', 'wb').write(base64.b64decode(env['signatures'][0]['sig']))
PY
echo "ann@x namespaces=\"git\" $(public ann)" >al; ssh-keygen -Y verify -f al -I ann@x -n git -s g.sig <pae
cp pae s; cp g.sig s.sig; must_refuse signed-text 'no weir-approval' "$GATE" approve --run run --statement s --signature s.sig
EOT

t "kill at any moment: the proposal is whole or not there" <<'EOT'
with_people "$ONE"; echo good >ws/good; end_run
for ms in 005 010 020 030 040 060 080; do timeout -s KILL 0.$ms "$GATE" commit --run run -m x >/dev/null 2>&1 || :
	sleep 0.05; [ "$("$GATE" pending | grep -cv waits)" = 0 ]; done
must_refuse approvals-missing waits commit -m x; approve ann >/dev/null
for ms in 010 020 030 040 050 060; do timeout -s KILL 0.$ms "$GATE" commit --run run >/dev/null 2>&1 || :; sleep 0.05; done
"$GATE" commit --run run >/dev/null; promoted
EOT

t "no room at any point: nothing half waits, and with room it works" <<'EOT'
with_people "$ONE"; head -c 100000 /dev/urandom >ws/big; end_run; install -d -o weir -m 700 trusted.git/weir; whole=0 none=0
for kib in 4 8 64 100 104 112 120 124 128 132 136 140 148 160 180; do
	mount -t tmpfs -o size=${kib}k,mode=700,uid=$(id -u weir) full trusted.git/weir; status=0
	commit >/dev/null 2>err || status=$?; [ "$(wc -l <err)" = 1 ]; [ ! -e trusted.git/weir/quarantine/$NONCE ]
	if [ $status = 122 ]; then grep -q approvals-missing err; review >/dev/null; whole=$((whole+1)); else
		[ $status = 125 ]; grep -q 'No space left' err; [ "$("$GATE" pending 2>/dev/null | wc -l)" = 0 ]; none=$((none+1)); fi
	umount trusted.git/weir
done
echo "$whole $none"; [ $whole -gt 0 ] && [ $none -gt 3 ]; must_refuse approvals-missing waits commit; ID=$(review --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["findings"][0]["id"])')
approve ann --ack $ID >/dev/null; commit >/dev/null; promoted
EOT

done_testing
