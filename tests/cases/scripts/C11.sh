#!/bin/bash
# SPDX-License-Identifier: MIT
# C11 - /proc/sys write in a private namespace
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'unshare -Uru bash -c "echo labhost > /proc/sys/kernel/hostname; hostname" > tests/h.txt'
eff 'grep -q labhost $LAB/ws/tests/h.txt && [ "$(hostname)" != labhost ]'
