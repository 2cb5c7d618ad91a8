#!/bin/bash
# SPDX-License-Identifier: MIT
# E20 - What git cannot represent
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'mkdir -p a/b/c; chmod 700 src; wl xattr Makefile; touch -d 2001-01-01 Makefile'
eff '[ -z "$(git -C $LAB/ws status --porcelain)" ] && [ -d $LAB/ws/a/b/c ]'
