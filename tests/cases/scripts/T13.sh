#!/bin/bash
# SPDX-License-Identifier: MIT
# T13 - Benign: ccache misses, then hits
# shellcheck disable=all # a recipe
. "$(dirname "$(readlink -f "$0")")/lab.sh"
H=$(getent passwd "$(id -u)" | cut -d: -f6)/.cache/ccache; rm -rf $H; mkdir -p $H
( cd $LAB/ws; echo 'int a(void){return 0;}' > a.c; git add -A; git commit -qm project; git push -q origin HEAD:main )
run 'ccache gcc -c a.c && rm a.o && ccache gcc -c a.c'
eff '[ -s $LAB/ws/a.o ] && CCACHE_DIR=$H ccache --print-stats | grep -q "^direct_cache_hit.1"'
