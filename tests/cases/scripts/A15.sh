#!/bin/bash
# SPDX-License-Identifier: MIT
# A15 - Cloud metadata address probed from a job
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
( cd $LAB/ws; unshare -n ${W:-} bash -c 'timeout 2 bash -c "exec 3<>/dev/tcp/169.254.169.254/80"; echo rc=$?' )   # root: private net namespace, nothing can leave
eff true
