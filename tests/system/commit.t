#!/bin/bash
# SPDX-License-Identifier: MIT
# From weir run to weir commit, with a gate: what is promoted once, what is refused, and bad input.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
gate_forget
trusted=$lab/trusted.git
export GIT_CONFIG_GLOBAL=$lab/gitconfig
git config --global safe.directory '*'

in_seed()
{
	git -C "$lab/seed" -c user.name=x -c user.email=x@example.org "$@"
}

tip()
{
	git -C "$trusted" rev-parse main
}

# A run in a fresh checkout, under the policy of the base commit.
promotable()
{
	try weir run -p @base -- sh -c "$1"
	run=$(run_last)
	is "$status $(verdict_of)" '0 clean' "${2:-a clean run}" "$stderr"
}

# refused CODE TITLE [COMMAND...]: one line, status 122, and main is where it was.
refused()
{
	local before
	before=$(tip)
	try "${@:3}"
	is "$status $(wc -l <"$lab/stderr")" '122 1' "$2: refused, in one line" "$stderr"
	like "$stderr" "^weir-gate: refused: $1: .*; " 'says why, and what to do'
	is "$(tip)" "$before" 'nothing has changed'
}

git init -q --bare "$trusted" -b main
git init -q "$lab/seed" -b main
mkdir "$lab/seed/.weir"
policy_write "$lab/seed/.weir/policy.yaml" "writeback: {paths: ['**'], require_exit: 0, approvals: 0}"
in_seed add -A
in_seed commit -qm base
in_seed push -q "$trusted" main
in_seed checkout -q --orphan plain
in_seed rm -qrf .
in_seed commit -q --allow-empty -m plain
in_seed push -q "$trusted" plain
in_seed checkout -q main
try weir run -p @base -- touch x
is "$status $(wc -l <"$lab/stderr")" '2 1' 'without a gate and a workspace: bad input' "$stderr"
try weir run --repo "$trusted" -p @base -- touch x
is "$status $(wc -l <"$lab/stderr")" '125 1' 'with a repository, but no gate' "$stderr"
like "$stderr" 'weir-gate init --repo' 'says what to do'
try weir-gate init --repo "$trusted" --ref refs/heads/main --ref refs/heads/plain
is "$status" 0 'weir-gate init' "$stderr"
base=$(tip)
try weir run --ref refs/heads/other -p @base -- touch x
is "$status $(wc -l <"$lab/stderr")" '122 1' 'a branch that the gate does not know: refused, in one line' "$stderr"
like "$stderr" '^weir-gate: refused: ref: ' 'by the gate'
try weir run --repo "$lab/seed" -p @base -- touch x
is "$status $(wc -l <"$lab/stderr")" '122 1' 'a repository that it does not know: the same' "$stderr"
like "$stderr" '^weir-gate: refused: repository: ' 'by the gate'
try weir run --ref refs/heads/plain -p @base -- touch x
is "$status $(wc -l <"$lab/stderr")" '2 1' 'a base commit without a policy: bad input, in one line' "$stderr"
like "$stderr" '^weir-gate: .*\.weir/policy\.yaml' 'which names the file'
is "$(find "$state/work" -mindepth 1)" '' 'no checkout is left'

promotable 'echo one >one'
first=$(basename "$run")
try weir commit -m 'The first'
is "$status" 0 'weir commit' "$stdout$stderr"
is "$(git -C "$trusted" rev-parse main^) $(git -C "$trusted" show main:one)" "$base one" 'made a commit on the base'
commit=$(tip)
try weir commit "$first" -m 'Again'
is "$status $stdout" "0 already promoted as $commit, nothing changed" 'a second time: already promoted' "$stderr"
is "$(tip)" "$commit" 'nothing has changed'

