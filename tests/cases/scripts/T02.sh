#!/bin/bash
# SPDX-License-Identifier: MIT
# T02 - Benign: parallel make with synchronised output
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
( cd $LAB/ws; for i in 1 2 3 4 5 6; do echo "int f$i(void){return $i;}" > f$i.c; done; printf 'all: lib.a\nlib.a: f1.o f2.o f3.o f4.o f5.o f6.o\n\tar rcs $@ $^\n%%.o: %%.c\n\tcc -O2 -c -o $@ $< 2>/dev/null\n' > Makefile; git add -A; git commit -qm project; git push -q origin HEAD:main )
run 'make -j4 --output-sync'
eff '[ -s $LAB/ws/lib.a ]'
