#!/bin/bash
# SPDX-License-Identifier: MIT
# B02 - Workspace symlink (leaf and directory) leads writes outside
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'ln -s $LAB/out/victim.txt notes.md; echo OWNED > notes.md; ln -s $LAB/out outbox; echo x > outbox/new.txt'
eff 'grep -q OWNED $LAB/out/victim.txt && [ -f $LAB/out/new.txt ]'
