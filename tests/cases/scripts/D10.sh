#!/bin/bash
# SPDX-License-Identifier: MIT
# D10 - Path longer than PATH_MAX
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'cd $LAB/out; d=$(printf "d%.0s" $(seq 200)); for i in $(seq 30); do mkdir $d; cd -P $d 2>/dev/null || cd $d; done; echo deep > f'
eff '[ "$(find $LAB/out -name f -printf x 2>/dev/null | wc -c)" -ge 1 ]'
