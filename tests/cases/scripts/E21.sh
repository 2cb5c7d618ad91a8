#!/bin/bash
# SPDX-License-Identifier: MIT
# E21 - Workspace clone shares object files with the trusted repository
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
git clone -q $LAB/trusted.git $LAB/ws2
RUNDIR=$LAB/ws2 run 'for f in $(find .git/objects -type f); do chmod u+w $f; echo X >> $f; done'
eff '! git -C $LAB/trusted.git fsck >/dev/null 2>&1'
