#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034,SC2119
# What the gate signed is accepted by programs of others, which know nothing of weir, and each
# of them rejects one flipped bit of what was signed and of the signature.
. "$(dirname "$0")/lib.sh"

R=$LAB/trusted.git
V=/etc/weir/ledger.vkey
PEM=/etc/weir/gate.pem
stock() { /usr/bin/python3 "$TOP/tests/gate/stock.py" "$@"; }
tlog() { /usr/bin/python3 "$TOP/tests/gate/tlog.py" "$@"; }

# skip TITLE WHY: one test that can't run here, loudly
skip() {
	TESTS=$((TESTS + 1))
	echo "ok $TESTS - $1 # SKIP $2"
	echo "# SKIPPED: $1: $2" >&2
}

# rejects COMMAND...: it must fail, and not for want of a program
rejects() {
	local status=0
	"$@" >"$LAB/rejects" 2>&1 || status=$?
	case $status in
	0) fail "accepted: $*" ;;
	126 | 127) fail "could not be run: $*" ;;
	esac
}

fresh
echo 'int b;' >"$LAB/ws/src/b.c"
echo 'x' >"$LAB/ws/src-2"
printf 'y' >"$LAB/ws/na\"me ä"
rm "$LAB/ws/Makefile"
end_run written=src/b.c
commit >/dev/null
C=$(tip)
cd "$LAB" || exit 1
"$GATE" attest main --repo "$R" -o "$LAB/c.intoto.jsonl"
for f in link reads "done" done.tlog-proof done.consistency; do
	"$GATE" attest "$C" --repo "$R" --file $f >"$LAB/$f"
done

t "git: verify-commit, fsck --strict; not a flipped bit of message or signature" <<'EOT'
git -C $R verify-commit $C 2>&1 | grep -q 'Good "git" signature'; git -C $R fsck --strict --full >/dev/null 2>&1
git -C $R cat-file commit $C >raw
for n in 10 60 $(grep -bo 'a change' raw | cut -d: -f1) $(($(grep -bo 'Weir-Ledger' raw | cut -d: -f1) + 14)) $(($(grep -bo 'gpgsig' raw | cut -d: -f1) + 200)); do
	cp raw bad; stock flip bad byte:$n; b=$(git -C $R hash-object -t commit --literally -w "$LAB/bad"); rejects git -C $R verify-commit $b
done
EOT

t "ssh-keygen: the commit's signature; not a flipped bit" <<'EOT'
git -C $R cat-file commit $C | stock commit; check() { ssh-keygen -Y verify -f /etc/weir/allowed_signers -I gate@example.invalid -n git -s armor <payload; }
check | grep -q 'Good "git" signature'; cp payload p; cp armor a
for n in 7 100 300; do stock flip payload byte:$n; rejects check; cp p payload; done
for n in 60 160 250; do stock flip armor byte:$n; rejects check; cp a armor; done; check >/dev/null
EOT

t "openssl: each envelope's signature over its PAE; not a flipped bit" <<'EOT'
stock dsse $PEM c.intoto.jsonl >types; [ "$(wc -l <types)" = 5 ]; [ "$(grep -c " $C\$" types)" = 5 ]
[ "$(cut -d' ' -f1 types)" = "$(printf '%s\n' https://slsa.dev/provenance/v1 https://in-toto.io/attestation/runtime-trace/v0.1 https://slsa.dev/verification_summary/v1 https://in-toto.io/attestation/svr/v0.2 urn:weir:predicate:approvals:1)" ]
for n in 1 2 3 4 5; do for part in payload sig; do
	sed -n ${n}p c.intoto.jsonl >e; stock flip e $part; { cat e; sed ${n}d c.intoto.jsonl; } >bad; rejects stock dsse $PEM bad; grep -q 'bad signature' rejects
done; done
sed 's,vnd.in-toto+json,vnd.in-toto+jsom,' c.intoto.jsonl >bad; rejects stock dsse $PEM bad
ssh-keygen -q -t ed25519 -N '' -f other; openssl genpkey -algorithm ed25519 2>/dev/null | openssl pkey -pubout -out other.pem; rejects stock dsse other.pem c.intoto.jsonl
EOT

