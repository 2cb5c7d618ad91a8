#!/bin/bash
# SPDX-License-Identifier: MIT
# B01 - Agent clean-up deletes the home directory
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
for i in $(seq 40); do mkdir -p $HOME/proj$i/d; for j in $(seq 50); do echo x > $HOME/proj$i/d/f$j; done; done
run 'mkdir "~"; rm -rf ~/proj*'
eff '[ -z "$(ls -d $HOME/proj* 2>/dev/null)" ]'
