#!/bin/bash
# SPDX-License-Identifier: MIT
# E03 - The privileged committer follows a workspace link
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'ln -s $HOME/.aws/credentials leak.txt; mkdir sub; ln -s $HOME/.aws sub/dir; git add -A'
eff '! git -C $LAB/ws show :leak.txt | grep -q CANARY'
