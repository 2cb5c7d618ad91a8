#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2119,SC2120,SC2016,SC2154
# Keys begin and end: by entries of the ledger, whatever a date says.
. "$(dirname "$0")/lib.sh"

R=$LAB/trusted.git
LEDGER=/var/lib/weir-gate/ledger
SIGNERS=/etc/weir/allowed_signers

verify() {
	"$GATE" verify "${1:-main}" --repo "${2:-$R}" --signers "${3:-$SIGNERS}"
}

# fails WHAT COMMAND...: verify names the link `keys`, and why
fails() {
	local what=$1
	shift
	must_refuse verify "$what" "$@"
	grep -q 'keys: ' "$LAB/stderr" || fail "another link: $(cat "$LAB/stderr")"
}

# change NAME: another run, promoted
change() {
	start_run
	echo "$1" >"$LAB/ws/$1"
	end_run
	commit >/dev/null
}

# clone: what somebody has who was never here; reads $LAB/clone.git with $LAB/vkey
clone() {
	rm -rf "$LAB/clone.git"
	git clone -q --mirror "$R" "$LAB/clone.git"
	cp /etc/weir/ledger.vkey "$LAB/vkey"
}

verify_clone() {
	"$GATE" verify "${1:-main}" --repo "$LAB/clone.git" --signers "$SIGNERS" --ledger-key "$LAB/vkey"
}

entries() {
	python3 "$TOP/tests/gate/tlog.py" log $LEDGER /etc/weir/ledger.vkey
}

