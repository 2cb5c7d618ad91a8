#!/bin/bash
# SPDX-License-Identifier: MIT
# D21 - Root build replaces a device node by a file
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
mknod $LAB/host/dev/null c 1 3
run 'echo ok > $LAB/host/dev/null; rm $LAB/host/dev/null; echo text > $LAB/host/dev/null'
eff '[ -f $LAB/host/dev/null ]'
