#!/bin/bash
# SPDX-License-Identifier: MIT
# E14 - Change hidden by ignore rules
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'echo "*.sh" >> .git/info/exclude; echo Makefile >> .gitignore; echo "echo hi" > run.sh; echo "# x" >> Makefile'
eff '[ -z "$(git -C $LAB/ws status --porcelain run.sh)" ]'
