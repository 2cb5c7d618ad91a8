#!/bin/bash
# SPDX-License-Identifier: MIT
# C02 - Leaked directory descriptor used as working directory
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
exec 7<$LAB/out
run 'cd /proc/self/fd/7 && echo x > leak.txt'
exec 7<&-; eff '[ -f $LAB/out/leak.txt ]'
