#!/bin/bash
# SPDX-License-Identifier: MIT
# weir-gate init, nonce, policy, checkout.
. "$(dirname "$0")/lib.sh"

clean() {
	rm -rf /etc/weir /var/lib/weir-gate "$LAB"/{t.git,src,ws}
}

fails() {
	local want=$1 text=$2 status=0
	shift 2
	"$@" >"$LAB/stdout" 2>"$LAB/stderr" || status=$?
	[ $status = "$want" ] || fail "status $status, not $want: $(cat "$LAB/stderr")"
	grep -qF -- "$text" "$LAB/stderr" || fail "no '$text' in: $(cat "$LAB/stderr")"
}

t "new repository: owners and modes of everything" <<'EOT'
clean; "$GATE" init --repo t.git --ref refs/heads/main --ref refs/heads/next >out
m() { stat -c '%a %U' "$1"; }
[ "$(m /etc/weir/gate.yaml)" = '644 root' ]; [ "$(m /etc/weir/host.key)" = '600 root' ]
[ "$(m /etc/weir/keys)" = '700 weir' ]; [ "$(m /etc/weir/keys/gate)" = '600 weir' ]
[ "$(m /etc/weir/allowed_signers)" = '644 root' ]; [ "$(m /var/lib/weir-gate)" = '711 weir' ]
[ "$(m /etc/weir/keys/ledger)" = '600 weir' ]; [ "$(m /etc/weir/ledger.vkey)" = '644 root' ]; [ "$(m /var/lib/weir-gate/ledger)" = '755 weir' ]
[ "$(m /var/lib/weir-gate/nonces)" = '700 weir' ]; python3 "$TOP/tests/gate/tlog.py" log /var/lib/weir-gate/ledger /etc/weir/ledger.vkey | cmp - /dev/null
[ "$(openssl pkey -pubin -in /etc/weir/gate.pem -outform DER | tail -c 32 | base64)" = "$(cut -d' ' -f2 /etc/weir/keys/gate.pub | base64 -d | tail -c 32 | base64)" ]
[ "$(m t.git)" = '755 weir' ]; [ -z "$(find t.git -path t.git/hooks -prune -o ! -user weir -print)" ]
[ "$(git -C t.git rev-parse --is-bare-repository)" = true ]; [ "$(git -C t.git symbolic-ref HEAD)" = refs/heads/main ]
[ "$(ssh-keygen -y -f /etc/weir/keys/gate | cut -d' ' -f1,2)" = "$(cut -d' ' -f3,4 /etc/weir/allowed_signers)" ]
[ "$(wc -c </etc/weir/host.key)" = 65 ]; grep -q 'refs/heads/next' /etc/weir/gate.yaml
[ "$(getent passwd weir | cut -d: -f7)" = /usr/sbin/nologin ]
EOT

t "overwrites nothing" <<'EOT'
sum() { cat /etc/weir/gate.yaml /etc/weir/keys/gate /etc/weir/host.key /etc/weir/allowed_signers | sha256sum; }
before=$(sum); fails 2 'gate.yaml exists' "$GATE" init --repo t.git; [ "$(sum)" = "$before" ]
for f in keys/gate keys/gate.pub allowed_signers; do
	clean; mkdir -p /etc/weir/keys; echo mine >/etc/weir/$f; fails 2 "$f exists" "$GATE" init --repo t.git
	[ "$(cat /etc/weir/$f)" = mine ]; [ ! -e /etc/weir/gate.yaml ]; [ ! -e t.git ]
done
EOT

t "a host key that exists is used; one with bad mode or content is refused and all is undone" <<'EOT'
clean; mkdir /etc/weir; openssl rand -hex 32 >/etc/weir/host.key; chmod 600 /etc/weir/host.key; k=$(cat /etc/weir/host.key)
"$GATE" init --repo t.git >/dev/null; [ "$(cat /etc/weir/host.key)" = "$k" ]
clean; mkdir /etc/weir; echo "$k" >/etc/weir/host.key; fails 125 'mode 0600' "$GATE" init --repo t.git
[ ! -e /etc/weir/keys/gate ]; [ ! -e /etc/weir/gate.yaml ]; [ ! -e /etc/weir/allowed_signers ]
clean; mkdir /etc/weir; echo short >/etc/weir/host.key; chmod 600 /etc/weir/host.key; fails 2 '64 hex digits' "$GATE" init --repo t.git
EOT

