#!/bin/bash
# SPDX-License-Identifier: MIT
# C09 - Descriptor taken out of a bystander (pidfd_getfd)
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
bg wl holdfd $LAB/out/victim.txt > $LAB/v.txt; sleep .3; read VP VF < $LAB/v.txt
run "wl getfd $VP $VF stolen"
eff 'grep -q stolen $LAB/out/victim.txt'
