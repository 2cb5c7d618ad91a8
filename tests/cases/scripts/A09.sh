#!/bin/bash
# SPDX-License-Identifier: MIT
# A09 - ua-parser-js: install script drops and starts a binary
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
run 'cp /bin/sleep $TMPDIR/jsextension; chmod +x $TMPDIR/jsextension; $TMPDIR/jsextension 0.2 & wait'
eff '[ -x $LAB/tmp/jsextension ]'
