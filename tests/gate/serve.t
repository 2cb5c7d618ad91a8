#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2119,SC2120,SC2016,SC2154
# The gate as a service: who may ask what of which object, by which way, how much and how long.
SSHD=${SSHD:-$("$(dirname "$0")/sshd")}
export SSHD
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/people.sh"

ID=20260101-000000-abcdef
RUNS=/var/lib/weir/runs
SOCK=/run/weir/gate.sock
mount -t tmpfs -o mode=755 run /run
mkdir /run/weir

roles() {
	cat <<-EOT
		schema: weir.roles/1
		people:
		- {name: ann, principals: [ann@x], roles: [approver], logins: ["2001"]}
		- {name: ben, principals: [ben@x], roles: [approver, security], logins: ["2002"]}
		- {name: cat, principals: [cat@x], roles: [security], logins: ["2003"]}
		- {name: job, principals: [job@x], roles: [producer, approver], logins: [root, "1000"]}
		- {name: pat, principals: [pat@x], roles: [policy-owner]}
		- {name: pla, principals: [pla@x], roles: [platform-owner], logins: ["2005"]}
		- {name: sue, principals: [sue@x], roles: [producer, approver], logins: ["2006"]}
	EOT
}

# serve [OPTION...]: a service in the background; ends with its test
serve() {
	rm -f $SOCK
	"$GATE" serve "$@" >"$LAB/serve.out" 2>>"$LAB/serve.log" </dev/null &
	SERVER=$!
	trap 'kill $SERVER 2>/dev/null || true; wait $SERVER 2>/dev/null || true' EXIT
	for _ in $(seq 100); do
		[ ! -S $SOCK ] || return 0
		sleep 0.05
	done
	fail "does not listen: $(cat "$LAB/serve.log")"
}

# as UID COMMAND...: as that user, in the gate's group as all who may connect
as() {
	local uid=$1
	shift
	setpriv --reuid "$uid" --regid "$uid" --groups "$(id -g weir)" -- "$@"
}

call() {
	local uid=$1
	shift
	as "$uid" "$GATE" call "$@"
}

# kept: the run directory stands where runs stand
kept() {
	mkdir -p $RUNS
	chmod 700 $RUNS
	rm -rf ${RUNS:?}/$ID
	mv "$LAB/run" $RUNS/$ID
	ln -s $RUNS/$ID "$LAB/run"
}

# waiting [LINES]: a run of uid 1000 that waits for people; N is its nonce
waiting() {
	with_people "${1:-$ONE}"
	chown 2001 "$LAB/keys/ann"
	chown 2002 "$LAB/keys/ben"
	chown 2003 "$LAB/keys/cat"
	echo good >"$LAB/ws/good"
	end_run
	kept
	must_refuse approvals-missing 'waits for' commit
	N=$NONCE
	P=$(sha256sum <"$LAB/trusted.git/weir/pending/$N/promotion" | cut -d' ' -f1)
}

# frames.py UID GID [0xHEX|TEXT...]: sends each as a frame (HEX: as raw bytes), prints the answer
cat >"$LAB/bin/frames.py" <<'EOT'
import os, socket, struct, sys
def become(uid, gid):
    os.setgroups([int(gid)])
    os.setresgid(int(uid), int(uid), int(uid))
    os.setresuid(int(uid), int(uid), int(uid))
def ask(parts, path="/run/weir/gate.sock"):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    s.settimeout(60)
    try:
        for part in parts:
            s.sendall(bytes.fromhex(part[2:]) if part.startswith("0x") else struct.pack(">I", len(part.encode())) + part.encode())
    except OSError:
        pass
    s.shutdown(socket.SHUT_WR)
    return answer(s)
def answer(s):
    data = b""
    while True:
        try:
            more = s.recv(65536)
        except ConnectionResetError:
            break
        if not more:
            break
        data += more
    assert len(data) >= 4 and struct.unpack(">I", data[:4])[0] == len(data) - 4, data[:100]
    return data[4:].decode()
if __name__ == "__main__":
    become(sys.argv[1], sys.argv[2])
    print(ask(sys.argv[3:]), end="")
EOT

# raw UID PART...: as above, by a stranger to our client
raw() {
	local uid=$1
	shift
	python3 "$LAB/bin/frames.py" "$uid" "$(id -g weir)" "$@"
}

req() {
	printf '{"schema":"weir.request/1","op":"%s"%s}' "$1" "${2:-}"
}

# says CODE UID PART...: the answer is this refusal
says() {
	local code=$1
	shift
	raw "$@" >"$LAB/answer"
	grep -q "\"code\":\"$code\"" "$LAB/answer" || fail "not $code: $(cat "$LAB/answer")"
}

