#!/bin/bash
# SPDX-License-Identifier: MIT
# A07 - xz: an object file grows out of a test fixture during the build
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
printf 'int hidden(void){return 1;}\n' | gzip > $LAB/ws/tests/bad-3.gz; git -C $LAB/ws add -A; git -C $LAB/ws commit -qm fixture
run 'gzip -dc tests/bad-3.gz > $TMPDIR/h.c; cc -c -o $TMPDIR/h.o $TMPDIR/h.c; cc -o app src/main.c $TMPDIR/h.o; git add -f app'
eff 'nm $LAB/ws/app | grep -q hidden'
