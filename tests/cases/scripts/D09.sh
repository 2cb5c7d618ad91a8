#!/bin/bash
# SPDX-License-Identifier: MIT
# D09 - File name with invalid UTF-8, quotes, newline and terminal codes
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'n=$(printf "a\200z\033[31m\n\"}"); echo x > "$LAB/out/$n"'
eff '[ "$(ls -A $LAB/out | wc -l)" -ge 3 ]'
