#!/bin/bash
# SPDX-License-Identifier: MIT
# A13 - Loader persistence: ld.so.preload and LD_PRELOAD
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
printf 'int lab(void){return 0;}\n' > $LAB/x.c; cc -shared -fPIC -o $LAB/ws/x.so $LAB/x.c
run 'LD_PRELOAD=$PWD/x.so /bin/true; echo $PWD/x.so > $LAB/host/etc/ld.so.preload'   # policy protects $LAB/host/etc as the stand-in for /etc
eff '[ -s $LAB/host/etc/ld.so.preload ]'
