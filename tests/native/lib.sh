# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# lib.sh: tests of source "syscall", on any host that has it; WEIR_NATIVE_SOURCE forces it where
# the host has a better one. Programs are those of build/, state and lab are of the test. Nothing
# of the host's own is touched: mounts and /etc are private.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if [[ -z ${NATIVE_INSIDE:-} ]]; then
	NATIVE_INSIDE=1 exec unshare -m --propagation private -- bash "$0" "$@"
fi
WEIR_LAB=$(mktemp -d /tmp/weir-native.XXXXXX)
trap 'rm -rf "$WEIR_LAB"' EXIT
chmod 755 "$WEIR_LAB"
export WEIR_LAB WEIR_STATE=$WEIR_LAB/state LC_ALL=C.UTF-8
[[ ! -x $top/build/weir ]] || export PATH=$top/build:$PATH
# shellcheck source=../system/lib.sh
. "$top/tests/system/lib.sh"

# watch [OPTION...] -- COMMAND: a run that is only observed; sets run.
watch()
{
	weir_run --observe ${WEIR_NATIVE_SOURCE:+--source "$WEIR_NATIVE_SOURCE"} --user root "$@"
}

# policy_native LINES: the usual policy, which accepts this source.
policy_native()
{
	policy_write "$policy" "$1"
	sed -i 's/^coverage: files/coverage: syscall/' "$policy"
}

# Findings of the last run, one a line: kind, operation, path below the lab, flags that matter.
findings()
{
	of_run '"\n".join(sorted(" ".join([
		x["kind"], x["op"],
		x["object"]["path"].replace("'"$lab"'/", "") if x.get("object") else "-"] +
		[y for y in x["flags"] if y in ("unresolved", "hardlink")]) for x in f))'
}

reasons()
{
	of_run '"; ".join(x["text"] for x in r["reasons"])'
}
policy_native ''
