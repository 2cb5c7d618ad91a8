#!/bin/bash
# SPDX-License-Identifier: MIT
# D13 - Two runs at once, identifiers reused
# shellcheck disable=all # a recipe; a workspace for each run, REPEAT=50 for a soak
. "$(dirname "$(readlink -f "$0")")/lab.sh"
git clone -q --no-hardlinks $LAB/trusted.git $LAB/ws2; mkdir $LAB/ws2/tests
for k in $(seq ${REPEAT:-2}); do ( run "seq 100 | xargs -n1 /bin/true; echo a > tests/a$k" & RUNDIR=$LAB/ws2 run "seq 100 | xargs -n1 /bin/true; echo b > $LAB/out/b$k" & wait ); done
eff '[ -f $LAB/ws/tests/a2 ] && [ -f $LAB/out/b2 ]'