t "what the envelopes say: subject, dependencies, completeness, levels" <<'EOT'
python3 - c.intoto.jsonl $C $BASE "$(sha256sum <reads | cut -d' ' -f1)" "$(sha256sum <policy.yaml | cut -d' ' -f1)" <<-EOP
	import base64, json, sys
	s = [json.loads(base64.b64decode(json.loads(x)["payload"])) for x in open(sys.argv[1])]
	commit, base, reads, policy = sys.argv[2:]
	assert all(x["_type"] == "https://in-toto.io/Statement/v1" and x["subject"][0]["digest"]["gitCommit"] == commit for x in s)
	p = s[0]["predicate"]; d = {x["name"]: x["digest"] for x in p["buildDefinition"]["resolvedDependencies"]}
	assert d["base"] == {"gitCommit": base} and d["reads"] == {"sha256": reads} and d[".weir/policy.yaml"] == {"sha256": policy}
	c = p["buildDefinition"]["weir_completeness"]; assert c["lost"] == 0 and c["hashing"]["at-open"] == 0 and "partial" in c["reads"]
	assert p["runDetails"]["builder"]["id"].startswith("urn:weir:builder:enforce:") and p["runDetails"]["metadata"]["startedOn"].endswith("Z")
	assert s[1]["predicate"]["monitorLog"]["fileAccess"][0]["digest"] == {"sha256": reads}
	assert s[2]["predicate"]["verificationResult"] == "PASSED" and "ORG_SOURCE_WEIR_GATED" in s[2]["predicate"]["verifiedLevels"]
	assert s[3]["predicate"]["verifier"]["policies"] and {"WEIR_VERDICT_CLEAN", "WEIR_UNREVIEWED"} <= set(s[3]["predicate"]["properties"])
	assert s[4]["predicate"]["review"] == "none" and s[4]["predicate"]["approvers"] == [] and s[4]["predicate"]["signed"] is None
EOP
head -1 reads | grep -qx weir-reads/1
EOT

if /usr/bin/python3 -c 'import in_toto' 2>/dev/null; then
	t "in-toto of Debian: the link; not a flipped bit" <<'EOT'
stock link $PEM link | grep -qx 'weir-run 3'; python3 -c 'import json; p = json.load(open("link"))["signed"]["products"]; assert sorted(p) == sorted(["src/b.c", "src-2", "na\"me \u00e4"]), p'
for where in 'signed:b.c' 'signed:weir-run' hex-sig; do cp link bad; stock flip bad $where; rejects stock link $PEM bad; grep -q Signature rejects; done
rejects stock link other.pem link
EOT
else
	skip "in-toto of Debian: the link; not a flipped bit" "the package in-toto is not installed"
fi

t "RFC 6962 by an independent reader: log, proof, consistency; not a flipped bit" <<'EOT'
L=/var/lib/weir-gate/ledger; tlog log $L $V >entries; tlog proof $V done.tlog-proof done; grep -qxF "$(cat done)" entries
read -r n root <<<"$(git -C $R log -1 --format='%(trailers:key=Weir-Ledger,valueonly)' $C)"; tlog prefix $n ${root#sha256:} $V done.consistency done.tlog-proof
for n in 5 40 80; do cp done bad; stock flip bad byte:$n; rejects tlog proof $V done.tlog-proof bad; done
for n in $(seq 31 7 $(($(wc -c <done.tlog-proof) - 2))); do cp done.tlog-proof bad; stock flip bad byte:$n; rejects tlog proof $V bad done; done
cp -a $L log; for f in $(cd log; find . -type f); do case $f in *.p/1) continue ;; esac; stock flip log/$f byte:9; rejects tlog log log $V; stock flip log/$f byte:9; done; tlog log log $V | cmp - entries; rm -rf log
EOT

# node's own packages: needs npm, and a network or its cache
node_packages() {
	command -v npm >/dev/null && command -v node >/dev/null || return 1
	if [ -n "${STOCK_NODE_PATH:-}" ]; then
		NODE_PATH=$STOCK_NODE_PATH
		return 0
	fi
	local verify=@sigstore/verify@3.1.1 bundle=@sigstore/bundle@4.0.0
	node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || a == 20 && b >= 17 ? 0 : 1)' ||
		verify=@sigstore/verify@2.1.1 bundle=@sigstore/bundle@3.1.0
	mkdir -p "$LAB/node"
	timeout 120 npm install --silent --no-audit --no-fund --prefix "$LAB/node" $verify $bundle >"$LAB/npm" 2>&1 || return 1
	NODE_PATH=$LAB/node/node_modules
}

if node_packages; then
	export NODE_PATH
	t "@sigstore/verify: envelopes, checkpoint, inclusion; not a flipped bit" <<'EOT'
