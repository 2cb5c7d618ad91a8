#!/bin/bash
# SPDX-License-Identifier: MIT
# D15 - Symlink loops and directory links in the tree
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'ln -s . loop; ln -s b a; ln -s a b; mkdir d; ln -s ../d d/self; ln -s /nonexistent/x dangling; git add -A'
eff '[ "$(git -C $LAB/ws ls-files -s | grep -c ^120000)" = 5 ]'
