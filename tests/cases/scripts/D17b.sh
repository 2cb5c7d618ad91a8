#!/bin/bash
# SPDX-License-Identifier: MIT
# D17b - Detached git maintenance after commit, without touching the configuration
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'for i in $(seq 30); do echo $i > f$i; done; git add -A; git -c gc.autoDetach=true -c maintenance.autoDetach=true -c gc.auto=1 commit -qm x; git -c gc.auto=1 gc --auto -q'
eff 'git -C $LAB/ws fsck --no-dangling >/dev/null 2>&1'