js() { node "$TOP/tests/gate/stock.js" $PEM "$1" $V "$2" "$3"; }
js c.intoto.jsonl done.tlog-proof done | tee out; grep -qx 'envelopes 5' out; grep -qx 'log good' out
for part in payload sig; do cp c.intoto.jsonl bad; stock flip bad $part; rejects js bad done.tlog-proof done; grep -q SIGNATURE_ERROR rejects; done
cp done bad; stock flip bad byte:40; rejects js c.intoto.jsonl done.tlog-proof bad; grep -q TLOG_INCLUSION_PROOF_ERROR rejects
for n in 40 $(grep -bo $'\xe2\x80\x94' done.tlog-proof | cut -d: -f1 | sed 's/$/ + 80/' | bc); do cp done.tlog-proof bad; stock flip bad byte:$n; rejects js c.intoto.jsonl bad done; done
EOT
else
	skip "@sigstore/verify: envelopes, checkpoint, inclusion; not a flipped bit" \
		"npm can't install @sigstore/verify here"
fi

# edit FILE COMMAND: the record with one file piped through a command
edit() {
	(
		cd "$R" || exit 1
		export GIT_INDEX_FILE=$LAB/idx
		rm -f "$GIT_INDEX_FILE"
		git read-tree refs/weir/attestations
		b=$(git cat-file blob "refs/weir/attestations:${C:0:2}/$C/$1" | sh -c "$2" | git hash-object -w --stdin)
		git update-index --cacheinfo "100644,$b,${C:0:2}/$C/$1"
		git update-ref refs/weir/attestations "$(echo x | git commit-tree "$(git write-tree)")"
	)
}

# breaks LINK TEXT
breaks() {
	must_refuse verify "$2" "$GATE" verify "$C" --repo "$R" --signers /etc/weir/allowed_signers
	grep -q "refused: verify: $1: " "$LAB/stderr" || fail "not $1: $(cat "$LAB/stderr")"
}

t "weir verify: envelopes edited, exchanged, signed by another, missing; the reads edited" <<'EOT'
keep=$(git -C $R rev-parse refs/weir/attestations); back() { git -C $R update-ref refs/weir/attestations $keep; }
flip="cat >$LAB/e; python3 $TOP/tests/gate/stock.py flip $LAB/e"
for f in provenance.json runtime-trace.json vsa.json svr.json approvals.json; do for part in payload sig; do edit $f "$flip $part; cat $LAB/e"; breaks dsse "$f: the envelope is not signed"; back; done; done
edit vsa.json "cat >/dev/null; sed -n 4p $LAB/c.intoto.jsonl"; breaks attested 'vsa.json: is a statement of another type'; back
edit reads 'sed "s/weir-reads/weir-readz/"'; breaks attested 'another list of reads'; back
edit svr.json 'sed "s/{\"payload/ {\"payload/"'; breaks ledger 'other attestations'; back
edit svr.json 'cat >/dev/null; echo "{}"'; breaks dsse 'payload is not'; back
"$GATE" verify $C --repo $R --signers /etc/weir/allowed_signers | grep -q '^ok    attested'
EOT

t "weir verify: statements of the gate's own key about another commit" <<'EOT'
GOOD=$C; keep=$(git -C $R rev-parse refs/weir/attestations); BASE=$C; start_run; echo 2 >ws/two; end_run; commit >/dev/null; C=$(tip)
"$GATE" attest $GOOD --repo $R -f svr.json >svr.old; "$GATE" attest $GOOD --repo $R -f provenance.json >prov.old
now=$(git -C $R rev-parse refs/weir/attestations); edit svr.json "cat >/dev/null; cat $LAB/svr.old"; breaks attested 'svr.json: is about another commit'; git -C $R update-ref refs/weir/attestations $now
edit provenance.json "cat >/dev/null; cat $LAB/prov.old"; breaks attested 'provenance.json: is about another commit'
EOT

t "attest: to a file that must not exist; a commit without; bad arguments" <<'EOT'
s=0; "$GATE" attest main --repo $R -o c.intoto.jsonl 2>err || s=$?; [ $s = 125 ]; grep -q exists err
must_refuse verify 'nothing is attested' "$GATE" attest "$(git -C $R rev-list --max-parents=0 main)" --repo $R -o none; [ ! -e none ]
for bad in "" "main" "main --repo $R x" "main --repo $R --file ../../x"; do s=0; "$GATE" attest $bad 2>err || s=$?; [ $s = 2 ]; done
s=0; "$GATE" attest nosuch --repo $R 2>err || s=$?; [ $s = 2 ]; s=0; "$GATE" attest main --repo nowhere 2>err || s=$?; [ $s = 125 ]
"$GATE" attest main --repo $R >/dev/full 2>err && fail full; grep -q 'No space' err
EOT

done_testing
