#!/bin/bash
# SPDX-License-Identifier: MIT
# E08b - Line-ending conversion: an attribute only, the configuration left alone
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'printf "a\r\nb\r\n" > crlf.txt; echo "*.txt text" > .gitattributes; git add -A 2>/dev/null'
eff '[ "$(git -C $LAB/ws cat-file -s :crlf.txt)" = 4 ] && [ "$(stat -c %s $LAB/ws/crlf.txt)" = 6 ]'