t "people who are not root: list, look, sign, promote; the key stays where it is" <<'EOT'
waiting; serve
call 2001 pending >out; grep -q "\"nonce\":\"$N\"" out; grep -q '"expires":"20' out
call 2001 review --nonce $N --text >out; grep -q good out
call 2001 approve --nonce $N --promotion "$(shown $N)" -k keys/ann --promotion $P >out; grep -q complete out
call 1000 commit --run $ID --promotion $P >out; grep -q '"schema":"weir.promotion/1"' out; promoted
grep -q "uid 2001: review $N: may" serve.log
"$GATE" verify main --repo trusted.git --signers /etc/weir/allowed_signers >/dev/null
EOT

t "authorization is per object: strangers see nothing, and can't tell what there is" <<'EOT'
waiting; serve
call 2009 pending >out; not grep -q nonce out; call 2009 status >out; grep -q '"person":null' out
must_refuse denied 'not there, or not for' call 2009 review --nonce $N; cp stderr one
must_refuse denied 'not there, or not for' call 2009 review --nonce 0123456789abcdef0123456789abcdef; cmp one stderr
must_refuse denied 'not for' call 2009 drop --nonce $N; must_refuse denied 'not for' call 2009 statement --nonce $N --decision approve --promotion "$(shown $N)"
must_refuse denied 'not for' call 2009 verify --commit main; must_refuse denied 'not for' call 2009 quarantine
must_refuse denied 'not for' call 2009 commit --run $ID; cp stderr one
must_refuse denied 'not for' call 2009 commit --run 20260101-000000-000000; cmp one stderr
call 2001 status >out; grep -q '"person":"ann"' out; grep -q '"roles":\["approver"\]' out
[ "$(grep -c 'uid 2009: .*: denied' serve.log)" = 8 ]; unchanged
EOT

t "each operation has its role: producers propose, approvers say yes, platform owners list" <<'EOT'
waiting; serve
must_refuse signer-role 'cat has not the role approver' call 2003 statement --nonce $N --decision approve --promotion $P; must_refuse signer-role 'cat has not the role approver' call 2003 approve --nonce $N --promotion "$(shown $N)" -k keys/cat
must_refuse signer-role 'ann has not the role security' call 2001 approve --nonce $N --promotion "$(shown $N)" -k keys/ann --role security
must_refuse producer 'job made this change' call 1000 approve --nonce $N --promotion "$(shown $N)" -k keys/job
must_refuse denied 'not for' call 2001 commit --run $ID; must_refuse denied 'not for' call 2001 drop --nonce $N
must_refuse denied 'not for' call 2001 quarantine; call 2005 quarantine >out; grep -q '"bytes":[1-9]' out; grep -q $N out
call 2003 reject --nonce $N -k keys/cat --role security --reason 'no' >out; grep -q 'rejected by cat' out
must_refuse rejected 'cat: no' call 1000 commit --run $ID; call 1000 drop --nonce $N >out; grep -q dropped out
call 1000 pending >out; not grep -q nonce out
EOT

t "nobody hands in what another has signed, or what was not signed" <<'EOT'
waiting; serve; call 2001 statement --nonce $N --decision approve --promotion "$(shown $N)" >s
ssh-keygen -q -Y sign -f keys/ann -n approver@weir.v1 s 2>/dev/null; chmod 644 s s.sig
must_refuse denied 'somebody else has signed' call 2002 sign --nonce $N --decision approve --statement s --signature s.sig
must_refuse denied 'nothing that holds' call 2001 sign --nonce $N --decision withdraw --statement s --signature s.sig
sed 's/^until .*/until 2099-01-01T00:00:00Z/' s >s2; must_refuse denied 'nothing that holds' call 2001 sign --nonce $N --decision approve --statement s2 --signature s.sig
[ -z "$(ls trusted.git/weir/pending/$N/signed)" ]
call 2001 sign --nonce $N --decision approve --statement s --signature s.sig >out; grep -q complete out
must_refuse signer-twice 'ann has said' call 2001 sign --nonce $N --decision approve --statement s --signature s.sig
EOT

