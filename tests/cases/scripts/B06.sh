#!/bin/bash
# SPDX-License-Identifier: MIT
# B06 - Tool configuration rewritten under a different letter case
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'mkdir -p .cursor .CURSOR; echo {} > .cursor/mcp.json; echo {} > .CURSOR/MCP.json'
eff '[ -f $LAB/ws/.CURSOR/MCP.json ]'
