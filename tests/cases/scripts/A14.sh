#!/bin/bash
# SPDX-License-Identifier: MIT
# A14 - Container engine socket reached from the build
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
sink unix $LAB/host/docker.sock
run 'curl -s --max-time 3 --unix-socket $LAB/host/docker.sock http://x/containers/json || true'
sleep .3; eff 'grep -q containers/json $LAB/sink.txt'
