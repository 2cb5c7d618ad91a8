#!/bin/bash
# SPDX-License-Identifier: MIT
# D04 - Event without a process: attribution lost in a nested pid namespace
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'unshare -Urpf --mount-proc bash -c "echo pid=\$\$ > $LAB/out/by-nspid"'
eff 'grep -q "pid=1" $LAB/out/by-nspid'
