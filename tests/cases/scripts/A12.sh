#!/bin/bash
# SPDX-License-Identifier: MIT
# A12 - Artifact poisoning: unpacking overlays scripts that the next step runs
# shellcheck disable=all # a recipe, kept word for word
. "$(dirname "$(readlink -f "$0")")/lab.sh"
( mkdir -p $LAB/a/.github; cd $LAB/a; echo 'x=1' > .github/githubUtils.js; printf 'all:\n\t@echo overlaid\n' > Makefile; echo data > report.txt; tar cf $LAB/out/artifact.tar . )
run 'tar xf $LAB/out/artifact.tar && make -s'
eff '[ -f $LAB/ws/.github/githubUtils.js ]'
