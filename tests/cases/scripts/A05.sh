#!/bin/bash
# SPDX-License-Identifier: MIT
# A05 - nx/s1ngularity: postinstall edits shell start-up files and leaves an inventory in /tmp
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'echo "# lab-rc" >> ~/.bashrc; echo "# lab-rc" >> ~/.zshrc; find . -name "*.c" > $LAB/inventory.txt'
eff 'grep -q lab-rc $HOME/.bashrc && [ -s $LAB/inventory.txt ]'
