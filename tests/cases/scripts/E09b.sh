#!/bin/bash
# SPDX-License-Identifier: MIT
# E09b - Mode-only change, the configuration left alone
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'chmod +x Makefile'
eff '[ -x $LAB/ws/Makefile ]'