t "a request has its members and no others; none becomes an option of the command" <<'EOT'
waiting; serve
says request 2001 "$(req review ",\"nonce\":\"$N\",\"approved\":true")"; grep -q 'no member approved' answer
says request 2001 "$(req review ",\"nonce\":\"$N\",\"deep\":true")"; says request 2001 "$(req pending ',"only":[]')"
says request 2001 "$(req review)"; says request 2001 "$(req review ',"nonce":"--json"')"; says request 2001 "$(req review ',"nonce":17')"
says request 2005 "$(req verify ',"commit":"--repo=/etc"')"; grep -q "can't have this value" answer; says request 2005 "$(req verify ',"commit":"main\n"')"
says request 1000 "$(req commit ",\"run\":\"../$ID\"")"; says request 1000 "$(req commit ",\"run\":\"last\"")"
says request 2001 "$(req statement ",\"nonce\":\"$N\",\"decision\":\"pending\"")"; says request 2001 "$(req commit ",\"run\":\"$ID\",\"author\":\"a\\u001b\"")"
says request 2001 "$(req shell)"; says request 2001 '{"op":"status"}'; says request 2001 '[]'; says request 2001 'x'; says request 2001 "$(req status ',"op":"status"')"
says request 2001 "{\"schema\":\"weir.request/1\",\"op\":\"status\",\"a\":$(printf '[%.0s' $(seq 3000))"
call 2005 verify --commit main >out || grep -q verify stderr || true; unchanged
EOT

t "sizes: an empty frame, one too long, one too long for its operation, half of one" <<'EOT'
waiting; serve
says limit 2001 0x00000000; says limit 2001 0x00100001; says limit 2001 0xffffffff; says request 2001 0x0000; says request 2001 0x0000000f7b7d
says limit 2001 "$(req review ",\"nonce\":\"$N\",\"x\":\"$(head -c 5000 /dev/zero | tr '\0' x)\"")"
says request 2001 "$(req statement ",\"nonce\":\"$N\",\"decision\":\"approve\",\"reason\":\"$(head -c 5000 /dev/zero | tr '\0' x)\"")"
call 2001 status >/dev/null
EOT

t "count and time: sixteen of a user, others are served; who is slow is told so" <<'EOT'
waiting; serve
python3 - "$LAB/bin" $(id -g weir) >slow <<'EOP' &
import socket, sys, time
sys.path.insert(0, sys.argv[1])
import frames
frames.become(2001, sys.argv[2])
many = []
for _ in range(16):
    s = socket.socket(socket.AF_UNIX)
    s.connect("/run/weir/gate.sock")
    s.sendall(b"\0\0")
    many.append(s)
time.sleep(0.5)
print(frames.ask(['{"schema":"weir.request/1","op":"status"}']), end="", flush=True)
begin = time.time()
for s in many:
    s.settimeout(30)
    assert '"code":"deadline"' in frames.answer(s)
print("seconds", int(time.time() - begin), flush=True)
EOP
slow=$!; for _ in $(seq 100); do [ ! -s slow ] || break; sleep 0.1; done; grep -q '"code":"busy"' slow
must_refuse busy 'too many requests' call 2001 status
call 2002 status >out; grep -q ben out; call 0 status >/dev/null; wait $slow; grep -q 'seconds [89]\|seconds 1[01]' slow
for _ in 1 2 3 4 5 6; do call 2001 status >out 2>/dev/null && break; sleep 0.2; done; grep -q ann out
EOT

t "requests wait for the repository's lock, and are answered after" <<'EOT'
waiting; serve
flock trusted.git/weir/gate sleep 1 & sleep 0.2; begin=$(date +%s%N)
call 2001 pending >out; [ $((($(date +%s%N) - begin) / 1000000)) -ge 500 ]; grep -q $N out; wait %2 || true
EOT

t "the same promotion again is no second one; by digest and by what the branch reaches" <<'EOT'
waiting; serve; call 2001 approve --nonce $N --promotion "$(shown $N)" -k keys/ann >/dev/null
must_refuse void 'the proposal is now' call 1000 commit --run $ID --promotion $(printf '0%.0s' $(seq 64))
call 1000 commit --run $ID --promotion $P >out; promoted; first=$(tip)
call 1000 commit --run $ID --promotion $P >out; grep -q '"already":true' out; grep -q "\"commit\":\"$first\"" out; [ "$(tip)" = $first ]
must_refuse void "was sha256:$P" call 1000 commit --run $ID --promotion $(printf '0%.0s' $(seq 64))
git -C trusted.git update-ref refs/heads/main $BASE; chown -R weir: trusted.git
must_refuse audit 'does not reach any more' call 1000 commit --run $ID
must_refuse audit 'does not reach any more' "$GATE" commit --run run; [ "$(tip)" = $BASE ]
EOT

