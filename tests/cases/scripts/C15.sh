#!/bin/bash
# SPDX-License-Identifier: MIT
# C15 - Metadata-only mutations
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'v=$LAB/out/victim.txt; chmod 600 $v; chown 1:1 $v; touch -d 2001-01-01 $v; wl xattr $v; truncate -s 3 $v'
eff '[ "$(stat -c %a:%u:%s $LAB/out/victim.txt)" = 600:1:3 ]'
