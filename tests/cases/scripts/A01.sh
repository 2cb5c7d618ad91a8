#!/bin/bash
# SPDX-License-Identifier: MIT
# A01 - CI runner secrets scraped from another process's memory
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
bg wl victim > $LAB/v.txt; sleep .3; read VP ADDR < $LAB/v.txt      # victim = bystander outside the run
run "wl procmem $VP $ADDR > tests/dump.txt"
eff 'grep -q CANARY-IN-MEMORY $LAB/ws/tests/dump.txt'
