#!/bin/bash
# SPDX-License-Identifier: MIT
# A16 - ssh-agent used without touching a key file
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
ssh-keygen -q -t ed25519 -N '' -f $LAB/out/k; bg ssh-agent -D -a $LAB/out/agent.sock > /dev/null; sleep .4; SSH_AUTH_SOCK=$LAB/out/agent.sock ssh-add -q $LAB/out/k
run 'SSH_AUTH_SOCK=$LAB/out/agent.sock ssh-add -l > tests/keys.txt'
eff 'grep -q ED25519 $LAB/ws/tests/keys.txt'
