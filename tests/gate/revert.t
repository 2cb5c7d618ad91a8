#!/bin/bash
# SPDX-License-Identifier: MIT
# The tip of a branch is undone: by whom, what comes back, and what never does.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/people.sh"

# with_owner [LINES]: people, and pia, who is platform owner
with_owner() {
	fresh
	approvals "${1:-$ONE}"
	make_keys
	ssh-keygen -q -t ed25519 -N '' -C pia -f "$LAB/keys/pia"
	chown 2000:2000 "$LAB/keys"/pia*
	owners
	echo "pat@x namespaces=\"policy-owner@weir.v1\" $(public pat)" >/etc/weir/signer_root
	echo 'signer_root: /etc/weir/signer_root' >>/etc/weir/gate.yaml
	push
}

owners() {
	{
		signers
		echo "pia@x namespaces=\"platform-owner@weir.v1,approver@weir.v1\" $(public pia)"
	} >"$LAB/seed/.weir/allowed_signers"
	{
		roles
		echo '- {name: pia, principals: [pia@x], roles: [platform-owner, approver]}'
	} >"$LAB/seed/.weir/roles.yaml"
	seal_people
}

# promote: a good change on the branch, and $GOOD
# shellcheck disable=SC2119 # as it is proposed
promote() {
	echo 'int g;' >"$LAB/ws/src/g.c"
	end_run
	must_refuse approvals-missing 'waits for' commit
	approve ann >/dev/null
	commit >/dev/null
	GOOD=$(tip)
}

# bypass COMMAND: a commit that somebody made without the gate
bypass() {
	(cd "$LAB/seed" && git pull -q ../trusted.git main && eval "$1" && git add -A && git commit -qm bypass &&
		git push -q ../trusted.git HEAD:main)
	chown -R weir: "$LAB/trusted.git"
	GOOD=$(tip)
}

revert() {
	"$GATE" revert "${1:-main}" "${@:2}"
}

# sign WHO [OPTION...]: a yes to the one order that waits
sign() {
	"$GATE" approve --nonce "$(waiting)" --promotion "$(shown "$(waiting)")" -k "$LAB/keys/$1" --role "${ROLE:-platform-owner}" "${@:2}"
}

waiting() {
	"$GATE" pending --json | python3 -c 'import json, sys; print(*[p["nonce"] for p in json.load(sys.stdin)["pending"]])'
}

verify() {
	"$GATE" verify "$@" --repo "$LAB/trusted.git" --signers /etc/weir/allowed_signers
}

# record FILE: of the tip
record() {
	git -C "$LAB/trusted.git" show "refs/weir/attestations:$(tip | cut -c1-2)/$(tip)/$1"
}

# still: nothing was promoted
still() {
	BASE=$GOOD
	NONCE=none
	unchanged
}

t "a platform owner's yes, and the tree is the one before; stock git and verify accept it" <<'END'
with_owner; promote; R=$LAB/trusted.git
must_refuse approvals-missing 'waits for 1 platform-owner' revert; still
must_refuse approvals-missing 'waits for 1 platform-owner' revert $GOOD; [ "$(waiting | wc -w)" = 1 ]
sign pia | grep -q complete; revert >out; grep -q "^promoted $(tip) to refs/heads/main" out
[ "$(git -C $R rev-parse main^)" = $GOOD ]; [ "$(git -C $R rev-parse main^{tree})" = "$(git -C $R rev-parse main~2^{tree})" ]
git -C $R verify-commit main; git -C $R fsck --strict --full 2>&1 | not grep -v dangling
git -C $R log -1 --format=%s main | grep -qx 'Revert "a change"'
git -C $R log -1 --format='%(trailers:key=Weir-Revert,valueonly)' main | grep -qx $GOOD
[ "$(waiting)" = '' ]; verify main >out; grep -q '^good' out; verify main --deep >/dev/null; verify main^ >/dev/null
"$GATE" audit $R --signers /etc/weir/allowed_signers >/dev/null
END

t "it is recorded like any promotion: promotion, order, approvals, attestations, ledger" <<'END'
GOOD=$(git -C trusted.git rev-parse main^)
record promotion >text; grep -qx 'kind revert' text; grep -qx "object $GOOD" text; grep -qx 'need platform-owner 1' text; grep -qx 'producer job' text
grep -qx "statement $(record statement.json | sha256sum | cut -c1-64)" text; record statement.json | grep -q '"kind":"revert"'
record approvals >all; sed '/^-----BEGIN/,$d' all >s; sed -n '/^-----BEGIN/,$p' all >s.sig
ssh-keygen -Y verify -f seed/.weir/allowed_signers -I pia@x -n platform-owner@weir.v1 -s s.sig <s
git -C trusted.git log -1 --format='%(trailers:key=Weir-Promotion,valueonly)' main | grep -qx "sha256:$(sha256sum <text | cut -c1-64)"
"$GATE" attest main --repo trusted.git >bundle; [ "$(wc -l <bundle)" = 4 ]
python3 - <<'PY'
import base64, json
for line in open('bundle'):
    s = json.loads(base64.b64decode(json.loads(line)['payload']))
    if s['predicateType'].startswith('https://slsa.dev/provenance'):
        assert s['predicate']['buildDefinition']['buildType'] == 'urn:weir:build:revert:1', s
    assert 'runtime-trace' not in s['predicateType']
PY
record done | grep -q '"kind":"done"'
END

