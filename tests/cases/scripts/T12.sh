#!/bin/bash
# SPDX-License-Identifier: MIT
# T12 - Benign: gpg makes a key in a ring of its own and signs; its agent outlives it
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'export GNUPGHOME=$PWD/keys; mkdir -m 700 keys && echo text > f && gpg --batch --passphrase "" --quick-gen-key lab@example.invalid default default never && gpg --batch --detach-sign f'
eff '[ -s $LAB/ws/f.sig ]'
