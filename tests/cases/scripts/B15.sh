#!/bin/bash
# SPDX-License-Identifier: MIT
# B15 - Run started inside a linked worktree (.git is a file)
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
git -C $LAB/ws worktree add -q -b side $LAB/wt
RUNDIR=$LAB/wt run 'echo // wt >> src/main.c'
eff '[ -f $LAB/wt/.git ] && grep -q wt $LAB/wt/src/main.c'
