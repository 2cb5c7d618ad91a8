#!/bin/bash
# SPDX-License-Identifier: MIT
# B08 - Workspace deleted and re-created: another repository at the same place
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'cd ..; rm -rf ws; git init -q ws; cd ws; echo fresh > f; git add -A; git commit -qm fresh'
eff '! git -C $LAB/ws cat-file -e $BASE 2>/dev/null'
