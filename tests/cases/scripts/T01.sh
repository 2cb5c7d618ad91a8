#!/bin/bash
# SPDX-License-Identifier: MIT
# T01 - Benign: compile, link with LTO, run
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
( cd $LAB/ws; printf 'int b(void);\nint main(void){return b();}\n' > a.c; echo 'int b(void){return 0;}' > b.c; git add -A; git commit -qm project; git push -q origin HEAD:main )
run 'gcc -O2 -c a.c b.c && gcc -O2 -flto -o prog a.c b.c && ./prog'
eff '[ -x $LAB/ws/prog ]'
