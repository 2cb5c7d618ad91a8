#!/bin/bash
# SPDX-License-Identifier: MIT
# A17 - The job attacks its monitor
# shellcheck disable=all # a recipe; MON is the monitor itself, and the files are its state
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'MON=$PPID; S=$WEIR_STATE/runs; kill -STOP $MON; for f in $S/*/trace; do : > $f; rm -f $f; done'
eff '[ ! -e $WEIR_STATE/runs/*/trace ]'
