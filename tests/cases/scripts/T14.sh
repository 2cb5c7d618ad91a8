#!/bin/bash
# SPDX-License-Identifier: MIT
# T14 - Benign: a terminal of the run's own
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
( cd $LAB/ws; echo 'int a(void){return 0;}' > a.c; git add -A; git commit -qm project; git push -q origin HEAD:main )
run "script -qec 'gcc -c a.c; tty; echo hi > /dev/tty' /dev/null | tee said"
eff '[ -s $LAB/ws/a.o ] && grep -q /dev/pts/ $LAB/ws/said && grep -q hi $LAB/ws/said'
