#!/bin/bash
# SPDX-License-Identifier: MIT
# D01 - Burst of events, one needle
# shellcheck disable=all # a recipe; deletions in batches, as a process each takes minutes in the VM
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'cd $TMPDIR; seq -f f%g 40000 | xargs -P8 -n500 bash -c "for i; do : > \$i; done; rm \"\$@\"" _ & sleep .7; echo x > $LAB/out/needle; wait'
eff '[ -f $LAB/out/needle ]'
