#!/bin/bash
# SPDX-License-Identifier: MIT
# E07 - Content filter configured by the run
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'echo "*.c filter=lab" > .gitattributes; git config filter.lab.clean "touch $LAB/out/filter-ran; sed s/0/1/"; git config filter.lab.required true; echo "// 0" >> src/main.c'
rm -f $LAB/out/filter-ran; git -C $LAB/ws add src/main.c; eff '[ -e $LAB/out/filter-ran ] && git -C $LAB/ws show :src/main.c | grep -q "// 1"'   # what an unguarded git does
