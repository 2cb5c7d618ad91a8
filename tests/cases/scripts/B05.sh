#!/bin/bash
# SPDX-License-Identifier: MIT
# B05 - Repository configuration makes the next git status run a command
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'git config core.fsmonitor "touch $LAB/out/fsm-ran; false"'
[ -e $LAB/out/fsm-ran ] && echo "already ran inside"; rm -f $LAB/out/fsm-ran; git -C $LAB/ws status > /dev/null 2>&1; eff '[ -e $LAB/out/fsm-ran ]'   # what an unguarded git does