t "nobody else's word is enough: approvers, producers, nobody" <<'END'
with_owner; promote; must_refuse approvals-missing 'waits for' revert
ROLE=approver sign ann >/dev/null; ROLE=approver sign ben >/dev/null; ROLE=approver sign pia | grep -q 'missing: 1 platform-owner'
must_refuse signer-role '' sign ann; must_refuse signer-unknown '' sign eve; must_refuse approvals-missing 'waits for 1 platform-owner' revert; still
with_owner; sed -i 's/logins: \[root, "1000"\]/logins: ["1000"]/; s/roles: \[platform-owner, approver\]/&, logins: [root]/' seed/.weir/roles.yaml; seal_people; push
promote; must_refuse approvals-missing '' revert; "$GATE" review --nonce $(waiting) | grep -q '^producer *pia'
must_refuse producer 'pia made' sign pia; must_refuse approvals-missing 'waits for 1 platform-owner' revert; still
END

t "the policy names another role; approvals: 0 asks for people all the same" <<'END'
with_owner '  approvals: 0
  revert: security
'
echo x >ws/n; end_run; commit >/dev/null; GOOD=$(tip); must_refuse approvals-missing 'waits for 1 security' revert; still
must_refuse approvals-missing '1 security' revert; ROLE=security sign cat >/dev/null; revert >/dev/null; verify main >/dev/null
fresh; echo x >ws/n; end_run; commit >/dev/null; GOOD=$(tip); must_refuse signer-root 'names no signer_root' revert; still
END

t "only the tip, only one with one parent, only a promotable branch" <<'END'
with_owner; promote; must_refuse revert 'only the tip of refs/heads/main' revert main^; must_refuse ref 'no promotable ref' revert main --ref refs/heads/other; still
s=0; revert nosuch 2>err || s=$?; [ $s = 2 ]; s=0; "$GATE" revert 2>err || s=$?; [ $s = 2 ]
must_refuse approvals-missing '' revert; sign pia >/dev/null; bypass 'echo 1 >other'; must_refuse base-moved '' revert main^; still
bypass 'git checkout -q -b side HEAD^ && echo 2 >o2 && git add -A && git commit -qm side && git checkout -q main && git merge -q --no-edit --no-commit side'
must_refuse revert 'has 2 parents' revert; still
END

t "never an older .weir: revoked keys, signers, roles, policy stay as they are" <<'END'
with_owner; promote
bypass 'ssh-keygen -q -k -f .weir/revoked.krl ../keys/ann.pub; seal_people'; must_refuse revert-control '.weir/' revert; still
bypass 'owners; sed -i /^ben/d .weir/allowed_signers; seal_people'; must_refuse revert-control '.weir/allowed_signers' revert; still
bypass 'echo "#" >>.weir/policy.yaml'; must_refuse revert-control '.weir/policy.yaml' revert; still
bypass 'echo x >n; mkdir .WEIR; echo y >.WEIR/people'; must_refuse revert-control '.WEIR/people' revert; still
END

t "a key that was revoked since can't say yes" <<'END'
with_owner; promote; must_refuse approvals-missing '' revert; sign pia >/dev/null
ssh-keygen -q -k -f /etc/weir/revoked.krl keys/pia.pub; echo 'revoked: /etc/weir/revoked.krl' >>/etc/weir/gate.yaml
must_refuse void 'host-revoked' revert; must_refuse approvals-missing 'waits for 1 platform-owner' revert main -m again; still
END

t "what comes back is inspected: a secret that was removed, CI that was removed" <<'END'
with_owner; bypass 'cp ../keys/ann src/id; mkdir -p .github/workflows; echo on: push >.github/workflows/ci.yml'; bypass 'rm -r src/id .github'
must_refuse secret 'src/id' revert; still
bypass 'mkdir .github; echo "* @ann" >.github/CODEOWNERS'; bypass 'rm -r .github'; must_refuse approvals-missing 'waits for' revert
"$GATE" review --nonce $(waiting) >out; grep -q 'review-owners' out; grep -q '^A .github/CODEOWNERS' out
END

t "what was signed is what is done: message, base, order, pack" <<'END'
with_owner; promote; must_refuse approvals-missing '' revert; sign pia >/dev/null; W=$LAB/trusted.git/weir/pending/$(waiting)
cp -a $W keep; for f in statement.json message policy.yaml changes; do echo x >>$W/$f; must_refuse void '' "$GATE" review --nonce $(basename $W); rm -r $W; cp -a keep $W; done
must_refuse approvals-missing '' revert main -m 'another word'; [ "$(waiting | wc -w)" = 2 ]; "$GATE" pending --drop $(basename $W) >/dev/null
must_refuse approvals-missing '' revert; [ "$(waiting | wc -w)" = 1 ]; sign pia >/dev/null; revert >/dev/null; verify main >/dev/null
must_refuse approvals-missing '' revert
END

t "verify: another tree, another object, forged or missing order" <<'END'
with_owner; promote; must_refuse approvals-missing '' revert; sign pia >/dev/null; revert >/dev/null; R=trusted.git; D=$(tip | cut -c1-2)/$(tip)
tamper() { ( export GIT_INDEX_FILE=$LAB/ix; cd $R; git read-tree refs/weir/attestations; b=$(git show refs/weir/attestations:$D/$1 | sed "$2" | git hash-object -w --stdin)
	git update-index --cacheinfo 100644,$b,$D/$1; git commit-tree -m x $(git write-tree) ) >c; git -C $R update-ref refs/weir/attestations $(cat c); }
tamper statement.json 's/"caller":0/"caller":1/'; must_refuse verify 'statement: ' verify main
git -C $R update-ref refs/weir/attestations refs/weir/attestations; tamper statement.json 's/"caller":1/"caller":0/'; verify main >/dev/null
tamper promotion 's/^kind revert$/kind run/'; must_refuse verify 'digest: ' verify main
END

done_testing