t "who lost the branch is told base-moved, and the ledger is" <<'EOT'
waiting; serve; call 2001 approve --nonce $N --promotion "$(shown $N)" -k keys/ann >/dev/null
other=$(git -C trusted.git commit-tree -p $BASE -m other "$BASE^{tree}"); git -C trusted.git update-ref refs/heads/main $other; chown -R weir: trusted.git
must_refuse base-moved "moved from $BASE to $other" call 1000 commit --run $ID; [ "$(tip)" = $other ]
python3 "$TOP/tests/gate/tlog.py" log /var/lib/weir-gate/ledger /etc/weir/ledger.vkey >log; tail -n 1 log | grep -q '"reason":"base-moved"'
must_refuse approvals-missing 'waits for' call 1000 commit --run $ID --rebase; call 2001 approve --nonce $N --promotion "$(shown $N)" -k keys/ann >/dev/null; call 1000 commit --run $ID >/dev/null; [ "$(git -C trusted.git rev-parse main^)" = $other ]
EOT

t "a proposal by way of the service; who asks for it is its producer, not who runs the service" <<'EOT'
with_people "$ONE"; echo good >ws/good; end_run; kept; N=$NONCE; serve
must_refuse denied 'not for' call 2001 commit --run $ID --message x; must_refuse denied 'not for' call 2006 commit --run $ID --message x
must_refuse approvals-missing 'waits for' call 1000 commit --run $ID --message 'a change' --author 'Sue <sue@x>'
[ "$(grep '^producer' trusted.git/weir/pending/$N/promotion | xargs)" = 'producer job producer sue' ]
must_refuse approvals-missing 'waits for' call 2006 commit --run $ID --message 'my change'
[ "$(grep '^producer' trusted.git/weir/pending/$N/promotion | xargs)" = 'producer job producer sue' ]
must_refuse approvals-missing 'waits for' call 0 commit --run $ID --message 'their change'
[ "$(grep '^producer' trusted.git/weir/pending/$N/promotion | xargs)" = 'producer job' ]
EOT

t "who asks is the producer, also where the kernel knows no logins, or has one already" <<'EOT'
mine() { must_refuse approvals-missing 'waits for' call 1000 commit --run $ID --message 'a change' --author 'Sue <sue@x>'; must_refuse approvals-missing 'waits for' call 2006 commit --run $ID --message 'my change'; [ "$(grep '^producer' trusted.git/weir/pending/$N/promotion | xargs)" = 'producer job producer sue' ]; }
with_people "$ONE"; echo good >ws/good; end_run; kept; N=$NONCE
if command -v strace >/dev/null; then
	printf '#!/bin/sh\nexec strace -D -f -qq -o /dev/null -e trace=openat -P /proc/self/loginuid -e inject=openat:error=ENOENT %s "$@"\n' "$GATE" >bin/no-logins; chmod 755 bin/no-logins
	GATE=$LAB/bin/no-logins serve; mine; kill $SERVER; wait $SERVER || true; "$GATE" pending --drop $N >/dev/null
fi
[ -w /proc/self/loginuid ] && echo 1000 >/proc/self/loginuid || exit 0
serve; if "$GATE" pending >/dev/null && call 1000 commit --run $ID --message x 2>err || grep -q 'waits for' err; then mine; else grep -q 'had logged in' serve.log; [ ! -e trusted.git/weir/pending/$N ]; fi
EOT

t "proposals expire: none is listed, signed or promoted after its time, and the ledger says so" <<'EOT'
waiting; serve; call 2001 approve --nonce $N --promotion "$(shown $N)" -k keys/ann >/dev/null
touch -d '29 days ago' trusted.git/weir/pending/$N/promotion; call 2001 pending | grep -q $N
touch -d '31 days ago' trusted.git/weir/pending/$N/promotion; must_refuse denied 'not there' call 2001 review --nonce $N
must_refuse denied 'not there' call 2001 approve --nonce $N --promotion "$(shown $N)" -k keys/ann; [ ! -e trusted.git/weir/pending/$N ]; call 2001 pending >out; not grep -q $N out
python3 "$TOP/tests/gate/tlog.py" log /var/lib/weir-gate/ledger /etc/weir/ledger.vkey >log; [ "$(grep -c '"reason":"expired"' log)" = 1 ]; grep '"reason":"expired"' log | grep -q "$P"
unchanged
waiting; echo 'expire: 1h' >>/etc/weir/gate.yaml; touch -d '50 minutes ago' trusted.git/weir/pending/$N/promotion; "$GATE" pending | grep -q .
touch -d '70 minutes ago' trusted.git/weir/pending/$N/promotion; status=0; "$GATE" commit --run run >out 2>err || status=$?; [ $status = 2 ]; grep -q 'no proposal' err
sed -i 's/^expire: .*/expire: soon/' /etc/weir/gate.yaml; not "$GATE" pending 2>err; grep -q 'expire is a span' err
waiting; approve ann >/dev/null; cp -a trusted.git/weir/pending/$N kept; commit >/dev/null; cp -a kept trusted.git/weir/pending/$N; touch -d '31 days ago' trusted.git/weir/pending/$N/promotion; "$GATE" pending >out; [ ! -e trusted.git/weir/pending/$N ]
python3 "$TOP/tests/gate/tlog.py" log /var/lib/weir-gate/ledger /etc/weir/ledger.vkey >log; not grep -q '"reason":"expired"' log; rm -rf kept
EOT

