#!/bin/bash
# SPDX-License-Identifier: MIT
# E13 - Nested repository inside the workspace
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'git init -q vendor/sub; cd vendor/sub; echo payload > p.sh; git add -A; git commit -qm x'
eff '[ "$(git -C $LAB/ws status --porcelain)" = "?? vendor/" ]'
