# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# People for the gate's tests: source it after lib.sh.
#
#   ann, ben   approvers; ben has security as well      cat    security
#   job        producer, who is root and uid 1000       pat    policy owner, and signer root
#   quinn      policy owner
# Keys are in $LAB/keys; each person's is of uid 2000, for it is used under its owner's uid.

ONE='  approvals: 1
'

# approvals LINES: what the policy has in place of `approvals: 0`
approvals() {
	(
		cd "$LAB/seed" || exit 1
		python3 - "$1" <<-'EOT'
			import sys
			path = '.weir/policy.yaml'
			text = open(path).read()
			open(path, 'w').write(text.replace('  approvals: 0\n', sys.argv[1]))
		EOT
	)
}

make_keys() {
	local name
	rm -rf "$LAB/keys"
	mkdir "$LAB/keys"
	for name in ann ben cat job pat quinn eve; do
		ssh-keygen -q -t ed25519 -N '' -C "$name" -f "$LAB/keys/$name"
	done
	chown -R 2000:2000 "$LAB/keys"
}

# public NAME: type and base64
public() {
	cut -d' ' -f1,2 "$LAB/keys/$1.pub"
}

signers() {
	cat <<-EOT
		# people
		ann@x namespaces="approver@weir.v1,security@weir.v1" $(public ann)
		ben@x namespaces="approver@weir.v1,security@weir.v1" $(public ben)
		cat@x namespaces="security@weir.v1,approver@weir.v1" $(public cat)
		job@x namespaces="producer@weir.v1,approver@weir.v1" $(public job)
		pat@x namespaces="policy-owner@weir.v1" $(public pat)
		quinn@x namespaces="policy-owner@weir.v1,security@weir.v1" $(public quinn)
	EOT
}

roles() {
	cat <<-EOT
		schema: weir.roles/1
		people:
		- {name: ann, principals: [ann@x], roles: [approver], logins: [ann-login]}
		- {name: ben, principals: [ben@x], roles: [approver, security]}
		- {name: cat, principals: [cat@x], roles: [security]}
		- {name: job, principals: [job@x], roles: [producer, approver], logins: [root, "1000"]}
		- {name: pat, principals: [pat@x], roles: [policy-owner]}
		- {name: quinn, principals: [quinn@x], roles: [policy-owner]}
	EOT
}

# seal_people [WHO]: digests and the policy owner's signature over them, by stock tools alone
# shellcheck disable=SC2120 # tests name another WHO
seal_people() {
	(
		cd "$LAB/seed/.weir" || exit 1
		shopt -s nullglob
		sha256sum allowed_signers roles.yaml revoked.kr[l] >people
		rm -f people.sig
		ssh-keygen -q -Y sign -f "$LAB/keys/${1:-pat}" -n policy-owner@weir.v1 people
	)
}

# push: the seed becomes the base of a new run
push() {
	(
		cd "$LAB/seed" || exit 1
		git add -A
		git commit -qm people
		git push -qf ../trusted.git HEAD:main
	)
	chown -R weir: "$LAB/trusted.git"
	cp "$LAB/seed/.weir/policy.yaml" "$LAB/policy.yaml"
	BASE=$(tip)
	start_run
}

# with_people LINES [PATHS [MORE-POLICY]]: fresh, with people and these approvals
with_people() {
	fresh "${2:-}" "${3:-}"
	approvals "$1"
	make_keys
	signers >"$LAB/seed/.weir/allowed_signers"
	roles >"$LAB/seed/.weir/roles.yaml"
	seal_people
	echo "pat@x namespaces=\"policy-owner@weir.v1\" $(public pat)" >/etc/weir/signer_root
	echo 'signer_root: /etc/weir/signer_root' >>/etc/weir/gate.yaml
	push
}

# proposed [LINES]: a run with one change that waits
proposed() {
	with_people "${1:-$ONE}"
	echo good >"$LAB/ws/good"
	end_run
	must_refuse approvals-missing 'waits for' commit
}

# shown [NONCE]: the digest of the proposal, as review tells it
# shellcheck disable=SC2120 # tests name another
shown() {
	{ cat "$LAB/trusted.git/weir/pending/${1:-$NONCE}/promotion" 2>/dev/null || :; } | sha256sum | cut -c1-64
}

approve() {
	local who=$1
	shift
	"$GATE" approve --run "$LAB/run" -k "$LAB/keys/$who" --promotion "$(shown "$NONCE")" "$@"
}

review() {
	"$GATE" review --run "$LAB/run" "$@"
}

# statement [OPTION...]: what an approver would sign, in $LAB/s
statement() {
	"$GATE" approve --run "$LAB/run" --promotion "$(shown "$NONCE")" --print "$@" >"$LAB/s"
}

# hand WHO [NAMESPACE]: signs $LAB/s by stock and hands both in
hand() {
	rm -f "$LAB/s.sig"
	ssh-keygen -q -Y sign -f "$LAB/keys/$1" -n "${2:-approver@weir.v1}" "$LAB/s" 2>/dev/null
	"$GATE" approve --run "$LAB/run" --statement "$LAB/s" --signature "$LAB/s.sig"
}

# promoted: exactly the proposal went through
promoted() {
	[ "$(git -C "$LAB/trusted.git" rev-parse main^)" = "$BASE" ] || fail "main did not move"
	[ ! -e "$LAB/trusted.git/weir/pending/$NONCE" ] || fail "proposal left"
	git -C "$LAB/trusted.git" fsck --strict --full >/dev/null 2>&1 || fail "fsck"
}
