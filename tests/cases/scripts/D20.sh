#!/bin/bash
# SPDX-License-Identifier: MIT
# D20 - fakeroot's message queues
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'fakeroot sh -c "touch x; chown 0:0 x; tar cf x.tar x"'
eff '[ -f $LAB/ws/x.tar ]'
