#!/bin/bash
# SPDX-License-Identifier: MIT
# B14 - The sandbox itself litters the workspace
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
snap() { ( cd $LAB/ws; find . -printf '%p %y %m %s %T@\n' | sort; git ls-files -s ); }
snap > $LAB/s1; run 'true'; snap > $LAB/s2; eff 'cmp -s $LAB/s1 $LAB/s2'
