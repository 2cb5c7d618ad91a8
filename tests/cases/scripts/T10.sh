#!/bin/bash
# SPDX-License-Identifier: MIT
# T10 - Benign: fakeroot, which talks to its daemon by System V queues
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run "fakeroot sh -c 'touch x && chown 1:1 x && tar --numeric-owner -cf x.tar x'"
eff 'tar --numeric-owner -tvf $LAB/ws/x.tar | grep -q " 1/1 "'
