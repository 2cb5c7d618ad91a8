#!/bin/bash
# SPDX-License-Identifier: MIT
# E19 - Two names that differ only in case or normalisation
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'echo 1 > README; echo 2 > readme; echo 3 > "$(printf "caf\303\251")"; echo 4 > "$(printf "cafe\314\201")"; git add -A'
eff '[ "$(git -C $LAB/ws -c core.precomposeunicode=false ls-files | wc -l)" = 7 ]'
