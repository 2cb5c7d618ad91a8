#!/bin/bash
# SPDX-License-Identifier: MIT
# Targets beside branches: tags.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/people.sh"

R=$LAB/trusted.git

allow_tags() {
	echo 'tags: ["v*"]' >>/etc/weir/gate.yaml
}

# promoted_run: a good commit on the branch, $GOOD; nobody has to agree
# shellcheck disable=SC2034,SC2119 # used by tests; as it is
promoted_run() {
	fresh
	allow_tags
	echo 'int g;' >"$LAB/ws/src/g.c"
	end_run
	commit >/dev/null
	GOOD=$(tip)
}

tag() {
	"$GATE" tag "$@"
}

verify() {
	"$GATE" verify "$@" --repo "${REPO:-$R}" --signers /etc/weir/allowed_signers
}

waiting() {
	"$GATE" pending --json | python3 -c 'import json, sys; print(*[p["nonce"] for p in json.load(sys.stdin)["pending"]])'
}

# no TAG: it is not there, and nothing is left over
no() {
	not git -C "$R" rev-parse -q --verify "refs/tags/$1" >/dev/null || return 1
	[ -z "$(find "$R" -name '*.lock')" ] || fail "lock left"
	[ ! -e "$R/weir/journal" ] || fail "journal left"
}

t "a tag is annotated and signed; stock git and verify accept it, also in a clone" <<'EOT'
promoted_run; tag v1.0 -m 'first release' >out; grep -q "^promoted $(git -C $R rev-parse refs/tags/v1.0) to refs/tags/v1.0" out
[ "$(git -C $R cat-file -t v1.0)" = tag ]; [ "$(git -C $R rev-parse v1.0^{})" = $GOOD ]; [ "$(tip)" = $GOOD ]
git -C $R verify-tag v1.0 2>&1 | grep -q 'Good "git" signature for gate@example.invalid'
git -C $R fsck --strict --full 2>&1 | not grep -v dangling
git -C $R tag -l --format='%(contents:subject)' v1.0 | grep -qx 'first release'
verify v1.0 >out; grep -q "^good  $(git -C $R rev-parse refs/tags/v1.0)" out; verify refs/tags/v1.0 --deep >/dev/null; verify v1.0^{} | grep -q "^good  $GOOD"
git clone -q --mirror $R clone.git; git -C clone.git tag -v v1.0 2>/dev/null >/dev/null
REPO=clone.git verify v1.0 --ledger-key /etc/weir/ledger.vkey >/dev/null; rm -rf clone.git
EOT

t "it is recorded like any promotion: order, attestations of the tag, ledger" <<'EOT'
promoted_run; tag v1.0 >/dev/null; T=$(git -C $R rev-parse refs/tags/v1.0)
record() { git -C $R show refs/weir/attestations:${T:0:2}/$T/$1; }
record promotion >text; grep -qx 'kind tag' text; grep -qx 'ref refs/tags/v1.0' text; grep -qx "object $GOOD" text; grep -qx 'review none' text
git -C $R cat-file tag v1.0 | grep -qx "Weir-Promotion: sha256:$(sha256sum <text | cut -c1-64)"; git -C $R cat-file tag v1.0 | grep -qx "Weir-Tag: $GOOD"
record vsa.json | python3 -c 'import base64, json, sys
s = json.loads(base64.b64decode(json.load(sys.stdin)["payload"])); assert s["subject"][0]["digest"]["gitTag"] == "'$T'", s'
record done | grep -q '"ref":"refs/tags/v1.0"'
"$GATE" audit $R --signers /etc/weir/allowed_signers >/dev/null
EOT

t "create-only: made once, by whomever; never moved" <<'EOT'
promoted_run; tag v1 >/dev/null; T=$(git -C $R rev-parse refs/tags/v1); must_refuse tag-exists refs/tags/v1 tag v1; must_refuse tag-exists refs/tags/v1 tag v1 -m other
git -C $R tag v2 main~1; must_refuse tag-exists refs/tags/v2 tag v2; git -C $R tag v3/x main; must_refuse tag-exists 'refs/tags/v3/...' tag v3
git -C $R pack-refs --all; must_refuse tag-exists refs/tags/v1 tag v1; must_refuse tag-exists 'refs/tags/v3/...' tag v3; [ "$(git -C $R rev-parse refs/tags/v1)" = $T ]; verify v1 >/dev/null
EOT

t "only names that gate.yaml allows" <<'EOT'
promoted_run; for n in 1.0 x v/1 'v 1' v..1 v1.lock v1. 'v*' ../v1 -v $(printf v%0250d 1); do
	s=0; tag -m m -- "$n" >out 2>err || s=$?; [ $s = 122 ] && grep -q 'refused: ref: ' err || fail "$n: $s $(cat err)"; done
