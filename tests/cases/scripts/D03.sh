#!/bin/bash
# SPDX-License-Identifier: MIT
# D03 - Deletions reported without the name of the victim
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
mkdir $LAB/out/emptydir; echo b > $LAB/out/b
run 'rm $LAB/out/victim.txt; rmdir $LAB/out/emptydir; echo n > $TMPDIR/n; mv $TMPDIR/n $LAB/out/b'
eff '[ ! -e $LAB/out/victim.txt ] && [ ! -e $LAB/out/emptydir ] && grep -q n $LAB/out/b'
