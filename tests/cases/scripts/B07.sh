#!/bin/bash
# SPDX-License-Identifier: MIT
# B07 - Move into a directory that was never created destroys files one by one
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
( cd $LAB/ws; for i in 1 2 3; do echo doc$i > doc$i.txt; done; git add -A; git commit -qm docs; git push -q origin HEAD:main )
run 'for i in 1 2 3; do mv doc$i.txt archive; done'
eff '[ "$(cat $LAB/ws/archive)" = doc3 ]'
