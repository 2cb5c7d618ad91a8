#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2119
# Mode push: promotions go through git receive-pack of another repository, whose own hooks judge them.
. "$(dirname "$0")/lib.sh"

N=$LAB/server.git
A=refs/weir/attestations
C=/etc/weir.server/gate.yaml

weir() {
	setpriv --reuid weir --regid weir --clear-groups env HOME=/nonexistent GIT_CONFIG_COUNT=1 \
		GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' "$@"
}

# server: a gate of its own, which knows ours only by public keys
server() {
	rm -rf /etc/weir /etc/weir.server /var/lib/weir-gate /var/lib/weir-server "$N"
	git init -q --bare "$N"
	"$GATE" init --repo "$N" >/dev/null
	mv /etc/weir /etc/weir.server
	mv /var/lib/weir-gate /var/lib/weir-server
	sed -i 's|/etc/weir/|/etc/weir.server/|; s|/var/lib/weir-gate/|/var/lib/weir-server/|' $C
	sed -i "s|receive |receive --config $C |" "$N"/hooks/pre-receive "$N"/hooks/reference-transaction
	HOOKS=--no-hooks
	fresh
	weir git -C "$LAB/trusted.git" push -q "$N" main
	cp /etc/weir/allowed_signers /etc/weir.server/
	printf 'ledgers:\n  - %s\n' "$(cat /etc/weir/ledger.vkey)" >>$C
	printf 'mode: push\nremote: %s\n' "$N" >>/etc/weir/gate.yaml
	start_run
}

change() {
	BASE=$(tip)
	start_run
	echo "$RANDOM$RANDOM" >>"$LAB/ws/src/more.c"
	end_run
}

same() {
	[ "$(git -C "$N" rev-parse main $A)" = "$(git -C "$LAB/trusted.git" rev-parse main $A)" ] || fail "copy and remote differ"
	weir git -C "$N" fsck --strict 2>&1
}

entries() {
	python3 "$TOP/tests/gate/tlog.py" log /var/lib/weir-gate/ledger /etc/weir/ledger.vkey
}

verify() {
	"$GATE" verify main --repo "$N" --signers /etc/weir/allowed_signers "$@"
}

cd "$LAB" || exit 1
server
save() {
	rm -rf "$LAB/saved"
	mkdir "$LAB/saved"
	cp -a "$LAB/trusted.git" "$N" /var/lib/weir-gate /var/lib/weir-server /etc/weir /etc/weir.server "$LAB/saved"
}
restore() {
	rm -rf "$LAB/trusted.git" "$N" /var/lib/weir-gate /var/lib/weir-server /etc/weir /etc/weir.server
	cp -a "$LAB/saved/trusted.git" "$LAB/saved/server.git" "$LAB"
	cp -a "$LAB/saved/weir-gate" "$LAB/saved/weir-server" /var/lib
	cp -a "$LAB/saved/weir" "$LAB/saved/weir.server" /etc
}
change
commit >/dev/null
change
save

t "through the other side's hooks: intent with the push, done after it" <<'EOT'
restore; commit >out; same; verify --deep >out; grep -q '^ok    history' out; [ "$(git -C $N rev-list --count main)" = 3 ]; [ "$(git -C $N rev-list --count $A)" = 4 ]
entries >e; [ "$(grep -c '"kind":"done"' e)" = 2 ]; c=$(tip); git -C $N show "$A~1:${c:0:2}/$c/" >first; grep -qx intent.tlog-proof first; not grep -qx 'done' first; git -C $N show "$A:${c:0:2}/$c/" | grep -qx done
"$GATE" audit $N --signers /etc/weir/allowed_signers | grep -q '2 attested, 0 unattested, 0 broken'; commit | grep -q "already promoted as $c"
EOT

t "the other side refuses: old state on both, and the same run goes in later" <<'EOT'
restore; : >/etc/weir.server/allowed_signers; must_refuse push 'refused: unattested: refs/heads/main: commit' commit; [ "$(tip)" = $BASE ]; same; entries | tail -1 | grep -q '"kind":"aborted".*"reason":"push"'; [ ! -e trusted.git/weir/journal ]; [ -z "$(find $N trusted.git -name '*.lock')" ]
cp /etc/weir/allowed_signers /etc/weir.server/; commit >/dev/null; same; verify >/dev/null
EOT

t "without the key of our ledger, or under another" <<'EOT'
restore; sed -i '/^ledgers/,$d' $C; must_refuse push 'unattested' commit; printf 'ledgers:\n  - %s\n' "$(cat /etc/weir.server/ledger.vkey)" >>$C; must_refuse push 'unattested' commit; [ "$(tip)" = $BASE ]; same
printf 'x\n' >>$C; must_refuse push "$C" commit
EOT

