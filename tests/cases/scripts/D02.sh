#!/bin/bash
# SPDX-License-Identifier: MIT
# D02 - Same file through /proc magic links and dot-dot
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'echo x > /proc/self/root$LAB/out/v1; echo y > /proc/self/cwd/../out/v2; ln -s $LAB/out/sub s; mkdir $LAB/out/sub; echo z > s/../v3'
eff '[ -f $LAB/out/v1 ] && [ -f $LAB/out/v2 ] && [ -f $LAB/out/v3 ]'
