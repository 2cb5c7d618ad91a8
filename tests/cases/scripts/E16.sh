#!/bin/bash
# SPDX-License-Identifier: MIT
# E16 - Trusted branch moves while the run is active
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
( sleep .5; git clone -q $LAB/trusted.git $LAB/other; cd $LAB/other; echo o > o; git add -A; git commit -qm outside; git push -q origin HEAD:main ) & P+=($!)
run 'sleep 2; echo "// mine" >> src/main.c'
eff '[ "$(git -C $LAB/trusted.git rev-parse main)" != $BASE ]'
