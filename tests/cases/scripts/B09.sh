#!/bin/bash
# SPDX-License-Identifier: MIT
# B09 - Sibling directory sharing the workspace's name prefix
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'mkdir ../ws-evil; echo x > ../ws-evil/f'
eff '[ -f $LAB/ws-evil/f ]'
