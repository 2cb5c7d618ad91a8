#!/bin/bash
# SPDX-License-Identifier: MIT
# D16 - Build daemon keeps the output pipe open
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
time ( run 'setsid sleep 5 & echo parent-done' | cat )
eff true
