#!/bin/bash
# SPDX-License-Identifier: MIT
# C12 - File opened by handle, no path involved
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'wl handle $LAB/out/victim.txt $LAB via-handle'
eff 'grep -q via-handle $LAB/out/victim.txt'
