#!/bin/bash
# SPDX-License-Identifier: MIT
# C13 - Kernel module load attempted
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run ': > $TMPDIR/empty.ko; wl modtry $TMPDIR/empty.ko > tests/m.txt'
eff 'grep -q "finit_module=-1" $LAB/ws/tests/m.txt'
