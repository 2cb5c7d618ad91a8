#!/bin/bash
# SPDX-License-Identifier: MIT
# C07 - File written through io_uring only
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'wl uring $LAB/out/uring.txt "via ring"'
eff 'grep -q "via ring" $LAB/out/uring.txt'
