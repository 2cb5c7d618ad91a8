#!/bin/bash
# SPDX-License-Identifier: MIT
# E16 - Trusted branch moves while the run is active
# shellcheck disable=all # a recipe; the outsider waits for the run's command instead of half a second
. "$(dirname "$(readlink -f "$0")")/lab.sh"
( until [ -e $LAB/ws/tests/started ]; do sleep .1; done; git clone -q $LAB/trusted.git $LAB/other; cd $LAB/other; echo o > o; git add -A; git commit -qm outside; git push -q origin HEAD:main ) & P+=($!)
run ': > tests/started; sleep 5; rm tests/started; echo "// mine" >> src/main.c'
eff '[ "$(git -C $LAB/trusted.git rev-parse main)" != $BASE ]'
