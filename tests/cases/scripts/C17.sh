#!/bin/bash
# SPDX-License-Identifier: MIT
# C17 - Path reported from inside a chroot
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
mkdir -p $LAB/out/root/{bin,etc}; cp "$(command -v busybox)" $LAB/out/root/bin/busybox
run 'chroot $LAB/out/root /bin/busybox sh -c "echo x > /etc/f"'
eff '[ -f $LAB/out/root/etc/f ] && [ ! -e /etc/f ]'
