#!/bin/bash
# SPDX-License-Identifier: MIT
# B04 - Hook planted in a nested repository
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
git init -q $LAB/ws/vendor/sub
run 'printf "#!/bin/sh\n:\n" > vendor/sub/.git/hooks/pre-commit; chmod +x vendor/sub/.git/hooks/pre-commit'
eff '[ -x $LAB/ws/vendor/sub/.git/hooks/pre-commit ]'