t "the remote moves while we push: the lease holds" <<'EOT'
restore; new=$(weir git -c user.name=e -c user.email=e@x -C $N commit-tree -p main -m x main^{tree}); p=$N/hooks/pre-receive
cp $p real; printf '#!/bin/sh\nenv -u GIT_QUARANTINE_PATH git -c core.hooksPath=/dev/null update-ref refs/heads/main %s\ncat >/dev/null\n' $new >$p; must_refuse base-moved 'has moved' commit; [ "$(git -C $N rev-parse main)" = $new ]; [ "$(tip)" = $BASE ]; entries | tail -1 | grep -q '"reason":"base-moved"'; [ "$(git -C $N rev-parse $A)" = "$(git -C trusted.git rev-parse $A)" ]
EOT

t "the remote was rewound or lost its records: refused" <<'EOT'
restore; weir git -c core.hooksPath=/dev/null -C $N update-ref refs/heads/main main~1; must_refuse remote 'has lost commits of refs/heads/main' commit; must_refuse remote 'has lost commits' "$GATE" nonce --workspace ws
restore; weir git -c core.hooksPath=/dev/null -C $N update-ref -d $A; must_refuse remote "has no $A" commit; restore; weir git -c core.hooksPath=/dev/null -C $N update-ref $A $A~1; must_refuse remote "lost commits of $A" commit
EOT

t "the connection breaks: before the refs moved, after it, and when nobody can tell" <<'EOT'
h=$N/hooks/reference-transaction
cut() { printf '#!/bin/sh\nif [ "$1" = %s ] && [ ! -e %s/once ]; then touch %s/once; chmod 666 %s/once; %s kill -9 $PPID; fi\ncat >/dev/null\n' $1 $LAB $LAB $LAB "${2:-}" >$h; rm -f once; chmod 777 $LAB; }
restore; cut prepared; must_refuse push '' commit; [ -e once ]; [ "$(tip)" = $BASE ]; find $N -name '*.lock' -delete; commit >/dev/null; same; verify >/dev/null
restore; cut committed; commit >/dev/null; [ -e once ]; same; verify >/dev/null
restore; cut committed "mv $N $LAB/away;"; s=0; commit 2>err || s=$?; [ $s = 125 ]; grep -q 'nobody knows whether the push went well' err; [ -e trusted.git/weir/journal ]; [ "$(tip)" = $BASE ]; s=0; commit 2>err || s=$?; [ $s = 125 ]; mv away $N; commit | grep -q 'promoted as'; same; verify >/dev/null; [ "$(entries | grep -c aborted)" = 0 ]
restore; cut prepared "mv $N $LAB/away;"; s=0; commit 2>err || s=$?; [ $s = 125 ]; mv away $N; find $N -name '*.lock' -delete; commit | grep -q promoted; same; verify >/dev/null; chmod 755 $LAB
EOT

t "the second push fails: published, and completed later" <<'EOT'
restore; p=$N/hooks/pre-receive; cp $p real; printf '#!/bin/sh\nif [ -e %s/once ]; then exit 1; fi; touch %s/once; exec sh %s/real\n' $LAB $LAB $LAB >$p; chmod 777 $LAB; rm -f once; s=0; commit 2>err || s=$?; [ $s = 125 ]; grep -q 'is published, but its bookkeeping failed' err; [ "$(git -C $N rev-parse main)" = "$(tip)" ]; must_refuse verify 'checkpoint' verify; cp real $p
commit | grep -q 'already promoted'; same; verify >/dev/null; chmod 755 $LAB
EOT

command -v strace >/dev/null && t "killed at each rename of the gate: old or new, and again completes" <<'EOT'
n=0 new=0; while restore; n=$((n + 2)); ! strace -f -qq -o /dev/null -e trace=renameat,renameat2 -e inject=renameat,renameat2:signal=SIGKILL:when=$n "$GATE" commit --run run -m c >stdout 2>stderr; do
[ "$(git -C $N rev-parse main)" = $BASE ] || new=$((new + 1)); commit >stdout 2>stderr || fail "at $n: $(cat stderr)"; same >/dev/null || fail "at $n"; verify >/dev/null || fail "at $n: verify"; [ ! -e trusted.git/weir/journal ]; [ "$(git -C $N rev-parse main^)" = $BASE ]; done
[ $n -gt 6 ]; [ $new -gt 0 ]
EOT

command -v strace >/dev/null && t "killed while it gives up what the other side refused: given up, and then anew" <<'EOT'
for n in 11 12 13 14 15; do restore; : >/etc/weir.server/allowed_signers; strace -f -qq -o /dev/null -e trace=renameat,renameat2 -e inject=renameat,renameat2:signal=SIGKILL:when=$n "$GATE" commit --run run -m c >stdout 2>stderr && fail "at $n"; [ "$(tip)" = $BASE ]
cp saved/weir.server/allowed_signers /etc/weir.server/; commit >stdout 2>stderr || fail "at $n: $(cat stderr)"; same >/dev/null || fail "at $n"; verify >/dev/null || fail "at $n"; done
EOT

