#!/bin/bash
# SPDX-License-Identifier: MIT
# E09 - Mode-only change
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'git config core.filemode false; chmod +x Makefile; chmod u+s src/main.c'
eff '[ -x $LAB/ws/Makefile ] && [ -z "$(git -C $LAB/ws status --porcelain Makefile)" ]'
