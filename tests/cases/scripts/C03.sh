#!/bin/bash
# SPDX-License-Identifier: MIT
# C03 - cgroup v1 release_agent
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'mkdir $LAB/tmp/cg; unshare -m bash -c "mount -t cgroup -o none,name=lab none $LAB/tmp/cg && echo /bin/true > $LAB/tmp/cg/release_agent; umount $LAB/tmp/cg"'
eff true