t "hooks and settings of the copy and of the user are not asked; those of the other side are" <<'EOT'
restore; for h in pre-push reference-transaction pre-receive; do printf '#!/bin/sh\ntouch %s/ran-%s\nexit 1\n' $LAB $h >trusted.git/hooks/$h; chmod +x trusted.git/hooks/$h; done; chmod 777 .; mkdir -p /var/lib/weir-gate; printf '[core]\n\thooksPath = /nonexistent\n' >/var/lib/weir-gate/.gitconfig
GIT_DIR=/nonexistent GIT_SSH_COMMAND=false GIT_CONFIG_PARAMETERS="'core.hooksPath=/dev/null'" commit >/dev/null; same; [ -z "$(ls ran-* 2>/dev/null)" ]; chmod 755 .
EOT

# A server of its own: $SSHD, or one that is installed.
SSHD=${SSHD:-$(command -v sshd || echo /usr/sbin/sshd)}
[ ! -x "$SSHD" ] || t "over ssh: a key and known hosts of the gate's own, git-shell on the other side" <<'EOT'
restore; sed -i 's|^\(weir:.*:\)[^:]*$|\1/usr/bin/git-shell|' /etc/passwd; sed -i 's/^weir:[^:]*:/weir:*:/' /etc/shadow; getent passwd sshd >/dev/null || useradd -r -s /usr/sbin/nologin sshd; mkdir -p /run/sshd
for k in host other /etc/weir/keys/push; do rm -f $k $k.pub; ssh-keygen -q -t ed25519 -N '' -f $k; done; chown weir: /etc/weir/keys/push; cp /etc/weir/keys/push.pub /etc/weir.server/authorized
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'); printf '%s\n' "Port $port" 'ListenAddress 127.0.0.1' "HostKey $LAB/host" 'AuthorizedKeysFile /etc/weir.server/authorized' 'StrictModes no' 'UsePAM no' "PidFile $LAB/pid" >conf
"$SSHD" -f $LAB/conf -E $LAB/sshd.log; for i in 1 2 3 4 5 6 7 8 9; do [ -s pid ] && break; sleep 0.2; done
sed -i "s|^remote: .*|remote: ssh://weir@127.0.0.1:$port$N|" /etc/weir/gate.yaml; echo 'remote_key: /etc/weir/keys/push' >>/etc/weir/gate.yaml
( set -e; s=0; commit 2>err || s=$?; [ $s = 125 ]; grep -q 'Host key verification failed' err || fail "$(cat err)"; echo "[127.0.0.1]:$port $(cut -d' ' -f1,2 other.pub)" >/etc/weir/known_hosts; s=0; commit 2>err || s=$?; [ $s = 125 ]
echo "[127.0.0.1]:$port $(cut -d' ' -f1,2 host.pub)" >/etc/weir/known_hosts; mv /etc/weir.server/allowed_signers w; : >/etc/weir.server/allowed_signers; must_refuse push 'refused: unattested' commit; mv w /etc/weir.server/allowed_signers; commit >/dev/null; same; verify >/dev/null ) || r=$?
kill "$(cat pid)"; [ -z "${r:-}" ] || { cat err sshd.log; fail ssh; }
EOT

t "what gate.yaml may say of it" <<'EOT'
says() { restore; sed -i "$1" /etc/weir/gate.yaml; s=0; "$GATE" nonce --workspace ws >out 2>err || s=$?; [ $s != 0 ] || fail "$1"; grep -qF -- "$2" err || fail "no '$2': $(cat err)"; }
says 's/^mode: push/mode: pull/' 'mode is direct or push'; says '/^remote/d' 'go together'; says '/^mode/d' 'go together'; says 's|^remote: .*|remote: ext::sh -c x|' 'absolute path or ssh'; says 's|^remote: .*|remote: -oProxyCommand=x|' 'absolute path or ssh'; says 's|^remote: .*|remote: /nonexistent|' 'git says'; says 's|^remote: .*|remote: ssh://-oProxyCommand=x/y|' 'git says'; says '$aremote_key: /a'"'"'b' 'quotes'
EOT

# the last one: it makes another run
t "the remote has moved: base-moved, and the next run starts there" <<'EOT'
restore; new=$(weir git -c user.name=e -c user.email=e@x -C $N commit-tree -p main -m x main^{tree}); weir git -c core.hooksPath=/dev/null -C $N update-ref refs/heads/main $new; must_refuse base-moved '' commit; [ "$(git -C $N rev-parse main)" = $new ]
change; [ "$BASE" = $new ] || [ "$(tip)" = $new ]; commit >/dev/null; same
EOT

done_testing