t "what fails inside is told to the log, not to who asks" <<'EOT'
waiting; serve; call 2001 approve --nonce $N --promotion "$(shown $N)" -k keys/ann >/dev/null; chmod 555 trusted.git/objects/pack; status=0
call 1000 commit --run $ID >out 2>err || status=$?; chmod 755 trusted.git/objects/pack
[ $status = 125 ]; cat err; [ "$(cat err)" = 'weir-gate: the gate failed; its log says why' ]; grep -q 'objects/pack.*: Permission denied' serve.log; unchanged
call 1000 commit --run $ID >out; promoted
EOT

t "the service ends: what is under way is old or new, the socket goes, nothing is left" <<'EOT'
waiting; serve; call 2001 approve --nonce $N --promotion "$(shown $N)" -k keys/ann >/dev/null
for wait in 0.00 0.02 0.04 0.06; do
	(call 1000 commit --run $ID >/dev/null 2>&1 || true) & one=$!; sleep $wait; kill -TERM $SERVER; wait $SERVER; wait $one || true
	[ ! -e $SOCK ]; git -C trusted.git fsck --strict --full >/dev/null 2>&1; serve
done
for _ in $(seq 100); do call 1000 commit --run $ID >out && break; sleep 0.1; done; promoted; grep -q "$(tip)" out
EOT

t "one service to a socket, in a place that is root's alone, for a group" <<'EOT'
waiting; serve; status=0; "$GATE" serve 2>err || status=$?; [ $status = 2 ]; grep -q 'served already' err
[ "$(stat -c '%a %U %G' $SOCK)" = '660 root weir' ]; kill -KILL $SERVER; wait $SERVER || true; [ -S $SOCK ]
serve --group root; [ "$(stat -c %G $SOCK)" = root ]; not call 2001 status 2>err; grep -q 'Permission denied' err; call 0 status >/dev/null
mkdir -m 777 /run/open; not timeout 5 "$GATE" serve --socket /run/open/s 2>err; grep -q "not root's alone" err; touch /run/weir/file; not timeout 5 "$GATE" serve --socket /run/weir/file 2>err; grep -q 'no socket' err
status=0; as 2001 "$GATE" serve 2>err || status=$?; [ $status = 2 ]; grep -q 'must be started as root' err
EOT

t "principals: named by the gate's user and its relay alone, once, and before the request" <<'EOT'
waiting; serve; weir=$(id -u weir); ask() { python3 -c 'import struct, sys; t = sys.argv[1].encode(); sys.stdout.buffer.write(struct.pack(">I", len(t)) + t)' "$(req status)"; }
ask | as $weir "$GATE" serve --principal ann@x >out; grep -q '"person":"ann"' out; grep -q '"principal":"ann@x"' out
ask | as $weir "$GATE" serve --principal eve@x >out; grep -q '"person":null' out
ask | as 2009 "$GATE" serve --principal ann@x >out; grep -q '"code":"denied"' out; grep -q 'names no principals' out
hello='{"schema":"weir.hello/1","principal":"ben@x"}'
says denied 2009 "$hello" "$(req status)"; says request $weir "$hello" "$hello"; says request $weir "$(req status ',"principal":"ben@x"')"; says request $weir '{"schema":"weir.hello/1","principal":"ben@x","uid":0}'
raw $weir "$hello" "$(req status)" >out; grep -q '"person":"ben"' out; raw $weir "$(req status)" "$hello" >out; grep -q '"person":null' out
echo 'weir-ssh:x:2050:2050::/run/weir-ssh:/bin/sh' >>/etc/passwd; echo 'relay: weir-ssh' >>/etc/weir/gate.yaml; kill $SERVER; wait $SERVER; serve
ask | as 2050 "$GATE" serve --principal ann@x >out; grep -q '"person":"ann"' out; ask | as 2051 "$GATE" serve --principal ann@x >out; grep -q denied out
raw 0 "$hello" "$(req review ",\"nonce\":\"$N\"")" | grep -q '"ok":true'; says denied 0 '{"schema":"weir.hello/1","principal":"eve@x"}' "$(req review ",\"nonce\":\"$N\"")"
EOT

