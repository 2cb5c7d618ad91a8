#!/bin/bash
# SPDX-License-Identifier: MIT
# C04 - core_pattern opened for writing
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'cat /proc/sys/kernel/core_pattern > /dev/null; exec 9<>/proc/sys/kernel/core_pattern; exec 9>&-; echo opened > tests/o'
eff '[ -s $LAB/ws/tests/o ]'
