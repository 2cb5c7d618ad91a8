#!/bin/bash
# SPDX-License-Identifier: MIT
# B13 - Keystrokes pushed into the controlling terminal
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
script -qec "cd $LAB/ws; ${W:-} bash -c 'wl tiocsti \"lab\"; echo rc=\$?'" $LAB/out/typescript < /dev/null > /dev/null
eff 'grep -aq rc= $LAB/out/typescript'
