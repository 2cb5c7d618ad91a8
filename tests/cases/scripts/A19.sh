#!/bin/bash
# SPDX-License-Identifier: MIT
# A19 - Sweep of user persistence points
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'cd ~; for f in .profile .bash_profile .zshenv .config/autostart/x.desktop .config/fish/config.fish .local/bin/sudo .ssh/rc .ssh/authorized_keys .pam_environment .gitconfig .config/git/config .npmrc .config/pip/pip.conf .cargo/config.toml .config/environment.d/x.conf .config/nvim/init.lua .config/containers/registries.conf .vscode/argv.json; do mkdir -p $(dirname $f); echo "# lab" >> $f; done'
eff '[ $(grep -rl "# lab" $HOME | wc -l) -ge 18 ]'
