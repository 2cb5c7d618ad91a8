#!/bin/bash
# SPDX-License-Identifier: MIT
# E06 - Carriage return at the end of a submodule path
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'git config -f .gitmodules submodule.x.path "$(printf "sub\r")"; git config -f .gitmodules submodule.../../x.url ./y; mkdir "$(printf "sub\r")"; echo f > "$(printf "sub\r")/f"'
eff '[ -f $LAB/ws/.gitmodules ]'
