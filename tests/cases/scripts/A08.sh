#!/bin/bash
# SPDX-License-Identifier: MIT
# A08 - event-stream: one dependency rewrites another during the release bundle
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
( cd $LAB/ws; mkdir -p node_modules/dep node_modules/wallet dist; echo node_modules >> .gitignore; echo ok > node_modules/wallet/index.js; git add -A; git commit -qm deps )
run 'echo injected >> node_modules/wallet/index.js; cat node_modules/wallet/index.js > dist/bundle.js; git add dist'
eff 'grep -q injected $LAB/ws/dist/bundle.js && [ "$(git -C $LAB/ws status --porcelain | grep -c node_modules)" = 0 ]'
