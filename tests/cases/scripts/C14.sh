#!/bin/bash
# SPDX-License-Identifier: MIT
# C14 - Bind mount makes an outside directory look like workspace
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'mkdir sub; unshare -Urm bash -c "mount --bind $LAB/out sub && echo x > sub/bound.txt"; rmdir sub'
eff '[ -f $LAB/out/bound.txt ]'
