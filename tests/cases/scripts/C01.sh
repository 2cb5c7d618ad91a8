#!/bin/bash
# SPDX-License-Identifier: MIT
# C01 - Host binary overwritten through /proc/PID/exe
# shellcheck disable=all # a recipe; host-tool lives until the run has its hands on it, and the run waits for its end
. "$(dirname "$(readlink -f "$0")")/lab.sh"
cp /bin/sleep $LAB/out/host-tool; bg $LAB/out/host-tool 15; VP=$BG; export VP
run 'exec 9< /proc/$VP/exe; while [ -e /proc/$VP/exe ]; do sleep .5; done; echo "#overwritten" >> /proc/self/fd/9'
eff 'tail -c 13 $LAB/out/host-tool | grep -q overwritten'
