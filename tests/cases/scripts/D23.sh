#!/bin/bash
# SPDX-License-Identifier: MIT
# D23 - "dir" does not mean "dir/**"
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
mkdir -p $LAB/out/cache/a/b
run 'echo x > $LAB/out/cache/f; echo x > $LAB/out/cache/a/b/g'
eff '[ -f $LAB/out/cache/a/b/g ]'
