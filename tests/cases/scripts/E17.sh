#!/bin/bash
# SPDX-License-Identifier: MIT
# E17 - File changes between verification and commit
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
bg bash -c 'cd $LAB/ws; while :; do echo AAAA > race.txt; echo BBBB > race.txt; ln -sfn $HOME/.npmrc race2.txt; rm -f race2.txt; echo C > race2.txt; done'
run 'sleep 1; echo "// x" >> src/main.c'
eff '[ -e $LAB/ws/race.txt ]'
