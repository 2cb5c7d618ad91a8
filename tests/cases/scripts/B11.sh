#!/bin/bash
# SPDX-License-Identifier: MIT
# B11 - Descriptor inherited from the launcher
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
exec 9>>$LAB/out/victim.txt
run 'echo via-fd >&9'
exec 9>&-; eff 'grep -q via-fd $LAB/out/victim.txt'
