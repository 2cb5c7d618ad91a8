#!/bin/bash
# SPDX-License-Identifier: MIT
# D05 - One deletion in an overlay reported twice
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
mkdir -p $LAB/out/lower; echo f > $LAB/out/lower/f
run 'cd $TMPDIR; mkdir u w m; unshare -Urm bash -c "mount -t overlay o -o lowerdir=$LAB/out/lower,upperdir=u,workdir=w m && rm m/f"; ls -la u > $LAB/ws/tests/u.txt'
eff 'grep -q "^c" $LAB/ws/tests/u.txt && [ -f $LAB/out/lower/f ]'