t "the service wants the digest of a yes" <<'EOT'
waiting; serve; says request 2001 "$(req statement ",\"nonce\":\"$N\",\"decision\":\"approve\"")"; grep -q 'a yes needs promotion' answer
s=0; as 2001 "$GATE" call approve --nonce $N -k keys/ann 2>err || s=$?; [ $s = 2 ]; grep -q -- '--promotion SHA256 is missing' err
EOT

t "what gate.yaml says holds at once, for connections that are open as well" <<'EOT'
waiting; serve; hello='{"schema":"weir.hello/1","principal":"ann@x"}'; echo 'weir-ssh:x:2050:2050::/run/weir-ssh:/bin/sh' >>/etc/passwd
says denied 2050 "$hello" "$(req status)"; cp /etc/weir/gate.yaml kept.yaml; echo 'relay: weir-ssh' >>/etc/weir/gate.yaml; raw 2050 "$hello" "$(req status)" | grep -q '"person":"ann"'; cp /etc/weir/gate.yaml relay.yaml
cat >open.py <<'EOP'
import os, shutil, socket, struct, sys, time
sys.path.insert(0, sys.argv[1])
import frames
s = socket.socket(socket.AF_UNIX)
pid = os.fork()
if pid == 0:
    frames.become(2050, sys.argv[2])
    s.connect("/run/weir/gate.sock")
    for n, text in enumerate(sys.argv[3:]):
        if n:
            time.sleep(1)
        s.sendall(struct.pack(">I", len(text)) + text.encode())
    print(frames.answer(s), flush=True)
    os._exit(0)
time.sleep(0.5)
shutil.copyfile("kept.yaml", "/etc/weir/gate.yaml")
os.waitpid(pid, 0)
EOP
python3 open.py "$LAB/bin" "$(id -g weir)" "$hello" "$(req status)" >out; grep -q '"code":"denied"' out; grep -q 'any more' out
echo 'nonsense: 1' >>/etc/weir/gate.yaml; status=0; call 2001 status >out 2>err || status=$?; [ $status = 125 ]; grep -q 'its log says why' err; grep -q 'gate.yaml:.*unknown key' serve.log
cp relay.yaml /etc/weir/gate.yaml; chmod 666 /etc/weir/gate.yaml; not call 2001 status 2>/dev/null >&2; chmod 644 /etc/weir/gate.yaml; call 2001 status >out; grep -q ann out
sed -i 's/^user: .*/user: daemon/' /etc/weir/gate.yaml; not call 2001 status 2>/dev/null >&2; grep -q 'another user' serve.log
EOT

t "of one that relays name four at once; the others are served" <<'EOT'
waiting; serve
python3 - "$LAB/bin" "$(id -g weir)" "$(id -u weir)" >out <<'EOP'
import socket, struct, sys, time
sys.path.insert(0, sys.argv[1])
import frames
frames.become(sys.argv[3], sys.argv[2])
def hello(who):
    return '{"schema":"weir.hello/1","principal":"%s@x"}' % who
def frame(text):
    return struct.pack(">I", len(text)) + text.encode()
status = '{"schema":"weir.request/1","op":"status"}'
many = []
for _ in range(4):
    s = socket.socket(socket.AF_UNIX)
    s.connect("/run/weir/gate.sock")
    s.sendall(frame(hello("ann")))
    many.append(s)
time.sleep(0.7)
print("fifth", frames.ask([hello("ann"), status]))
print("other", frames.ask([hello("ben"), status]))
for s in many:
    s.sendall(frame(status))
    print("held", frames.answer(s))
time.sleep(0.5)
print("again", frames.ask([hello("ann"), status]))
EOP
cat out; grep -q '^fifth.*"code":"busy".*of ann@x' out; grep -q '^other.*"person":"ben"' out; [ "$(grep -c '^held.*"person":"ann"' out)" = 4 ]; grep -q '^again.*"person":"ann"' out
EOT

t "a service that lies gets no signature" <<'EOT'
waiting; "$GATE" approve --run run --promotion "$(shown)" --print >true 2>/dev/null; cat >lie.py <<'EOP'
import json, os, socket, struct, sys
text = open("true").read().replace(*sys.argv[1:3])
s = socket.socket(socket.AF_UNIX)
s.bind("/run/lie")
os.chmod("/run/lie", 0o666)
s.listen()
while True:
    c, _ = s.accept()
    n = struct.unpack(">I", c.recv(4, socket.MSG_WAITALL))[0]
    request = c.recv(n, socket.MSG_WAITALL).decode()
    print(request, flush=True)
    answer = json.dumps({"schema": "weir.answer/1", "ok": True, "text": text if '"statement"' in request else "done"}).encode()
    c.sendall(struct.pack(">I", len(answer)) + answer)
    c.close()
