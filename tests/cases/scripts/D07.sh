#!/bin/bash
# SPDX-License-Identifier: MIT
# D07 - Write attempt on a read-only mount
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
( cd $LAB/ws; unshare -m bash -c "mount --bind $LAB/out $LAB/out; mount -o remount,ro,bind $LAB/out; ${W:-} bash -c 'echo x > $LAB/out/victim.txt; echo rc=\$? > tests/rc.txt'" 2>/dev/null )
eff 'grep -q rc=1 $LAB/ws/tests/rc.txt && grep -qx original $LAB/out/victim.txt'
