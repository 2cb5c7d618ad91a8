#!/bin/bash
# SPDX-License-Identifier: MIT
# E04 - Case-colliding link to .git
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'ln -s .git a; mkdir -p A/hooks; printf "#!/bin/sh\n:\n" > A/hooks/post-checkout; chmod +x A/hooks/post-checkout; git add -A'
eff '[ "$(git -C $LAB/ws ls-files | grep -ci "^a")" = 2 ]'
