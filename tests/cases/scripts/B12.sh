#!/bin/bash
# SPDX-License-Identifier: MIT
# B12 - A service manager or broker does the write for the run
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
sink unix $LAB/host/broker.sock
run 'python3 -c "import socket,os;s=socket.socket(socket.AF_UNIX);s.connect(os.environ[\"LAB\"]+\"/host/broker.sock\");s.send((\"WRITE %s/out/victim.txt\"%os.environ[\"LAB\"]).encode());s.recv(9)"'
sleep .3; eff 'grep -q by-broker $LAB/out/victim.txt'
