# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# lib.sh: tests of the command lines that need no BPF, and no VM. WEIR_STATE and the lab are of
# the test; the programs are those of build/.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
WEIR_LAB=$(mktemp -d /tmp/weir-cli.XXXXXX)
trap 'rm -rf "$WEIR_LAB"' EXIT
export WEIR_LAB WEIR_STATE=$WEIR_LAB/state PATH=$top/build:$PATH LC_ALL=C.UTF-8
# shellcheck source=../system/lib.sh
. "$top/tests/system/lib.sh"

# wrong TITLE REGEX COMMAND...: bad input: status 2, and one line on standard error that matches.
wrong()
{
	try "${@:3}"
	is "$status ${stdout:+output }$(wc -l <"$lab/stderr")" '2 1' "$1: one line, status 2" "$stdout$stderr"
	like "$stderr" "$2" "$1: says it"
}

# fake ID [JSON-MEMBERS]: a run that has ended.
fake()
{
	(umask 077 && mkdir -p "$state/runs/$1")
	cat >"$state/runs/$1/run.json" <<-END
		{
		  "schema": "weir.run/1", "id": "$1", "verdict": "clean", "exit": 0,
		  "status": {"code": 0}, "mode": "enforce", "user": "builder", "workspace": "/work/ws",
		  "command": ["make", "all"], "started": "2026-01-02T03:04:05Z", "duration_ms": 1500,
		  "counts": {"findings": 0, "mutations": 7, "members": 3, "changed_files": 2},
		  "findings": [], "reasons": []${2:+, $2}
		}
	END
}
