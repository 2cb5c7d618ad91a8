#!/bin/bash
# SPDX-License-Identifier: MIT
# C10 - Another process's memory written (process_vm_writev)
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
bg wl victim > $LAB/v.txt; sleep .3; read VP ADDR < $LAB/v.txt
run "wl pvw $VP $ADDR > /dev/null"
eff 'wl procmem $VP $ADDR | grep -q OVERWRITTEN'
