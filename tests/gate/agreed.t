#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2119
# weir-gate verify: the people who had to agree, from the record and the parent commit alone.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/people.sh"

# shellcheck disable=SC2034 # used by tests
TWO='  approvals: 2
'
R=$LAB/trusted.git

verify() {
	"$GATE" verify main --repo "$R" --signers /etc/weir/allowed_signers "$@"
}

# breaks LINK TEXT
breaks() {
	must_refuse verify "$2" verify
	grep -q "refused: verify: $1: " "$LAB/stderr" || fail "not $1: $(cat "$LAB/stderr")"
}

# edit FILE COMMAND: the record of the tip with one file piped through a command; no COMMAND: gone
edit() {
	local dir
	dir=$(tip | cut -c1-2)/$(tip)
	(
		cd "$R" || exit 1
		export GIT_INDEX_FILE=$LAB/idx
		rm -f "$GIT_INDEX_FILE"
		git read-tree refs/weir/attestations
		if [ -n "${2:-}" ]; then
			b=$(git cat-file blob "refs/weir/attestations:$dir/$1" | sh -c "$2" | git hash-object -w --stdin)
			git update-index --cacheinfo "100644,$b,$dir/$1"
		else
			printf '0 %040d\t%s\n' 0 "$dir/$1" | git update-index --index-info
		fi
		git update-ref refs/weir/attestations "$(echo x | git commit-tree "$(git write-tree)")"
	)
}

t "two agreed: verified in a clone, and attested" <<'EOT'
proposed "$TWO"; approve ann >/dev/null; approve ben >/dev/null; commit >/dev/null; verify | grep -q '^ok    approvals'
rm -rf clone; git clone -q --mirror $R clone; cp /etc/weir/ledger.vkey v; "$GATE" verify main --repo clone --signers /etc/weir/allowed_signers --ledger-key v >/dev/null; rm -rf clone v
"$GATE" attest main --repo $R | tail -1 | python3 -c 'import base64, json, sys
p = json.loads(base64.b64decode(json.load(sys.stdin)["payload"]))["predicate"]
assert p["approvers"] == ["ann", "ben"] and p["needed"] == {"approver": 2} and p["review"] == "required", p'
"$GATE" attest main --repo $R --file approvals | sha256sum | cut -d' ' -f1 >h; "$GATE" attest main --repo $R | tail -1 | python3 -c 'import base64, json, sys
print(json.loads(base64.b64decode(json.load(sys.stdin)["payload"]))["predicate"]["signed"]["digest"]["sha256"])' | cmp - h
EOT

t "attack: one of two taken out, edited, signed by another, all gone, put in twice" <<'EOT'
keep=$(git -C $R rev-parse refs/weir/attestations); back() { git -C $R update-ref refs/weir/attestations $keep; verify >/dev/null; }
first='sed "/END SSH SIGNATURE/q"'
edit approvals "$first"; breaks approvals 'missing: 1 approver'; back
edit approvals "$first | tee $LAB/one; cat $LAB/one"; breaks approvals 'missing: 1 approver'; back
edit approvals 'sed "s/^reason .*/reason other/"'; breaks approvals 'missing: 2 approver'; back
edit approvals 'head -c -40'; breaks approvals "can't be read"; back
edit approvals 'cat >/dev/null'; breaks approvals 'missing: 2 approver'; back
edit approvals; breaks approvals 'no '; back
"$GATE" attest main --repo $R --file approvals | sed '/-----BEGIN/,$d' >mine; ssh-keygen -q -Y sign -f keys/eve -n approver@weir.v1 mine 2>/dev/null; cat mine mine.sig >forged; edit approvals "cat >/dev/null; cat $LAB/one $LAB/forged"; breaks approvals 'missing: 1 approver'; back
EOT

t "attack: approvals of another promotion" <<'EOT'
"$GATE" attest main --repo $R --file approvals >old; proposed "$TWO"; approve ann >/dev/null; approve ben >/dev/null; commit >/dev/null; verify >/dev/null
edit approvals "cat >/dev/null; cat $LAB/old"; breaks approvals 'missing: 2 approver'
EOT

t "a yes that ended before it was published does not count" <<'EOT'
proposed; approve ann --for 1h >/dev/null; commit >/dev/null; verify >/dev/null; "$GATE" attest main --repo $R --file done >done.json
edit done 'sed "s/\"time\":[0-9]*/\"time\":4000000000/"'; breaks approvals 'missing: 1 approver'
EOT

# accepted WHO [OPTION...]: a run with a finding that somebody accepted, promoted
accepted() {
	local who=$1
	shift
	with_people '  approvals: 0
'
	echo good >ws/good
	end_run finding=sub/evil verdict=violated
	ID=$("$GATE" except --run run --list | grep -m 1 '^[a-z]')
	"$GATE" except --run run --finding "$ID" -k "keys/$who" --reason r --control c --owner o "$@" >/dev/null
	commit >/dev/null
}

t "a finding that somebody accepted: verified in a clone, and attested" <<'EOT'
accepted pat; verify | grep -q '^ok    exceptions'
rm -rf clone; git clone -q --mirror $R clone; cp /etc/weir/ledger.vkey v; "$GATE" verify main --repo clone --signers /etc/weir/allowed_signers --ledger-key v >/dev/null; rm -rf clone v
"$GATE" attest main --repo $R | python3 -c 'import base64, json, sys
s = [json.loads(base64.b64decode(json.loads(x)["payload"])) for x in sys.stdin]
assert "WEIR_VERDICT_EXCEPTED" in s[3]["predicate"]["properties"] and "WEIR_VERDICT_CLEAN" not in s[3]["predicate"]["properties"]
print(s[4]["predicate"]["exceptions"][0]["digest"]["sha256"])' >x; "$GATE" attest main --repo $R --file exceptions | sed '/-----BEGIN/,$d' | sha256sum | cut -d' ' -f1 | cmp - x
EOT

t "attack: the exception gone, edited, signed by another, over at the time" <<'EOT'
keep=$(git -C $R rev-parse refs/weir/attestations); back() { git -C $R update-ref refs/weir/attestations $keep; verify >/dev/null; }
edit exceptions; breaks exceptions 'no '; back
edit exceptions 'cat >/dev/null'; breaks exceptions 'an exception is missing'; back
edit exceptions 'sed "s/^owner .*/owner eve/"'; breaks exceptions 'an exception is missing'; back
edit exceptions 'head -c -30'; breaks exceptions "can't be read"; back
"$GATE" attest main --repo $R --file exceptions | sed '/-----BEGIN/,$d' >mine; rm -f mine.sig; ssh-keygen -q -Y sign -f keys/ann -n policy-owner@weir.v1 mine 2>/dev/null; cat mine mine.sig >forged
edit exceptions "cat >/dev/null; cat $LAB/forged"; breaks exceptions 'an exception is missing'; back
edit done 'sed "s/\"time\":[0-9]*/\"time\":4000000000/"'; breaks exceptions 'was not valid'; back
EOT

done_testing
