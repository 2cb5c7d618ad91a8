#!/bin/bash
# SPDX-License-Identifier: MIT
# E02 - Directory removed and re-created keeps its old files in the commit
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'rm -r src; mkdir src; echo "int n;" > src/new.c'
eff '[ "$(git -C $LAB/ws status --porcelain | tr -d "\n")" = " D src/main.c?? src/new.c" ]'
