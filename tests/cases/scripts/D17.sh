#!/bin/bash
# SPDX-License-Identifier: MIT
# D17 - Detached git maintenance after commit
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'git config gc.auto 1; for i in $(seq 30); do echo $i > f$i; done; git add -A; git -c gc.autoDetach=true -c maintenance.autoDetach=true commit -qm x; git -c gc.auto=1 gc --auto -q'
eff 'git -C $LAB/ws fsck --no-dangling >/dev/null 2>&1'
