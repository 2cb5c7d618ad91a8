#!/bin/bash
# SPDX-License-Identifier: MIT
# D12 - Path argument rewritten by another thread while the call runs
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'wl race $PWD/tests/in.txt $LAB/out/outside-by-race.txt 3000 2>/dev/null'
eff '[ -s $LAB/ws/tests/in.txt ] || [ -s $LAB/out/outside-by-race.txt ]'
