#!/bin/bash
# SPDX-License-Identifier: MIT
# C01 - Host binary overwritten through /proc/PID/exe
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
cp /bin/sleep $LAB/out/host-tool; bg $LAB/out/host-tool 1; VP=$BG; export VP
run 'exec 9< /proc/$VP/exe; sleep 1.5; echo "#overwritten" >> /proc/self/fd/9'
eff 'tail -c 13 $LAB/out/host-tool | grep -q overwritten'
