#!/bin/bash
# SPDX-License-Identifier: MIT
# A04 - Shai-Hulud: install script reads npm token and plants a CI workflow
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'cat ~/.npmrc ~/.aws/credentials > /dev/null; mkdir -p .github/workflows; printf "on: push\njobs: {}\n" > .github/workflows/lab.yml; git add -A'
eff 'git -C $LAB/ws diff --cached --name-only | grep -q workflows/lab.yml'
