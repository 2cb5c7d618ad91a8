#!/bin/bash
# SPDX-License-Identifier: MIT
# D14 - Look-ups of files that do not exist
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'cat $LAB/out/nope 2>/dev/null; test -e /nonexistent/lab; nosuchprogram 2>/dev/null; true'
eff '[ ! -e $LAB/out/nope ]'
