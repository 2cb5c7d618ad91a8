#!/bin/bash
# SPDX-License-Identifier: MIT
# C16 - Program executed from anonymous memory - and its benign twin
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'wl memfd /bin/echo ran-from-memory > tests/mf.txt'
eff 'grep -q ran-from-memory $LAB/ws/tests/mf.txt'
