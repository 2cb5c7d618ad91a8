#!/bin/bash
# SPDX-License-Identifier: MIT
# D11 - Directory renamed between open and write
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'mkdir $LAB/out/d1; cd $LAB/out/d1; mv $LAB/out/d1 $LAB/ws/d1; echo x > f; mv $LAB/ws/d1 $LAB/out/d2; echo y > g'
eff '[ -f $LAB/out/d2/f ] && [ -f $LAB/out/d2/g ]'