EOP
LIAR=; trap 'kill $LIAR 2>/dev/null || :' EXIT; lie() { rm -f /run/lie; python3 lie.py "$1" "$2" >asked & LIAR=$!; for _ in $(seq 100); do [ ! -S /run/lie ] || break; sleep 0.05; done; }
sign() { as 2001 "$GATE" call approve --socket /run/lie --nonce $N -k keys/ann --promotion $P "$@" >out 2>err; }
lie x x; sign; grep -q 'op":"sign"' asked; kill $LIAR
lie "promotion $P" "promotion $(echo $P | tr 0-9a-f 1-9a-f0)"; not sign; grep -q 'something else' err; not grep -q 'op":"sign"' asked; kill $LIAR
lie 'decision approve' 'decision reject'; not sign; kill $LIAR; lie 'role approver' 'role security'; not sign; kill $LIAR; lie weir-approval/1 weir-exception/1; not sign; kill $LIAR
for more in 'reason -|reason fine|reason' "until |until 2|be read" "reason -|reason -\nacknowledge 0123456789abcdef|acknowledgements" "from $(date -u +%Y)|from $(($(date -u +%Y) - 1))|time"; do
	IFS='|' read -r old new why <<<"$more"; lie "$old" "$(printf '%b' "$new")"; not sign; kill $LIAR; grep -q "$why" err
done
lie x x; not sign --for 1h; grep -q 'another time' err; kill $LIAR
not grep -q 'PRIVATE KEY' asked
EOT

# ssh_up: sshd without a port, root's ssh with its own settings, an account with two people's keys
ssh_up() {
	local name
	grep -q '^weir-ssh:' /etc/passwd || echo 'weir-ssh:x:2050:2050::/run/weir-ssh:/bin/sh' >>/etc/passwd
	echo 'weir-ssh:*:19000:0:99999:7:::' >>/etc/shadow
	grep -q '^sshd:' /etc/passwd || echo 'sshd:x:2051:65534::/run/sshd:/usr/sbin/nologin' >>/etc/passwd
	sed -i 's/^weir:.*:$/&weir-ssh/' /etc/group
	sed -i "s#^root:\\(.*\\):/root:#root:\\1:$HOME:#" /etc/passwd
	mkdir -p /run/sshd /run/weir-ssh "$HOME/.ssh"
	for name in host ssh-ann ssh-ben ssh-eve; do
		rm -f "$LAB/keys/$name"
		ssh-keygen -q -t ed25519 -N '' -f "$LAB/keys/$name"
	done
	for name in ann ben; do
		echo "command=\"$GATE serve --principal $name@x\",restrict $(public ssh-$name)"
	done >/run/weir-ssh/keys
	cat >"$LAB/sshd.conf" <<-EOC
		HostKey $LAB/keys/host
		AuthorizedKeysFile /run/weir-ssh/keys
		UsePAM no
		StrictModes no
		PidFile none
		LogLevel ERROR
	EOC
	cat >"$HOME/.ssh/config" <<-EOC
		Host gate
			User weir-ssh
			ProxyCommand env LD_LIBRARY_PATH=$SSHD/lib $SSHD/sbin/sshd -i -f $LAB/sshd.conf -E $LAB/sshd.log
			IdentityFile $LAB/keys/ssh
			IdentitiesOnly yes
			BatchMode yes
			UserKnownHostsFile /dev/null
			StrictHostKeyChecking no
			LogLevel ERROR
	EOC
	chmod 600 "$HOME/.ssh/config"
	echo 'relay: weir-ssh' >>/etc/weir/gate.yaml
}

# key NAME: whose key ssh uses from now on
key() {
	cp "$LAB/keys/ssh-$1" "$LAB/keys/ssh"
	chmod 600 "$LAB/keys/ssh"
}

if [ -n "$SSHD" ]; then
	t "a key of ssh is a person: real sshd, forced command, whatever else is asked for" <<'EOT'
