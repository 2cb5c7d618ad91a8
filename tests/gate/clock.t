#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2119,SC2120,SC2016,SC2154
# Clocks that jump, of the gate, of who signs and of the host: what has expired stays so, and no
# promotion says a time that can't have been.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/people.sh"

R=$LAB/trusted.git
SHIM=$LAB/bin/skew.so
NONE='  approvals: 0
'

${CC:-cc} -shared -fPIC -O1 -D_GNU_SOURCE -fno-builtin -o "$SHIM" "$TOP/tests/gate/skew.c" -ldl || {
	echo "Bail out! skew does not compile"
	exit 1
}

# at SECONDS COMMAND...: with clocks that are so far ahead
at() {
	SKEW=$1 LD_PRELOAD=$SHIM "${@:2}"
}

# forget: somebody who knows says that the clock is right now
forget() {
	touch "$R/weir/clock"
}

verify() {
	"$GATE" verify main --repo "$R" --signers /etc/weir/allowed_signers
}

t "an approval that has expired does not come back with the gate's clock" <<'EOT'
proposed; approve ann --for 1h >/dev/null; must_refuse approvals-missing 'waits for' at 4000 "$GATE" commit --run run
must_refuse clock 'was 20' "$GATE" commit --run run; must_refuse clock 'weir/clock' "$GATE" approve --run run -k keys/ben --promotion "$(shown)"; must_refuse clock 'was 20' at 3500 "$GATE" commit --run run; unchanged
forget; "$GATE" commit --run run >/dev/null; promoted; verify >/dev/null
EOT

t "a clock that is behind is believed by nothing: commit, approve, review, pending, keys, exceptions, orders" <<'EOT'
proposed; for c in "commit --run run" "review --run run" pending "key list" "except --run run --finding file-outside-0123456789abcdef --reason r --control c --owner o --print" "revert $BASE -m x"; do echo "$c"; must_refuse clock 'and was 20' at -60 "$GATE" $c; done
must_refuse clock 'and was 20' at -60 "$GATE" approve --run run -k keys/ann --promotion "$(shown)"; at 1 "$GATE" pending >/dev/null; approve ann >/dev/null; "$GATE" commit --run run >/dev/null; promoted
EOT

t "approvals of another time: created in the future, after their end, without one, for too long" <<'EOT'
proposed; now=$(date +%s); when() { date -u -d @$((now + $1)) +%Y-%m-%dT%H:%M:%SZ; }
try() { statement; sed -i "s/^from .*/from $1/; s/^until .*/until $2/" s; must_refuse "$3" "$4" hand ann; }
try "$(when 1000)" "$(when 2000)" window 'not valid yet'; try "$(when -2000)" "$(when -1000)" window 'not valid any more'; try "$(when 100)" "$(when 50)" window 'ends before'; try "$(when 0)" "$(when 0)" window ''
try "$(when 0)" - signed-text ''; try "$(when -86400000)" "$(when 3600)" window 'the policy allows'; try "$(when 0)" 9999-12-31T23:59:59Z window 'the policy allows'; try 0000-00-00T00:00:00Z "$(when 60)" signed-text ''
try "$(when 0)" 99999-01-01T00:00:00Z signed-text ''; must_refuse approvals-missing 'waits for' "$GATE" commit --run run; unchanged
statement; sed -i "s/^from .*/from $(when 200)/" s; hand ann >/dev/null; "$GATE" commit --run run >/dev/null; promoted; verify >/dev/null
EOT

t "who takes back takes back all, also what a clock that was ahead has signed" <<'EOT'
proposed; statement; sed -i "s/^from .*/from $(date -u -d '+200 seconds' +%Y-%m-%dT%H:%M:%SZ)/" s; hand ann | grep -q complete
"$GATE" withdraw --run run --print >s; "$GATE" withdraw --run run -k keys/ann >/dev/null; must_refuse approvals-missing 'waits for' "$GATE" commit --run run; unchanged
approve ann | grep -q complete; sed -i "s/^from .*/from $(date -u +%Y-%m-%dT%H:%M:%SZ)/" s; rm -f s.sig; ssh-keygen -q -Y sign -f keys/ann -n approver@weir.v1 s 2>/dev/null; must_refuse clock 'later than this' "$GATE" withdraw --run run --statement s --signature s.sig
"$GATE" commit --run run >/dev/null; promoted
EOT

t "exceptions: created in the future, expired and the clock set back" <<'EOT'
with_people "$NONE"; echo good >ws/good; end_run finding=sub/evil verdict=violated; id=$("$GATE" except --run run --list | grep '^[a-z]'); say() { "$GATE" except --run run --finding $id --reason r --control c --owner o "$@"; }
at 1000 "$GATE" except --run run --finding $id --reason r --control c --owner o --print >s; forget; rm -f s.sig; ssh-keygen -q -Y sign -f keys/pat -n policy-owner@weir.v1 s 2>/dev/null
must_refuse exception-span 'created in the future' "$GATE" except --run run --statement s --signature s.sig; must_refuse violated '' commit
say --for 1d -k keys/pat >/dev/null; must_refuse exception-expired '' at 90000 "$GATE" commit --run run -m x; must_refuse clock 'was 20' commit; unchanged; forget; commit >/dev/null; promoted
EOT

t "the nonce is of the past" <<'EOT'
fresh; export SKEW=1000 LD_PRELOAD=$SHIM; start_run; unset SKEW LD_PRELOAD; echo x >ws/x; end_run; must_refuse clock 'issued in the future' commit; unchanged
EOT

t "the host's clock: the run is after its nonce, ends after it began and before now" <<'EOT'
fresh; echo x >ws/x; at 1000 end_run; must_refuse clock 'ends in the future' commit; unchanged; at -100 end_run; must_refuse clock 'ends before it begins' commit; unchanged
start_run; rm -rf run; at -1000 "$MKRUN" before run ws; echo x >ws/x; end_run; must_refuse clock 'before its nonce was issued' commit; unchanged; start_run; rm -rf run; at -100 "$MKRUN" before run ws; echo x >ws/x; at 100 end_run; commit >/dev/null
id=$(tip); git -C $R show refs/weir/attestations:${id:0:2}/$id/runtime-trace.json | python3 -c 'import base64, json, sys
m = json.loads(base64.b64decode(json.load(sys.stdin)["payload"]))["predicate"]["metadata"]; assert m["buildStartedOn"] < m["buildFinishedOn"], m'; verify >/dev/null
EOT

done_testing
