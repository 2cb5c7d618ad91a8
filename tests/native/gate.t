#!/bin/bash
# SPDX-License-Identifier: MIT
# A run of source "syscall" before the gate: promoted only if the policy of the base commit accepts
# it by name, and its members had no power over the collector.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
cp -a /etc "$lab/etc"
mount --bind "$lab/etc" /etc
rm -rf /etc/weir
mount -t tmpfs -o mode=755 varlib /var/lib
# the gate's own user must be able to run it
mkdir "$lab/bin"
cp "$(command -v weir)" "$(command -v weir-gate)" "$lab/bin/"
export PATH=$lab/bin:$PATH GIT_CONFIG_GLOBAL=$lab/gitconfig
git config --global safe.directory '*'
trusted=$lab/trusted.git

in_seed()
{
	git -C "$lab/seed" -c user.name=x -c user.email=x@example.org "$@"
}

tip()
{
	git -C "$trusted" rev-parse main
}

# ours COVERAGE [LINES]: a repository with this policy, a gate for it, and a clean run.
ours()
{
	rm -rf "$trusted" "$lab/seed" /etc/weir /var/lib/weir-gate
	git init -q --bare "$trusted" -b main
	git init -q "$lab/seed" -b main
	mkdir "$lab/seed/.weir"
	policy_write "$lab/seed/.weir/policy.yaml" \
		"writeback: {paths: ['**'], require_exit: 0, approvals: 0}"$'\n'"${2:-}"
	sed -i "s/^coverage: files/coverage: $1/" "$lab/seed/.weir/policy.yaml"
	in_seed add -A
	in_seed commit -qm base
	in_seed push -q "$trusted" main
	try weir-gate init --repo "$trusted"
	[[ $status = 0 ]] || echo "# $stderr"
	base=$(tip)
	try weir run --observe ${WEIR_NATIVE_SOURCE:+--source "$WEIR_NATIVE_SOURCE"} -q --user root \
		-p @base -- sh -c 'echo new >new'
	run=$(run_last)
}

# refused TEXT TITLE
refused()
{
	try weir commit -m x
	is "$status" 122 "$2: refused" "$stderr"
	like "$stderr" "weir-gate: refused: $1" "$2: says why"
	is "$(tip)" "$base" "$2: nothing has changed"
}

ours files
is "$status $(verdict_of)" '0 clean' 'a clean run' "$stderr"
refused 'coverage: .*source syscall.*coverage: syscall' 'coverage: files'

ours syscall
is "$status $(verdict_of)" '0 clean' 'a clean run under coverage: syscall' "$stderr"
try weir commit -m 'from a syscall run'
is "$status" 0 'is promoted' "$stderr"
like "$stderr" 'nothing keeps others out' 'with a word about the seal that there is not'
is "$(git -C "$trusted" show main:new)" new 'what it made is there'

ours syscall
echo more >>"$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1] + "/run.json"))["workspace"])' "$run")/new"
refused 'changed-after-run' 'changed by an outsider after the run'

ours syscall 'privileges: {capabilities: [CAP_SYS_ADMIN]}'
is "$status $(verdict_of)" '121 indeterminate' 'members with CAP_SYS_ADMIN' "$stderr"
refused 'indeterminate: .*CAP_SYS_ADMIN' 'CAP_SYS_ADMIN'

ours syscall 'privileges: {capabilities: [CAP_CHOWN]}'
is "$status $(verdict_of)" '0 clean' 'members with CAP_CHOWN' "$stderr"
try weir commit -m x
is "$status" 0 'are no obstacle' "$stderr"
done_testing