sed -i /^tags/d /etc/weir/gate.yaml; must_refuse ref 'no tag that gate.yaml allows' tag v1; no v1
s=0; "$GATE" tag 2>err || s=$?; [ $s = 2 ]; grep -q 'NAME is missing' err; s=0; tag v1 nosuch 2>err || s=$?; [ $s = 2 ]
EOT

t "only what was promoted, whole, and is on a branch" <<'EOT'
promoted_run; must_refuse tag-commit 'signature: the commit has no signature' tag v1 main~1; no v1
D=${GOOD:0:2}/$GOOD; git -C $R update-ref refs/keep refs/weir/attestations; git -C $R update-ref -d refs/weir/attestations; must_refuse tag-commit 'record: ' tag v1
git -C $R update-ref refs/weir/attestations refs/keep; git -C $R update-ref refs/heads/main $BASE; must_refuse tag-commit 'no promotable branch reaches' tag v1 $GOOD; no v1
git -C $R update-ref refs/heads/main $GOOD; tag v1 >/dev/null; verify v1 >/dev/null
EOT

t "people: who has to agree by the commit's policy, for all paths" <<'EOT'
with_people "  approvals:
    - {paths: ['src/**'], count: 1}
    - {paths: [never], role: security}
"
allow_tags; echo 1 >ws/src/n.c; end_run; must_refuse approvals-missing 'waits for 1 approver' commit; approve ann >/dev/null; commit >/dev/null; GOOD=$(tip)
must_refuse approvals-missing 'waits for 1 approver, 1 security' tag v1; no v1; N=$(waiting); "$GATE" review --nonce $N | grep -q '^kind *tag'
must_refuse producer 'job made' "$GATE" approve --nonce $N --promotion "$(shown $N)" -k keys/job; "$GATE" approve --nonce $N --promotion "$(shown $N)" -k keys/ann >/dev/null; must_refuse approvals-missing '1 security' tag v1
"$GATE" approve --nonce $N --promotion "$(shown $N)" -k keys/cat --role security | grep -q 'weir tag NAME'; tag v1 >/dev/null; git -C $R verify-tag v1; verify v1 >/dev/null; [ -z "$(waiting)" ]
EOT

t "verify: a tag that was moved, renamed, forged or made by others" <<'EOT'
promoted_run; tag v1 >/dev/null; T=$(git -C $R rev-parse refs/tags/v1); tag v2 >/dev/null
git -C $R update-ref refs/tags/v1 refs/tags/v2; must_refuse verify 'branch: ' verify $T; git -C $R update-ref refs/tags/v1 $T; verify v1 >/dev/null
git -C $R cat-file tag v1 | sed 's/^tag v1$/tag v9/' | git -C $R hash-object -w -t tag --stdin >c; D=${T:0:2}/$T; C=$(cat c)
( export GIT_INDEX_FILE=$LAB/ix; cd $R; git read-tree refs/weir/attestations; git ls-files -s $D | sed "s#$D#${C:0:2}/$C#" | git update-index --index-info
	git update-ref refs/weir/attestations $(git commit-tree -m x $(git write-tree)) ); git -C $R update-ref refs/tags/v9 $C; must_refuse verify 'signature: ' verify v9
git -C $R tag -a -m x v5 $GOOD; verify v5 2>err | grep -q "^good  $GOOD"; grep -q 'not made by the gate' err
EOT

t "no tag for a commit whose key was not to be trusted" <<'EOT'
promoted_run; key=$(ssh-keygen -y -f /etc/weir/keys/gate | cut -d' ' -f1,2); "$GATE" key revoke "$key" --since 0 --reason stolen; "$GATE" key rotate >/dev/null
status=0; tag v1.0 -m 'first release' >out 2>err || status=$?; [ $status = 122 ]; [ -z "$(git -C $R tag)" ]
EOT

t "killed at any step: the tag is there whole or not at all, and a re-run ends it" <<'EOT'
promoted_run; cp -a $R keep.git; cp -a /var/lib/weir-gate keep.state
for ms in 10 20 30 45 60 90; do
	rm -rf $R /var/lib/weir-gate/*; cp -a keep.git $R; cp -a keep.state/. /var/lib/weir-gate/
	timeout -s KILL 0.0$ms "$GATE" tag v1 >/dev/null 2>&1 || true; tag v1 >/dev/null 2>err || grep -q tag-exists err || fail "$(cat err)"
	verify v1 >/dev/null; git -C $R verify-tag v1 2>/dev/null; [ ! -e $R/weir/journal ]; done
EOT

done_testing
