#!/bin/bash
# SPDX-License-Identifier: MIT
# B16 - A denial that does not say which path
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'mkdir -p ~/.npm/_cacache && echo x > ~/.npm/_cacache/idx'
eff '[ -f $HOME/.npm/_cacache/idx ]'
