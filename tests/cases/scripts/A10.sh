#!/bin/bash
# SPDX-License-Identifier: MIT
# A10 - litellm: .pth file and user service make the interpreter persistent
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
mkdir -p $LAB/out/site-packages
run 'echo "import os" > $LAB/out/site-packages/lab_init.pth; mkdir -p ~/.config/sysmon ~/.config/systemd/user; echo pass > ~/.config/sysmon/s.py; printf "[Service]\nExecStart=/bin/true\n" > ~/.config/systemd/user/lab.service'
eff '[ -f $LAB/out/site-packages/lab_init.pth ] && [ -f $HOME/.config/systemd/user/lab.service ]'
