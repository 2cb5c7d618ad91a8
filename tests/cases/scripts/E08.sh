#!/bin/bash
# SPDX-License-Identifier: MIT
# E08 - Line-ending conversion changes the committed bytes
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'git config core.autocrlf true; printf "a\r\nb\r\n" > crlf.txt; echo "*.txt text" > .gitattributes; git add -A 2>/dev/null'
eff '[ "$(git -C $LAB/ws cat-file -s :crlf.txt)" = 4 ] && [ "$(stat -c %s $LAB/ws/crlf.txt)" = 6 ]'
