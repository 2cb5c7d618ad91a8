#!/bin/bash
# SPDX-License-Identifier: MIT
# E12 - Directory without permissions
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'mkdir priv; echo x > priv/f; chmod 000 priv src/main.c'
eff '[ "$(stat -c %a $LAB/ws/priv)" = 0 ]'; chmod 755 $LAB/ws/priv
