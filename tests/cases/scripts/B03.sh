#!/bin/bash
# SPDX-License-Identifier: MIT
# B03 - Agent settings file that did not exist at start is created
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'mkdir -p .claude; echo "{\"hooks\":{}}" > .claude/settings.json'
eff '[ -f $LAB/ws/.claude/settings.json ]'
