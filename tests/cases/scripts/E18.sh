#!/bin/bash
# SPDX-License-Identifier: MIT
# E18 - File becomes directory, directory becomes file
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'rm -r src; echo now-a-file > src; rm Makefile; mkdir Makefile; echo x > Makefile/a; echo y > src.c; git add -A'
eff '[ "$(git -C $LAB/ws ls-files | tr "\n" " ")" = ".gitignore Makefile/a src src.c " ]'
