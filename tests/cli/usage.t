#!/bin/bash
# SPDX-License-Identifier: MIT
# A wrong command line gets exactly one line and status 2, in both programs; help gets status 0.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

commands=$(weir help | sed -n 's/^  \([a-z]*\) .*/\1/p' | grep -v '^help$')
gate_commands=$(weir-gate help | sed -n 's/^  \([a-z]*\) .*/\1/p')
like "$(paste -sd ' ' <<<"$commands")" '^run show trace list rm seal unseal commit .*recover' 'weir help lists the commands'
like "$(paste -sd ' ' <<<"$gate_commands")" '^init .*nonce .*commit .*verify' 'weir-gate help likewise'

wrong 'weir alone' '^weir: which command\? `weir help` ' weir
wrong 'unknown command' "^weir: unknown command 'frobnicate'; there are: run show " weir frobnicate
wrong 'escape bytes in a command' "^weir: unknown command 'a.x1b\[31m'" weir $'a\033[31m'
wrong 'help of an unknown command' "^weir: unknown command 'frobnicate'" weir help frobnicate
wrong 'unknown option' '^weir show: there is no option --frob; `weir show --help` ' weir show --frob
wrong 'unknown option before others' '^weir show: there is no option --frob;' weir show --frob --json x
wrong 'unknown option after an argument' '^weir show: there is no option --frob;' weir show 20260101 --frob
wrong 'unknown letter' '^weir list: there is no option -x;' weir list -x
wrong 'unknown letter among others' '^weir list: there is no option -x;' weir list -jxj
wrong 'escape bytes in an option' '^weir list: there is no option --a.x1b;' weir list $'--a\033'
wrong 'ambiguous beginning of an option' '^weir run: --re is the beginning of 2 options' weir run --re x
wrong 'option without its value' '^weir run: option --policy needs a value: --policy FILE' weir run --policy
wrong 'letter without its value' '^weir run: option -p needs a value: -p FILE' weir run -qp
wrong 'value for an option without one' '^weir doctor: option --json takes no value' weir doctor --json=yes
wrong 'run without a command' '^weir run: no command: ' weir run -w /tmp
wrong 'run with -- only' '^weir run: no command: ' weir run --
wrong 'a time that is none' '^weir run: --timeout: soon is no time: ' weir run --timeout soon -- true
wrong 'a size that is none' '^weir run: --memory: lots is no size: ' weir run --memory lots -- true
wrong 'a negative size' '^weir run: --processes: -1 is no size: ' weir run --processes=-1 -- true
wrong 'a ring that is no power of two' '^weir run: --ring: a power of two ' weir run --ring 3 -- true
wrong 'rm of nothing' '^weir rm: which run' weir rm
wrong 'show of two' '^weir show: one run at a time' weir show a b
wrong 'trace of two' '^weir trace: one run at a time' weir trace a b
for command in list doctor recover unload; do
	wrong "$command with an argument" "^weir $command: takes no arguments" weir $command x
done
wrong 'policy alone' '^weir: usage: weir policy check FILE' weir policy
wrong 'policy with an unknown verb' '^weir: usage: weir policy check FILE' weir policy frobnicate x
wrong 'policy with too much' '^weir policy: too many arguments' weir policy check a b c
wrong 'commit without any run' '^weir: there is no run yet' weir commit
wrong 'commit of an unknown run' "^weir: there is no run '20200101'; .weir list. " weir commit 20200101 -m x
wrong 'commit of what is no name' "^weir: '../x' is no run; " weir commit ../x -m x
mapfile -t many < <(seq -f '-m%g' 30)
wrong 'commit with more than fits' '^weir: more than 20 arguments' weir commit last "${many[@]}"
for command in review approve reject withdraw except; do
	wrong "$command of an unknown run" "^weir: there is no run '20200101'; .weir list. " weir $command 20200101
done
wrong 'approve without a key' '^weir-gate approve: -k KEY is missing' weir approve --nonce 00000000000000000000000000000000
wrong 'approve in an unknown role' "^weir-gate approve: there is no role king" \
	weir approve --nonce 00000000000000000000000000000000 --promotion "$(printf '%064d' 0)" -k x --role king
wrong 'verify without anything' '^weir-gate verify: COMMIT is missing' weir verify
wrong 'audit without anything' '^weir-gate audit: REPO is missing' weir audit
wrong 'attest without anything' '^weir-gate attest: COMMIT is missing' weir attest
wrong 'gate alone' '^weir-gate: which command' weir-gate
wrong 'gate with an unknown command' "^weir-gate: there is no command 'frobnicate'" weir-gate frobnicate
for command in $gate_commands; do
	wrong "gate $command with an unknown option" "^weir-gate $command: there is no option --frob;" \
		weir-gate "$command" --frob
	option=$(weir-gate "$command" --help | sed -n 's/^ .*\(--[a-z]*\)=.*/\1/p' | head -n 1)
	[ -z "$option" ] ||
		wrong "gate $command without a value" "^weir-gate $command: option --[a-z]+ needs a value" \
			weir-gate "$command" "$option"
done
for command in init nonce policy checkout commit pending review approve; do
	wrong "gate $command with an argument" "^weir-gate $command: 'x' is one argument too many" \
		weir-gate "$command" x
done

# Help.
good()
{
	try "$@"
	is "$status $stderr" '0 ' "$*: status 0, nothing on standard error"
	like "$stdout" '[Uu]sage: weir' "$*: tells how"
}
good weir help
good weir --help
good weir-gate help
for command in $commands; do
	good weir help "$command"
	good weir "$command" --help
done
for command in $gate_commands; do
	good weir-gate "$command" --help
	good weir-gate "$command" --usage
done
try weir --version
is "$status $stdout" "0 weir $(weir-gate --version | cut -d ' ' -f 2) (records of version 2)" \
	'both programs have one version'

done_testing
