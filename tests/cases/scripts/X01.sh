#!/bin/bash
# SPDX-License-Identifier: MIT
# X01 - What is opened with O_CREAT and exists is no creation, and what a run has for itself is its own
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
ln -s $LAB/ws/tests/a $LAB/out/l2; ln -s $LAB/out/l2 $LAB/out/l1; : > $LAB/ws/tests/a; mkfifo $LAB/ws/tests/p
sync; echo 2 > /proc/sys/vm/drop_caches
run 'echo x > /dev/stderr; echo x > /dev/fd/1; echo x >> /proc/self/fd/2; echo 5 > /proc/self/oom_score_adj; echo y > $LAB/out/l1; exec 3<> tests/p; echo x > /dev/null; echo x > /dev/fd/3; python3 -c "import os; os.ftruncate(os.memfd_create(\"m\"), 64)"'
eff 'grep -qx y $LAB/ws/tests/a'