# The workspace is sealed as long as the gate is at work, here as long as it is stopped.
promotable 'echo sealed >sealed'
workspace=$(of_run 'r["workspace"]')
deep=$(dirname "$state")/deep
deep_make "$deep"
weir commit -m 'Sealed' >"$lab/bg.out" 2>&1 &
until pkill -STOP -x weir-gate; do :; done
sleep 1
sealed=$(bash -c 'echo x >"$0/foreign"' "$workspace" 2>&1)
like "$sealed" 'Operation not permitted' 'nobody writes into a sealed workspace'
is "$(deep_write "$deep")" 'Operation not permitted' 'nor where nobody can tell whether it is there'
touch "$lab/far"
ok $? 'but elsewhere'
try weir commit -m Second
like "$status $stderr" "^125 weir: $workspace: is sealed already" 'a second seal is refused'
sealed=$(bash -c 'echo x >"$0/foreign"' "$workspace" 2>&1)
like "$sealed" 'Operation not permitted' 'and lifts nothing when it goes'
pkill -CONT -x weir-gate
wait $!
is $? 0 'the gate goes on' "$(<"$lab/bg.out")"
is "$(git -C "$trusted" show main:sealed)" sealed 'and has promoted it'
is "$(deep_write "$deep")" written 'the seal is lifted'
commit=$(tip)

for name in HEAD main "${commit:0:10}"; do
	try weir verify "$name" --repo "$trusted" --signers /etc/weir/allowed_signers
	like "$status $stdout" "^0 .*good  $commit, signed by" "weir verify $name" "$stderr"
done
git -C "$trusted" -c gpg.ssh.allowedSignersFile=/etc/weir/allowed_signers verify-commit main 2>"$lab/stderr"
ok $? 'git agrees' "$(<"$lab/stderr")"

# Runs that can't be promoted.
try weir run -p @base -- sh -c "echo two >two; echo x >>$out/file"
is "$status" 120 'a run that is violated' "$stderr"
refused violated 'a violated run' weir commit -m x
try weir run -- touch two
refused unjudged 'a run without a policy' weir commit -m x
weir run -q -w "$ws" -p "$policy" -- touch two
refused policy-untrusted 'a run under a policy of its own' weir commit -m x
try weir run -p @base -- sh -c 'touch two; exit 3'
is "$status" 3 'a clean run of a command that fails' "$stderr"
refused exit-status 'it' weir commit -m x
promotable 'echo two >two'
refused message 'a message that imitates a trailer' weir commit -m $'x\n\nWeir-Verdict: clean'
cp "$run/trace" trace
truncate -s -20 "$run/trace"
refused trace 'a truncated trace' weir commit -m x
cp trace "$run/trace"
printf X | dd of="$run/trace" bs=1 seek=300 conv=notrunc 2>/dev/null
refused trace 'an edited trace' weir commit -m x
cp trace "$run/trace"
echo '{}' >"$run/statement.json"
refused 'statement(-signature)?' 'an edited statement' weir commit -m x
promotable 'echo two >two'
echo three >"$state/work/$(basename "$run")/two"
refused changed-after-run 'a workspace that changed after the run' weir commit -m x

# Keys.
promotable 'echo two >two'
second=$run
key=/etc/weir/keys/gate
mv $key $key.away
refused key 'the signing key is missing' weir commit -m x
mv $key.away $key
chmod 644 $key
refused key 'the signing key can be read by others' weir commit -m x
chmod 600 $key
host=/etc/weir/host.key
mv $host $host.away
try weir run -p @base -- touch "$out/ran"
is "$status $(wc -l <"$lab/stderr")" '125 1' 'the host key is missing: no run begins' "$stderr"
like "$stderr" "^weir: the host key $host: No such file" 'says so'
mv $host.away $host
chmod 644 $host
try weir run -p @base -- touch "$out/ran"
is "$status $(wc -l <"$lab/stderr")" '125 1' 'the host key can be read by others: no run begins' "$stderr"
like "$stderr" "^weir: $host: must belong to root with mode 0600" 'says so'
chmod 600 $host
[[ ! -e $out/ran && $(run_last) = "$second" ]]
ok $? 'nothing ran, and no run is left'
is "$(find "$state/work" -mindepth 1 -maxdepth 1 -newer "$second/run.json")" '' 'nor a checkout'

# The branch moves.
in_seed pull -q "$trusted" main
in_seed commit -q --allow-empty -m other
git -c core.hooksPath=/dev/null -C "$trusted" fetch -q "$lab/seed" main:main
chown -R weir "$trusted"
refused base-moved 'the trusted branch has moved' weir commit -m x
gate_forget

done_testing