t "rotation: old commits hold by the old key, new ones by the new, for git and in a clone" <<'EOT'
fresh; start_run; change one; one=$(tip); old=$(cut -d' ' -f1,2 /etc/weir/keys/gate.pub 2>/dev/null || ssh-keygen -y -f /etc/weir/keys/gate)
"$GATE" key rotate --reason 'once a year' >out; grep -q 'signs with ssh-ed25519' out; entries >log; tail -n 1 log | grep -q '"kind":"key"'; tail -n 1 log | grep -q "\"old\":\"${old% *}"
"$GATE" key list >out; grep -q 'gate  until here ssh-ed25519 .* from here ssh-ed25519 .* once a year' out; [ "$(grep -c 'namespaces="git"' $SIGNERS)" = 2 ]
change two; two=$(tip); verify >/dev/null; verify $one >/dev/null; git -C $R verify-commit main 2>/dev/null; git -C $R verify-commit $one 2>/dev/null
openssl pkey -pubin -in /etc/weir/gate.pem -noout; clone; verify_clone >/dev/null; verify_clone $one >/dev/null; "$GATE" audit $R --signers $SIGNERS >/dev/null
[ "$(ssh-keygen -y -f /etc/weir/keys/gate | cut -d' ' -f2)" = "$("$GATE" key list --json | sed 's/.*"new":"ssh-ed25519 \([^"]*\)".*/\1/')" ]; stat -c '%a %U' /etc/weir/keys/gate | grep -qx '600 weir'
git -C $R show "refs/weir/attestations:${two:0:2}/$two/promotion" | grep -q '^keys 1 [0-9a-f]*$'
EOT

t "the old key signs no more: by the gate, or by who kept a copy of it" <<'EOT'
fresh; start_run; change one; cp -a /etc/weir/keys/gate kept; "$GATE" key rotate >/dev/null; cp -a kept /etc/weir/keys/gate; before=$(tip)
start_run; echo x >ws/x; end_run; must_refuse key 'ended with entry' commit; [ "$(tip)" = $before ]
EOT

t "a crash in between is ended by the same command, with one entry" <<'EOT'
fresh; cp -a /etc/weir/keys/gate kept; "$GATE" key rotate >/dev/null; cp -a /etc/weir/keys/gate /etc/weir/keys/gate.new; cp -a kept /etc/weir/keys/gate; "$GATE" key rotate >/dev/null; "$GATE" key list >out; [ "$(wc -l <out)" = 1 ]; [ ! -e /etc/weir/keys/gate.new ]
sed -i '$d' $SIGNERS; "$GATE" key rotate >/dev/null; "$GATE" key list >out; [ "$(wc -l <out)" = 1 ]; [ "$(grep -c . $SIGNERS)" = 2 ]; change one; verify >/dev/null
ssh-keygen -q -t ed25519 -N '' -f next; cp next /etc/weir/keys/gate.new; chown weir: /etc/weir/keys/gate.new; chmod 600 /etc/weir/keys/gate.new; "$GATE" key rotate >out; grep -q "$(cut -d' ' -f2 next.pub)" out; change two; verify >/dev/null; verify main^ >/dev/null
EOT

t "a stolen key: what it signed since then is void, what it signed before holds, also in a clone" <<'EOT'
fresh; start_run; change one; one=$(tip); since=$(entries | wc -l); change two; two=$(tip); key=$(ssh-keygen -y -f /etc/weir/keys/gate | cut -d' ' -f1,2)
"$GATE" key revoke "$key" --since $since --reason stolen; verify $one >/dev/null; fails "ended with entry $since" verify $two; "$GATE" audit $R --signers $SIGNERS >out && false; grep -q broken out
start_run; echo x >ws/x; end_run; must_refuse key "ended with entry $since" commit; "$GATE" key rotate >/dev/null; change three; verify >/dev/null
clone; verify_clone >/dev/null; verify_clone $one >/dev/null; fails "ended with entry $since" verify_clone $two
EOT

t "a host is enrolled: its runs count from then on; when it is removed, those from before still do" <<'EOT'
fresh; host=$("$GATE" key list --json >/dev/null; sed -n '/^hosts:/,/^[^ ]/s/.*"\([0-9a-f]\{64\}\)".*/\1/p' /etc/weir/gate.yaml); [ ${#host} = 64 ]
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >hostseed; { echo -n 302e020100300506032b657004220420; cat hostseed; } | xxd -r -p | openssl pkey -inform der -pubout -outform der | tail -c 32 | od -An -tx1 | tr -d ' \n' >other; other=$(cat other)
start_run; echo a >ws/a; end_run key=$LAB/hostseed; must_refuse statement-signature 'unknown here' commit; must_refuse key 'only host' "$GATE" key remove $host
"$GATE" key enrol $other --reason 'a second one'; grep -q "$other" /etc/weir/gate.yaml; commit >/dev/null; a=$(tip); verify >/dev/null; change b; b=$(tip); "$GATE" key enrol $other; [ "$("$GATE" key list | wc -l)" = 1 ]
"$GATE" key remove $host --reason sold; not grep -q $host /etc/weir/gate.yaml; verify $a >/dev/null; verify $b >/dev/null; start_run; echo c >ws/c; end_run; must_refuse statement-signature 'unknown here' commit
sed -i "s/^hosts:/hosts:\n  - \"$host\"/" /etc/weir/gate.yaml; must_refuse statement-signature 'ended with entry' commit; "$GATE" key remove $host; [ "$("$GATE" key list | wc -l)" = 2 ]
end_run key=$LAB/hostseed; commit >/dev/null; verify >/dev/null; clone; verify_clone $a >/dev/null; verify_clone $b >/dev/null; verify_clone >/dev/null
EOT

t "enrolling a host that gate.yaml lists voids nothing; keys that nobody knows can't be revoked" <<'EOT'
fresh; host=$(sed -n '/^hosts:/,/^[^ ]/s/.*"\([0-9a-f]\{64\}\)".*/\1/p' /etc/weir/gate.yaml); start_run; change one; "$GATE" key enrol $host >out; grep -q 'enrolled already' out; [ "$("$GATE" key list | wc -l)" = 0 ]; verify >/dev/null; change two; verify >/dev/null
other=$(printf '0%.0s' $(seq 63))1; ssh-keygen -q -t ed25519 -N '' -f stranger; must_refuse key 'gate.yaml knows this key' "$GATE" key revoke $other --since 0; must_refuse key 'knows this key' "$GATE" key revoke "$(cut -d' ' -f1,2 stranger.pub)" --since 0; [ "$("$GATE" key list | wc -l)" = 0 ]; rm stranger*
"$GATE" key enrol $other; "$GATE" key remove $other; "$GATE" key revoke $other --since 1; "$GATE" key list | tail -n 1 | grep -q 'since 1'; "$GATE" key enrol $other; [ "$("$GATE" key list | wc -l)" = 4 ]; verify >/dev/null; verify main^ >/dev/null
"$GATE" key revoke $host --since 0; fails 'ended with entry 0' verify
EOT

t "the ledger's own key: both sign the hand-over, the old one counts for what it signed until then, and no more" <<'EOT'
fresh; start_run; change one; one=$(tip); V=/etc/weir/ledger.vkey; cp $V old.vkey; cp -a /etc/weir/keys/ledger kept; clone; cp vkey vkey.old;
"$GATE" key rotate --ledger --reason 'a new year' >out; grep -q 'the ledger signs with .*+' out; [ "$(wc -l <$V)" = 2 ]; [ "$(sed -n 's/^until \([0-9]*\) .*/\1/p' $V)" = 3 ]; cmp <(sed -n 's/^until 3 //p' $V) old.vkey; not cmp -s kept /etc/weir/keys/ledger
[ "$(stat -c '%a %U' /etc/weir/keys/ledger)" = '600 weir' ]; [ "$(grep -c '^— ' $LEDGER/checkpoint)" = 2 ]; cmp $LEDGER/checkpoint $R/weir/checkpoint; "$GATE" key list | grep -q "ledger  until here $(cat old.vkey).*from here $(head -n 1 $V)  a new year"; entries >/dev/null
change two; two=$(tip); for id in $one $two; do verify $id >/dev/null; done; "$GATE" audit $R --signers $SIGNERS >/dev/null; entries >/dev/null; "$GATE" ledger check | grep -q whole; [ "$(grep -c '^— ' $LEDGER/checkpoint)" = 1 ]
clone; for id in $one $two; do verify_clone $id >/dev/null; done; cp vkey.old vkey; fails 'not signed by' verify_clone $one; must_refuse verify 'not signed by' verify_clone $two; grep -v until $V >vkey; must_refuse verify 'not signed by' verify_clone $one; must_refuse verify '' verify_clone $two^
cp $V good.vkey; cp kept /etc/weir/keys/ledger; chown weir: /etc/weir/keys/ledger; cp old.vkey $V; start_run; echo x >ws/x; end_run; must_refuse ledger 'not signed by' commit; must_refuse ledger 'not signed by' "$GATE" ledger check; cp good.vkey $V
EOT

t "a stolen old key of the ledger signs nothing any more" <<'EOT'
fresh; cp -a /etc/weir/keys/ledger kept; cp /etc/weir/ledger.vkey old.vkey; "$GATE" key rotate --ledger >/dev/null; cp /etc/weir/ledger.vkey new.vkey; cp -a $LEDGER hers; cp $R/weir/checkpoint copy
cp -a kept /etc/weir/keys/ledger; cp old.vkey /etc/weir/ledger.vkey; change evil; cp new.vkey /etc/weir/ledger.vkey; must_refuse ledger 'was in use until' verify; clone; must_refuse verify 'was in use until' verify_clone; not entries 2>err; grep -q 'out of use' err; rm -rf hers copy
EOT

t "a rotation of the ledger's key that was cut off is ended by the same command; until then nothing is written" <<'EOT'
fresh; change one; cp -a /etc/weir/keys/ledger kept; cp /etc/weir/ledger.vkey old.vkey; "$GATE" key rotate --ledger >/dev/null; cp /etc/weir/ledger.vkey good; cp old.vkey /etc/weir/ledger.vkey; start_run; echo x >ws/x; end_run
must_refuse key 'end the rotation with' commit; "$GATE" key rotate --ledger >/dev/null; cmp good /etc/weir/ledger.vkey; "$GATE" key list >out; [ "$(wc -l <out)" = 1 ]; commit >/dev/null; verify >/dev/null; verify main^ >/dev/null
cp -a /etc/weir/keys/ledger kept; "$GATE" key rotate --ledger >/dev/null; cp -a /etc/weir/keys/ledger /etc/weir/keys/ledger.new; cp -a kept /etc/weir/keys/ledger; cp good /etc/weir/ledger.vkey; "$GATE" key rotate --ledger >/dev/null
"$GATE" key list >out; [ "$(wc -l <out)" = 2 ]; [ ! -e /etc/weir/keys/ledger.new ]; [ "$(wc -l </etc/weir/ledger.vkey)" = 3 ]; change two; for id in main main^ main^^; do verify $id >/dev/null; done; entries >/dev/null
for bad in 'key list --ledger' 'key rotate --ledger --public x' 'key rotate --ledger x'; do status=0; "$GATE" $bad >/dev/null 2>err || status=$?; [ $status = 2 ]; done
EOT

t "no date decides: a commit that says it is older than the key's end" <<'EOT'
fresh; start_run; change one; since=$(entries | wc -l); key=$(ssh-keygen -y -f /etc/weir/keys/gate | cut -d' ' -f1,2)
"$GATE" key revoke "$key a@b" --since 0; fails 'ended with entry 0' verify
EOT

t "a record that leaves a change of keys out, or has another's, does not verify" <<'EOT'
fresh; "$GATE" key rotate >/dev/null; change one; verify >/dev/null; id=$(tip); git clone -q $R work; (cd work; git fetch -q origin refs/weir/attestations; git checkout -q FETCH_HEAD)
forge() { (cd work; eval "$1"; git add -A; git commit -q --allow-empty -m forged; git push -qf ../trusted.git HEAD:refs/weir/attestations; git reset -q --hard HEAD^); chown -R weir: $R; }
forge "rm ${id:0:2}/$id/keys"; fails 'another history' verify; forge "sed -i 's/once/twice/; s/ssh-ed25519 AAAA/ssh-ed25519 AAAB/' ${id:0:2}/$id/keys"; fails 'not in the ledger' verify
forge "echo '{}' >${id:0:2}/$id/keys"; fails 'another version' verify; forge true; verify >/dev/null
change two; two=$(tip); id=$two; (cd work; git fetch -q origin refs/weir/attestations; git checkout -q FETCH_HEAD); clone; verify_clone $two^ >/dev/null
forge "rm ${id:0:2}/$id/keys"; clone; fails 'another history' verify_clone $two^; forge "echo 'x y' >>${id:0:2}/$id/promotion"; clone; fails 'not the one that its commit names' verify_clone $two^; forge "rm -r ${id:0:2}/$id"; clone; fails 'newest promotion of a branch is missing' verify_clone $two^
EOT

t "a tag by a key that was stolen does not verify in a clone either, nor one that was out of use" <<'EOT'
fresh; start_run; change one; since=$(entries | wc -l); key=$(ssh-keygen -y -f /etc/weir/keys/gate | cut -d' ' -f1,2); echo 'tags: ["v*"]' >>/etc/weir/gate.yaml; "$GATE" tag v1 >/dev/null; clone; verify_clone v1 >/dev/null
"$GATE" key revoke "$key" --since $since --reason stolen; "$GATE" key rotate >/dev/null; change two; clone; fails "ended with entry $since" verify_clone v1; verify_clone main^ >/dev/null
EOT

t "with an agent: the next key's public part is named, and signed with from then on" <<'EOT'
fresh; status=0; "$GATE" key rotate --public nothing 2>err || status=$?; [ $status != 0 ]
for bad in 'key' 'key enrol' 'key enrol 12' 'key nothing' 'key revoke x' 'key revoke x --since 0' 'key revoke ABCDEF --since 0' 'key list x' 'key rotate --since 1'; do status=0; "$GATE" $bad >/dev/null 2>err || status=$?; [ $status = 2 ]; [ -s err ]; done
EOT

done_testing
