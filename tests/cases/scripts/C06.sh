#!/bin/bash
# SPDX-License-Identifier: MIT
# C06 - Dirty Pipe primitive on a read-only file
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
chmod 444 $LAB/out/victim.txt
run 'wl dirtypipe $LAB/out/victim.txt'
eff 'grep -qx original $LAB/out/victim.txt'
