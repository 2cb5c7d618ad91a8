# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Library of the gate's TAP tests: source it first. Needs root. The test runs again inside
# a mount namespace of its own with private /etc, /var/lib and lab, so that the host's own
# gate, keys and users are never touched.
#
# Programs: $WEIR_GATE, else build/weir-gate or weir-gate at the top of the tree, else PATH.
# $MKRUN, else build/mkrun, else it is compiled here from the tree.

set -u
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root"
	exit 0
fi
if [ -z "${GATE_TEST_INSIDE:-}" ]; then
	GATE_TEST_INSIDE=1 exec unshare -m --propagation private -- bash "$0" "$@"
fi

LAB=$(mktemp -d /tmp/gatelab.XXXXXX)
mount -t tmpfs -o mode=755 lab "$LAB"
trap 'cd /; umount -l "$LAB"; rmdir "$LAB"' EXIT
cp -a /etc "$LAB/etc" && mount --bind "$LAB/etc" /etc && rm -rf /etc/weir
mount -t tmpfs -o mode=755 varlib /var/lib
mkdir -p "$LAB/home" "$LAB/bin"
export HOME=$LAB/home LC_ALL=C GIT_CONFIG_NOSYSTEM=1
cat >"$HOME/.gitconfig" <<-EOT
	[user]
		name = lab
		email = lab@example.invalid
	[init]
		defaultBranch = main
	[safe]
		directory = *
	[advice]
		detachedHead = false
	[gpg "ssh"]
		allowedSignersFile = /etc/weir/allowed_signers
EOT

find_program() {
	local name=$1 given=$2 path
	for path in "$given" "$TOP/build/$name" "$TOP/$name" "$(command -v "$name")"; do
		if [ -n "$path" ] && [ -x "$path" ]; then
			echo "$path"
			return 0
		fi
	done
	return 1
}

