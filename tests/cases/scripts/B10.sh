#!/bin/bash
# SPDX-License-Identifier: MIT
# B10 - Hard link made in the workspace, write through it
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'ln $LAB/out/victim.txt in.txt; echo OWNED > in.txt'
eff 'grep -q OWNED $LAB/out/victim.txt'
