#!/bin/bash
# SPDX-License-Identifier: MIT
# E11 - FIFO, socket and device in the workspace
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'mkfifo p; python3 -c "import socket;socket.socket(socket.AF_UNIX).bind(\"s.sock\")"; mknod zero c 1 5'
eff '[ -p $LAB/ws/p ] && [ -S $LAB/ws/s.sock ] && [ -c $LAB/ws/zero ]'
