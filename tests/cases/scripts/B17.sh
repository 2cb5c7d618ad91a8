#!/bin/bash
# SPDX-License-Identifier: MIT
# B17 - Enforcement silently absent
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
( cd $LAB/ws; unshare -Ur ${W:-} bash -c 'echo // unobserved >> src/main.c' )   # user namespace: no CAP_BPF on the host
eff 'grep -q unobserved $LAB/ws/src/main.c'
