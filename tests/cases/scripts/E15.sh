#!/bin/bash
# SPDX-License-Identifier: MIT
# E15 - Replacement objects and grafts show another history
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'c=$(echo other | git commit-tree HEAD^{tree}); git replace HEAD $c; git log -1 --format=%s > tests/s.txt'
eff 'grep -q other $LAB/ws/tests/s.txt'