GATE=$(find_program weir-gate "${WEIR_GATE:-}") || {
	echo "Bail out! weir-gate is not built"
	exit 1
}
MKRUN=$(find_program mkrun "${MKRUN:-}") || {
	MKRUN=$LAB/bin/mkrun
	(cd "$TOP" && ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I. -O1 -o "$MKRUN" tests/gate/mkrun.c \
		user/base/*.c user/event/*.c user/trace/*.c user/tree/*.c -lcrypto -ljansson) || {
		echo "Bail out! mkrun does not compile"
		exit 1
	}
}
# a path that every uid can run
cp "$GATE" "$LAB/bin/weir-gate"
GATE=$LAB/bin/weir-gate

TESTS=0
FAILED=0

# t TITLE: runs the commands on stdin as one test; each must succeed. With GATE_TEST_ONLY only titles
# that begin so.
t() {
	local out status
	[[ $1 = "${GATE_TEST_ONLY:-}"* ]] || return 0
	TESTS=$((TESTS + 1))
	cat >"$LAB/body"
	# shellcheck disable=SC1091 # written just above
	out=$(set -e; cd "$LAB"; . "$LAB/body" 2>&1)
	status=$?
	if [ $status = 0 ]; then
		echo "ok $TESTS - $1"
	else
		FAILED=$((FAILED + 1))
		echo "not ok $TESTS - $1"
		printf '%s\n' "status $status" "$out" | sed 's/^/# /'
	fi
}

done_testing() {
	echo "1..$TESTS"
	[ $FAILED = 0 ]
}

fail() {
	echo "$*"
	return 1
}

# not COMMAND...: it must fail (a plain ! would not end a test)
not() {
	if "$@"; then
		fail "should have failed: $*"
	fi
}

# must_refuse CODE TEXT COMMAND...: refused with this code, TEXT in the one line, nothing else
must_refuse() {
	local code=$1 text=$2 status=0
	shift 2
	"$@" >"$LAB/stdout" 2>"$LAB/stderr" || status=$?
	[ $status = 122 ] || fail "status $status, not 122: $(cat "$LAB/stderr")"
	grep -q "^weir-gate: refused: $code: " "$LAB/stderr" || fail "not $code: $(cat "$LAB/stderr")"
	grep -qF -- "$text" "$LAB/stderr" || fail "no '$text' in: $(cat "$LAB/stderr")"
	[ "$(wc -l <"$LAB/stderr")" = 1 ] || fail "more than one line: $(cat "$LAB/stderr")"
}

policy() {
	cat <<-EOT
		apiVersion: weir/v1
		kind: CapabilitySet
		metadata:
		  name: p0
		  owners: [lab@example.invalid]
		mode: enforce
		coverage: files
		files:
		  - path: \${WORKSPACE}
		    allow: [write, exec]
		writeback:
		  paths: [${1:-"'**'"}]
		  require_exit: 0
		  approvals: 0
		${2:-}
	EOT
}

# fresh [PATHS] [MORE-POLICY]: a repository with a base commit and policy, a gate, a nonce,
# a checked-out workspace, manifest(before). Tests write to the repository behind the gate:
# without hooks, unless HOOKS= is set.
HOOKS=--no-hooks
fresh() {
	rm -rf "$LAB"/{trusted.git,seed,ws,run} /etc/weir /var/lib/weir-gate
	git init -q --bare "$LAB/trusted.git"
	git init -q "$LAB/seed"
	(
		cd "$LAB/seed" || exit 1
		mkdir -p src .weir
		printf 'int main(void){return 0;}\n' >src/main.c
		printf 'all: app\n' >Makefile
		printf 'app\n*.o\n' >.gitignore
		policy "${1:-}" "${2:-}" >.weir/policy.yaml
		git add -A
		git commit -qm base
		git push -q "$LAB/trusted.git" HEAD:main
	)
	cp "$LAB/seed/.weir/policy.yaml" "$LAB/policy.yaml"
	# shellcheck disable=SC2086 # empty or one word
	"$GATE" init --repo "$LAB/trusted.git" --email gate@example.invalid $HOOKS >/dev/null
	BASE=$(git -C "$LAB/trusted.git" rev-parse main)
	start_run
}

start_run() {
	rm -rf "$LAB/ws" "$LAB/run"
	mkdir "$LAB/ws"
	"$GATE" nonce --workspace "$LAB/ws" >"$LAB/nonce.json"
	NONCE=$(sed 's/.*"nonce":"\([0-9a-f]*\)".*/\1/' "$LAB/nonce.json")
	"$GATE" checkout --nonce "$NONCE" --into "$LAB/ws" --owner 1000:1000
	"$MKRUN" before "$LAB/run" "$LAB/ws"
}

# end_run [OPTION...]: manifest(after), trace and statement
end_run() {
	"$MKRUN" after "$LAB/run" "$LAB/ws" "$LAB/nonce.json" "$LAB/policy.yaml" "$@"
}

commit() {
	"$GATE" commit --run "$LAB/run" -m "${MSG:-a change}" "$@"
}

tip() {
	git -C "$LAB/trusted.git" rev-parse main
}

# the refused promotion left nothing behind
unchanged() {
	[ "$(tip)" = "$BASE" ] || fail "main moved"
	[ ! -e "$LAB/trusted.git/weir/quarantine/$NONCE" ] || fail "quarantine left"
	[ ! -e "$LAB/trusted.git/weir/journal" ] || fail "journal left"
	[ -z "$(find "$LAB/trusted.git" -name '*.lock')" ] || fail "lock left"
	git -C "$LAB/trusted.git" fsck --strict --full >/dev/null 2>&1 || fail "fsck"
}

# Repository, state and configuration of the gate as they are now, and back to that.
snapshot_take() {
	cp -a "$R" "$LAB/good.git"
	cp -a /var/lib/weir-gate "$LAB/good"
	cp -a /etc/weir "$LAB/good.etc"
}

snapshot_restore() {
	rm -rf "$R" /var/lib/weir-gate /etc/weir
	cp -a "$LAB/good.git" "$R"
	cp -a "$LAB/good" /var/lib/weir-gate
	cp -a "$LAB/good.etc" /etc/weir
}