t "existing repository: taken over whole" <<'EOT'
clean; git init -q --bare t.git; git -C t.git config x.y z; "$GATE" init --repo t.git >/dev/null
[ -z "$(find t.git -path t.git/hooks -prune -o ! -user weir -print)" ]; [ "$(git -C t.git config x.y)" = z ]
EOT

t "existing repositories that are refused" <<'EOT'
r() { must_refuse repository "$1" "$GATE" init --repo "${2:-t.git}"; [ ! -e /etc/weir/gate.yaml ]; }
q() { "$GATE" init --repo "${2:-t.git}" >o 2>err && fail taken; grep -q "refused: repository: .*$1" err || fail "$(cat err)"; [ ! -e /etc/weir/gate.yaml ]; }
clean; git init -q src; q 'not bare' src/.git; q 'no config' src
clean; git init -q --bare --object-format=sha256 t.git 2>/dev/null; q SHA-256
clean; git init -q --bare t.git; echo /x >t.git/objects/info/alternates; q alternates
clean; git init -q src; (cd src; echo 1 >f; git add f; git commit -qm f); git clone -q --bare src t.git; q 'hard links'; [ "$(stat -c %U t.git/HEAD)" = root ]
clean; git init -q --bare t.git; ln -s /etc/passwd t.git/description2; q 'no file and no directory'; [ "$(stat -c %U /etc/passwd)" = root ]
clean; mkdir t.git; q 'no config'
EOT

t "bad arguments" <<'EOT'
clean; fails 2 '--repo' "$GATE" init; fails 2 'branches' "$GATE" init --repo t.git --ref refs/tags/x
fails 2 '64 lower-case' "$GATE" init --repo t.git --policy abc; fails 2 'go together' "$GATE" init --repo t.git --agent /x
fails 2 'full, stat or trace' "$GATE" init --repo t.git --crosscheck none; fails 2 'control' "$GATE" init --repo t.git --name "$(printf 'a\nb')"
fails 2 'must not be root' "$GATE" init --repo t.git --user root
[ ! -e t.git ]; [ ! -e /etc/weir/gate.yaml ]
fails 2 root setpriv --reuid nobody --regid nogroup --clear-groups "$GATE" init --repo t.git
EOT

t "nonce: JSON, ref, repository, empty repository" <<'EOT'
fresh
grep -q '"schema":"weir.nonce/1"' nonce.json; grep -q "\"commit\":\"$BASE\"" nonce.json
grep -q "\"policy_sha256\":\"$(sha256sum <policy.yaml | cut -d' ' -f1)\"" nonce.json
must_refuse ref 'refs/heads/other' "$GATE" nonce --workspace ws --ref refs/heads/other
must_refuse repository seed "$GATE" nonce --workspace ws --repo seed; "$GATE" nonce --workspace ws --repo trusted.git >/dev/null
fails 2 'No such' "$GATE" nonce --workspace nowhere; ln -s ws wl; fails 2 wl "$GATE" nonce --workspace wl; rm wl
clean; "$GATE" init --repo t.git >/dev/null; mkdir -p ws; must_refuse ref 'first commit' "$GATE" nonce --workspace ws
EOT

t "policy: of the base commit, whatever the workspace says" <<'EOT'
fresh; echo '# mine' >>ws/.weir/policy.yaml; "$GATE" policy --nonce $NONCE | cmp - policy.yaml
must_refuse nonce-unknown 32 "$GATE" policy --nonce ../../etc/passwd; must_refuse nonce-unknown 'did not issue' "$GATE" policy --nonce 00000000000000000000000000000000
EOT

t "checkout: only into the empty directory of the nonce" <<'EOT'
fresh; fails 125 'not empty' "$GATE" checkout --nonce $NONCE --into ws
mkdir ws3; must_refuse nonce-mismatch "$LAB/ws" "$GATE" checkout --nonce $NONCE --into ws3; [ -z "$(ls -A ws3)" ]
fails 2 'UID:GID' "$GATE" checkout --nonce $NONCE --into ws3 --owner root; rmdir ws3
EOT

done_testing