waiting; ssh_up; serve; over() { "$GATE" call --ssh gate "$@"; }
key ann; over status >out; cat sshd.log; grep -q '"principal":"ann@x"' out; grep -q '"person":"ann"' out; grep -q '"uid":2050' out
over pending >out; grep -q $N out; over review --nonce $N --text >out; grep -q good out
must_refuse denied 'not for ann@x' over commit --run $ID; must_refuse denied 'not for ann@x' over quarantine
key ben; must_refuse denied 'somebody else has signed' over approve --nonce $N --promotion "$(shown $N)" -k keys/ann; key ann
over approve --nonce $N --promotion "$(shown $N)" -k keys/ann >out; grep -q complete out; call 1000 commit --run $ID >/dev/null; promoted
[ -z "$(HOME=$LAB/home ssh gate id </dev/null 2>/dev/null | grep uid=)" ]; key eve; not over status 2>err; grep -q "service" err
EOT
else
	TESTS=$((TESTS + 1))
	echo "ok $TESTS - a key of ssh is a person # SKIP no sshd here, and none to be had"
fi

UNIT=$TOP/user/systemd/weir-gate.service

# of KEY: its words in the unit
unit() {
	sed -n "s/^$1=//p" "$UNIT"
}

t "the unit is well-formed, and shut as far as it goes; make install puts it there" <<'EOT'
make -s -C "$TOP" install-unit DESTDIR=$LAB/root PREFIX=/usr; grep -q '^install: .*install-unit' "$TOP/Makefile"
U=root/usr/lib/systemd/system/weir-gate.service; grep -qx 'ExecStart=/usr/bin/weir-gate serve' $U; ! grep -q @ <(grep ExecStart $U)
command -v systemd-analyze >/dev/null || { echo 'no systemd-analyze here'; exit 0; }
sed -i "s#/usr/bin/weir-gate#$GATE#" $U; systemd-analyze verify --man=no $U 2>&1 | tee out; [ ! -s out ]
systemd-analyze security --offline=true --threshold=20 $U >out 2>&1 || { cat out; false; }
EOT

t "it works with the unit's four capabilities and no others" <<'EOT'
waiting; rm -f $SOCK; chmod 700 ws; chown -R 1000:1000 ws
caps=-all; for c in $(unit CapabilityBoundingSet); do c=${c#CAP_}; caps=$caps,+${c,,}; done
setpriv --bounding-set "$caps" --inh-caps -all --no-new-privs "$GATE" serve >/dev/null 2>serve.log & SERVER=$!; trap 'kill $SERVER' EXIT
for _ in $(seq 100); do [ ! -S $SOCK ] || break; sleep 0.05; done
[ "$(grep CapBnd /proc/$SERVER/status | cut -f2)" = 00000000000001c4 ]; [ "$(stat -c '%a %U %G' $SOCK)" = '660 root weir' ]
call 2001 approve --nonce $N --promotion "$(shown $N)" -k keys/ann >/dev/null; call 1000 commit --run $ID >/dev/null; promoted
start_run; echo more >ws/more; chown -R 1000:1000 ws; chmod 700 ws; chmod 600 ws/more; end_run; kept; N=$NONCE
must_refuse approvals-missing 'waits for' call 1000 commit --run $ID --message more
EOT

t "it makes no system call that the unit's filter would refuse" <<'EOT'
command -v systemd-analyze >/dev/null && command -v strace >/dev/null || { echo 'not here'; exit 0; }
waiting; rm -f $SOCK; [ "$(unit SystemCallFilter)" = @system-service ]
strace -f -qq -o calls "$GATE" serve >/dev/null 2>serve.log & SERVER=$!; trap 'kill $SERVER' EXIT
for _ in $(seq 100); do [ ! -S $SOCK ] || break; sleep 0.05; done
call 2001 pending >/dev/null; call 2001 review --nonce $N >/dev/null; call 2001 approve --nonce $N --promotion "$(shown $N)" -k keys/ann >/dev/null; call 1000 commit --run $ID >/dev/null; promoted
kill $(pgrep -P $SERVER); wait $SERVER || true; trap - EXIT
groups='@system-service'; : >allowed
while [ -n "$groups" ]; do
	list=$(for g in $groups; do systemd-analyze syscall-filter --no-pager $g; done | sed 's/^ *//; /^#/d' | sort -u)
	printf '%s\n' "$list" | grep -v '^@' >>allowed; groups=$(printf '%s\n' "$list" | grep '^@' | grep -vxF "$(cat seen 2>/dev/null || echo none)" | grep -vx '@system-service' || true); printf '%s\n' $groups >>seen; [ $(wc -l <seen) -lt 500 ]
done
sed -n 's/^[0-9]* *\([a-z0-9_]*\)(.*/\1/p' calls | sort -u >used; [ $(wc -l <used) -gt 40 ]
sort -u allowed >ok; comm -23 used ok >refused; cat refused; [ ! -s refused ]
EOT

done_testing
