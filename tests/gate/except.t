#!/bin/bash
# SPDX-License-Identifier: MIT
# Findings that somebody accepted: by name, for a time, in the role that their class needs.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/people.sh"

# shellcheck disable=SC2034 # used by tests
NONE='  approvals: 0
'

# violated [OPTION...]: a run with one finding, or those of OPTION; its ids are in $IDS
violated() {
	[ $# -gt 0 ] || set -- finding=sub/evil
	echo good >"$LAB/ws/good"
	end_run "$@" verdict=violated
	mapfile -t IDS < <("$GATE" except --run "$LAB/run" --list | grep '^[a-z]')
}

# except WHO ID... [-- OPTION...]
except() {
	local who=$1 finding=()
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		finding+=(--finding "$1")
		shift
	done
	"$GATE" except --run "$LAB/run" "${finding[@]}" -k "$LAB/keys/$who" --reason 'build cache' \
		--control 'cache is wiped' --owner pat "${@:2}"
}

# a text of an exception, in $LAB/s
text() {
	"$GATE" except --run "$LAB/run" --finding "${IDS[0]}" --reason r --control c --owner o --print \
		"$@" >"$LAB/s"
}

# give WHO [NAMESPACE]: signs $LAB/s by stock and hands both in
give() {
	rm -f "$LAB/s.sig"
	ssh-keygen -q -Y sign -f "$LAB/keys/$1" -n "${2:-policy-owner@weir.v1}" "$LAB/s" 2>/dev/null
	"$GATE" except --run "$LAB/run" --statement "$LAB/s" --signature "$LAB/s.sig"
}

t "a violated run passes when its finding is accepted, and says so" <<'EOT'
with_people "$NONE"; violated; must_refuse violated 'file-outside (1); no exception covers file-outside-' commit; unchanged
"$GATE" except --run run --list | grep -q 'write passed .*evil, 1 time; to be signed as policy-owner'
except pat "${IDS[0]}" >out; grep -qx 'exception [0-9a-f]*' out; X=$(cut -d' ' -f2 out)
commit >/dev/null; promoted
R=refs/weir/attestations:$(tip | cut -c1-2)/$(tip); git -C trusted.git show $R/promotion >text
grep -qx 'verdict violated' text; grep -qx "exception $X" text; grep -qx "accepted ${IDS[0]} 1" text; grep -qx 'producer job' text
"$GATE" verify main --repo trusted.git --signers /etc/weir/allowed_signers >/dev/null
git -C trusted.git show $R/exceptions >all; sed '/^-----BEGIN/,$d' all >s; sed -n '/^-----BEGIN/,$p' all >s.sig
[ "$(sha256sum <s | cut -d' ' -f1)" = $X ]; ssh-keygen -Y verify -f seed/.weir/allowed_signers -I pat@x -n policy-owner@weir.v1 -s s.sig <s
EOT

t "the id is the same in the next run; another finding has another" <<'EOT'
with_people "$NONE"; violated finding=sub/evil finding=sub/other; A=${IDS[0]} B=${IDS[1]}; [ "$A" != "$B" ]
start_run; violated; [ "${IDS[0]}" = "$A" ] || [ "${IDS[0]}" = "$B" ]
EOT

t "every finding has to be covered" <<'EOT'
with_people "$NONE"; violated finding=sub/evil finding=sub/other
except pat "${IDS[0]}" >/dev/null; must_refuse violated "no exception covers ${IDS[1]}" commit; unchanged
except pat "${IDS[1]}" >/dev/null; commit >/dev/null; promoted
EOT

t "what was latched without a record, or is uncertain besides, no exception covers" <<'EOT'
with_people "$NONE"; violated; except pat "${IDS[0]}" -- --scope repository >/dev/null; except quinn "${IDS[0]}" -- --scope repository >/dev/null
violated finding=sub/evil latched=1; must_refuse violated 'file-outside (2)' commit
violated finding=sub/evil noend; must_refuse violated 'file-outside (1)' commit; unchanged
EOT

t "ids are a list: no patterns, no unknown or hopeless classes, one role" <<'EOT'
with_people "$NONE"; violated; H=00000000000000000000000000000000
for id in '*' 'file-outside-*' file-outside file-outside-0 nothing-$H "file-outside-${H}0"; do must_refuse exception 'no finding' except pat "$id"; done
for id in tamper-$H name-dotgit-$H none-$H; do [ $id = none-$H ] || must_refuse exception-role 'nobody may accept' except pat $id; done
must_refuse exception-role 'need policy-owner and security' except pat file-outside-$H credential-read-$H
must_refuse exception '' "$GATE" except --run run -k keys/pat --reason r --control c --owner o
must_refuse exception 'is missing' "$GATE" except --run run -k keys/pat --finding "${IDS[0]}" --reason r --control c
must_refuse exception 'scope is run' except pat "${IDS[0]}" -- --scope all
EOT

t "wrong role, namespace, key; edited text" <<'EOT'
with_people "$NONE"; violated
must_refuse signer-role 'not for this role' except ann "${IDS[0]}"; must_refuse signer-unknown 'no line' except eve "${IDS[0]}"
must_refuse signer-role 'not for this role' except pat credential-read-00000000000000000000000000000000
text; cp s good; must_refuse signed-signature policy-owner give pat approver@weir.v1
sed -i 's/^role .*/role security/' s; must_refuse exception-role 'not for security' give quinn security@weir.v1
for edit in 's/^finding .*/finding file-outside-*/' 's/^decision .*/decision allow/' '3d' '$a more x' 's/^scope .*/scope any/' 's/^reason .*/reason -/' 's/^expires .*/expires -/'; do
	sed "$edit" good >s; must_refuse exception 'no weir-exception/1' give pat; done
sed 's/^repository .*/repository 00/' good >s; must_refuse exception 'another repository' give pat
cp good s; give pat >/dev/null; commit >/dev/null; promoted
EOT

t "spans: longer than the policy, expired, of the future" <<'EOT'
with_people "$NONE  exception_span: 1d
"; violated; must_refuse exception-span 'policy allows 1' except pat "${IDS[0]}" -- --for 2d; must_refuse exception-span 'no span' except pat "${IDS[0]}" -- --for long
text; sed -i 's/^created .*/created 2020-01-01T00:00:00Z/; s/^expires .*/expires 2020-01-01T09:00:00Z/' s; must_refuse exception-expired 'has expired' give pat
text; sed -i 's/^created .*/created 2998-01-01T00:00:00Z/; s/^expires .*/expires 2998-01-01T09:00:00Z/' s; must_refuse exception-span future give pat
text; f=$(sed -n 's/^created //p' s); sed -i "s/^expires .*/expires $f/" s; must_refuse exception 'no weir-exception' give pat
except pat "${IDS[0]}" -- --for 5s >/dev/null; sleep 6.1; must_refuse exception-expired 'has expired' commit; unchanged
EOT

t "revoked at once, by the same role" <<'EOT'
with_people "$NONE"; violated; except pat "${IDS[0]}" >out; X=$(sed -n 's/^exception //p' out)
must_refuse exception 'there is no exception' except pat -- --revoke ${X%?}$([[ $X = *0 ]] && echo 1 || echo 0)
must_refuse signer-role '' except ann -- --revoke $X
except quinn -- --revoke $X >/dev/null; must_refuse exception-revoked "${X:0:16}" commit; unchanged
EOT

t "wider scopes need two persons; the same one twice is one" <<'EOT'
with_people "$NONE"; violated; except pat "${IDS[0]}" -- --scope ref >out; grep -q '1 more person must sign it' out; X=$(sed -n 's/^exception //p' out)
must_refuse exception-persons '1 of 2' commit; must_refuse signer-twice 'pat has signed' except pat -- --exception $X
except quinn -- --exception $X >out; not grep -q more out
start_run; violated; commit >/dev/null; promoted
EOT

t "scopes: one run is no other run, a ref is no other ref" <<'EOT'
with_people "$NONE"; violated; text; cp s good
sed 's/^scope .*/scope run 19990101-000000-000000/' good >s; give pat >/dev/null; must_refuse violated 'no exception covers' commit
for w in pat quinn; do sed 's/^scope .*/scope ref refs\/heads\/other/' good >s; give $w >/dev/null; done; must_refuse violated 'no exception' commit
for w in pat quinn; do sed 's/^scope .*/scope repository/' good >s; give $w >/dev/null; done; commit >/dev/null; promoted
EOT

t "who made the change does not accept its findings" <<'EOT'
with_people "$NONE"; sed -i 's/name: pat,/name: pat, logins: ["1000"],/; s/\[root, "1000"\]/[root]/' seed/.weir/roles.yaml; seal_people; push
violated; except pat "${IDS[0]}" >/dev/null; must_refuse producer 'pat made' commit; unchanged
except quinn "${IDS[0]}" >/dev/null; commit >/dev/null; promoted
EOT

t "a run that read credentials could have had the key of anybody here" <<'EOT'
with_people "$ONE"; violated credential=home/.ssh/id;
must_refuse signer-role "quinn has not the role security" except quinn "${IDS[0]}"; except cat "${IDS[0]}" >/dev/null
must_refuse approvals-missing waits commit; [ "$(review | grep -c '^producer')" = 2 ]
must_refuse producer 'ann made' approve ann; approve ben >/dev/null; commit >/dev/null; promoted
EOT

t "people are those of the base commit, now: revoked, removed, no root" <<'EOT'
with_people "$NONE"; violated; except pat "${IDS[0]}" >/dev/null
ssh-keygen -q -k -f /etc/weir/revoked.krl keys/pat.pub; echo 'revoked: /etc/weir/revoked.krl' >>/etc/weir/gate.yaml
must_refuse signer-root revoked commit; sed -i /^revoked/d /etc/weir/gate.yaml
mv /etc/weir/signer_root r; must_refuse signer-root '' commit; mv r /etc/weir/signer_root; commit >/dev/null; promoted
EOT

t "edited on disk: the text, its name, a signature" <<'EOT'
with_people "$NONE"; violated; except pat "${IDS[0]}" >/dev/null; E=$(echo trusted.git/weir/exceptions/*)
cp -a $E keep; sed -i 's/^owner .*/owner eve/' $E/text; must_refuse violated 'no exception' commit
rm -r $E; cp -a keep $E; sed -i '2s/./A/' $E/*.sig; must_refuse signed-signature '' commit
rm $E/*.sig; must_refuse exception-persons '0 of 1' commit; unchanged
EOT

t "findings of the inspection: accepted by their role, or refused with the reason" <<'EOT'
with_people "$NONE"; echo '*.c filter=lab' >ws/.gitattributes; end_run; must_refuse control-file attributes-filter commit
ID=$(python3 -c 'import json; print(json.load(open("run/refused.json"))["findings"][0]["id"])'); except cat "$ID" >out; X=$(sed -n 's/^exception //p' out)
except cat -- --revoke $X >/dev/null; must_refuse exception-revoked "" commit; unchanged
except ben "$ID" -- --for 9d >/dev/null; commit >out; grep -q "^accepted: attributes-filter" out; promoted
BASE=$(tip); start_run; echo '*.h filter=lab' >>ws/.gitattributes; end_run; must_refuse control-file attributes-filter commit; unchanged
EOT

t "with approvals: the reviewer sees it, and an end of it voids the proposal" <<'EOT'
with_people "$ONE"; violated; except pat "${IDS[0]}" >out; X=$(sed -n 's/^exception //p' out)
must_refuse approvals-missing waits commit; review | grep -q "exception *$X"; approve ann >/dev/null
except pat -- --revoke $X >/dev/null; must_refuse exception-revoked '' commit; [ "$(tip)" = "$BASE" ]
except quinn "${IDS[0]}" -- --for 1h >/dev/null; must_refuse void 'exception' commit; must_refuse approvals-missing '0 agreed' commit -m again
approve ann >/dev/null; commit -m again >/dev/null; promoted
EOT

done_testing
