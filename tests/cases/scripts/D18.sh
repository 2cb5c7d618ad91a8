#!/bin/bash
# SPDX-License-Identifier: MIT
# D18 - Package manager hard-links from its store
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'mkdir -p $TMPDIR/store; echo lib > $TMPDIR/store/x; mkdir -p node_modules/lib; ln $TMPDIR/store/x node_modules/lib/index.js; cp node_modules/lib/index.js lib.js; git add lib.js'
eff '[ "$(stat -c %h $LAB/ws/node_modules/lib/index.js)" = 2 ]'
