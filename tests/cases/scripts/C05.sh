#!/bin/bash
# SPDX-License-Identifier: MIT
# C05 - binfmt_misc registration
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'mkdir $LAB/tmp/bm; unshare -Urm bash -c "mount -t binfmt_misc none $LAB/tmp/bm && echo :lab:E::labext::/bin/true: > $LAB/tmp/bm/register && ls $LAB/tmp/bm" > tests/bm.txt 2>&1'
eff 'cat $LAB/ws/tests/bm.txt; true'
