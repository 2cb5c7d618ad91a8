#!/bin/bash
# SPDX-License-Identifier: MIT
# E01 - Racy index: same size, same time stamp, other content
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'git config core.trustctime false; git config core.checkStat minimal; git status >/dev/null; cp -p src/main.c $TMPDIR/r; printf "int main(void){return 9;}\n" > src/main.c; touch -r $TMPDIR/r src/main.c'
eff '[ -z "$(git -C $LAB/ws status --porcelain src)" ] && grep -q "return 9" $LAB/ws/src/main.c'
