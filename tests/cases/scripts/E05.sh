#!/bin/bash
# SPDX-License-Identifier: MIT
# E05 - Disguised .git names - and harmless names that must pass
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'for d in .GIT git~1 ".git " ".git." "$(printf ".g\342\200\214it")"; do mkdir "$d" && echo x > "$d/config"; done; for f in aux.c prn.sh "end." "..git-notes"; do echo ok > "$f"; done'
eff '[ "$(ls -A $LAB/ws | wc -l)" -ge 12 ]'
